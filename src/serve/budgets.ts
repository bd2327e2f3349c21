/** The budgets of all tokens: a window for each token and class of calls. */
import { createHash } from "node:crypto";
import type { ServiceKey } from "./keys/key.ts";
import { type CallClass, type Count, countCall, type Limits, type Window } from "./limits.ts";

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
  /** Undoes the count of a call that could not be persisted. @param counted the result of `count` */
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
