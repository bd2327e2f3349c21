/**
 * Walks a day in virtual time, as the collector would: at each slot what is due is planned with what still waits; calls leave one by
 * one at the even pace of the limit, the most urgent first; what has not left when its slot is over is starved. Pure.
 */
import {
  type Ask,
  type AskGroup,
  type DueJob,
  dueNames,
  grouped,
  planAsks,
  type Wishes,
  wishesOf,
} from "./asks.ts";

export function slotsInOrder(due: readonly DueJob[]): [string, DueJob[]][] {
  return [...grouped(due, ({ slotAt }) => slotAt)].sort(([a], [b]) => (a < b ? -1 : 1));
}

export type BudgetWalk = {
  /** Instruments that no call reached in time, by job; jobs without any are left out. */
  starved: Map<string, number>;
  /** When the last call of each slot left, ms after it, by its time; null where some never did. */
  doneMs: Map<string, number | null>;
  /** When everything had been asked once, ms after the first slot; null when something never was. */
  fullPassMs: number | null;
};

export function walkBudget(due: readonly DueJob[], gapMs: number, batchSize: number): BudgetWalk {
  const slots = slotsInOrder(due);
  const walker = new Walker(gapMs, batchSize);
  for (const [slotAt, jobs] of slots) walker.slot(Date.parse(slotAt), jobs);
  walker.until(Infinity);
  return walker.result(Date.parse(slots[0]?.[0] ?? ""), new Set(due.map(dueNames)));
}

class Walker {
  readonly #gapMs: number;
  readonly #batchSize: number;
  readonly #starved = new Map<string, number>();
  readonly #doneMs = new Map<string, number | null>();
  readonly #firstMs = new Map<string, number>();
  readonly #lastMs = new Map<string, number>();
  #waiting: AskGroup[] = [];
  #freeMs = -Infinity;

  constructor(gapMs: number, batchSize: number) {
    this.#gapMs = gapMs;
    this.#batchSize = batchSize;
  }

  slot(atMs: number, due: readonly DueJob[]): void {
    this.until(atMs);
    this.#freeMs = Math.max(this.#freeMs, atMs);
    this.#waiting = planAsks(
      due,
      { batchSize: this.#batchSize, lastSeenMs: (name) => this.#lastMs.get(name) ?? 0 },
      this.#lasting(this.#waiting, atMs),
    );
  }

  until(untilMs: number): void {
    let next = 0;
    for (; next < this.#waiting.length && this.#freeMs < untilMs; next += 1) {
      const waiting = this.#waiting[next];
      const asks = waiting ? this.#lasting([waiting], this.#freeMs) : [];
      if (asks.length === 0) continue;
      this.#leave(asks);
      this.#freeMs += this.#gapMs;
    }
    this.#waiting = this.#waiting.slice(next);
  }

  result(firstMs: number, due: Iterable<readonly string[]>): BudgetWalk {
    const passes = [...this.#firstMs.values()].map((first) => first - firstMs);
    const complete = [...due].every((names) => names.every((name) => this.#firstMs.has(name)));
    return {
      starved: this.#starved,
      doneMs: this.#doneMs,
      fullPassMs: complete ? passes.reduce((longest, each) => Math.max(longest, each), 0) : null,
    };
  }

  #leave(asks: readonly Ask[]): void {
    const atMs = this.#freeMs;
    const slots = new Set<string>();
    for (const { subject } of asks) {
      if (!this.#lastMs.has(subject.name)) this.#firstMs.set(subject.name, atMs);
      this.#lastMs.set(subject.name, atMs);
    }
    for (const by of new Set(asks.map((ask) => ask.by))) for (const { slotAt } of by.wants) slots.add(slotAt);
    for (const slotAt of slots)
      if (this.#doneMs.get(slotAt) !== null) this.#doneMs.set(slotAt, atMs - Date.parse(slotAt));
  }

  /** What is wanted still; the rest is starved. */
  #lasting(groups: readonly AskGroup[], atMs: number): Ask[] {
    type Fate = { by: Wishes; left: Wishes | null; count: number };
    const known = new Map<Wishes, Fate>();
    const lasting: Ask[] = [];
    let fate: Fate | undefined;
    for (const { asks } of groups)
      for (const ask of asks) {
        const { by } = ask;
        // Mostly the same jobs want it as want the one before, and all of it lasts.
        if (fate?.by !== by) fate = known.get(by) ?? { by, left: leftOf(by, atMs), count: 0 };
        if (fate.count === 0) known.set(by, fate);
        fate.count += 1;
        if (fate.left === by) lasting.push(ask);
        else if (fate.left) lasting.push({ subject: ask.subject, by: fate.left });
      }
    for (const [{ wants }, { count }] of known)
      for (const { job, slotAt } of wants.filter(({ deadlineMs }) => deadlineMs <= atMs)) {
        this.#starved.set(job, (this.#starved.get(job) ?? 0) + count);
        this.#doneMs.set(slotAt, null);
      }
    return lasting;
  }
}

/** What is left of wishes at an instant; null: nothing. */
function leftOf(by: Wishes, atMs: number): Wishes | null {
  if (by.deadlineMs > atMs) return by;
  const wants = by.wants.filter(({ deadlineMs }) => deadlineMs > atMs);
  return wants.length > 0 ? wishesOf(wants) : null;
}
