/** The budgets of all tokens: each has a window of its own for each class of calls. */
import { createHash } from "node:crypto";
import type { ServiceKey } from "./keys/key.ts";
import { type CallClass, type Count, countCall, type Limits, type Window } from "./limits.ts";

/** A window as it is written down, for the next run. */
export type KeptWindow = Window & {
  callClass: CallClass;
  /** 128 bits of the SHA-256 of its token, 22 characters of base64url: the token itself is nobody's to read. */
  tokenMark: string;
};

/** What outlives a run. */
export type BudgetMemory = {
  /** Windows of earlier runs; of several of one token and class the last counts. */
  kept: readonly KeptWindow[];
  /** Told of each window that has changed, before its call is answered. */
  keep: (window: KeptWindow, of: ServiceKey) => void;
};

/** Counts calls against the budgets of their tokens. */
type Budgets = {
  /** Counts a call of a class. @param nowMs the clock, epoch ms */
  count: (key: ServiceKey, callClass: CallClass, nowMs: number) => Count;
  /** Takes a call back that was counted and could not be kept. @param counted what `count` gave for it */
  takeBack: (key: ServiceKey, callClass: CallClass, counted: Count) => void;
  /** Takes what is left of a token's calls of a class, as if somebody else had used it up. */
  useUp: (key: ServiceKey, callClass: CallClass) => void;
  /** Calls of a class that a token may make per window. */
  limitOf: (key: ServiceKey, callClass: CallClass) => number;
};

/** Budgets that nobody has used since the runs before. @param memory default: they live as long as the service */
export function createBudgets(limits: Limits, memory?: BudgetMemory): Budgets {
  const windows = new Map<string, Window>();
  for (const { callClass, tokenMark, ...window } of memory?.kept ?? [])
    windows.set(`${callClass} ${tokenMark}`, window);
  const marks = new Map<string, string>();
  const markOf = ({ accessToken }: ServiceKey): string => {
    const mark = marks.get(accessToken) ?? tokenMarkOf(accessToken);
    marks.set(accessToken, mark);
    return mark;
  };
  const limitOf = (key: ServiceKey, callClass: CallClass): number =>
    callClass === "quotes" ? (key.quoteLimit ?? limits.quotes) : limits[callClass];
  return {
    limitOf,
    count: (key, callClass, nowMs) => {
      const tokenMark = markOf(key);
      const name = `${callClass} ${tokenMark}`;
      const budget = { limit: limitOf(key, callClass), windowMs: limits.windowMs };
      const counted = countCall(windows.get(name), nowMs, budget);
      windows.set(name, counted.window);
      memory?.keep({ ...counted.window, callClass, tokenMark }, key);
      return counted;
    },
    takeBack: (key, callClass, { admitted, window: { startMs } }) => {
      const name = `${callClass} ${markOf(key)}`;
      const window = windows.get(name);
      if (admitted && window?.startMs === startMs) windows.set(name, { startMs, used: window.used - 1 });
    },
    useUp: (key, callClass) => {
      const name = `${callClass} ${markOf(key)}`;
      const window = windows.get(name);
      if (window) windows.set(name, { ...window, used: limitOf(key, callClass) });
    },
  };
}

function tokenMarkOf(token: string): string {
  return createHash("sha256").update(`budget ${token}`).digest().toString("base64url", 0, 16);
}
