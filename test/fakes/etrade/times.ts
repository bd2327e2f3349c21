/** Times as E*TRADE writes them: epoch seconds, New York's clocks, and dates that carry a time of day. */
import { addDays, exchangeDate, exchangeInstant, exchangeTime } from "../../../src/market/calendar/dates.ts";
import type { Calendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { momentOf, type Moment } from "../hours.ts";

const DAY_MS = 86_400_000;

/** Delayed quotes are 15 minutes old (documentation's sample of 2018). */
const DELAY_MS = 15 * 60_000;

export function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1_000);
}

/** Such as `16:28:32 EDT 08-13-2024`. */
export function clockText(at: Date): string {
  const [date = "", time = ""] = exchangeTime(at).split(" ");
  const aheadMs = seconds(at) * 1_000 - Date.parse(`${date}T${time}Z`);
  const [year = "", month = "", day = ""] = date.split("-");
  return `${time} ${aheadMs === 4 * 3_600_000 ? "EDT" : "EST"} ${month}-${day}-${year}`;
}

/**
 * A date as epoch seconds: the day in New York at the time of day at which the request came. All dates of one recorded
 * answer end in the same minute and second.
 *
 * @param date `YYYY-MM-DD`
 */
export function dayAtTimeOf(date: string, asked: Date): number {
  const time = exchangeTime(asked).slice(-8);
  return seconds(exchangeInstant(date, time.slice(0, 5))) + Number(time.slice(6));
}

/** When a session that begins now ends: midnight in New York, whatever the hour (apisb.etrade.com, get_access_token). */
export function midnightAfter(at: Date): Date {
  return exchangeInstant(addDays(exchangeDate(at), 1), "00:00");
}

/** Calendar days. */
export function daysUntil(date: string, asked: Date): number {
  return Math.round((Date.parse(date) - Date.parse(exchangeDate(asked))) / DAY_MS);
}

export type QuoteStatus = "REALTIME" | "DELAYED" | "CLOSING";
export type ExtendedStatus = "EH_BEFORE_OPEN" | "EH_REALTIME" | "EH_CLOSED";

/** When a call came, and of which instant its quotes are. */
export type Instant = {
  asked: Date;
  moment: Moment;
  status: QuoteStatus;
  /** Outside of the session; null in it. */
  extended: ExtendedStatus | null;
};

/**
 * CLOSING was recorded beside EH_REALTIME and beside EH_CLOSED, in the evenings of sessions.
 *
 * Assumed: outside of the session a quote is CLOSING also where it is delayed. EH_BEFORE_OPEN is the pre-market.
 */
export function instantOf(asked: Date, calendar: Calendar, isDelayed: boolean): Instant {
  const at = new Date(asked.getTime() - (isDelayed ? DELAY_MS : 0));
  const moment = momentOf(at, calendar);
  if (moment.state === "open")
    return { asked, moment, status: isDelayed ? "DELAYED" : "REALTIME", extended: null };
  const today = calendar.session(exchangeDate(at));
  const isIn = today !== null && at >= today.pre && at < today.post;
  const extended = !isIn ? "EH_CLOSED" : moment.state === "before" ? "EH_BEFORE_OPEN" : "EH_REALTIME";
  return { asked, moment, status: "CLOSING", extended };
}
