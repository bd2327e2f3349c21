/** The four headers of the specification's service that tell of its limit ("Limits"; field notes, "Rate limits"). */
import type { RateLimit } from "../../quotes/rateLimit.ts";

/** Assumed: a plain decimal number, no exponent and no thousands separators, is the only form a header takes. */
const DECIMAL = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

/**
 * Never throws.
 *
 * @param get the value of a header by its name
 * @returns null for a value that is absent, negative or no plain decimal number; counts are rounded to the careful side
 *   (`used` up, `remaining` and `limit` down)
 */
export function readRateLimitHeaders(get: (name: string) => string | undefined): RateLimit {
  return {
    used: roundedFrom(0, Math.ceil, get("X-RateLimit-Used")),
    remaining: roundedFrom(0, Math.floor, get("X-RateLimit-Remaining")),
    limit: roundedFrom(1, Math.floor, get("X-RateLimit-Limit")),
    expire: roundedFrom(0, (seconds) => seconds, get("X-RateLimit-Expire")),
  };
}

function roundedFrom(
  least: number,
  round: (value: number) => number,
  text: string | undefined,
): number | null {
  const trimmed = text?.trim() ?? "";
  if (!DECIMAL.test(trimmed)) return null;
  const value = round(Number(trimmed));
  // -0.5 rounds up to -0: below zero is unusable before rounding, not after.
  return Number(trimmed) >= 0 && value >= least ? value : null;
}
