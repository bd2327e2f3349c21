/** Plans what is due together with what still waits, and dispatches it in steps. */
import type { Shares } from "../accounts/shares.ts";
import type { AccountDispatchers } from "./accountDispatchers.ts";
import type { DueJob } from "./asks.ts";
import { isOnce, type PlannedCall, planInTurn } from "./callPlan.ts";
import type { OnceCalls } from "./once/onceCalls.ts";
import { type DueShares, keepWaiting, type SlotOfJob } from "./dueShares.ts";
import type { Outcomes } from "./outcomes.ts";

/**
 * How much is done at a slot's start in one turn of the event loop: slots are opened until so many instruments are due, or so
 * many calls are dispatched. Answers that have arrived would wait for thousands.
 */
const OPENED_AT_ONCE = 1_000;
const ADDED_AT_ONCE = 250;

type PlannerOptions = {
  due: DueShares;
  dispatchers: AccountDispatchers;
  outcomes: () => Outcomes;
  shares: Shares | undefined;
  once: OnceCalls;
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
   * A step ends where so much has been done that whatever has arrived is to have its turn.
   */
  *poll(due: readonly SlotOfJob[]): Iterable<void> {
    if (due.length === 0) return;
    const { today } = this.#given.due;
    this.#given.outcomes().turnTo(today);
    for (const { at, due: agreed } of this.#given.due.byAgreement(due)) {
      this.#given.due.settleOwners(at, today);
      this.#given.due.noteFirstShares(agreed);
      const jobs: DueJob[] = [];
      let opened = 0;
      for (const scheduled of agreed) {
        const { names, asked } = this.#given.due.open(scheduled, today);
        jobs.push(this.#given.outcomes().withoutResting(asked));
        opened += names;
        if (opened < OPENED_AT_ONCE) continue;
        opened = 0;
        yield;
      }
      yield* this.plan(jobs);
    }
  }

  *plan(jobs: readonly DueJob[], waiting = this.removeWaiting()): Iterable<void> {
    const { shares, onChange } = this.#given;
    const { isCalled } = this.#given.due;
    const isOpen = (account: string): boolean => this.#given.dispatchers.has(account);
    // What waits at an account that has gone to another collector is missed here: that collector asks for it.
    const isOurs = ({ account }: PlannedCall): boolean =>
      account === null || isOpen(account) || isCalled(account);
    for (const call of waiting)
      if (!isOurs(call)) this.#given.outcomes().end(call, { kind: "missed", reason: "down" });
    const ours = waiting.filter(isOurs);
    const options = this.#given.outcomes().planOptions;
    let { ownerOf } = this.#given.due;
    if (ownerOf) {
      const kept = keepWaiting(ours, ownerOf, { isCalled, isOpen, isAgreed: shares?.isAgreed === true });
      for (const { wants, name } of kept.lost) this.#given.outcomes().fate(wants, [name], "down");
      ({ ownerOf } = kept);
    }
    this.#planned = this.#given.dispatchers.probed(planInTurn(jobs, { ...options, ownerOf }, ours));
    let added = 0;
    for (const call of this.#planned) {
      this.add(call);
      added += 1;
      if (added % ADDED_AT_ONCE === 0) yield;
    }
    onChange?.();
  }

  /** Plans what waits once more, because accounts have come or gone. */
  planAgain(waiting: PlannedCall[]): void {
    this.#given.due.settleOwners();
    allOf(this.plan([], waiting));
  }

  /** Removes the calls that only wait for their turn, so that they can be planned again. */
  removeWaiting(): PlannedCall[] {
    return [...this.#given.dispatchers.removeWaiting(), ...this.#planned];
  }

  add(planned: PlannedCall): void {
    if (isOnce(planned)) return this.#given.once.add(planned);
    const reason = this.#given.dispatchers.add(planned);
    if (reason !== null) this.#given.outcomes().end(planned, { kind: "missed", reason });
  }

  /** Has another account ask for what this one was refused, while the slot lasts. @returns whether one does */
  askInstead(planned: PlannedCall): boolean {
    const account = this.#given.dispatchers.standIn(planned);
    if (account !== null) this.add({ ...planned, account });
    return account !== null;
  }
}

/** Goes through steps without a turn of the event loop in between. */
export function allOf(steps: Iterable<void>): void {
  for (const _ of steps);
}
