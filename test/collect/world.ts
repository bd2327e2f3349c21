/**
 * A collector of real parts, and a service in memory that answers after a virtual latency: what it is asked and what the
 * ledger says of it is kept for the test to look at.
 */
import { afterEach, jest } from "@jest/globals";
import { type Clock, createObserver, type Instant, instantFromDate } from "../../src/ground/clock.ts";
import type { CallLog } from "../../src/collect/callLog.ts";
import { Collector, type CollectorOptions } from "../../src/collector/collector.ts";
import { type CalledAccount } from "../../src/collect/accountDispatchers.ts";
import { namesOf } from "../../src/collect/asks.ts";
import type { PlannedCall } from "../../src/collect/callPlan.ts";
import type { Job } from "../../src/schedule/readJobs.ts";
import {
  type ClockStep,
  type LedgerNote,
  type MissReason,
  sharesIn,
  type SlotEntry,
} from "../../src/journal/ledger.ts";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { instrumentName, type InstrumentKey, option, security } from "../../src/market/instrument.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { type InstrumentQuote, NO_QUOTE, unknownQuote } from "../../src/quotes/document.ts";
import { askedInstruments, type QuoteCall } from "../../src/quotes/call.ts";
import { jobOf } from "./jobOf.ts";
import { startVirtualTime, type VirtualTime } from "./virtualTime.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import type { Service } from "../../src/services/service.ts";

export { jobOf };

/**
 * One call as the service saw it: by the wall clock, which a test may move, and `afterMs` the start by a clock that
 * nobody moves.
 */
export type SeenCall = {
  sentAt: number;
  /** When it was asked for, by the wall clock; null: not yet. */
  askedMs: number | null;
  answeredAt: number | null;
  afterMs: number;
  /** The name of the answer. */
  observedAt: Instant | null;
  planned: PlannedCall;
  names: string[];
  /** Who asked. */
  account: string;
  /** Whether the answer had quotes. */
  brought: boolean;
};

/** How the service answers: an answer, or an error that is thrown. */
export type Respond = (call: SeenCall) => Answer | Promise<Answer>;

export type World = VirtualTime & {
  collector: Collector;
  calls: SeenCall[];
  notes: LedgerNote[];
  logged: { level: string; message: string }[];
  /** An account of this name, for the collector to take in. */
  account: (name: string) => CalledAccount;
  /** Ends the collector as the program does, and gives the clock back. */
  end: (graceMs: number) => Promise<void>;
};

const open = new Set<World>();

afterEach(async () => {
  for (const world of open) await world.end(0);
});

/** What of a world is unusual. */
/**
 * `signedAfterMs`: how long a call that was let go waits before it is asked for; `headers`: of the answer; `kept`: resolves
 * when the answer is on the disk; `log`: where calls are noted, and one that is cut off by the end is not over.
 */
export type WorldOptions = Partial<
  Pick<CollectorOptions, "calendar" | "exchange" | "earlier" | "shares" | "agreedAt"> &
    Pick<CalledAccount, "governor" | "history" | "onClosed" | "inherited">
> & {
  /** Default: the specification's. */
  service?: Pick<Service, "rateLimit" | "batch">;
  /** Whether somebody has logged in to an account. */
  hasSession?: (account: string) => boolean;
  /** Names of the accounts, each with a service of its own. Default: there is one. */
  accounts?: readonly string[];
  start: string;
  jobs: Job[];
  respond?: Respond;
  latencyMs?: (call: number) => number;
  signedAfterMs?: (call: number) => number;
  /** Headers of an answer, names in lower case. */
  headers?: (call: SeenCall) => Record<string, string>;
  kept?: (call: SeenCall) => Promise<void>;
  /** Another clock than the virtual time's own, made of it. */
  clockOf?: (time: VirtualTime) => Clock;
  /** How the wall clock was moved before the start. */
  away?: ClockStep;
  log?: CallLog;
};

/** Makes a world and starts its collector. */
export function startWorld(options: WorldOptions): World {
  const time = startVirtualTime(options.start);
  const calls: SeenCall[] = [];
  const notes: LedgerNote[] = [];
  const logged: World["logged"] = [];
  const { latencyMs = () => 200, signedAfterMs = () => 0, service = REFERENCE } = options;
  const respond = options.respond ?? (({ planned }) => quotesFor(planned));
  const logAt = (level: string) => (_fields: object, message: string) => void logged.push({ level, message });
  const observe = createObserver(time.clock);
  const sendAs =
    (account: string): CalledAccount["send"] =>
    async (planned, signal, onArrived) => {
      const names = planned.call.form === "watchlist" ? [] : namesOf(planned.call);
      const call: SeenCall = {
        ...{
          sentAt: Date.now(),
          askedMs: null,
          answeredAt: null,
          afterMs: time.clock.monotonicMs(),
          observedAt: null,
        },
        ...{ planned, names, account, brought: false },
      };
      calls.push(call);
      const place = calls.length - 1;
      const over = options.log?.leaves(`${call.sentAt}-${place}`);
      if (signedAfterMs(place) > 0) await time.clock.sleep(signedAfterMs(place), signal);
      const asked = time.clock.now();
      const requestedAt = instantFromDate(asked);
      call.askedMs = asked.getTime();
      await time.clock.sleep(latencyMs(place), signal);
      call.answeredAt = Date.now();
      over?.();
      const answer = await respond(call);
      call.observedAt = observe();
      call.brought = answer.outcome === "quotes";
      const headers = options.headers?.(call) ?? {};
      onArrived({ headers, answer });
      await options.kept?.(call);
      return { record: { requestedAt, observedAt: call.observedAt, headers }, answer };
    };
  const account = (name: string): CalledAccount => ({
    name,
    service,
    governor: options.governor ?? { limit: 60, windowMs: 60_000 },
    history: options.history ?? null,
    ...(options.onClosed && { onClosed: options.onClosed }),
    ...(options.inherited && { inherited: options.inherited }),
    ...(options.hasSession && { hasSession: () => options.hasSession?.(name) ?? true }),
    send: sendAs(name),
  });
  const collector = new Collector({
    jobs: options.jobs,
    calendar: options.calendar ?? alwaysOpen,
    exchange: options.exchange ?? createCalendar(),
    batch: service.batch,
    clock: options.clockOf?.(time) ?? time.clock,
    log: { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") },
    run: "01940000-0000-7000-8000-000000000000",
    earlier: options.earlier ?? null,
    ...(options.shares && { shares: options.shares }),
    ...(options.agreedAt && { agreedAt: options.agreedAt }),
    onNote: (note) => void notes.push(structuredClone(note)),
    accounts: (options.accounts ?? ["default"]).map(account),
  });
  const end = async (graceMs: number): Promise<void> => {
    open.delete(world);
    const closed = collector.close(graceMs);
    await time.pass(graceMs + 1);
    await closed;
    jest.useRealTimers();
  };
  const world: World = {
    ...{ ...time, collector, calls, notes, logged, account, end },
  };
  open.add(world);
  collector.start(options.away);
  return world;
}

/** Which expirations every underlying has. */
export const LISTED = Array.from(
  { length: 30 },
  (_, place) => `2027-01-${String(place + 1).padStart(2, "0")}`,
);

/** Of a whole chain. */
const TYPES = ["CALL", "PUT"] as const;

/** A whole answer with a quote for everything asked; other fates by name. */
export function quotesFor(
  planned: PlannedCall,
  {
    unknown = [],
    absent = [],
    last = {},
  }: { unknown?: string[]; absent?: string[]; last?: Record<string, string> } = {},
): Answer {
  const { call } = planned;
  const whole = { id: "r", error: null, hasQuotes: true };
  if (call.form === "expirations")
    return { outcome: "quotes", document: { ...whole, items: [], expirations: LISTED } };
  const items = (askedInstruments(call) ?? unnamedIn(call)).flatMap((key) => {
    const name = instrumentName(key);
    if (absent.includes(name)) return [];
    const item = unknown.includes(name) ? unknownQuote(key) : quoteOf(key, last[name] ?? "100.00");
    return [{ ok: true as const, item, oddFields: [], fragment: "" }];
  });
  return { outcome: "quotes", document: { ...whole, items } };
}

function unnamedIn(call: QuoteCall): InstrumentKey[] {
  if (call.form !== "chain") return [security("IBM")];
  const { underlying, expiration } = call;
  return TYPES.map((optionType) => option({ underlying, expiration, optionType, strike: "100" }));
}

function quoteOf(key: InstrumentKey, last: string): InstrumentQuote {
  return { ...unknownQuote(key), quote: { ...NO_QUOTE, last }, unknownSymbol: false };
}

/** An answer without quotes. */
export function failure(outcome: Exclude<Answer["outcome"], "quotes">): Answer {
  return { outcome, responseId: null, detail: outcome };
}

/** The settled slots in the notes; a downtime's slots one by one. */
export function entriesOf(notes: readonly LedgerNote[], job?: string): SlotEntry[] {
  return notes
    .flatMap((note): SlotEntry[] =>
      note.type === "slots"
        ? note.entries
        : note.type === "down"
          ? note.slots.flatMap((slotAt) =>
              sharesIn(note).map((share) => ({
                ...{ job: note.job, slotAt, ...share },
                misses: share.due.map((name): [string, MissReason] => [name, "down"]),
              })),
            )
          : [],
    )
    .filter((entry) => job === undefined || entry.job === job);
}

/** Entries of one share as one: due and stored is what any of them says is; the first to say why is believed. */
export function merged(entries: readonly SlotEntry[]): SlotEntry[] {
  const shares = new Map<string, SlotEntry>();
  for (const entry of entries) {
    const key = `${entry.job} ${entry.slotAt} ${entry.account ?? ""}`;
    const before = shares.get(key) ?? { ...entry, due: [], misses: [] };
    const missed = new Map([...entry.misses, ...before.misses]);
    const stored = [before, entry].flatMap(({ due, misses }) => {
      const lost = new Set(misses.map(([name]) => name));
      return due.filter((name) => !lost.has(name));
    });
    for (const name of stored) missed.delete(name);
    shares.set(key, { ...entry, due: [...new Set([...before.due, ...entry.due])], misses: [...missed] });
  }
  return [...shares.values()];
}

/** The entry of a slot, by the time of day in UTC, `14:31` or `14:31:10`. */
export function entryAt(notes: readonly LedgerNote[], time: string, job?: string): SlotEntry | undefined {
  return entriesOf(notes, job).find(({ slotAt }) => slotAt.slice(11).startsWith(time));
}

/** How many of a slot's instruments were missed, by reason. */
export function reasonsOf(entry: SlotEntry | undefined): Partial<Record<MissReason, number>> {
  const reasons: Partial<Record<MissReason, number>> = {};
  for (const [, reason] of entry?.misses ?? []) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return reasons;
}

/** Every account adds up: nothing is missed that was not due, and nothing twice. */
export function addsUp(entries: readonly SlotEntry[]): boolean {
  const slots = new Set(entries.map(({ job, slotAt, account }) => `${job} ${slotAt} ${account ?? ""}`));
  return (
    slots.size === entries.length &&
    entries.every(({ due, misses }) => {
      const names = new Set(due);
      const missed = new Set(misses.map(([name]) => name));
      return (
        names.size === due.length &&
        missed.size === misses.length &&
        [...missed].every((name) => names.has(name))
      );
    })
  );
}

/**
 * The most calls of any window of `windowMs`, anchored at answers: those under way at its end are counted, and those
 * answered within it.
 */
export function mostInWindow(calls: readonly SeenCall[], windowMs: number): number {
  const answered = calls.map(({ answeredAt }) => answeredAt ?? Infinity).sort((a, b) => a - b);
  const sent = calls.map(({ sentAt }) => sentAt);
  let most = 0;
  let left = 0;
  // Just after each call left: what was sent by then, less what was answered a window ago or before.
  sent.forEach((at, index) => {
    while ((answered[left] ?? Infinity) <= at - windowMs) left += 1;
    most = Math.max(most, index + 1 - left);
  });
  return most;
}
