/**
 * When the values of a row were known, where its time does not say it: at the end of a bar whose beginning the row has, or at
 * the close of a session of which it has the date. Pure.
 */
import { dateOf, type Instant, instantFromDate, instantOf, microsOf } from "../clock.ts";
import { exchangeDate, exchangeInstant } from "../market/calendar/dates.ts";
import { type Calendar, createCalendar, FIRST_DATE } from "../market/calendar/tradingCalendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import type { Cell } from "./cell.ts";

/** What a map says of it. Durations in microseconds. */
type KnownAt =
  /** At the end of a bar, of which the row has the beginning; `untilClose`: a session's last bar ends with the session. */
  | { from: "time"; micros: bigint; untilClose: boolean }
  /** So long after the close of a date's session; below 0: before. */
  | { from: "close"; micros: bigint };

/** Both are what a map may say; shown where it says something else. */
export const KNOWN_AT_EXAMPLE = "close, close - 15m, close + 15m, time + 1m, or time + 60m until close";

const BAR = /^time \+ (\d{1,4})([smh])( until close)?$/u;
const CLOSE = /^close(?: ([+-]) (\d{1,4})([smh]))?$/u;
const UNIT_MICROS: Readonly<Record<string, bigint>> = { s: 1_000_000n, m: 60_000_000n, h: 3_600_000_000n };
const DAY_MICROS = 86_400_000_000n;

/** @returns null for a text that says nothing of the kind, or more than a day */
export function readKnownAt(text: string): KnownAt | null {
  const [, width, unit, until] = BAR.exec(text) ?? [];
  if (width !== undefined) {
    const micros = microsIn(width, unit);
    return micros > 0n && micros < DAY_MICROS
      ? { from: "time", micros, untilClose: until !== undefined }
      : null;
  }
  const [close, sign, distance = "0", distanceUnit = "s"] = CLOSE.exec(text) ?? [];
  if (close === undefined) return null;
  const micros = microsIn(distance, distanceUnit);
  return micros < DAY_MICROS ? { from: "close", micros: sign === "-" ? -micros : micros } : null;
}

function microsIn(count: string, unit = "s"): bigint {
  return BigInt(count) * (UNIT_MICROS[unit] ?? 0n);
}

/** Assumed: on each date before the calendar begins the exchange closed at 16:00, as it has done since 1974. */
const EARLIER_CLOSE = "16:00";

type Mover = {
  ofTime: (at: Instant) => Instant;
  /** Of a row's exchange date, `YYYY-MM-DD`; a date without a session is a problem. */
  ofDate: (date: string) => Cell<Instant>;
};

/** @param overrides of jobs/calendar.yaml, as they were when the file was imported */
export function createMover(known: KnownAt, overrides: readonly CalendarOverride[]): Mover {
  const calendar = createCalendar(overrides);
  return {
    ofTime: (at) => (known.from === "time" ? endOfBar(at, known, calendar) : at),
    ofDate: (date) => {
      const session =
        date < FIRST_DATE ? { close: exchangeInstant(date, EARLIER_CLOSE) } : calendar.session(date);
      if (session === null)
        return { ok: false, problem: `the exchange was closed on ${date} (${calendar.closedReason(date)})` };
      const close = instantFromDate(session.close);
      // The instant of the close itself is of the hours behind it.
      return { ok: true, value: known.micros === 0n ? justBefore(close) : moved(close, known.micros) };
    },
  };
}

/** A bar has its beginning and not its end: its last instant is the one before. */
function endOfBar(at: Instant, known: Extract<KnownAt, { from: "time" }>, calendar: Calendar): Instant {
  const end = moved(at, known.micros);
  const date = exchangeDate(dateOf(at));
  const session = known.untilClose && date >= FIRST_DATE ? calendar.session(date) : null;
  const close = session === null ? null : instantFromDate(session.close);
  return justBefore(close !== null && at < close && close < end ? close : end);
}

function justBefore(at: Instant): Instant {
  return moved(at, -1n);
}

function moved(at: Instant, micros: bigint): Instant {
  return instantOf(microsOf(at) + micros);
}
