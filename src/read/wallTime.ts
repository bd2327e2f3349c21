/** From what clocks on the wall showed to UTC. Pure. */
import { Temporal } from "temporal-polyfill";

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

/** A local minute, in minutes since 1970 UTC; `skipped`: clocks never showed it (spring). */
type Minute = { starts: number; skipped: boolean };

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
 * Reads local times of one zone. A local time that clocks skip in spring is refused: whoever wrote it down kept
 * another zone. One that they show twice in autumn is the earlier one.
 *
 * @param zone IANA name
 * @throws RangeError for an unknown one, in words of our own: a dead letter keeps them, and systems have different ones
 */
export function createLocalReader(zone: string): (time: LocalTime) => TimeResult {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone);
  } catch (cause) {
    throw new RangeError(`this machine knows no time zone ${zone}`, { cause });
  }
  const minutes = new Map<number, Minute>();
  return (time) => {
    const asUtc = microsAsUtc({ ...time, second: 0, micros: 0 });
    const key = Number(asUtc / 60_000_000n);
    let minute = minutes.get(key);
    if (minute === undefined) {
      minute = readMinute(time, zone);
      if (minutes.size >= MOST_MINUTES) minutes.clear();
      minutes.set(key, minute);
    }
    if (minute.skipped)
      return { ok: false, problem: `clocks of ${zone} never showed it: they were put forward` };
    const start = BigInt(minute.starts) * 60_000_000n;
    return { ok: true, micros: start + BigInt(time.second) * 1_000_000n + BigInt(time.micros) };
  };
}

/** A look into the rules of a zone takes long, and quotes come many to the minute. */
const MOST_MINUTES = 10_000;

function readMinute({ year, month, day, hour, minute }: LocalTime, zone: string): Minute {
  const plain = Temporal.PlainDateTime.from({ year, month, day, hour, minute });
  const earlier = plain.toZonedDateTime(zone, { disambiguation: "earlier" });
  return {
    starts: earlier.epochMilliseconds / 60_000,
    skipped: !earlier.toPlainDateTime().equals(plain),
  };
}
