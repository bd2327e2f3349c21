/**
 * What is to be asked for and who wants it: each instrument once, the most urgent first, in groups that are a call each.
 * Thousands of instruments are wanted by the same few jobs at the same slots, so what follows from that is found out
 * once and shared. Pure.
 */
import type { JobWants } from "../accounts/partition.ts";
import type { OwnerOf } from "../accounts/shares.ts";
import type { Instant } from "../ground/clock.ts";
import { instrumentName } from "../market/instrument.ts";
import { occSymbol, parseOccSymbol } from "../market/occ.ts";
import type { OptionAsk } from "../market/optionChain.ts";
import { askedInstruments, describeCall, type QuoteCall } from "../quotes/call.ts";
import type { Job } from "../schedule/readJobs.ts";
import { byUrgency, type Urgency } from "./urgency.ts";

export type DueJob = {
  job: Pick<Job, "name" | "delayed" | "priority" | "watchlist" | "account" | "optionsInList">;
  slotAt: Instant;
  /** When the slot is over, epoch ms UTC: a poll not sent by then is missed. */
  deadlineMs: number;
  /** Whether the slot is over because the session closes, not because the next slot comes. */
  closes: boolean;
  symbols: readonly string[];
  contracts: readonly OptionAsk[];
  once?: Once;
};

export type Once = {
  /** Whether each call is made once, unless the machine's clock may be why it is refused. */
  single: boolean;
  /** The accounts that are asked, and which of them for each name. */
  accounts: readonly string[];
  ownerOf: OwnerOf;
};

/** The part of a due job that says what to poll. */
export type DuePart = Pick<DueJob, "job" | "symbols" | "contracts">;

export type Want = Pick<DueJob, "slotAt" | "deadlineMs" | "closes"> & { job: string; priority: number };

export type Wishes = {
  wants: readonly Want[];
  jobs: string[];
  slotAt: Instant | null;
  /** The highest, and the earliest. */
  priority: number;
  deadlineMs: number;
};

/** An instrument, a watchlist or a whole chain: its name in the ledger, its key in a plan, and the call that asks for it alone. */
type Subject = { name: string; key: string; call: QuoteCall };

export type Ask = { subject: Subject; by: Wishes };

/** What one call asks for, and by which account if there are several; as urgent as the most urgent of it. */
export type AskGroup = Urgency & { asks: readonly [Ask, ...Ask[]]; account: string | null };

/** What planning takes from the calls before. */
export type PlanOptions = {
  batchSize: number;
  /** Contracts of a list, where they stand in lists of their own (`Batch`). */
  contractsOfAList?: number | undefined;
  /** When an instrument was last asked and answered, epoch ms UTC; 0 when it never was. */
  lastSeenMs?: (name: string) => number;
  alone?: (symbol: string) => boolean;
  ownerOf?: OwnerOf | undefined;
  isCalled?: (account: string) => boolean;
};

/**
 * Symbols are merged across jobs of the same `delayed` and batched, with contracts where the service takes them in lists; all else
 * is a call each. Each is asked once, however many jobs and slots want it.
 *
 * @param waiting what is to be asked for already: it is planned anew together with what is due now
 * @returns groups by urgency; equal ones in the order of the jobs
 */
export function planAsks(due: readonly DueJob[], options: PlanOptions, waiting: readonly Ask[]): AskGroup[] {
  const parts = due.map(({ job, slotAt, deadlineMs, closes, ...polled }) => ({
    by: wishesOf([{ job: job.name, priority: job.priority, slotAt, deadlineMs, closes }]),
    ...takenApart({ job, ...polled }),
  }));
  const ofKind = (kind: Kind): UrgentAsk[] =>
    eachOnce(
      waiting.filter(({ subject }) => kindOf(subject.call) === kind),
      parts.map(({ by, subjects }) => ({ by, subjects: subjects[kind] })),
      options,
    ).sort(moreUrgent);
  const ofContracts = { ...options, batchSize: options.contractsOfAList ?? options.batchSize };
  return [
    ...ofEachAccount(ofKind("single"), options, (asks) => asks.map((ask) => group([ask]))),
    ...ofEachAccount(ofKind("list"), options, (asks) => batches(asks, options)),
    ...ofEachAccount(ofKind("contracts"), options, (asks) => batches(asks, ofContracts)),
    ...ofEachAccount(ofKind("delayed list"), options, (asks) => batches(asks, options)),
  ].sort(byUrgency);
}

function ofEachAccount(
  asks: readonly UrgentAsk[],
  { ownerOf, isCalled }: PlanOptions,
  groupsOf: (asks: readonly UrgentAsk[]) => AskGroup[],
): AskGroup[] {
  if (!ownerOf) return groupsOf(asks);
  const owned = grouped(asks, ({ subject }) => ownerOf(subject.name, subject.call.delayed));
  return [...owned].flatMap(([account, share]) =>
    isCalled?.(account) === false ? [] : groupsOf(share).map((group) => ({ ...group, account })),
  );
}

/** What a call asks for, as the ledger names it; a watchlist and a whole chain are one thing there, whatever they hold. */
export function namesOf(call: QuoteCall): string[] {
  return askedInstruments(call)?.map(instrumentName) ?? [describeCall(call)];
}

/** All that a job is due to poll at a slot, as the ledger names it, each once. */
export function dueNames(due: DuePart): readonly string[] {
  return takenApart(due).names;
}

/** What jobs want at any of their slots, as accounts share it; each job once. */
export function wantedOf(due: readonly DuePart[]): JobWants[] {
  type Lists = JobWants & { symbols: string[]; contracts: string[] };
  const wanted = new Map<string, { lists: Lists; seen: Set<TakenApart> }>();
  for (const slot of due) {
    const { name, priority, delayed, account = null } = slot.job;
    const nothing = { symbols: [], contracts: [], watchlist: null };
    const { lists, seen } = wanted.get(name) ?? {
      lists: { job: name, priority, delayed, account, ...nothing },
      seen: new Set(),
    };
    wanted.set(name, { lists, seen });
    const part = takenApart(slot);
    // Its slots share their lists.
    if (seen.has(part)) continue;
    seen.add(part);
    for (const { name: asked, call } of Object.values(part.subjects).flat())
      if (call.form === "watchlist") lists.watchlist = asked;
      else lists[call.form === "symbols" ? "symbols" : "contracts"].push(asked);
  }
  return Array.from(wanted.values(), ({ lists }) => lists);
}

export function subjectsOf(call: QuoteCall): Subject[] {
  const { form, delayed } = call;
  const key = (name: string): string => `${form} ${delayed} ${name}`;
  return namesOf(call).map((name, index) => ({
    name,
    key: key(name),
    call: call.form === "symbols" ? { ...call, symbols: call.symbols.slice(index, index + 1) } : call,
  }));
}

export function wishesOf(wants: readonly Want[]): Wishes {
  const slots = wants.map(({ slotAt }) => slotAt).sort();
  return {
    wants,
    jobs: [...new Set(wants.map(({ job }) => job))],
    slotAt: slots.at(-1) ?? null,
    priority: Math.max(...wants.map(({ priority }) => priority)),
    deadlineMs: Math.min(...wants.map(({ deadlineMs }) => deadlineMs)),
  };
}

/** What one order of urgency goes through: each is a call of its own, or those of a kind share calls. */
type Kind = "single" | "list" | "contracts" | "delayed list";

function kindOf(call: QuoteCall): Kind {
  if (call.form !== "symbols") return "single";
  if (call.of !== undefined) return call.of;
  return call.delayed ? "delayed list" : "list";
}

type TakenApart = { names: readonly string[]; subjects: Readonly<Record<Kind, readonly Subject[]>> };

/** By their lists of symbols: the slots of a job share them. */
const known = new WeakMap<DuePart["symbols"], TakenApart & { due: DuePart }>();

function takenApart(due: DuePart): TakenApart {
  const { job, symbols, contracts } = due;
  const { delayed, watchlist } = job;
  const before = known.get(symbols);
  if (before?.due.contracts === contracts && sameCalls(before.due.job, job)) return before;
  const isApart = (symbol: string): boolean =>
    job.optionsInList === "apart" && parseOccSymbol(symbol) !== null;
  const calls: QuoteCall[] = [
    { form: "symbols", symbols: symbols.filter((symbol) => !isApart(symbol)), delayed },
    { form: "symbols", symbols: symbols.filter(isApart), of: "contracts", delayed },
    ...(watchlist === null ? [] : [{ form: "watchlist" as const, watchlist, delayed }]),
    ...contracts.map((asked) => optionCall(asked, job)),
  ];
  // A job that names a contract twice, or a chain's contract besides, wants it once.
  const all = [...new Map(calls.flatMap(subjectsOf).map((subject) => [subject.key, subject])).values()];
  const subjects: Record<Kind, Subject[]> = { single: [], list: [], contracts: [], "delayed list": [] };
  for (const subject of all) subjects[kindOf(subject.call)].push(subject);
  const apart = { due, names: [...new Set(all.map(({ name }) => name))], subjects };
  known.set(symbols, apart);
  return apart;
}

/** A contract without an OCC symbol is a call of its own everywhere. */
export function optionCall(
  asked: OptionAsk,
  { delayed, optionsInList }: Pick<DuePart["job"], "delayed" | "optionsInList">,
): QuoteCall {
  if ("expirations" in asked) return { form: "expirations", underlying: asked.underlying, delayed };
  if ("strikes" in asked)
    return { form: "chain", underlying: asked.underlying, expiration: asked.expiration, delayed };
  const symbol = optionsInList ? occSymbol(asked) : null;
  return symbol === null
    ? { form: "option", contract: asked, delayed }
    : { form: "symbols", symbols: [symbol], ...(optionsInList === "apart" && { of: "contracts" }), delayed };
}

function sameCalls(one: DuePart["job"], other: DuePart["job"]): boolean {
  const { delayed, watchlist, optionsInList } = other;
  return one.delayed === delayed && one.watchlist === watchlist && one.optionsInList === optionsInList;
}

type UrgentAsk = Ask & Pick<Urgency, "unseenSinceMs">;

/** As `byUrgency`; mostly the same jobs want both. */
function moreUrgent(a: UrgentAsk, b: UrgentAsk): number {
  const unseen = a.unseenSinceMs - b.unseenSinceMs;
  if (a.by === b.by) return unseen;
  const [{ priority, deadlineMs }, other] = [a.by, b.by];
  return byUrgency({ priority, deadlineMs, unseenSinceMs: unseen }, { ...other, unseenSinceMs: 0 });
}

function eachOnce(
  waiting: readonly Ask[],
  parts: readonly { by: Wishes; subjects: readonly Subject[] }[],
  { lastSeenMs }: PlanOptions,
): UrgentAsk[] {
  const urgent = (subject: Subject, by: Wishes): UrgentAsk => ({
    subject,
    by,
    unseenSinceMs: lastSeenMs?.(subject.name) ?? 0,
  });
  const [first, ...others] = parts.filter(({ subjects }) => subjects.length > 0);
  // Mostly nothing waits, and one job has all of a kind.
  if (first && others.length + waiting.length === 0)
    return first.subjects.map((subject) => urgent(subject, first.by));
  const asks = new Map<string, Ask>();
  const join = joiner();
  const add = (subject: Subject, by: Wishes): void => {
    const ask = asks.get(subject.key);
    asks.set(subject.key, ask ? { subject: ask.subject, by: join(ask.by, by) } : { subject, by });
  };
  for (const { subject, by } of waiting) add(subject, by);
  for (const { subjects, by } of parts) for (const subject of subjects) add(subject, by);
  return Array.from(asks.values(), ({ subject, by }) => urgent(subject, by));
}

/** Joins wishes; subjects that have the same ones share the sum. */
function joiner(): (before: Wishes, added: Wishes) => Wishes {
  const sums = new Map<Wishes, Map<Wishes, Wishes>>();
  return (before, added) => {
    const ofBefore = sums.get(before) ?? new Map<Wishes, Wishes>();
    const sum = ofBefore.get(added) ?? wishesOf([...before.wants, ...added.wants]);
    sums.set(before, ofBefore.set(added, sum));
    return sum;
  };
}

/** The most urgent symbols share a call; one that is asked for in passing costs nothing where there is room. */
function batches(asks: readonly UrgentAsk[], { batchSize, alone }: PlanOptions): AskGroup[] {
  const isAlone = ({ subject: { call } }: Ask): boolean =>
    call.form === "symbols" && alone !== undefined && call.symbols.some(alone);
  const apart = alone ? asks.filter(isAlone) : [];
  const together = apart.length > 0 ? asks.filter((ask) => !isAlone(ask)) : asks;
  const groups = apart.map((ask) => group([ask]));
  for (let start = 0; start < together.length; start += batchSize) {
    const [first, ...others] = together.slice(start, start + batchSize);
    if (first) groups.push(group([first, ...others]));
  }
  return groups;
}

function group(asks: readonly [UrgentAsk, ...UrgentAsk[]]): AskGroup {
  let [priority, deadlineMs, unseenSinceMs] = [-Infinity, Infinity, Infinity];
  for (const { by, unseenSinceMs: unseenMs } of asks) {
    priority = Math.max(priority, by.priority);
    deadlineMs = Math.min(deadlineMs, by.deadlineMs);
    unseenSinceMs = Math.min(unseenSinceMs, unseenMs);
  }
  return { asks, account: null, priority, deadlineMs, unseenSinceMs };
}

/** The items of each key, keys and items in the order they come. (`Map.groupBy` is newer than Node 20.) */
export function grouped<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
