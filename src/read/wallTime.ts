/** From what clocks on the wall showed to UTC. Pure. */
import { Temporal } from "temporal-polyfill";
import { EXCHANGE_ZONE } from "../market/calendar/dates.ts";

/** What a clock on the wall shows: calendar fields, microseconds included. */
export type LocalTime = {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  micros: number;
};

/** A time, or why there is none. `cut`: the text says more than microseconds. */
export type TimeResult = { ok: true; micros: bigint; cut?: true } | { ok: false; problem: string };

/** Whether the fields name a moment of the calendar; a leap second does not. */
export function isLocalTime({ year, month, day, hour, minute, second }: LocalTime): boolean {
  const date = new Date(0);
  // A day that the month has not is one of another month.
  date.setUTCFullYear(year, month - 1, day);
  return year >= 1 && date.getUTCMonth() === month - 1 && hour <= 23 && minute <= 59 && second <= 59;
}

/** Microseconds since 1970 as if the zone were UTC. */
export function microsAsUtc({ year, month, day, hour, minute, second, micros }: LocalTime): bigint {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return BigInt(date.getTime()) * 1_000n + BigInt(micros);
}

/**
 * Reads what New York's clocks showed. A time that they skip in spring is refused: whoever wrote it down kept another zone. One that
 * they show twice in autumn is the earlier one.
 */
export function exchangeMicros({ second, micros, ...minute }: LocalTime): TimeResult {
  const shown = Temporal.PlainDateTime.from(minute);
  const earlier = shown.toZonedDateTime(EXCHANGE_ZONE, { disambiguation: "earlier" });
  if (!earlier.toPlainDateTime().equals(shown))
    return { ok: false, problem: `clocks of ${EXCHANGE_ZONE} never showed it: they were put forward` };
  return {
    ok: true,
    micros: BigInt(earlier.epochMilliseconds) * 1_000n + BigInt(second * 1_000_000 + micros),
  };
}
