/** From the jobs that are due together, and the calls that still wait, to the calls that serve them. Pure. */
import type { Instant } from "../ground/clock.ts";
import type { ReadDocument } from "../quotes/document.ts";
import type { MatchedItem } from "../quotes/match.ts";
import { askedInstruments, type QuoteCall } from "../quotes/call.ts";
import {
  type Ask,
  type AskGroup,
  type DueJob,
  dueNames,
  type DuePart,
  namesOf,
  type Once,
  optionCall,
  planAsks,
  type PlanOptions,
  subjectsOf,
  type Want,
  wishesOf,
} from "./asks.ts";
import type { Urgency } from "./urgency.ts";

export type PlannedCall = Urgency & {
  call: QuoteCall;
  /** Who wants each of its instruments, by the name that the ledger gives it. */
  wants: ReadonlyMap<string, readonly Want[]>;
  account: string | null;
  jobs: string[];
  slotAt: Instant | null;
  once?: Once;
  /** Set on the calls by which a call that failed as a whole is looked into. */
  part?: Part;
  /** Of a further page: how many there are with it, when the first was asked for, epoch ms, and what those before it held. */
  pages?: { count: number; firstAskedMs: number; isStored: boolean; expirations: readonly string[] };
};

/** What a call is for, beside its quotes; see `badSymbolSearch.ts`. */
type Part =
  /** A symbol of a call that failed, asked alone; the other symbols wait for the outcome. */
  | { kind: "probe"; rest: PlannedCall }
  /** A stretch of a call that failed; the calls left are shared by all of its stretches. */
  | { kind: "search"; search: { callsLeft: number } };

/**
 * The calls for what is due, each as `planAsks` groups it.
 *
 * @param waiting calls that have not left yet: they are planned anew together with what is due now
 * @returns calls by urgency; equal ones in the order of the jobs
 */
export function planCalls(
  due: readonly DueJob[],
  options: PlanOptions,
  waiting: readonly PlannedCall[] = [],
): PlannedCall[] {
  return [...planInTurn(due, options, waiting)];
}

/** As `planCalls`, but each call is made when it is read. */
export function planInTurn(
  due: readonly DueJob[],
  options: PlanOptions,
  waiting: readonly PlannedCall[],
): IterableIterator<PlannedCall> {
  const groups = planAsks(due, options, asksOf(waiting));
  return (function* () {
    for (const group of groups) yield callOf(group);
  })();
}

export function planOnce(due: DueJob, once: Once, options: PlanOptions): PlannedCall[] {
  const { ownerOf } = once;
  return planCalls([due], { ...options, ownerOf, isCalled: () => true }).map((call) => ({ ...call, once }));
}

/**
 * The names that an answer stores, as the ledger has them; a watchlist or a whole chain is stored when anything of it is. What comes in
 * pages is stored by the last of them, for it is asked for by what all before it said.
 *
 * @param page.before whether anything was stored of the pages before it
 */
export function storedNames(
  call: QuoteCall,
  matched: readonly MatchedItem[],
  { nextPage, before }: Pick<ReadDocument, "nextPage"> & { before: boolean },
): string[] {
  const stored = matched.flatMap((match) => (match.fate === "stored" ? [match.name] : []));
  if (askedInstruments(call) !== null) return stored;
  return nextPage === undefined && (before || stored.length > 0) ? namesOf(call) : [];
}

export function withoutNames<Due extends DuePart>(due: Due, names: ReadonlySet<string>): Due {
  if (names.size === 0) return due;
  const { delayed, watchlist } = due.job;
  const lacks = (call: QuoteCall): boolean => namesOf(call).some((name) => !names.has(name));
  return {
    ...due,
    job: {
      ...due.job,
      watchlist: watchlist !== null && lacks({ form: "watchlist", watchlist, delayed }) ? watchlist : null,
    },
    symbols: due.symbols.filter((symbol) => lacks({ form: "symbols", symbols: [symbol], delayed })),
    contracts: due.contracts.filter((asked) => lacks(optionCall(asked, { delayed }))),
  };
}

/** What somebody owns of due jobs, without jobs of which that is nothing. Slots that share their lists still do. */
export function ownedOf<Due extends DuePart>(
  due: readonly Due[],
  owns: (name: string, delayed: boolean) => boolean,
): Due[] {
  const known = new Map<readonly string[], DuePart>();
  return due.flatMap((slot) => {
    const names = dueNames(slot);
    const isAnothers = (name: string): boolean => !owns(name, slot.job.delayed);
    const part = known.get(names) ?? withoutNames<DuePart>(slot, new Set(names.filter(isAnothers)));
    known.set(names, part);
    const { symbols, contracts, job } = part;
    const owned = { ...slot, symbols, contracts, job: { ...slot.job, watchlist: job.watchlist } };
    return dueNames(owned).length > 0 ? [owned] : [];
  });
}

/** A call with a list of symbols as two of half the length; null when it cannot be split. */
export function halved(planned: PlannedCall): [PlannedCall, PlannedCall] | null {
  const { call } = planned;
  if (call.form !== "symbols" || call.symbols.length < 2) return null;
  const middle = Math.ceil(call.symbols.length / 2);
  return [
    withSymbols(planned, call.symbols.slice(0, middle)),
    withSymbols(planned, call.symbols.slice(middle)),
  ];
}

export function withSymbols(planned: PlannedCall, symbols: readonly string[]): PlannedCall {
  const { call } = planned;
  const list = call.form === "symbols" ? call : { form: "symbols" as const, delayed: call.delayed };
  return restricted(planned, { ...list, symbols: [...symbols] }, () => true);
}

/**
 * A call as two: what is wanted by those that `test` is true of, and what by the others; null for none.
 * Symbols that both want are in both.
 */
export function split(
  planned: PlannedCall,
  test: (want: Want) => boolean,
): [PlannedCall | null, PlannedCall | null] {
  let some = false;
  let every = true;
  let last: readonly Want[] | null = null;
  for (const wants of planned.wants.values()) {
    if (wants === last) continue;
    last = wants;
    const passed = wants.filter(test).length;
    some ||= passed > 0;
    every &&= passed === wants.length;
  }
  if (every) return [planned, null];
  if (!some) return [null, planned];
  return [restricted(planned, planned.call, test), restricted(planned, planned.call, (want) => !test(want))];
}

/** Whether it is a one-off job's alone: its slot has no end, and it is planned together with no other call. */
export function isOnce({ deadlineMs }: Pick<PlannedCall, "deadlineMs">): boolean {
  return deadlineMs === Infinity;
}

export function symbolCount({ call }: Pick<PlannedCall, "call">): number {
  return call.form === "symbols" ? call.symbols.length : 1;
}

/** Time from a call's slot to its end, in ms; of the job that asks most often. */
export function slotMsOf({ wants }: Pick<PlannedCall, "wants">): number {
  return Math.min(...allWants(wants).map(({ slotAt, deadlineMs }) => deadlineMs - Date.parse(slotAt)));
}

/** What some calls ask for, one by one. */
function asksOf(calls: readonly PlannedCall[]): Ask[] {
  const wishes = new Map(
    [...new Set(calls.flatMap(({ wants }) => [...wants.values()]))].map((wants) => [wants, wishesOf(wants)]),
  );
  return calls.flatMap(({ call, wants }) =>
    subjectsOf(call).map((subject) => {
      const list = wants.get(subject.name) ?? [];
      return { subject, by: wishes.get(list) ?? wishesOf(list) };
    }),
  );
}

function callOf({ asks, account, priority, deadlineMs, unseenSinceMs }: AskGroup): PlannedCall {
  const [first] = asks;
  const { call } = first.subject;
  const symbols: string[] = [];
  const wants = new Map<string, readonly Want[]>();
  let alike = true;
  for (const { subject, by } of asks) {
    if (subject.call.form === "symbols") symbols.push(...subject.call.symbols);
    wants.set(subject.name, by.wants);
    alike &&= by === first.by;
  }
  const { jobs, slotAt } = alike ? first.by : wishesOf(allWants(wants));
  return {
    call: call.form === "symbols" ? { ...call, symbols } : call,
    wants,
    account,
    jobs,
    slotAt,
    priority,
    deadlineMs,
    unseenSinceMs,
  };
}

/** Each want once, though many instruments share it. */
function allWants(wants: PlannedCall["wants"]): Want[] {
  return [...new Set([...new Set(wants.values())].flat())];
}

function restricted(planned: PlannedCall, call: QuoteCall, test: (want: Want) => boolean): PlannedCall {
  const lists = new Map([...new Set(planned.wants.values())].map((list) => [list, list.filter(test)]));
  const wants = new Map<string, readonly Want[]>();
  const symbols: string[] = [];
  for (const { name, call: single } of subjectsOf(call)) {
    const kept = lists.get(planned.wants.get(name) ?? []) ?? [];
    if (kept.length === 0) continue;
    wants.set(name, kept);
    if (single.form === "symbols") symbols.push(...single.symbols);
  }
  const { jobs, slotAt, priority, deadlineMs } = wishesOf(allWants(wants));
  const left = call.form === "symbols" ? { ...call, symbols } : call;
  return { ...planned, call: left, wants, jobs, slotAt, priority, deadlineMs };
}
