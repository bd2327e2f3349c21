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
  limitOf: (key: ServiceKey, callClass: CallClass) => number;
};

/** Of a window among those of all tokens and classes. */
export function windowName({ callClass, tokenMark }: Pick<KeptWindow, "callClass" | "tokenMark">): string {
  return `${callClass} ${tokenMark}`;
}

/** @param memory default: budgets live as long as the service */
export function createBudgets(limits: Limits, memory?: BudgetMemory): Budgets {
  const windows = new Map<string, Window>((memory?.kept ?? []).map((window) => [windowName(window), window]));
  const limitOf = (key: ServiceKey, callClass: CallClass): number =>
    callClass === "quotes" ? (key.quoteLimit ?? limits.quotes) : limits[callClass];
  const nameOf = ({ accessToken }: ServiceKey, callClass: CallClass): string =>
    windowName({ callClass, tokenMark: tokenMarkOf(accessToken) });
  return {
    limitOf,
    count: (key, callClass, nowMs) => {
      const tokenMark = tokenMarkOf(key.accessToken);
      const name = windowName({ callClass, tokenMark });
      const budget = { limit: limitOf(key, callClass), windowMs: limits.windowMs };
      const counted = countCall(windows.get(name), nowMs, budget);
      windows.set(name, counted.window);
      memory?.onChange({ ...counted.window, callClass, tokenMark }, key);
      return counted;
    },
    refund: (key, callClass, { admitted, window: { startMs } }) => {
      const name = nameOf(key, callClass);
      const window = windows.get(name);
      if (admitted && window?.startMs === startMs) windows.set(name, { startMs, used: window.used - 1 });
    },
    useUp: (key, callClass) => {
      const name = nameOf(key, callClass);
      const window = windows.get(name);
      if (window) windows.set(name, { ...window, used: limitOf(key, callClass) });
    },
  };
}

function tokenMarkOf(token: string): string {
  return createHash("sha256").update(`budget ${token}`).digest().toString("base64url", 0, 16);
}
