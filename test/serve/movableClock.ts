import type { Clock } from "../../src/ground/clock.ts";

/** A clock that stands still until it is moved, with countable randomness. */
export function movableClock(start: string): Clock & { advance: (ms: number) => void } {
  let nowMs = Date.parse(start);
  let drawn = 0;
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    uptimeMs: () => nowMs,
    sleep: () => Promise.reject(new Error("nothing here waits")),
    random: (length) => new Uint8Array(length).fill(++drawn % 256),
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
