/** Planning in the simplest way, instrument by instrument: what is quicker in `src/collect/` is held to it. */
import {
  type DueJob,
  grouped,
  namesOf,
  optionCall,
  type PlanOptions,
  type Want,
} from "../../src/collect/asks.ts";

import type { PlannedCall } from "../../src/collect/callPlan.ts";
import { byUrgency, type Urgency } from "../../src/collect/urgency.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";

/** One instrument or watchlist, the call that would ask for it alone, and who wants it. */
type Ask = { name: string; call: QuoteCall; wants: readonly Want[] };

/** As `planCalls`. */
export function simplePlanCalls(
  due: readonly DueJob[],
  options: PlanOptions,
  waiting: readonly PlannedCall[] = [],
): PlannedCall[] {
  const asks = new Map<string, Ask>();
  for (const ask of [...waiting.flatMap(asksOfCall), ...due.flatMap(asksOfJob)]) {
    const key = `${ask.call.form} ${ask.call.delayed} ${ask.name}`;
    const known = asks.get(key);
    asks.set(key, known ? { ...known, wants: [...known.wants, ...ask.wants] } : ask);
  }
  const ordered = [...asks.values()].map((ask) => ({ ...ask, ...urgencyOf(ask, options) })).sort(byUrgency);
  const lists = ordered.filter(({ call }) => call.form === "symbols");
  return [
    ...ordered.filter(({ call }) => call.form !== "symbols").map((ask) => combined([ask])),
    ...[false, true].flatMap((delayed) =>
      batches(
        lists.filter(({ call }) => call.delayed === delayed),
        options,
      ),
    ),
  ].sort(byUrgency);
}

function callsOf({ job, symbols, contracts }: Pick<DueJob, "job" | "symbols" | "contracts">): QuoteCall[] {
  const { delayed, watchlist } = job;
  return [
    ...symbols.map((symbol) => ({ form: "symbols" as const, symbols: [symbol], delayed })),
    ...(watchlist === null ? [] : [{ form: "watchlist" as const, watchlist, delayed }]),
    ...contracts.map((asked) => optionCall(asked, { delayed })),
  ];
}

function asksOfJob(due: DueJob): Ask[] {
  const { job, slotAt, deadlineMs, closes } = due;
  const wants = [{ job: job.name, priority: job.priority, slotAt, deadlineMs, closes }];
  const asks = callsOf(due).map((call) => ({ name: namesOf(call)[0] ?? "", call, wants }));
  // A job that names a contract twice, or a chain's contract besides, wants it once.
  return [...new Map(asks.map((ask) => [`${ask.call.form} ${ask.name}`, ask])).values()];
}

function asksOfCall({ call, wants }: PlannedCall): Ask[] {
  const calls =
    call.form === "symbols" ? call.symbols.map((symbol) => ({ ...call, symbols: [symbol] })) : [call];
  return calls.map((single) => {
    const [name = ""] = namesOf(single);
    return { name, call: single, wants: wants.get(name) ?? [] };
  });
}

function urgencyOf({ name, wants }: Pick<Ask, "name" | "wants">, { lastSeenMs }: PlanOptions): Urgency {
  return {
    priority: Math.max(...wants.map(({ priority }) => priority)),
    deadlineMs: Math.min(...wants.map(({ deadlineMs }) => deadlineMs)),
    unseenSinceMs: lastSeenMs?.(name) ?? 0,
  };
}

/** The most urgent symbols share a call; one that is asked for in passing costs nothing where there is room. */
function batches(ordered: readonly (Ask & Urgency)[], { batchSize, alone }: PlanOptions): PlannedCall[] {
  const isAlone = ({ call }: Ask): boolean =>
    call.form === "symbols" && call.symbols.some((symbol) => alone?.(symbol));
  const together = ordered.filter((ask) => !isAlone(ask));
  const groups = ordered.filter(isAlone).map((ask) => [ask]);
  for (let start = 0; start < together.length; start += batchSize)
    groups.push(together.slice(start, start + batchSize));
  return groups.map(combined);
}

/** One call for several symbols, or for one thing of any form. */
function combined(asks: readonly (Ask & Urgency)[]): PlannedCall {
  const [first] = asks;
  if (!first) throw new RangeError("a call asks for something");
  const symbols = asks.flatMap(({ call }) => (call.form === "symbols" ? call.symbols : []));
  const wants = new Map(asks.map((ask) => [ask.name, ask.wants]));
  return {
    call: first.call.form === "symbols" ? { ...first.call, symbols } : first.call,
    wants,
    account: null,
    ...servedBy(wants),
    priority: Math.max(...asks.map(({ priority }) => priority)),
    deadlineMs: Math.min(...asks.map(({ deadlineMs }) => deadlineMs)),
    unseenSinceMs: Math.min(...asks.map(({ unseenSinceMs }) => unseenSinceMs)),
  };
}

function servedBy(wants: PlannedCall["wants"]): Pick<PlannedCall, "jobs" | "slotAt"> {
  const all = new Set([...wants.values()].flat());
  return {
    jobs: [...new Set([...all].map(({ job }) => job))],
    slotAt:
      [...all]
        .map(({ slotAt }) => slotAt)
        .sort()
        .at(-1) ?? null,
  };
}

/** What came of it. */
type BudgetWalk = {
  /** Instruments that no call reached in time, by job; jobs without any are left out. */
  starved: Map<string, number>;
  /** When the last call of each slot left, ms after it, by its time; null where some never did. */
  doneMs: Map<string, number | null>;
  /** When everything had been asked once, ms after the first slot; null when something never was. */
  fullPassMs: number | null;
};

/** @param gapMs time between two calls */
export function simpleWalk(due: readonly DueJob[], gapMs: number, batchSize: number): BudgetWalk {
  const slots = [...grouped(due, ({ slotAt }) => slotAt)].sort(([a], [b]) => (a < b ? -1 : 1));
  const walker = new Walker(gapMs, batchSize);
  for (const [slotAt, jobs] of slots) walker.slot(Date.parse(slotAt), jobs);
  walker.until(Infinity);
  return walker.result(Date.parse(slots[0]?.[0] ?? ""));
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
    this.#waiting = simplePlanCalls(
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
  #lasting(planned: PlannedCall, atMs: number): PlannedCall | null {
    const wants = new Map<string, readonly Want[]>();
    for (const [name, all] of planned.wants) {
      for (const { job, slotAt } of all.filter(({ deadlineMs }) => deadlineMs <= atMs)) {
        this.#never.add(name);
        this.#starved.set(job, (this.#starved.get(job) ?? 0) + 1);
        this.#doneMs.set(slotAt, null);
      }
      const lasting = all.filter(({ deadlineMs }) => deadlineMs > atMs);
      if (lasting.length > 0) wants.set(name, lasting);
    }
    const { call } = planned;
    if (wants.size === 0) return null;
    if (call.form !== "symbols") return { ...planned, wants };
    const symbols = call.symbols.filter((symbol) => wants.has(nameOfSymbol(symbol)));
    return { ...planned, wants, call: { ...call, symbols } };
  }
}

function nameOfSymbol(symbol: string): string {
  return namesOf({ form: "symbols", symbols: [symbol], delayed: false }).join();
}
