/**
 * Of which instant the prices of an answer are. The simulated market never closes; a living service's quotes stand still
 * when the exchange has closed.
 */
import { addDays, exchangeDate } from "../../src/market/calendar/dates.ts";
import type { Calendar, TradingSession } from "../../src/market/calendar/tradingCalendar.ts";

export type Moment = {
  /** Of the last trade, and of bid and ask of options. In a session now; else the last close. */
  tradedAt: Date;
  /** Of bid and ask of stocks, which go on before the open and after the close. */
  quotedAt: Date;
  /**
   * before: on the date of a session, before its open. open: in it. closed: after it, until the next date with a session.
   *
   * Assumed: open, high, low and volume are gone from midnight in New York on. That they are null before the open is known.
   */
  state: "before" | "open" | "closed";
};

export function momentOf(at: Date, calendar: Calendar): Moment {
  const date = exchangeDate(at);
  const today = calendar.session(date);
  if (today && at >= today.open)
    return {
      tradedAt: earlier(at, today.close),
      quotedAt: earlier(at, today.post),
      state: at < today.close ? "open" : "closed",
    };
  const last = sessionBefore(date, calendar);
  return {
    tradedAt: last.close,
    quotedAt: today && at >= today.pre ? at : earlier(at, last.post),
    state: today ? "before" : "closed",
  };
}

function sessionBefore(date: string, calendar: Calendar): TradingSession {
  let before = addDays(date, -1);
  for (;;) {
    const session = calendar.session(before);
    if (session) return session;
    before = addDays(before, -1);
  }
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
