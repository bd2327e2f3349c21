/** Ways in which a service may count. */
import { countCall, type Window } from "../../../src/serve/limits.ts";

/** 60 calls a minute. */
export const GOVERNOR = { limit: 60, windowMs: 60_000 };

/** How a service counts: the headers of a call, and whether it is let through. */
export type Rule = (nowMs: number) => { admitted: boolean; headers: Record<string, string> };

/** Windows that begin with the first call after the last one ended. */
export function fixedWindow(): Rule {
  let window: Window | undefined;
  return (nowMs) => {
    const count = countCall(window, nowMs, GOVERNOR);
    window = count.window;
    const headers = Object.entries(count.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { admitted: count.admitted, headers: Object.fromEntries(headers) as Record<string, string> };
  };
}

/** At each call the minute before it counts. */
export function slidingWindow(): Rule {
  let counted: number[] = [];
  return (nowMs) => {
    counted = counted.filter((at) => at > nowMs - GOVERNOR.windowMs);
    const admitted = counted.length < GOVERNOR.limit;
    if (admitted) counted.push(nowMs);
    const used = String(counted.length);
    const remaining = String(GOVERNOR.limit - counted.length);
    return {
      admitted,
      headers: { "x-ratelimit-used": used, "x-ratelimit-remaining": remaining, "x-ratelimit-limit": "60" },
    };
  };
}
