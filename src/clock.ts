/**
 * The only place that reads the machine's clock or its randomness. Everything that decides takes
 * these as arguments, so a test moves time instead of waiting for it.
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
