import { type Clock, systemClock } from "../../src/ground/clock.ts";

/** A clock that only a test moves. */
export type TestClock = Clock & {
  /** Moves it forward, or back: `ms` milliseconds. The monotonic clock only ever goes forward. */
  advance: (ms: number) => void;
  /** Sets the wall clock alone, as an operator does. */
  setTo: (wall: string) => void;
  /** How long each sleep was, in order, ms. */
  slept: number[];
};

/**
 * A clock that stands still until it is moved. A sleep does not wait: it moves the clock and is over. Its chance
 * counts up, so that names and nonces differ.
 *
 * @param start the wall clock, ISO 8601
 * @param options.onSleep what happens in the world during each sleep, before it is over
 */
export function createTestClock(
  start = "2026-11-20T22:50:00.000Z",
  { onSleep }: { onSleep?: (ms: number) => Promise<void> | void } = {},
): TestClock {
  let wallMs = Date.parse(start);
  let elapsedMs = 0;
  let drawn = 0;
  const slept: number[] = [];
  const advance = (ms: number): void => {
    wallMs += ms;
    elapsedMs += Math.max(0, ms);
  };
  return {
    slept,
    advance,
    now: () => new Date(wallMs),
    monotonicMs: () => elapsedMs,
    uptimeMs: () => elapsedMs,
    setTo: (wall) => {
      wallMs = Date.parse(wall);
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      await onSleep?.(ms);
      advance(ms);
      // Let sockets and files have their turn: a loop that sleeps must not starve them.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
    random: (length) => {
      const bytes = Buffer.alloc(Math.max(4, length));
      bytes.writeUInt32BE((drawn += 1), bytes.length - 4);
      return bytes.subarray(-length);
    },
  };
}

/** How long a loader waits when a person has to act. */
const STUCK_WAIT_MS = 30_000;

/** The machine's clock, but for the long waits of a stuck loader: those are over when the test says so. */
export function patientClock(): { clock: Clock; passWaits: () => void } {
  let pass: () => void = () => undefined;
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      ms < STUCK_WAIT_MS
        ? systemClock.sleep(ms, signal)
        : new Promise((resolve, reject) => {
            const before = pass;
            const abort = (): void => reject(signal?.reason as Error);
            signal?.addEventListener("abort", abort);
            pass = () => {
              before();
              signal?.removeEventListener("abort", abort);
              resolve();
            };
          }),
  };
  return {
    clock,
    passWaits: () => {
      const passed = pass;
      pass = () => undefined;
      passed();
    },
  };
}
