/**
 * Walks a day in virtual time, as the collector would: at each slot what is due is planned with what still waits;
 * calls leave one by one at the even pace of the limit, the most urgent first; what has not left when its slot is
 * over is starved. Pure.
 */
import { grouped } from "./grouped.ts";
import { type DueJob, type PlannedCall, planCalls, split } from "./callPlan.ts";

/** What came of it. */
export type BudgetWalk = {
  /** Instruments that no call reached in time, by job; jobs without any are left out. */
  starved: Map<string, number>;
  /** When the last call of each slot left, ms after it, by its time; null where some never did. */
  doneMs: Map<string, number | null>;
  /** When everything had been asked once, ms after the first slot; null when something never was. */
  fullPassMs: number | null;
};

/** @param gapMs time between two calls */
export function walkBudget(due: readonly DueJob[], gapMs: number, batchSize: number): BudgetWalk {
  const bySlot = grouped(due, ({ slotAt }) => slotAt);
  const instants = [...bySlot.keys()].sort();
  const walker = new Walker(gapMs, batchSize);
  for (const slotAt of instants) walker.slot(Date.parse(slotAt), bySlot.get(slotAt) ?? []);
  walker.until(Infinity);
  return walker.result(Date.parse(instants[0] ?? ""));
}

class Walker {
  readonly #gapMs: number;
  readonly #batchSize: number;
  readonly #starved = new Map<string, number>();
  readonly #doneMs = new Map<string, number | null>();
  /** When each instrument was asked first and last. */
  readonly #asked = new Map<string, { first: number; last: number }>();
  readonly #never = new Set<string>();
  #waiting: PlannedCall[] = [];
  #freeMs = -Infinity;

  constructor(gapMs: number, batchSize: number) {
    this.#gapMs = gapMs;
    this.#batchSize = batchSize;
  }

  /** A slot comes. */
  slot(atMs: number, due: readonly DueJob[]): void {
    this.until(atMs);
    this.#freeMs = Math.max(this.#freeMs, atMs);
    const lasting = this.#waiting.flatMap((call) => this.#lasting(call, atMs) ?? []);
    this.#waiting = planCalls(
      due,
      { batchSize: this.#batchSize, lastSeenMs: (name) => this.#asked.get(name)?.last ?? 0 },
      lasting,
    );
  }

  /** Lets calls leave until an instant. */
  until(untilMs: number): void {
    let next = 0;
    for (; next < this.#waiting.length && this.#freeMs < untilMs; next += 1) {
      const waiting = this.#waiting[next];
      const call = waiting && this.#lasting(waiting, this.#freeMs);
      if (!call) continue;
      this.#leave(call);
      this.#freeMs += this.#gapMs;
    }
    this.#waiting = this.#waiting.slice(next);
  }

  result(firstMs: number): BudgetWalk {
    const passes = [...this.#asked.values()].map(({ first }) => first - firstMs);
    const complete = [...this.#never].every((name) => this.#asked.has(name));
    return {
      starved: this.#starved,
      doneMs: this.#doneMs,
      fullPassMs: complete ? passes.reduce((longest, each) => Math.max(longest, each), 0) : null,
    };
  }

  #leave(call: PlannedCall): void {
    const atMs = this.#freeMs;
    const slots = new Set<string>();
    for (const [name, wants] of call.wants) {
      this.#asked.set(name, { first: this.#asked.get(name)?.first ?? atMs, last: atMs });
      for (const { slotAt } of wants) slots.add(slotAt);
    }
    for (const slotAt of slots)
      if (this.#doneMs.get(slotAt) !== null) this.#doneMs.set(slotAt, atMs - Date.parse(slotAt));
  }

  /** What of a call is wanted still; the rest is starved. */
  #lasting(call: PlannedCall, atMs: number): PlannedCall | null {
    if (call.deadlineMs > atMs) return call;
    const [over, lasting] = split(call, ({ deadlineMs }) => deadlineMs <= atMs);
    for (const [name, wants] of over?.wants ?? []) {
      this.#never.add(name);
      for (const { job, slotAt } of wants) {
        this.#starved.set(job, (this.#starved.get(job) ?? 0) + 1);
        this.#doneMs.set(slotAt, null);
      }
    }
    return lasting;
  }
}
