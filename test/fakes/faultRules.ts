/** When a fake answers something else on purpose. */

/** A whole answer in place of quotes. */
export type FaultAnswer = { status: number; type: string; body: string };

/** Faults of the connection: half of an answer, no answer at all, an answer in two halves with `SLOW_MS` in between. */
export const CONNECTION_FAULTS = ["cutBody", "closedConnection", "slowBody"] as const;

/** How long the second half of a slow body takes, ms of the fake's clock. */
export const SLOW_MS = 5_000;

/** When a fault happens: at each call that meets all that is said here. */
export type FaultRule<Name extends string> = {
  fault: Name;
  /** Calls by their number, from 1. */
  numbers?: readonly number[];
  /** Each so many-th call. */
  every?: number;
  /** In [from, until). */
  from?: Date;
  until?: Date;
  /** Such as `/v1/markets/quotes`; what lies below it as well. */
  path?: string;
};

/** The fault of the first rule that a call meets. @param call its number from 1, when it came, and its path */
export function faultOf<Name extends string>(
  rules: readonly FaultRule<Name>[],
  call: { number: number; at: Date; path: string },
): Name | null {
  const met = rules.find(
    ({ numbers, every, from, until, path }) =>
      (numbers === undefined || numbers.includes(call.number)) &&
      (every === undefined || call.number % every === 0) &&
      (from === undefined || call.at >= from) &&
      (until === undefined || call.at < until) &&
      (path === undefined || call.path === path || call.path.startsWith(`${path}/`)),
  );
  return met?.fault ?? null;
}
