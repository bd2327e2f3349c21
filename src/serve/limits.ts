/** Counts calls against the service's limits (specification, "Limits"): one window, and the windows of all tokens. */
import { createHash } from "node:crypto";
import type { ServiceKey } from "./keys/key.ts";

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

type Count = {
  window: Window;
  /** False: the caller gets the rate-limit fault until the window ends. */
  admitted: boolean;
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

/** A window as the nonce log keeps it for the next run. */
export type KeptWindow = Window & {
  callClass: CallClass;
  /** 128 bits of the token's SHA-256, 22 characters of base64url: the file does not give the token away. */
  tokenMark: string;
};

export type BudgetMemory = {
  /** Windows of earlier runs; of several windows of one token and class the last counts. */
  kept: readonly KeptWindow[];
  /** Called with each changed window, before its call is answered. */
  onChange: (window: KeptWindow, of: ServiceKey) => void;
};

type Budgets = {
  /** Counts a call. @param nowMs epoch ms */
  count: (key: ServiceKey, callClass: CallClass, nowMs: number) => Count;
  refund: (key: ServiceKey, callClass: CallClass, counted: Count) => void;
  useUp: (key: ServiceKey, callClass: CallClass) => void;
  /** Calls of a class that a token may make per window. */
  limitOf: (key: ServiceKey, callClass: CallClass) => number;
};

/** @param memory default: budgets live as long as the service */
export function createBudgets(limits: Limits, memory?: BudgetMemory): Budgets {
  const windows = ofEachClass<Window>();
  for (const { callClass, tokenMark, ...window } of memory?.kept ?? [])
    windows[callClass].set(tokenMark, window);
  const marks = new Map<string, string>();
  const markOf = ({ accessToken }: ServiceKey): string => {
    const known = marks.get(accessToken);
    if (known !== undefined) return known;
    const mark = tokenMarkOf(accessToken);
    marks.set(accessToken, mark);
    return mark;
  };
  const limitOf = (key: ServiceKey, callClass: CallClass): number =>
    callClass === "quotes" ? (key.quoteLimit ?? limits.quotes) : limits[callClass];
  return {
    limitOf,
    count: (key, callClass, nowMs) => {
      const tokenMark = markOf(key);
      const budget = { limit: limitOf(key, callClass), windowMs: limits.windowMs };
      const counted = countCall(windows[callClass].get(tokenMark), nowMs, budget);
      const { startMs, used } = counted.window;
      windows[callClass].set(tokenMark, counted.window);
      memory?.onChange({ startMs, used, callClass, tokenMark }, key);
      return counted;
    },
    refund: (key, callClass, { admitted, window: { startMs } }) => {
      const tokenMark = markOf(key);
      const window = windows[callClass].get(tokenMark);
      if (admitted && window?.startMs === startMs)
        windows[callClass].set(tokenMark, { startMs, used: window.used - 1 });
    },
    useUp: (key, callClass) => {
      const tokenMark = markOf(key);
      const window = windows[callClass].get(tokenMark);
      if (window) windows[callClass].set(tokenMark, { ...window, used: limitOf(key, callClass) });
    },
  };
}

/** A map for each class of calls, by token mark: a key of both texts would have to be built for each call. */
export function ofEachClass<Value>(): Record<CallClass, Map<string, Value>> {
  return { quotes: new Map(), orders: new Map(), other: new Map() };
}

function tokenMarkOf(token: string): string {
  return createHash("sha256").update(`budget ${token}`).digest().toString("base64url", 0, 16);
}
