/**
 * Alpaca's limit of calls, and the three headers that say how much of it is left (market-data-api.json, "X-RateLimit-*").
 *
 * Assumed: the window is a minute of the clock, or a minute that slides: no page says which. `Reset` is then the next full minute, or
 * when the oldest counted call leaves the window. A refused call is not counted.
 */

const MINUTE_MS = 60_000;

export type LimitOptions = { calls: number; window: "fixed" | "sliding" };

/** The Basic plan, free: 200 calls a minute ("About Market Data API", 2026-07-16). */
export const BASIC_LIMIT: LimitOptions = { calls: 200, window: "fixed" };

type CountedCall = { isAnswered: boolean; headers: Record<string, string> };

/** @returns what becomes of a call at an instant, epoch ms */
export function createLimit({ calls, window }: LimitOptions): (atMs: number) => CountedCall {
  let counted: number[] = [];
  return (atMs) => {
    const minute = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    const from = window === "fixed" ? minute : atMs - MINUTE_MS + 1;
    counted = counted.filter((one) => one >= from);
    const isAnswered = counted.length < calls;
    if (isAnswered) counted.push(atMs);
    const resetMs = window === "fixed" ? minute + MINUTE_MS : (counted[0] ?? atMs) + MINUTE_MS;
    return {
      isAnswered,
      headers: {
        "X-RateLimit-Limit": String(calls),
        "X-RateLimit-Remaining": String(calls - counted.length),
        "X-RateLimit-Reset": String(Math.ceil(resetMs / 1_000)),
      },
    };
  };
}
