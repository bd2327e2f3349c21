/** Counts calls against the service's limits (specification, "Limits"). Pure: a window in, a window out. */

/** The three classes of calls, each with a limit of its own. */
export type CallClass = "quotes" | "orders" | "other";

/** Calls allowed per window and class, and the window's length in ms. */
export type Limits = Readonly<Record<CallClass, number>> & { readonly windowMs: number };

/** The limits of the specification: per minute. */
export const SERVICE_LIMITS: Limits = { quotes: 60, orders: 40, other: 180, windowMs: 60_000 };

/**
 * The calls of one token and class since the first of them.
 *
 * Assumed: calls are counted per token, in fixed windows that begin with the first call after the last window ended.
 * Only authenticated calls count, also those that are refused for another reason.
 */
export type Window = { readonly startMs: number; readonly used: number };

/** The headers of every limited call (specification, "Limits"). */
export const LIMIT_HEADERS = [
  "X-RateLimit-Used",
  "X-RateLimit-Expire",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
] as const;

/** The values of the headers; Used + Remaining = Limit, and neither is below 0. */
export type LimitHeaders = Readonly<Record<(typeof LIMIT_HEADERS)[number], string>>;

export type Count = {
  window: Window;
  /** False: the caller gets the rate-limit fault until the window ends. */
  admitted: boolean;
  /** The four headers of every limited call, also of the fault. */
  headers: LimitHeaders;
};

/**
 * Counts one call.
 *
 * @param window of the token and class; undefined before the first call
 * @param nowMs epoch ms; a clock that was set back begins a new window
 * @param budget.limit calls allowed per window
 */
export function countCall(
  window: Window | undefined,
  nowMs: number,
  { limit, windowMs }: { limit: number; windowMs: number },
): Count {
  const isCurrent = window !== undefined && nowMs >= window.startMs && nowMs < window.startMs + windowMs;
  const { startMs, used } = isCurrent ? window : { startMs: nowMs, used: 0 };
  const admitted = used < limit;
  const counted = { startMs, used: admitted ? used + 1 : used };
  // After the limit was lowered within the window, more calls are used than allowed.
  const told = Math.min(counted.used, limit);
  return {
    window: counted,
    admitted,
    headers: {
      "X-RateLimit-Used": String(told),
      "X-RateLimit-Expire": String(Math.ceil((startMs + windowMs) / 1000)),
      "X-RateLimit-Limit": String(limit),
      "X-RateLimit-Remaining": String(limit - told),
    },
  };
}

/** The words of the rate-limit fault, as clients of the live service recorded them (field notes, "Rate limits"). */
export function faultText(limit: number, windowMs: number): string {
  const window = windowMs === 60_000 ? "Minute" : `${windowMs / 1000} seconds`;
  return `API calls quota exceeded! maximum admitted ${limit} per ${window}.`;
}
