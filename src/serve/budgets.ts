/** The budgets of all tokens: each has a window of its own for each class of calls. */
import type { ServiceKey } from "./keys/key.ts";
import { type CallClass, type Count, countCall, type Limits, type Window } from "./limits.ts";

/** Counts calls against the budgets of their tokens. */
export type Budgets = {
  /** Counts a call of a class. @param nowMs the clock, epoch ms */
  count: (key: ServiceKey, callClass: CallClass, nowMs: number) => Count;
  /** Takes what is left of a token's calls of a class, as if somebody else had used it up. */
  useUp: (key: ServiceKey, callClass: CallClass) => void;
  /** Calls of a class that a token may make per window. */
  limitOf: (key: ServiceKey, callClass: CallClass) => number;
};

/** Budgets that nobody has used yet. */
export function createBudgets(limits: Limits): Budgets {
  const windows: Record<CallClass, Map<string, Window>> = {
    quotes: new Map(),
    orders: new Map(),
    other: new Map(),
  };
  const limitOf = (key: ServiceKey, callClass: CallClass): number =>
    callClass === "quotes" ? (key.quoteLimit ?? limits.quotes) : limits[callClass];
  return {
    limitOf,
    count: (key, callClass, nowMs) => {
      const ofClass = windows[callClass];
      const window = ofClass.get(key.accessToken);
      const counted = countCall(window, nowMs, limitOf(key, callClass), limits.windowMs);
      ofClass.set(key.accessToken, counted.window);
      return counted;
    },
    useUp: (key, callClass) => {
      const window = windows[callClass].get(key.accessToken);
      if (window) windows[callClass].set(key.accessToken, { ...window, used: limitOf(key, callClass) });
    },
  };
}
