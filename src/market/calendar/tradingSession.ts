/** One day's trading hours, and in which of them an instant lies. */
import { addDays, exchangeDate, exchangeInstant } from "./dates.ts";

export type Phase = "pre" | "regular" | "post" | "closed";

/** Instants in UTC: pre-market in [pre, open), regular in [open, close), post in [close, post). */
export type TradingSession = {
  /** `YYYY-MM-DD` */
  date: string;
  kind: "regular" | "early";
  pre: Date;
  open: Date;
  close: Date;
  post: Date;
  /** Why the session closes early or opens late; null on an ordinary day. */
  reason: string | null;
};

/**
 * Assumed: pre-market trading begins at 04:00 New York time on every session since 1990, as NYSE Arca does today.
 * Extended hours before about 2005 were shorter; a job that wants `pre` cannot run in the past anyway.
 */
const PRE_MARKET_START = "04:00";

/** New York time (NYSE, since 1985-09-30). */
const REGULAR_OPEN = "09:30";
export const REGULAR_CLOSE = "16:00";

/** The close of an override of kind `early` without one: the usual early close since 1993. */
export const EARLY_CLOSE = "13:00";

/**
 * Assumed: post-market trading ends four hours after the close. Announced by NYSE Group for both usual closes
 * (16:00 to 20:00, 13:00 to 17:00); the rare closes at 14:00 to 15:56 follow the same distance.
 */
const POST_MARKET_MS = 4 * 3_600_000;

/** Times are `HH:MM` in New York, the usual ones where absent. */
export function sessionOn(
  date: string,
  { open = REGULAR_OPEN, close = REGULAR_CLOSE, reason = null as string | null },
): TradingSession {
  const pre = exchangeInstant(date, PRE_MARKET_START);
  // New York's clocks change at 02:00, so from here on a session's hours are as long as they look.
  const at = (time: string, laterMs = 0) =>
    new Date(pre.getTime() + msOf(time) - msOf(PRE_MARKET_START) + laterMs);
  return {
    date,
    kind: close < REGULAR_CLOSE ? "early" : "regular",
    pre,
    open: at(open),
    close: at(close),
    post: at(close, POST_MARKET_MS),
    reason,
  };
}

/** @param time `HH:MM` */
function msOf(time: string): number {
  return Number(time.slice(0, 2)) * 3_600_000 + Number(time.slice(3)) * 60_000;
}

/**
 * Finds the phase of an instant. It is asked once per job and tick, nearly always about the same day, and a zone
 * calculation costs a hundred times a comparison: so it remembers the bounds of the last day.
 */
export function phaseFinder(sessionOf: (date: string) => TradingSession | null): (at: Date) => Phase {
  let day = { from: 0, to: 0, session: null as TradingSession | null };
  return (at) => {
    const ms = at.getTime();
    if (ms < day.from || ms >= day.to) {
      const date = exchangeDate(at);
      day = {
        from: exchangeInstant(date, "00:00").getTime(),
        to: exchangeInstant(addDays(date, 1), "00:00").getTime(),
        session: sessionOf(date),
      };
    }
    const { session } = day;
    if (!session || ms < session.pre.getTime() || ms >= session.post.getTime()) return "closed";
    if (ms < session.open.getTime()) return "pre";
    return ms < session.close.getTime() ? "regular" : "post";
  };
}
