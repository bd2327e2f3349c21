/**
 * The only place that reads the machine's clock or its randomness. Everything that decides takes
 * these as arguments, so a test moves time instead of waiting for it.
 *
 * UTC times with microseconds. A `Date` has milliseconds, too few to name every answer of a second
 * apart, so receive times travel as text of fixed width: it sorts as text and is a `timestamptz` as it is.
 */
import { randomBytes } from "node:crypto";
import { uptime } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** What a station may know of time and chance. */
export type Clock = {
  /** The wall clock, UTC. */
  now: () => Date;
  /** Milliseconds on a clock that is never set back; only differences mean anything. */
  monotonicMs: () => number;
  /** Milliseconds since the machine started: never set back, and it goes on while the machine sleeps. */
  uptimeMs: () => number;
  /** Waits `ms` milliseconds, or rejects with an AbortError as soon as `signal` is aborted. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** `length` random bytes. */
  random: (length: number) => Uint8Array;
};

/** The machine's own clock and randomness. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => uptime() * 1_000,
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
  random: (length) => randomBytes(length),
};

/** Waits for `work`, but at most `ms` milliseconds; no timer is left behind, which would hold the process up. */
export async function atMost(
  ms: number,
  work: Promise<unknown>,
  { sleep }: Pick<Clock, "sleep">,
): Promise<void> {
  const done = new AbortController();
  const waited = sleep(ms, done.signal).catch(() => undefined);
  await Promise.race([work, waited]).finally(() => done.abort());
}

/** Waits for `work` to settle, or for the signal; never rejects. */
export async function settledOrAborted(work: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  if (!signal) return settled;
  let release: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => {
    release = resolve;
  });
  signal.addEventListener("abort", release, { once: true });
  if (signal.aborted) release();
  await Promise.race([settled, aborted]).finally(() => signal.removeEventListener("abort", release));
}

/** A UTC time with microseconds, `2026-11-20T22:50:00.123456Z`, always 27 characters. */
export type Instant = string;

const PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/**
 * @param epochMicros microseconds since 1970-01-01T00:00:00Z
 * @returns the same time as text
 * @throws RangeError outside the years 0000 to 9999, which the fixed width cannot hold
 */
export function instantOf(epochMicros: bigint): Instant {
  const micros = ((epochMicros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((epochMicros - micros) / 1_000n)).toISOString();
  if (text.length !== 24) throw new RangeError(`${text} has no four-digit year`);
  return `${text.slice(0, -1)}${micros.toString().padStart(3, "0")}Z`;
}

/**
 * @param instant a time as `instantOf` writes it
 * @returns microseconds since 1970-01-01T00:00:00Z
 * @throws RangeError when the text has another form or names no day of the calendar
 */
export function microsOf(instant: Instant): bigint {
  const date = dateOf(instant);
  return BigInt(date.getTime()) * 1_000n + BigInt(instant.slice(23, 26));
}

/** The instant of a `Date`; its last three digits are 0. */
export function instantFromDate(date: Date): Instant {
  return instantOf(BigInt(date.getTime()) * 1_000n);
}

/**
 * The `Date` of an instant, microseconds cut off.
 *
 * @throws RangeError when the text has another form or names no day of the calendar
 */
export function dateOf(instant: Instant): Date {
  const date = new Date(PATTERN.test(instant) ? `${instant.slice(0, 23)}Z` : NaN);
  // 2026-02-30 parses as 2 March: a time that does not come back as written never was one.
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 23) !== instant.slice(0, 23))
    throw new RangeError(`"${instant}" is not a UTC time with microseconds`);
  return date;
}

/** How far the monotonic clock may run from the wall clock before the wall clock is believed again, in µs. */
const DRIFT_MICROS = 2_000n;

/** Numbers of collectors that are told apart by their receive times: they are at most a quarter of a millisecond late. */
const OBSERVERS = 256n;

/**
 * Receive times, strictly increasing for as long as the process lives.
 *
 * The wall clock gives the millisecond, the monotonic clock the microseconds since the two were last
 * joined; they are joined anew when they run apart (the wall clock was set, or slewed). When the wall
 * clock was set back, times go on from the last one by 1 µs each until it has caught up.
 *
 * Collectors on one database each have a number of their own: the microseconds of one leave that number when they are
 * divided by `OBSERVERS`, so that two of them never give the same instant.
 *
 * @param numberOf the number, as soon as it is known; null until then
 * @returns a function that gives the present instant, later than every instant it gave before
 */
export function createObserver(clock: Clock, numberOf: () => number | null = () => null): () => Instant {
  let anchorWall = 0n;
  let anchorMonotonicMs = 0;
  let last: bigint | null = null;

  return () => {
    const wall = BigInt(clock.now().getTime()) * 1_000n;
    const monotonicMs = clock.monotonicMs();
    let micros = anchorWall + BigInt(Math.floor((monotonicMs - anchorMonotonicMs) * 1_000));
    if (last === null || micros < wall - DRIFT_MICROS || micros > wall + DRIFT_MICROS) {
      [anchorWall, anchorMonotonicMs, micros] = [wall, monotonicMs, wall];
    }
    last = last !== null && micros <= last ? last + 1n : micros;
    const number = numberOf();
    if (number !== null) last += (((BigInt(number) - last) % OBSERVERS) + OBSERVERS) % OBSERVERS;
    return instantOf(last);
  };
}
