/** What Tradier's headers say of its limit. */
import { NO_RATE_LIMIT, type RateLimit } from "../../quotes/rateLimit.ts";

/** Calls of market data (documentation, "Rate limiting"). */
export const LIMITS = {
  production: { calls: 120, windowMs: 60_000 },
  sandbox: { calls: 60, windowMs: 60_000 },
} as const;

/** Epoch milliseconds: in every recorded answer the clock's next full minute. Clients that take it for seconds are wrong. */
const EXPIRY = /^\d{13}$/;

/**
 * Only the end of the window is believed.
 *
 * Assumed: `Used` and `Available` are counted by each node of the gateway for itself: about twenty recorded calls in two seconds
 * were counted up to 3. `Allowed` was 200 in the sandbox, where the documentation says 60. All three stay in the journal.
 */
export function readTradierLimit(headers: Readonly<Record<string, string>>): RateLimit {
  const expiry = headers["x-ratelimit-expiry"]?.trim() ?? "";
  return EXPIRY.test(expiry) ? { ...NO_RATE_LIMIT, expire: Number(expiry.slice(0, -3)) } : NO_RATE_LIMIT;
}
