/** Plans the calls for what is due together with what still waits, in steps. */
import type { Shares } from "../accounts/shares.ts";
import type { AccountDispatchers } from "./accountDispatchers.ts";
import type { DueJob } from "./asks.ts";
import { type PlannedCall, planInTurn } from "./callPlan.ts";
import { type DueShares, keepWaiting, type SlotOfJob } from "./dueShares.ts";
import type { Outcomes } from "./outcomes.ts";

/**
 * How much is done at a slot's start in one turn of the event loop: slots are opened until so many instruments are due, or so
 * many calls are planned. Answers that have arrived would wait for thousands.
 */
const OPENED_AT_ONCE = 1_000;
const PLANNED_AT_ONCE = 250;

type PlannerOptions = {
  due: DueShares;
  dispatchers: AccountDispatchers;
  outcomes: Outcomes;
  shares: Shares | undefined;
  onChange: (() => void) | undefined;
};

export class Planner {
  readonly #given: PlannerOptions;
  /** Calls that are planned and not dispatched yet. */
  #planned: IterableIterator<PlannedCall> = [].values();

  constructor(given: PlannerOptions) {
    this.#given = given;
  }

  /**
   * Opens all slots of one agreement before any call is planned, so that the slot of every call is in the ledger first.
   *
   * @returns the calls of each step; a step ends where so much has been done that whatever has arrived is to have its turn
   */
  *callsFor(slots: readonly SlotOfJob[]): Iterable<readonly PlannedCall[]> {
    if (slots.length === 0) return;
    const { due, outcomes } = this.#given;
    const { today } = due;
    outcomes.turnTo(today);
    for (const { at, due: agreed } of due.byAgreement(slots)) {
      due.settleOwners(at, today);
      due.noteFirstShares(agreed);
      const jobs: DueJob[] = [];
      let opened = 0;
      for (const scheduled of agreed) {
        const { names, asked } = due.open(scheduled, today);
        jobs.push(outcomes.withoutResting(asked));
        opened += names;
        if (opened < OPENED_AT_ONCE) continue;
        opened = 0;
        yield [];
      }
      yield* this.plan(jobs);
    }
  }

  *plan(jobs: readonly DueJob[], waiting = this.removeWaiting()): Iterable<readonly PlannedCall[]> {
    const { due, dispatchers, outcomes, shares, onChange } = this.#given;
    const { isCalled } = due;
    const isOpen = (account: string): boolean => dispatchers.get(account) !== undefined;
    // What waits at an account that has gone to another collector is missed here: that collector asks for it.
    const isOurs = ({ account }: PlannedCall): boolean =>
      account === null || isOpen(account) || isCalled(account);
    for (const call of waiting) if (!isOurs(call)) outcomes.end(call, { kind: "missed", reason: "down" });
    const ours = waiting.filter(isOurs);
    let { ownerOf } = due;
    if (ownerOf) {
      const kept = keepWaiting(ours, ownerOf, { isCalled, isOpen, isAgreed: shares?.isAgreed === true });
      for (const { wants, name } of kept.lost) outcomes.fate(wants, [name], "down");
      ({ ownerOf } = kept);
    }
    const planned = dispatchers.probed(planInTurn(jobs, { ...outcomes.planOptions, ownerOf }, ours));
    this.#planned = planned;
    for (let calls = some(planned); calls.length > 0; calls = some(planned)) yield calls;
    onChange?.();
  }

  removeWaiting(): PlannedCall[] {
    return [...this.#given.dispatchers.removeWaiting(), ...this.#planned];
  }
}

/** The next calls that are dispatched in one turn; none at the end. */
function some(planned: IterableIterator<PlannedCall>): PlannedCall[] {
  const calls: PlannedCall[] = [];
  while (calls.length < PLANNED_AT_ONCE) {
    const { value, done } = planned.next();
    if (done) break;
    calls.push(value);
  }
  return calls;
}
