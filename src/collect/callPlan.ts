/** From the jobs that are due together, and the calls that still wait, to the calls that serve them. Pure. */
import type { Job } from "../schedule/readJobs.ts";
import type { Instant } from "../clock.ts";
import { instrumentName, type OptionContract } from "../market/instrument.ts";
import type { Matched } from "../quotes-api/match.ts";
import { askedInstruments, describeCall, type QuoteCall } from "../quotes-api/request.ts";
import { byUrgency, type Urgency } from "./urgencyQueue.ts";

/** A job at one of its slots, with what it polls there. */
export type DueJob = {
  job: Pick<Job, "name" | "delayed" | "priority" | "watchlist">;
  slotAt: Instant;
  /** When the slot is over, epoch ms UTC: a poll not sent by then is missed. */
  deadlineMs: number;
  /** Whether the slot is over because the session closes, not because the next slot comes. */
  closes: boolean;
  symbols: readonly string[];
  contracts: readonly OptionContract[];
};

/** A job's wish for an instrument at one of its slots. */
export type Want = Pick<DueJob, "slotAt" | "deadlineMs" | "closes"> & { job: string; priority: number };

/** A call to make, and for whom. */
export type PlannedCall = Urgency & {
  call: QuoteCall;
  /** Who wants each of its instruments, by the name that the ledger gives it. */
  wants: ReadonlyMap<string, readonly Want[]>;
  /** Names of the jobs it serves. */
  jobs: string[];
  /** The newest of the slots it serves; null for a call by hand. */
  slotAt: Instant | null;
  /** Set on the calls by which a call that failed as a whole is looked into. */
  part?: Part;
};

/** What a call is for, beside its quotes; see `badSymbolSearch.ts`. */
type Part =
  /** A symbol of a call that failed, asked alone; the other symbols wait for the outcome. */
  | { kind: "probe"; rest: PlannedCall }
  /** A stretch of a call that failed; the calls left are shared by all of its stretches. */
  | { kind: "search"; search: { callsLeft: number } };

/** What planning takes from the calls before. */
export type PlanOptions = {
  /** Most symbols of a call. */
  batchSize: number;
  /** When an instrument was last asked and answered, epoch ms UTC; 0 when it never was. */
  lastSeenMs?: (name: string) => number;
  /** Symbols that must not share a call, because they have made one fail. */
  alone?: (symbol: string) => boolean;
};

/** One instrument or watchlist, the call that would ask for it alone, and who wants it. */
type Ask = { name: string; call: QuoteCall; wants: readonly Want[] };

/**
 * Symbols are merged across jobs of the same `delayed` and batched; a watchlist and an option contract are a call
 * each. Each is asked once, however many jobs and slots want it.
 *
 * @param waiting calls that have not left yet: they are planned anew together with what is due now
 * @returns calls by urgency; equal ones in the order of the jobs
 */
export function planCalls(
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

/** What a call asks for, as the ledger names it; a watchlist is one thing there, whatever it holds. */
export function namesOf(call: QuoteCall): string[] {
  return askedInstruments(call)?.map(instrumentName) ?? [describeCall(call)];
}

/** What of a call its answer stores, as the ledger names it; a watchlist is stored when anything of it is. */
export function storedNames(call: QuoteCall, matched: readonly Matched[]): string[] {
  const stored = matched.flatMap((match) => (match.fate === "stored" ? [match.name] : []));
  return call.form === "watchlist" ? (stored.length > 0 ? namesOf(call) : []) : stored;
}

/** All that a job is due to poll at a slot, as the ledger names it. */
export function dueNames(due: Pick<DueJob, "job" | "symbols" | "contracts">): string[] {
  return [...new Set(callsOf(due).flatMap(namesOf))];
}

/** A due job without what bears one of these names. */
export function withoutNames<Due extends Pick<DueJob, "job" | "symbols" | "contracts">>(
  due: Due,
  names: ReadonlySet<string>,
): Due {
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
    contracts: due.contracts.filter((contract) => lacks({ form: "option", contract, delayed })),
  };
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

/** The same call with some of its symbols alone. */
export function withSymbols(planned: PlannedCall, symbols: readonly string[]): PlannedCall {
  const { delayed } = planned.call;
  return restricted(planned, { form: "symbols", symbols: [...symbols], delayed }, () => true);
}

/**
 * A call as two: what is wanted by those that `test` is true of, and what by the others; null for none.
 * Symbols that both want are in both.
 */
export function split(
  planned: PlannedCall,
  test: (want: Want) => boolean,
): [PlannedCall | null, PlannedCall | null] {
  const all = [...planned.wants.values()].flat();
  if (all.every(test)) return [planned, null];
  if (!all.some(test)) return [null, planned];
  return [restricted(planned, planned.call, test), restricted(planned, planned.call, (want) => !test(want))];
}

/** How many symbols a call lists; 1 for the other forms. */
export function symbolCount({ call }: Pick<PlannedCall, "call">): number {
  return call.form === "symbols" ? call.symbols.length : 1;
}

/** Time from a call's slot to its end, in ms; of the job that asks most often. */
export function slotMsOf({ wants }: Pick<PlannedCall, "wants">): number {
  return Math.min(
    ...[...wants.values()].flat().map(({ slotAt, deadlineMs }) => deadlineMs - Date.parse(slotAt)),
  );
}

function callsOf({ job, symbols, contracts }: Pick<DueJob, "job" | "symbols" | "contracts">): QuoteCall[] {
  const { delayed, watchlist } = job;
  return [
    ...symbols.map((symbol) => ({ form: "symbols" as const, symbols: [symbol], delayed })),
    ...(watchlist === null ? [] : [{ form: "watchlist" as const, watchlist, delayed }]),
    ...contracts.map((contract) => ({ form: "option" as const, contract, delayed })),
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

function restricted(planned: PlannedCall, call: QuoteCall, test: (want: Want) => boolean): PlannedCall {
  const wants = new Map<string, readonly Want[]>();
  for (const name of namesOf(call)) {
    const kept = planned.wants.get(name)?.filter(test) ?? [];
    if (kept.length > 0) wants.set(name, kept);
  }
  const symbols =
    call.form === "symbols"
      ? call.symbols.filter((symbol) => wants.has(namesOf({ ...call, symbols: [symbol] })[0] ?? ""))
      : [];
  const all = [...wants.values()].flat();
  return {
    ...planned,
    call: call.form === "symbols" ? { ...call, symbols } : call,
    wants,
    ...servedBy(wants),
    priority: Math.max(...all.map(({ priority }) => priority)),
    deadlineMs: Math.min(...all.map(({ deadlineMs }) => deadlineMs)),
  };
}
