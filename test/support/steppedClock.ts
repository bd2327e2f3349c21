/** A clock that goes on step by step, as a test says, for what many wait on. */
import type { Clock } from "../../src/ground/clock.ts";

/** A clock whose sleeps last until the test lets their time pass; many may wait on it. */
export function steppedClock() {
  let nowMs = 0;
  const sleepers = new Set<{ untilMs: number; wake: () => void }>();
  const clock: Clock = {
    now: () => new Date(Date.parse("2026-11-22T05:49:00Z") + nowMs),
    monotonicMs: () => nowMs,
    uptimeMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = {
          untilMs: nowMs + ms,
          wake: () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        if (signal?.aborted) return reject(signal.reason as Error);
        const onAbort = (): void => {
          sleepers.delete(sleeper);
          reject(signal?.reason as Error);
        };
        signal?.addEventListener("abort", onAbort);
        sleepers.add(sleeper);
      }),
    random: (length) => new Uint8Array(length),
  };
  return {
    clock,
    /** How many sleep. */
    asleep: () => sleepers.size,
    /** Time passes without anybody's waking: the process is stopped. */
    stop: (ms: number) => void (nowMs += ms),
    /** Goes on to the next that wakes. */
    step: () => {
      nowMs = Math.max(nowMs, Math.min(...[...sleepers].map(({ untilMs }) => untilMs)));
      for (const sleeper of [...sleepers])
        if (sleeper.untilMs <= nowMs) {
          sleepers.delete(sleeper);
          sleeper.wake();
        }
    },
  };
}
export type Stepped = ReturnType<typeof steppedClock>;

/** What comes of an attempt, each look half a second after the one before; `between` happens before each. */
export async function outcome(
  work: Promise<unknown>,
  time: Stepped,
  between: () => Promise<unknown> = async () => undefined,
) {
  let done: unknown = null;
  void work.then(
    () => (done = "taken"),
    (error: unknown) => (done = error),
  );
  while (done === null) {
    await new Promise((resolve) => setImmediate(resolve));
    if (done !== null || time.asleep() === 0) continue;
    await between();
    time.step();
  }
  return { done };
}
