/**
 * NYSE sessions: on which days the market is open, and from when to when. Rules and single days live in
 * `holidays.ts`; an operator's override wins over all of them.
 */
import { QuotekeeperError } from "../../errors.ts";
import { remembered } from "../../remembered.ts";
import { addDays, DAY, exchangeInstant, isDateText, weekdayOf } from "./dates.ts";
import { earlyClosesOf, holidaysOf, CLOSURES, IRREGULAR_CLOSES, LATE_OPENINGS } from "./holidays.ts";
import type { CalendarOverride } from "./overrides.ts";
import { EARLY_CLOSE, type Phase, phaseFinder, sessionOn, type TradingSession } from "./tradingSession.ts";

export type { Phase, TradingSession } from "./tradingSession.ts";

/** When a job wants to run: in one phase, in any of pre, regular and post, or regardless of the market. */
export type WantedSession = "pre" | "regular" | "post" | "any" | "always";

/** What the market's hours are. Every method throws CALENDAR_DATE_INVALID for a date before 1990-01-01. */
export type Calendar = {
  /** The session of an exchange date (`YYYY-MM-DD`), or null when the market is closed all day. */
  session: (date: string) => TradingSession | null;
  /** The sessions from one exchange date to another, both included, ascending. */
  sessions: (from: string, to: string) => TradingSession[];
  /** Why there is no session: `weekend`, the holiday's name, the reason of a closure; null when there is one. */
  closedReason: (date: string) => string | null;
  phaseAt: (at: Date) => Phase;
  /** Whether a job that wants this session may run at this instant. */
  isOpenFor: (wanted: WantedSession, at: Date) => boolean;
};

/** First date the rules and lists here cover. */
export const FIRST_DATE = "1990-01-01";

/** Years and days that are remembered: all from 1990 on for a century. */
const MOST_YEARS = 100;
const MOST_DAYS = 36_525;

type Day = { session: TradingSession; closed: null } | { session: null; closed: string };

/** The calendar of the New York Stock Exchange, with an operator's overrides. Pure but for its memory of days. */
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

/** The market that never closes, as the simulated one: every date is a session from midnight to midnight, New York. */
export const alwaysOpen: Calendar = {
  session: allDay,
  sessions: (from, to) => datesBetween(from, to).map(allDay),
  closedReason: () => null,
  phaseAt: () => "regular",
  isOpenFor: () => true,
};

/** The exchange dates from one to another, both included, `YYYY-MM-DD`. */
export function datesBetween(from: string, to: string): string[] {
  const last = covered(to);
  const dates: string[] = [];
  for (let date = covered(from); date <= last; date = addDays(date, 1)) dates.push(date);
  return dates;
}

/** The date itself, where there is such a date and the calendar knows it. */
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
