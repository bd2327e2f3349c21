/**
 * NYSE sessions: on which days the market is open, and from when to when. An operator's override wins over rules and
 * single days.
 */
import { QuotekeeperError } from "../../ground/errors.ts";
import { remembered } from "../../ground/remembered.ts";
import { addDays, DAY, exchangeInstant, isDateText, weekdayOf } from "./dates.ts";
import { holidaysOf, earlyClosesOf, CLOSURES, IRREGULAR_CLOSES, LATE_OPENINGS } from "./holidays.ts";
import type { CalendarOverride } from "./overrides.ts";
import { EARLY_CLOSE, type Phase, phaseFinder, sessionOn, type TradingSession } from "./tradingSession.ts";

export type { Phase, TradingSession } from "./tradingSession.ts";

/** When a job polls: in one phase, in any of pre, regular and post, or regardless of the market. */
export type WantedSession = "pre" | "regular" | "post" | "any" | "always";

/** Every method throws CALENDAR_DATE_INVALID for a date before 1990-01-01. */
export type Calendar = {
  /** Null when the market is closed all day. @param date `YYYY-MM-DD` */
  session: (date: string) => TradingSession | null;
  /** Both dates are included; ascending. */
  sessions: (from: string, to: string) => TradingSession[];
  /** `weekend`, the holiday's name, the reason of a closure; null when there is a session. */
  closedReason: (date: string) => string | null;
  phaseAt: (at: Date) => Phase;
  isOpenFor: (wanted: WantedSession, at: Date) => boolean;
};

/** First date the rules and lists here cover. */
export const FIRST_DATE = "1990-01-01";

/** All years and days from 1990 on for a century are remembered. */
const MOST_YEARS = 100;
const MOST_DAYS = 36_525;

type Day = { session: TradingSession; closed: null } | { session: null; closed: string };

/** The calendar of the New York Stock Exchange. Pure but for its memory of days. */
export function createCalendar(overrides: readonly CalendarOverride[] = []): Calendar {
  const overrideOf = new Map(overrides.map((override) => [override.date, override]));
  const yearRules = remembered(MOST_YEARS, (year: number) => ({
    holidays: holidaysOf(year),
    early: earlyClosesOf(year),
  }));

  const dayOf = remembered(MOST_DAYS, (text: string): Day => {
    const date = covered(text);
    const override = overrideOf.get(date);
    if (override) return overriddenDay(override);
    const { holidays, early } = yearRules(Number(date.slice(0, 4)));
    const closed = weekdayOf(date) >= DAY.saturday ? "weekend" : (CLOSURES.get(date) ?? holidays.get(date));
    if (closed !== undefined) return { session: null, closed };
    const hours = { ...LATE_OPENINGS.get(date), ...(IRREGULAR_CLOSES.get(date) ?? early.get(date)) };
    return { session: sessionOn(date, hours), closed: null };
  });

  const phaseAt = phaseFinder((date) => dayOf(date).session);
  return {
    session: (date) => dayOf(date).session,
    sessions: (from, to) => datesBetween(from, to).flatMap((date) => dayOf(date).session ?? []),
    closedReason: (date) => dayOf(date).closed,
    phaseAt,
    isOpenFor: (wanted, at) => {
      if (wanted === "always") return true;
      const phase = phaseAt(at);
      return wanted === "any" ? phase !== "closed" : phase === wanted;
    },
  };
}

/** A market that never closes, like the simulated one: every date is a session from midnight to midnight, New York. */
export const alwaysOpen: Calendar = {
  session: allDay,
  sessions: (from, to) => datesBetween(from, to).map(allDay),
  closedReason: () => null,
  phaseAt: () => "regular",
  isOpenFor: () => true,
};

/** Both dates are included, `YYYY-MM-DD`. */
export function datesBetween(from: string, to: string): string[] {
  const last = covered(to);
  const dates: string[] = [];
  for (let date = covered(from); date <= last; date = addDays(date, 1)) dates.push(date);
  return dates;
}

/** @throws CALENDAR_DATE_INVALID for what is no date of the calendar */
function covered(text: string): string {
  if (!isDateText(text)) throw new QuotekeeperError("CALENDAR_DATE_INVALID", `"${text}" is no date`);
  if (text < FIRST_DATE) {
    throw new QuotekeeperError(
      "CALENDAR_DATE_INVALID",
      `${text} is before ${FIRST_DATE}, where the calendar begins`,
    );
  }
  return text;
}

function overriddenDay({ date, kind, close, reason }: CalendarOverride): Day {
  if (kind === "closed") return { session: null, closed: reason ?? "calendar override" };
  const hours = kind === "early" ? { close: close ?? EARLY_CLOSE } : {};
  return { session: sessionOn(date, { ...hours, reason: reason ?? null }), closed: null };
}

function allDay(text: string): TradingSession {
  const date = covered(text);
  const start = exchangeInstant(date, "00:00");
  const end = exchangeInstant(addDays(date, 1), "00:00");
  return { date, kind: "regular", pre: start, open: start, close: end, post: end, reason: null };
}
