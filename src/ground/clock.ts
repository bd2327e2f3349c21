/**
 * The only place that reads the machine's clock or its randomness. Everything that decides takes these as arguments, so
 * a test moves time instead of waiting for it.
 *
 * A `Date` has milliseconds, too few to tell the answers of a second apart. Receive times are text with microseconds
 * and of fixed width, which sorts as text and is a `timestamptz` as it is.
 */
import { randomBytes } from "node:crypto";
import { uptime } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { QuotekeeperError, systemError } from "./errors.ts";
import { remembered } from "./remembered.ts";

export type Clock = {
  now: () => Date;
  /** Milliseconds on a clock that is never set back; only differences mean anything. */
  monotonicMs: () => number;
  /** Milliseconds since the machine started: never set back, and it goes on while the machine sleeps. */
  uptimeMs: () => number;
  /** Waits `ms` milliseconds, or rejects with an AbortError as soon as `signal` is aborted. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  random: (length: number) => Uint8Array;
};

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

/** A UTC time with microseconds, always 27 characters: `2026-11-20T22:50:00.123456Z`. */
export type Instant = string;

const PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** @throws an error of the code ERANGE outside the years 0000 to 9999, which the fixed width cannot hold */
export function instantOf(epochMicros: bigint): Instant {
  const micros = ((epochMicros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((epochMicros - micros) / 1_000n)).toISOString();
  if (text.length !== 24) throw systemError("ERANGE", `${text} has no four-digit year`);
  return `${text.slice(0, -1)}${micros.toString().padStart(3, "0")}Z`;
}

/** @throws QuotekeeperError UNEXPECTED when the text has another form or names no day of the calendar */
export function microsOf(instant: Instant): bigint {
  const date = dateOf(instant);
  return BigInt(date.getTime()) * 1_000n + BigInt(instant.slice(23, 26));
}

/** @param text milliseconds since 1970, whole and not below 0. @returns null: it is no such number, or beyond the year 9999 */
export function instantOfEpochMs(text: string): Instant | null {
  if (!/^\d{1,15}$/.test(text)) return null;
  const ms = Number(text);
  const minute = Math.floor(ms / MINUTE_MS);
  const begun = minuteText(minute);
  if (begun.length !== "2026-11-27T14:30".length) return null;
  const rest = ms - minute * MINUTE_MS;
  const second = Math.floor(rest / 1_000);
  return `${begun}${SECONDS[second]}${THOUSANDTHS[rest - second * 1_000]}`;
}

const MINUTE_MS = 60_000;
// A time is made of three pieces, because an answer holds a thousand times.
const SECONDS = Array.from({ length: 60 }, (_, second) => `:${String(second).padStart(2, "0")}.`);
const THOUSANDTHS = Array.from({ length: 1_000 }, (_, part) => `${String(part).padStart(3, "0")}000Z`);

/** A minute since 1970, UTC: a question to a `Date` for each time of an answer would take longer than reading it. */
const minuteText = remembered(10_000, (minute: number): string =>
  new Date(minute * MINUTE_MS).toISOString().slice(0, -8),
);

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * A time of RFC 3339 section 5.6, with up to nine digits behind the second. Those behind the microsecond are cut off, as no column
 * holds them: so a time is never later than it was said. @returns null: it is no such time, no day of the calendar, or no zone
 */
export function instantOfRfc(text: string): Instant | null {
  const [, date, time, fraction = "", zone = ""] = RFC_3339.exec(text) ?? [];
  if (date === undefined) return null;
  const utc = new Date(`${date}T${time}Z`);
  // 2026-02-30 parses as 2 March.
  if (Number.isNaN(utc.getTime()) || !utc.toISOString().startsWith(`${date}T${time}`)) return null;
  const at = /^[Zz]$/.test(zone) ? utc : new Date(`${date}T${time}${zone}`);
  // No zone is a day or more ahead.
  if (Number.isNaN(at.getTime())) return null;
  return `${at.toISOString().slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

export function instantFromDate(date: Date): Instant {
  return instantOf(BigInt(date.getTime()) * 1_000n);
}

/**
 * Cuts the microseconds off.
 *
 * @throws QuotekeeperError UNEXPECTED when the text has another form or names no day of the calendar
 */
export function dateOf(instant: Instant): Date {
  const date = new Date(PATTERN.test(instant) ? `${instant.slice(0, 23)}Z` : NaN);
  // 2026-02-30 parses as 2 March, so a time is right only if it comes back as it was written.
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 23) !== instant.slice(0, 23))
    throw new QuotekeeperError("UNEXPECTED", `"${instant}" is not a UTC time with microseconds`);
  return date;
}

/** How far the monotonic clock may run from the wall clock before the wall clock is believed again, in µs. */
const DRIFT_MICROS = 2_000n;

/** Collectors with numbers of their own. A receive time is at most so many µs late because of its collector's number. */
const OBSERVERS = 256n;

/**
 * Receive times, strictly increasing for as long as the process lives.
 *
 * The wall clock gives the millisecond, the monotonic clock the microseconds since the two were last joined. They are
 * joined again when they run apart (the wall clock was set, or slewed). When the wall clock was set back, times go on
 * from the last one by 1 µs each until it has caught up.
 *
 * Collectors on one database each have a number, which is the remainder of their microseconds by `OBSERVERS`: so two of
 * them never give the same instant.
 *
 * @param numberOf the number, as soon as it is known; null until then
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
