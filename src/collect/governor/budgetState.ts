/** What the governor knows of the budget, for people who look on. */
import { secondClientCount } from "./secondClient.ts";
import type { ClosedBy, GovernorPhase, GovernorState } from "./state.ts";

export type BudgetState = {
  phase: GovernorPhase;
  /** Calls a window that are left to other programs on the same account. */
  secondClientCount: number;
  /** In the phase `closed`: how long until a call is tried again, ms; 0 otherwise. */
  closedForMs: number;
  /** In the phase `closed`: why; null otherwise. */
  closedBy: ClosedBy | null;
  /** The limit in force, calls a window, and where it is known from. */
  limit: number;
  limitFrom: LimitSource;
  /** Whether another collector may call the same account, and whether we listen for it; see `unsure.ts`. */
  unsure: boolean;
  listening: boolean;
};

/** Where the limit in force is known from: the settings, the headers, or refusals where there are no headers. */
type LimitSource = "settings" | "headers" | "refusals";

/** @param nowMs on the governor's clock */
export function budgetState(state: GovernorState, nowMs: number): BudgetState {
  const { phase, closedUntilMs, closedBy, unsure, quietSinceMs } = state;
  const closed = phase === "closed";
  return {
    phase,
    secondClientCount: secondClientCount(state, nowMs),
    closedForMs: closed ? Math.max(0, closedUntilMs - nowMs) : 0,
    closedBy: closed ? closedBy : null,
    ...limitInForce(state),
    unsure: unsure !== null,
    listening: quietSinceMs !== null,
  };
}

function limitInForce({
  limit,
  config,
  seesCount,
  backOff,
}: GovernorState): Pick<BudgetState, "limit" | "limitFrom"> {
  if (!seesCount && backOff !== null && backOff.capCount < limit)
    return { limit: backOff.capCount, limitFrom: "refusals" };
  return { limit, limitFrom: limit === config.limit ? "settings" : "headers" };
}
