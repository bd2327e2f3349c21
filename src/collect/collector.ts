/**
 * The collector: at each slot it plans what is due, together with what still waits, and hands it to the dispatcher.
 * What comes of it is for `outcomes.ts`; the ledger gets a note for every slot that is settled.
 */
import type { Sharer } from "../accounts/partition.ts";
import type { AccountState, OwnerOf, Shares } from "../accounts/shares.ts";
import type { Job } from "../schedule/readJobs.ts";
import { type Instant, instantFromDate } from "../clock.ts";
import { asShares, type ClockStep, type LedgerNote, type Share, type SlotEntry } from "../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../journal/record.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { type AgreedPrices, ChainBook } from "./chainBook.ts";
import { Dispatcher, type DispatcherOptions, type Result } from "./dispatcher.ts";
import { downtimeNotes, LONGEST_DOWNTIME_MS } from "./downtime.ts";
import type { BudgetState } from "./governor/budgetState.ts";
import { type ScheduledJob, scheduleJob } from "../schedule/jobSchedule.ts";
import { Outcomes, pendingChain, underlyingOfPending } from "./outcomes.ts";
import type { EarlierRuns } from "./earlierRuns.ts";
import { type DueJob, dueNames, grouped, wantedOf } from "./asks.ts";
import { ownedOf, type PlannedCall, planInTurn, withoutNames } from "./callPlan.ts";
import { CLOCK_STEP_MS } from "../schedule/clockSteps.ts";
import { startTicker, type TickUnit, type Ticker, type TickWindow } from "../schedule/ticker.ts";
import { LOOK_AHEAD_WINDOWS, reservedCalls, shareOf, type SlotCost, slotCosts } from "./reserve.ts";
import { type BeginningSlot, SlotBook } from "./slotBook.ts";

export type { ScheduledJob } from "../schedule/jobSchedule.ts";

/** An account that is called: who sends for it, and within which limit. */
export type CalledAccount = Omit<
  DispatcherOptions,
  "clock" | "log" | "onResult" | "lendable" | "isCutShort"
> & {
  name: string;
};

/** The account as it takes its share: by its configured limit. */
export function sharerOf({
  name,
  governor: { limit, windowMs },
}: Pick<CalledAccount, "name" | "governor">): Sharer {
  return { name, limit, windowMs };
}

/** What the collector is made of. */
export type CollectorOptions = Pick<DispatcherOptions, "clock" | "log"> & {
  accounts: readonly CalledAccount[];
  /** Whose of the accounts each instrument is; undefined: there is one. */
  shares?: Shares;
  jobs: readonly Job[];
  /** Says when sessions are open: the exchange's, or one that always is. */
  calendar: Calendar;
  /** The exchange's own, which says when options expire. */
  exchange: Calendar;
  /** Takes the ledger's notes, in order. */
  onNote: (note: LedgerNote) => void;
  /** The name of this run in the ledger's notes, a UUID. */
  run: string;
  /** What the runs before have asked lately; null: nothing. */
  earlier: EarlierRuns | null;
  /** Called whenever something changed that `status` shows. */
  onChange?: () => void;
  /** What several collectors have agreed on for the slots at an instant; null, and by default: this one decides alone. */
  agreedAt?: (at: Date) => Agreed | null;
};

/** What all collectors of an archive go by: so each instrument is due at one account, whoever calls it. */
export type Agreed = {
  /** Counts on with each agreement. */
  number: number;
  /** Names of the accounts that share the jobs. */
  accounts: readonly string[];
  /** What chains are expanded by; null: no price is known yet. */
  prices: AgreedPrices | null;
};

/** Looks up what is stored of an account's share of a slot: names of what was asked for within its window. */
export type StoredIn = (share: {
  account: string;
  instruments: readonly string[];
  delayed: boolean;
  window: { from: Date; to: Date };
}) => Promise<ReadonlySet<string>>;

/** An account of a running collector. */
export type AccountStatus = {
  name: string;
  state: AccountState;
  /** Calls sent in the last window. */
  callsUsed: number;
  queued: number;
  /** What its governor knows: the limit in force may not be the configured one. */
  budget: BudgetState;
  /** Its last call's error, null when it brought quotes. */
  lastError: Error | null;
};

/** What is going on, for a status line; counts are of all accounts. */
type CollectorStatus = {
  accounts: readonly AccountStatus[];
  callsUsed: number;
  limit: number;
  queued: number;
  /** Slots' instruments missed since the start. */
  missed: number;
  /** Instruments that the service does not know, and is asked for less and less often. */
  unknown: string[];
  /** The next slot of any job; null when there is none within a year. */
  nextPollAt: Date | null;
  /** The last error of an account whose last call brought no quotes; null: there is none. */
  lastError: Error | null;
};

/** What the log says of a step of the machine's clock. */
const STEP_WORDS: Readonly<Record<ClockStep["kind"], string>> = {
  set_back: "the machine's clock was set back: polling goes on, and the slots since then come once more",
  set_forward: "the machine's clock was set forward: the slots in between were passed over",
  slept: "the machine slept",
  stopped: "the program could not run: the machine was busy, or the program was stopped",
};

/** A slot of a job. `lostMs`: how long before now it began, where nothing could be asked for it until now. */
type SlotOfJob = ScheduledJob & { slot: Date; lostMs: number };

const NOTHING_STORED: ReadonlySet<string> = new Set();

/** The longest wait for what is under way at an account that goes to another collector, in ms: a call lasts no longer. */
const LEAVE_MS = 20_000;

/**
 * What a turn of the event loop does at a slot's start: it opens slots until so many instruments are due at them, or hands so
 * many calls over. What has arrived would wait for thousands of them.
 */
export const OPENED_AT_ONCE = 1_000;
export const ADDED_AT_ONCE = 250;

/** A collector under way; `close` ends it. */
export class Collector {
  readonly #options: CollectorOptions;
  /** One for each account. */
  readonly #dispatchers = new Map<string, Dispatcher>();
  /** Those of accounts that are gone, until what they have under way is over. */
  readonly #leaving = new Set<Dispatcher>();
  readonly #slots: SlotBook;
  readonly #chains: ChainBook;
  readonly #outcomes: Outcomes;
  #jobs: ScheduledJob[];
  /** What the runs before have asked: looked at when the first slots are opened, and forgotten then. */
  #earlier: EarlierRuns | null;
  #missed = 0;
  #ticker: Ticker | null = null;
  /** Calls that are planned and not handed over yet: in a turn of the event loop only so many are. */
  #planned: IterableIterator<PlannedCall> = [].values();
  /** What the slots of the coming windows cost each account, and how long that holds, where it was asked for. */
  readonly #reserved = new Map<string, { costs: SlotCost[]; untilMs: number }>();
  readonly #ownerOf: OwnerOf | undefined;
  /** Whether this collector calls an account, or it is of those that nobody shares: others are other collectors'. */
  readonly #isCalled = (account: string): boolean => this.#options.shares?.isElsewhere(account) !== true;
  /** The first slot in which accounts that came while this ran have a share, epoch ms UTC; null: none yet. */
  readonly #sharesSinceMs = new Map<string, number | null>();
  /** Accounts that are refused, and make a call at this slot to see whether they still are. */
  #probing: ReadonlySet<string> = new Set();

  constructor(options: CollectorOptions) {
    const { clock, log, jobs, calendar, exchange, accounts } = options;
    this.#options = options;
    this.#ownerOf = ownersOf(options.shares);
    this.#slots = new SlotBook(
      {
        onOpened: (slot, shares) => this.#noteOpened(slot, shares),
        onSettled: (entries) => this.#note(entries),
        onFound: (entry) => {
          this.#missed -= entry.due.length;
          this.#note([entry]);
        },
      },
      this.#ownerOf && { ownerOf: this.#ownerOf, isCalled: this.#isCalled },
    );
    this.#earlier = options.earlier;
    this.#jobs = jobs.map((job) => scheduleJob(job, calendar));
    this.#chains = new ChainBook(exchange, (problem) => log.error({}, problem.message));
    for (const account of accounts) this.#employ(account);
    this.#outcomes = new Outcomes({
      ...{ clock, log, slots: this.#slots, chains: this.#chains },
      lastSeenMs: options.earlier?.lastSeenMs ?? new Map(),
      ownerOf: this.#ownerOf,
      isCalled: this.#isCalled,
      ask: (planned) => this.#add(planned),
      onExpanded: () => this.#share(this.#chains.contractDate(clock.now())),
      handOver: (planned) => this.#handOver(planned),
      withdraw: () => this.#withdraw(),
    });
  }

  /**
   * Polls every job at once for what the slot that still lasts has not got from an earlier run, then each at its slots.
   *
   * @param away how the wall clock was moved while nothing ran; null: it was not
   * @returns the instant from which on, with the slots that lasted then, the ledger is kept
   */
  start(away: ClockStep | null = null): Date {
    const { clock, log } = this.#options;
    if (away) this.#clockStepped(away);
    const now = clock.now();
    this.#earlier?.documents.forEach((document) => this.#chains.learn(document));
    this.#pollCurrent(now);
    this.#earlier = null;
    this.#ticker = startTicker({
      ...{ clock, every: this.#tickUnit(), since: now },
      onOver: (at) => this.#expire(at),
      onTick: (window) => this.#tick(window),
      onSetBack: (earlier) => this.#setBack(earlier),
      onClockStep: (step) => this.#clockStepped(step),
      onError: (error) => log.error({ err: error }, "a tick failed"),
    });
    return now;
  }

  /**
   * Polls what a job without a schedule is due to poll, at a slot that has no end. What is polled again for it goes on
   * with that slot.
   */
  pollOnce(due: Pick<DueJob, "job" | "symbols" | "contracts">, slotAt: Instant): void {
    const { name, delayed } = due.job;
    const end = { slotAt, deadlineMs: Infinity, closes: false };
    this.#outcomes.turnTo(this.#chains.contractDate(this.#options.clock.now()));
    this.#options.shares?.settle([due], wantedOf, this.#options.clock.monotonicMs());
    this.#slots.open({ job: name, ...end, delayed, due: dueNames(due) });
    allOf(this.#plan([this.#outcomes.withoutResting({ ...due, ...end })]));
  }

  /** Takes other jobs from the next slot on. What waits or is under way goes on. */
  replaceJobs(jobs: readonly Job[], calendar: Calendar, exchange: Calendar): void {
    // What became due since the last tick is the jobs' before.
    this.#ticker?.cover();
    this.#jobs = jobs.map((job) => scheduleJob(job, calendar));
    this.#reserved.clear();
    this.#chains.useCalendar(exchange);
    this.#ticker?.setUnit(this.#tickUnit());
  }

  /**
   * Takes other accounts. What waits is given out anew; one that goes finishes what it has under way. The slots that
   * last stay in the shares that they were opened in.
   *
   * @param gone names of those that go; `come` may have another account of the same name
   * @returns resolves when those that go are done
   */
  async replaceAccounts(gone: readonly string[], come: readonly CalledAccount[]): Promise<void> {
    const waiting = this.#withdraw();
    const leaving = gone.flatMap((name) => this.#dispatchers.get(name) ?? []);
    for (const name of gone) this.#dispatchers.delete(name);
    for (const dispatcher of leaving) this.#leaving.add(dispatcher);
    for (const account of come) this.#employ(account);
    this.#options.shares?.replace(gone, come.map(sharerOf));
    this.#reserved.clear();
    this.#share(this.#chains.contractDate(this.#options.clock.now()));
    allOf(this.#plan([], waiting));
    await Promise.all(
      leaving.map((dispatcher) => dispatcher.idle().finally(() => this.#leaving.delete(dispatcher))),
    );
  }

  /** Other accounts share the jobs from the next slot on: where collectors have agreed on it, whoever calls them. */
  shareAmong(gone: readonly string[], come: readonly Sharer[]): void {
    this.#options.shares?.replace(gone, come);
    this.#reserved.clear();
    for (const { name } of come) this.#sharesSinceMs.set(name, null);
  }

  /**
   * Calls an account that shares the jobs and that another collector, or none, has called until now: at once what its share of
   * the slots that last still lacks.
   *
   * @param storedIn what others have stored of a share within its slot
   */
  async take(account: CalledAccount, storedIn: StoredIn): Promise<void> {
    this.#employ(account);
    this.#reserved.clear();
    const { clock } = this.#options;
    const now = clock.now();
    const today = this.#chains.contractDate(now);
    // A slot that had begun before the account came to share the jobs stays in the shares that it was opened in.
    const since = this.#sharesSinceMs.get(account.name);
    const sinceMs = since === undefined ? -Infinity : (since ?? Infinity);
    const lasting = this.#jobs.flatMap((scheduled) => {
      const slot = scheduled.schedule.current(now);
      return slot && slot.getTime() >= sinceMs ? [{ ...scheduled, slot, lostMs: +now - +slot }] : [];
    });
    const begun = this.#byAgreement(lasting).map(({ at, due }) => {
      this.#share(today, at);
      const stored = due.map((scheduled) => {
        const { job, schedule, slot } = scheduled;
        const { contracts } = this.#chains.expand(job, today);
        const isIn = (instrument: string): boolean =>
          this.#ownerOf?.(instrument, job.delayed) === account.name;
        const instruments = dueNames({ job, symbols: job.symbols, contracts }).filter(isIn);
        const window = { from: slot, to: new Date(schedule.endOf(slot).deadlineMs) };
        return storedIn({ account: account.name, instruments, delayed: job.delayed, window });
      });
      return Promise.all(stored).then((found) => ({ at, due, found }));
    });
    this.#share(today, now);
    for (const { at, due, found } of await Promise.all(begun)) {
      this.#share(today, at);
      allOf(
        this.#plan(due.flatMap((scheduled, place) => this.#taken(scheduled, account.name, found[place]))),
      );
    }
    this.#share(this.#chains.contractDate(clock.now()));
  }

  /** What a share of a slot that lasts still lacks, for an account that was taken meanwhile. */
  #taken(scheduled: SlotOfJob, account: string, stored: ReadonlySet<string> = NOTHING_STORED): DueJob[] {
    const { clock } = this.#options;
    const { job, schedule, slot } = scheduled;
    // By now the account may be another's again, the slot over, or its share open as the slot began just now.
    const isOurs = this.#dispatchers.has(account) && this.#jobs.some((one) => one.job === job);
    const isOver = schedule.endOf(slot).deadlineMs <= clock.now().getTime();
    const ledgerSlot = { job: job.name, slotAt: instantFromDate(slot) };
    if (!isOurs || isOver || this.#slots.isOpen(ledgerSlot, account)) return [];
    return [this.#open(scheduled, this.#chains.contractDate(clock.now()), { account, stored }).asked];
  }

  /**
   * Calls an account no more: another collector does. What waits for it is that one's to ask.
   *
   * @returns resolves when nothing of it is under way, and its shares of the slots that last are settled
   */
  async leave(name: string): Promise<void> {
    const dispatcher = this.#dispatchers.get(name);
    if (!dispatcher) return;
    const waiting = this.#withdraw();
    this.#dispatchers.delete(name);
    this.#leaving.add(dispatcher);
    this.#options.shares?.forgetRefusal(name);
    this.#reserved.clear();
    this.#share(this.#chains.contractDate(this.#options.clock.now()));
    allOf(this.#plan([], waiting));
    // One that shares the jobs no more is done with all that it had; of another collector's nothing is asked again.
    const over = this.#isCalled(name) ? dispatcher.idle() : dispatcher.close(LEAVE_MS);
    await over.finally(() => this.#leaving.delete(dispatcher));
    if (!this.#isCalled(name)) this.#slots.settleAccount(name, "down");
  }

  /** What this collector would have all of them agree on: who is refused for long, and what chains were expanded by. */
  knows(): { refused: string[]; prices: AgreedPrices | null } {
    const { shares, clock } = this.#options;
    return {
      refused: shares?.refusedSince(clock.monotonicMs()) ?? [],
      prices: this.#chains.used(this.#chains.contractDate(clock.now())),
    };
  }

  /** What is known of an account's budget, for whoever calls it next; null: it is not called. */
  handOver(account: string): ReturnType<Dispatcher["handOver"]> | null {
    return this.#dispatchers.get(account)?.handOver() ?? null;
  }

  /** Whether the leases of the accounts are in doubt: then their calls leave with care. */
  beUnsure(unsure: boolean): void {
    for (const dispatcher of this.#dispatchers.values()) dispatcher.beUnsure(unsure);
  }

  /** Listens for a window, before the next call of each account, whether another collector calls it. */
  listen(): void {
    for (const dispatcher of this.#dispatchers.values()) dispatcher.listen();
  }

  /** The accounts that are to make no calls, by the operator's word: from the next slot on. */
  drain(names: readonly string[]): void {
    this.#options.shares?.drain(names);
  }

  #employ(account: CalledAccount): void {
    const { clock, log, onChange } = this.#options;
    const named = (fields: object): object =>
      this.#dispatchers.size > 1 ? { account: account.name, ...fields } : fields;
    const dispatcher = new Dispatcher({
      ...{ ...account, clock },
      log: {
        debug: (fields, message) => log.debug(named(fields), message),
        info: (fields, message) => log.info(named(fields), message),
        warn: (fields, message) => log.warn(named(fields), message),
        error: (fields, message) => log.error(named(fields), message),
      },
      lendable: () => this.#lendable(account),
      isCutShort: (want, asking) => this.#slots.isCutShort(want, asking ?? DEFAULT_ACCOUNT),
      onResult: (planned, result) => {
        this.#learn(planned.account, result);
        this.#outcomes.take(planned, result);
        onChange?.();
      },
    });
    this.#dispatchers.set(account.name, dispatcher);
  }

  /** What is scheduled now. */
  get jobs(): readonly ScheduledJob[] {
    return this.#jobs;
  }

  /** What is due of a job in an account's share now. */
  shareOf(job: Job, account: string): readonly string[] {
    return this.#sharesOf(job).get(account) ?? [];
  }

  /** Whether the service takes an account's credentials. */
  #learn(account: string | null, result: Result): void {
    const { shares, clock } = this.#options;
    // A call may end after its account has gone to another collector.
    if (!shares || account === null || !this.#dispatchers.has(account) || result.kind !== "answered") return;
    if (result.answer.outcome === "quotes") shares.forgetRefusal(account);
    else if (result.answer.outcome === "unauthorized") shares.refused(account, clock.monotonicMs());
  }

  get #all(): readonly Dispatcher[] {
    return [...this.#dispatchers.values(), ...this.#leaving];
  }

  /** The dispatcher of an account; null: of the only one. One that is gone had what the first of them takes over. */
  #of(account: string | null): Dispatcher {
    const [first] = this.#dispatchers.values();
    const dispatcher = this.#dispatchers.get(account ?? "") ?? first;
    if (!dispatcher) throw new RangeError("there is no account");
    return dispatcher;
  }

  #add(planned: PlannedCall): void {
    const { account } = planned;
    if (account !== null && !this.#isCalled(account))
      this.#outcomes.take(planned, { kind: "missed", reason: "down" });
    // A watchlist that is pinned to it: nobody else has it.
    else if (
      account !== null &&
      this.#options.shares?.takesPart(account) === false &&
      !this.#probing.has(account)
    )
      this.#outcomes.take(planned, { kind: "missed", reason: "down" });
    else this.#of(account).add(planned);
  }

  /** What an account is refused, another one asks for, while the slot lasts. @returns whether one does */
  #handOver(planned: PlannedCall): boolean {
    const { shares } = this.#options;
    const { account, call } = planned;
    const [name] = planned.wants.keys();
    if (!shares || account === null || name === undefined || call.form === "watchlist") return false;
    const other = shares.standIn(name, call.delayed);
    if (other === null) return false;
    this.#add({ ...planned, account: other });
    return true;
  }

  status(): CollectorStatus {
    const now = this.#options.clock.now();
    const next = this.#jobs.flatMap(({ schedule }) => schedule.next(now)?.getTime() ?? []);
    const { shares } = this.#options;
    const accounts = Array.from(this.#dispatchers, ([name, dispatcher]): AccountStatus => {
      const { callsUsed, queued, budget, lastError } = dispatcher;
      return { name, state: shares?.stateOf(name) ?? "active", callsUsed, queued, budget, lastError };
    });
    return {
      accounts,
      callsUsed: sum(accounts, ({ callsUsed }) => callsUsed),
      limit: sum(accounts, ({ budget }) => budget.limit),
      queued: sum(this.#all, ({ queued }) => queued),
      missed: this.#missed,
      unknown: this.#outcomes.askBackoff.names(),
      nextPollAt: next.length > 0 ? new Date(Math.min(...next)) : null,
      lastError: accounts.find(({ lastError }) => lastError !== null)?.lastError ?? null,
    };
  }

  /** Lets a program beside make a call of an account's budget: see `Dispatcher.lend`. */
  lend(account: string, urgent: boolean, signal: AbortSignal): ReturnType<Dispatcher["lend"]> {
    return this.#of(account).lend(urgent, signal);
  }

  /** Resolves when nothing is queued or under way. */
  async idle(): Promise<void> {
    // What one is refused goes to another, which may have been idle already.
    do await Promise.all(this.#all.map((dispatcher) => dispatcher.idle()));
    while (this.#all.some(({ queued }) => queued > 0));
  }

  /** Sends nothing more, waits for the calls under way, at most `graceMs`; what is open then was missed. */
  async close(graceMs: number): Promise<void> {
    // A slot that has begun before its tick came is in the ledger as well: answers may have been asked for within it.
    this.#ticker?.cover();
    this.#ticker?.stop();
    await Promise.all(this.#all.map((dispatcher) => dispatcher.close(graceMs)));
    this.#slots.settleAll("down");
  }

  /** Misses what still waits for slots that are over. */
  *#expire(now: Date): Iterator<void> {
    this.#slots.forget(now.getTime());
    for (const dispatcher of this.#all) yield* dispatcher.expire();
    for (const { due, underlyings } of this.#chains.expire(now.getTime())) {
      const slot = { job: due.job.name, slotAt: due.slotAt };
      this.#slots.settle([slot], underlyings.map(pendingChain), "absent_from_answer");
    }
  }

  /** Everything that became due in (after, until]. */
  *#tick({ after, until }: TickWindow): Iterator<void> {
    // A machine without a battery may begin in 1970, and be set right by decades.
    const from = new Date(Math.max(after.getTime(), until.getTime() - LONGEST_DOWNTIME_MS));
    yield* this.#poll(
      this.#jobs.flatMap((scheduled) => {
        const { schedule } = scheduled;
        const slots = schedule.slotsBetween(from, until);
        const newest = slots.at(-1);
        const lasts = newest && schedule.endOf(newest).deadlineMs > until.getTime();
        // The slots that are over were slept through, or left out by the clock: they are not polled behind time.
        this.#down(scheduled.job, lasts ? slots.slice(0, -1) : slots);
        if (!lasts) return [];
        const lateMs = until.getTime() - newest.getTime();
        return [{ ...scheduled, slot: newest, lostMs: lateMs < CLOCK_STEP_MS ? 0 : lateMs }];
      }),
    );
  }

  #tickUnit(): TickUnit {
    return this.#jobs.some(({ schedule }) => schedule.subMinute) ? "second" : "minute";
  }

  /** Polls every job for the slot that lasts at `now`. */
  #pollCurrent(now: Date): void {
    allOf(
      this.#poll(
        this.#jobs.flatMap((scheduled) => {
          const slot = scheduled.schedule.current(now);
          return slot ? [{ ...scheduled, slot, lostMs: +now - +slot }] : [];
        }),
      ),
    );
  }

  /** As at a start; but what is under way still counts for slots that lie ahead now, and will come once more. */
  #setBack(now: Date): void {
    for (const dispatcher of this.#all) dispatcher.missAhead();
    this.#pollCurrent(now);
  }

  #clockStepped({ kind, stepMs }: ClockStep): void {
    const { clock, log, onNote } = this.#options;
    log.warn({ kind, stepMs }, STEP_WORDS[kind]);
    onNote({ type: "clock", at: instantFromDate(clock.now()), kind, stepMs });
    if (kind !== "set_back") this.#slots.lose(stepMs);
    if (kind !== "set_back" && kind !== "set_forward") return;
    this.#outcomes.moveTimes(stepMs);
    for (const dispatcher of this.#all) dispatcher.clockSet();
  }

  /**
   * Opens the slots of what is due, those of one agreement before any call is planned: what is asked for is in the ledger by
   * then.
   * A step ends where so much has been done that whatever has arrived is to have its turn.
   */
  *#poll(due: readonly SlotOfJob[]): Iterable<void> {
    if (due.length === 0) return;
    const today = this.#chains.contractDate(this.#options.clock.now());
    this.#outcomes.turnTo(today);
    for (const { at, due: agreed } of this.#byAgreement(due)) {
      this.#share(today, at);
      for (const [name, since] of this.#sharesSinceMs)
        if (since === null && this.#options.shares?.takesPart(name))
          this.#sharesSinceMs.set(name, Math.min(...agreed.map(({ slot }) => +slot)));
      const jobs: DueJob[] = [];
      let opened = 0;
      for (const scheduled of agreed) {
        const { names, asked } = this.#open(scheduled, today);
        jobs.push(asked);
        opened += names;
        if (opened < OPENED_AT_ONCE) continue;
        opened = 0;
        yield;
      }
      yield* this.#plan(jobs);
    }
  }

  /** Slots by what the collectors had agreed on when they began, each with the newest such instant; the oldest first. */
  #byAgreement(due: readonly SlotOfJob[]): { at: Date; due: SlotOfJob[] }[] {
    const groups = grouped(due, ({ slot }) => this.#options.agreedAt?.(slot)?.number);
    return Array.from(groups.values(), (agreed) => ({
      at: new Date(Math.max(...agreed.map(({ slot }) => +slot))),
      due: agreed,
    })).sort((one, other) => +one.at - +other.at);
  }

  /** Settles, before a slot is opened, the owner of each instrument that the jobs want now, at whatever slots. */
  #share(today: string, at = this.#options.clock.now()): void {
    const { shares, agreedAt } = this.#options;
    if (!shares) return;
    const agreed = agreedAt?.(at) ?? null;
    shares.agree(agreed?.accounts ?? null);
    this.#chains.agree(agreed?.prices ?? null);
    shares.settle(
      this.#jobs.map(({ job }) => {
        const { contracts, priceless } = this.#chains.expand(job, today, agreed !== null);
        return {
          job,
          symbols: priceless.length === 0 ? job.symbols : [...job.symbols, ...priceless],
          contracts,
        };
      }),
      wantedOf,
      this.#options.clock.monotonicMs(),
    );
  }

  *#plan(jobs: readonly DueJob[], waiting = this.#withdraw()): Iterable<void> {
    const options = this.#outcomes.planOptions;
    // What waits at an account that has gone to another collector is that one's to ask, whoever has the instrument by now.
    const ours = waiting.filter(({ account }) => this.#isOurs(account));
    for (const call of waiting)
      if (!this.#isOurs(call.account)) this.#outcomes.take(call, { kind: "missed", reason: "down" });
    this.#planned = this.#probed(planInTurn(jobs, { ...options, ownerOf: this.#keeping(ours) }, ours));
    let added = 0;
    for (const call of this.#planned) {
      this.#add(call);
      added += 1;
      if (added % ADDED_AT_ONCE === 0) yield;
    }
    this.#options.onChange?.();
  }

  /** Whether what waits at an account is this collector's still; one that is in no file any more was. */
  #isOurs(account: string | null): boolean {
    return account === null || this.#dispatchers.has(account) || this.#isCalled(account);
  }

  /**
   * The owner of each instrument, but that what waits at an account stays there when it has become another collector's: that one
   * asks for it from the next slot on. By an agreement it stays in any case: whoever takes that account over within the slot asks
   * for all of its share.
   */
  #keeping(waiting: readonly PlannedCall[]): OwnerOf | undefined {
    const ownerOf = this.#ownerOf;
    if (!ownerOf) return undefined;
    const kept = new Map<string, string>();
    for (const { account, call, wants } of waiting)
      for (const [name, slots] of wants) {
        const isOurs = this.#isCalled(ownerOf(name, call.delayed));
        if (account !== null && this.#dispatchers.has(account)) {
          if (!isOurs || this.#options.shares?.isAgreed) kept.set(`${call.delayed} ${name}`, account);
        } else if (!isOurs) this.#outcomes.fate(slots, [name], "down");
      }
    return kept.size === 0
      ? ownerOf
      : (name, delayed) => kept.get(`${delayed} ${name}`) ?? ownerOf(name, delayed);
  }

  /** The same calls, one of them for each account that is to be tried: what it is refused, the others ask for. */
  *#probed(planned: IterableIterator<PlannedCall>): IterableIterator<PlannedCall> {
    const { shares, clock } = this.#options;
    const probed = shares?.toProbe(clock.monotonicMs()) ?? [];
    this.#probing = new Set(probed);
    for (const call of planned) {
      const account = call.call.form === "watchlist" ? undefined : probed.shift();
      yield account === undefined ? call : { ...call, account };
    }
  }

  /** Takes the calls back that only wait for their turn, so that they can be planned anew. */
  #withdraw(): PlannedCall[] {
    return [...this.#all.flatMap((dispatcher) => dispatcher.withdraw()), ...this.#planned];
  }

  /**
   * Opens a job's slot in the ledger; gives what is to be asked for it, and how many names are due.
   *
   * @param share the account whose share alone is opened, and what it has already; default: all shares
   */
  #open(
    { job, schedule, slot, lostMs }: SlotOfJob,
    today: string,
    share?: { account: string; stored: ReadonlySet<string> },
  ): { asked: DueJob; names: number } {
    const isIn = (name: string): boolean => !share || this.#ownerOf?.(name, job.delayed) === share.account;
    const hasPending = (underlying: string): boolean => isIn(pendingChain(underlying));
    const dueSlot = { job, slotAt: instantFromDate(slot), ...schedule.endOf(slot) };
    const { deadlineMs } = dueSlot;
    const { contracts, ...lacks } = this.#chains.expand(job, today);
    const [priceless, broken] = [lacks.priceless.filter(hasPending), lacks.broken.filter(hasPending)];
    const due = { ...dueSlot, symbols: job.symbols, contracts };
    const ledgerSlot = { job: job.name, slotAt: due.slotAt };
    const stored = share?.stored ?? this.#earlier?.storedWithin(job, slot.getTime(), deadlineMs) ?? new Set();
    const names = [...dueNames(due).filter(isIn), ...[...priceless, ...broken].map(pendingChain)];
    this.#slots.open({ ...ledgerSlot, deadlineMs, delayed: job.delayed, due: names, lostMs });
    this.#slots.settle([ledgerSlot], [...stored], "stored");
    this.#slots.settle([ledgerSlot], broken.map(pendingChain), "malformed");
    this.#chains.await(dueSlot, job.chains, priceless);
    // The job's own list where it is all: slots that share it are taken apart once.
    const symbols = priceless.length === 0 ? job.symbols : [...new Set([...job.symbols, ...priceless])];
    const [own] = share ? ownedOf([{ ...due, symbols }], isIn) : [{ ...due, symbols }];
    const lacking = withoutNames(own ?? { ...due, symbols: [], contracts: [] }, stored);
    return { asked: this.#outcomes.withoutResting(lacking), names: names.length };
  }

  /** Calls of an account's window that the schedule does not need, for programs that can wait. */
  #lendable({ name, governor: { windowMs } }: CalledAccount): number {
    const { limit, secondClientCount } = this.#of(name).budget;
    const nowMs = this.#options.clock.now().getTime();
    let reserved = this.#reserved.get(name);
    if (!reserved || nowMs >= reserved.untilMs) {
      const untilMs = nowMs + windowMs;
      const until = new Date(untilMs + (LOOK_AHEAD_WINDOWS + 1) * windowMs);
      const window = { after: new Date(nowMs - windowMs), until };
      const isOurs = ({ account }: PlannedCall): boolean => account === null || account === name;
      const costs = slotCosts(this.#jobs, this.#chains, { ...window, ownerOf: this.#ownerOf, isOurs });
      this.#reserved.set(name, (reserved = { costs, untilMs }));
    }
    return shareOf({ limit: limit - secondClientCount }, reservedCalls(reserved.costs, nowMs, windowMs));
  }

  #noteOpened({ job, slotAt, deadlineMs }: BeginningSlot, shares: readonly Share[]): void {
    const endsAt = deadlineMs === Infinity ? null : instantFromDate(new Date(deadlineMs));
    const { run, onNote } = this.#options;
    onNote({ type: "opened", run, job, slotAt, endsAt, ...asShares(shares) });
  }

  /** A note for each account: the market that it calls may be another one. */
  #note(entries: SlotEntry[]): void {
    this.#missed += entries.reduce((sum, { misses }) => sum + misses.length, 0);
    for (const own of grouped(entries, ({ account }) => account).values())
      this.#options.onNote({ type: "slots", run: this.#options.run, entries: own });
  }

  /** Slots that passed while the machine slept, or that the clock has left out. */
  #down(job: Job, slots: readonly Date[]): void {
    if (slots.length === 0) return;
    const past = slots.map((slotAt) => ({ slotAt, stored: NOTHING_STORED }));
    const shares = Array.from(this.#sharesOf(job), ([account, due]) => ({ account, due })).filter(
      ({ account }) => this.#isCalled(account),
    );
    this.#missed += slots.length * sum(shares, (share) => share.due.length);
    if (shares.length > 0) downtimeNotes(job.name, shares, past).forEach(this.#options.onNote);
  }

  #sharesOf(job: Job): Map<string, string[]> {
    const today = this.#chains.contractDate(this.#options.clock.now());
    const { contracts, priceless, broken } = this.#chains.expand(job, today);
    const due = [
      ...dueNames({ job, symbols: job.symbols, contracts }),
      ...[...priceless, ...broken].map(pendingChain),
    ];
    return grouped(due, (name) => this.#ownerOf?.(name, job.delayed) ?? DEFAULT_ACCOUNT);
  }
}

/** The price that a chain waits for is asked by whoever has the underlying, and so the chain is that one's as long. */
function ownersOf(shares: Shares | undefined): OwnerOf | undefined {
  return shares && ((name, delayed) => shares.ownerOf(underlyingOfPending(name) ?? name, delayed));
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function allOf(steps: Iterable<void>): void {
  for (const _ of steps);
}
