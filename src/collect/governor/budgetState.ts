/** What the governor knows of the budget, for people who look on. */
import { secondClientCount } from "./secondClient.ts";
import type { GovernorPhase, GovernorState } from "./state.ts";

/** The budget at an instant. */
export type BudgetState = {
  phase: GovernorPhase;
  /** Calls a window that are left to other programs on the same account. */
  secondClientCount: number;
  /** In the phase `closed`: how long until a call is tried again, ms; 0 otherwise. */
  closedForMs: number;
};

/** @param nowMs on the governor's clock */
export function budgetState(state: GovernorState, nowMs: number): BudgetState {
  const { phase, closedUntilMs } = state;
  return {
    phase,
    secondClientCount: secondClientCount(state, nowMs),
    closedForMs: phase === "closed" ? Math.max(0, closedUntilMs - nowMs) : 0,
  };
}
