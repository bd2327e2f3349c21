/**
 * The collector: at each slot it plans what is due, together with what still waits, and dispatches it.
 *
 * `dueShares.ts` settles which account owns what and opens the slots in the ledger; `accountDispatchers.ts` has the accounts that
 * are called here; `outcomes.ts` decides what comes of each call.
 */
import type { EpochTerms } from "../accounts/lease/agreement.ts";
import type { ChainFacts } from "../accounts/lease/leaseStore.ts";
import type { Sharer } from "../accounts/partition.ts";
import type { Shares } from "../accounts/shares.ts";
import type { Instant } from "../ground/clock.ts";
import type { Chain, OptionAsk } from "../market/optionChain.ts";
import type { ClockStep, LedgerNote } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import type { QuoteCall } from "../quotes/call.ts";
import type { ReadDocument } from "../quotes/document.ts";
import type { Job } from "../schedule/readJobs.ts";
import { type ScheduledJob, scheduleJob } from "../schedule/jobSchedule.ts";
import type { Batch } from "../services/service.ts";
import { AccountDispatchers, type CalledAccount, sharerOf } from "./accountDispatchers.ts";
import { type DueJob, dueNames, type Once } from "./asks.ts";
import { planOnce, withoutNames } from "./callPlan.ts";
import { ChainBook } from "./chainBook.ts";
import type { Dispatcher, DispatcherOptions } from "./dispatcher.ts";
import { DueShares, type StoredIn } from "./dueShares.ts";
import type { EarlierRuns } from "./earlierRuns.ts";
import { Outcomes } from "./outcomes.ts";
import { allOf, Planner } from "./planner.ts";
import { OnceCalls } from "./once/onceCalls.ts";
import { Reserved } from "./once/reserve.ts";
import type { Slot } from "./slotBook.ts";
import { SlotTicks } from "./slotTicks.ts";

export type CollectorOptions = Pick<DispatcherOptions, "clock" | "log"> & {
  accounts: readonly CalledAccount[];
  /** How long lists of the service may be. */
  batch: Batch;
  /** Says which account owns an instrument; undefined: one account owns all. */
  shares?: Shares;
  jobs: readonly Job[];
  /** Says when sessions are open: the exchange's, or one that always is. */
  calendar: Calendar;
  /** The exchange's own, which says when options expire. */
  exchange: Calendar;
  /** Takes the ledger's notes, in order. */
  onNote: (note: LedgerNote) => void;
  run: string;
  /** What the runs before have asked lately; null: nothing. */
  earlier: EarlierRuns | null;
  /** Called whenever something changed that `status` shows. */
  onChange?: () => void;
  /** What several collectors have agreed on for the slots at an instant; null, and by default: this one decides alone. */
  agreedAt?: (at: Date) => EpochTerms | null;
};

/** What a one-off job polls, but what has an answer already. */
export type OncePoll = Pick<DueJob, "job" | "symbols"> & {
  slotAt: Instant;
  options: readonly OptionAsk[];
  chains: readonly Chain[];
  /** Names that are not asked for again. */
  known: ReadonlySet<string>;
};

/** The longest wait for calls under way at an account that another collector calls now, in ms: a call lasts no longer. */
const LEAVE_MS = 20_000;

/** A collector under way; `close` ends it. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #dispatchers: AccountDispatchers;
  readonly #chains: ChainBook;
  readonly #due: DueShares;
  readonly #outcomes: Outcomes;
  readonly #planner: Planner;
  readonly #ticks: SlotTicks;
  readonly #reserved = new Reserved();
  readonly #once: OnceCalls;

  constructor(options: CollectorOptions) {
    const { clock, log, jobs, calendar, exchange, accounts, shares, agreedAt, run, onNote } = options;
    this.#options = options;
    this.#chains = new ChainBook(exchange, (problem) => log.error({}, problem.message));
    this.#due = new DueShares({ clock, chains: this.#chains, shares, agreedAt, onNote, run });
    this.#due.jobs = jobs.map((job) => scheduleJob(job, calendar));
    const { slots, ownerOf, isCalled } = this.#due;
    this.#dispatchers = new AccountDispatchers({
      clock,
      log,
      shares,
      isCutShort: (want, account) => slots.isCutShort(want, account),
      onResult: (planned, result) => {
        this.#once.ended(planned, result);
        this.#outcomes.end(planned, result);
        this.#once.look();
        options.onChange?.();
      },
    });
    this.#once = new OnceCalls({
      ...{ clock, onResult: (planned, result) => this.#outcomes.end(planned, result) },
      dispatcherOf: (account) => this.#dispatchers.queueOf(account),
      roomOf: (account, priority) => this.#roomOf(account, priority).now,
      batchSize: () => this.#outcomes.planOptions.batchSize,
    });
    for (const account of accounts) this.#open(account);
    shares?.watchLogins((account) => this.#dispatchers.get(account)?.lookAtSession() === false);
    this.#planner = new Planner({
      shares,
      due: this.#due,
      dispatchers: this.#dispatchers,
      outcomes: () => this.#outcomes,
      once: this.#once,
      onChange: options.onChange,
    });
    this.#outcomes = new Outcomes({
      clock,
      log,
      slots,
      batch: options.batch,
      chains: this.#chains,
      lastSeenMs: options.earlier?.lastSeenMs ?? new Map(),
      ownerOf,
      isCalled,
      ask: (planned) => this.#planner.add(planned),
      onExpanded: () => this.#due.settleOwners(),
      askInstead: (planned) => this.#planner.askInstead(planned),
      removeWaiting: () => this.#planner.removeWaiting(),
    });
    this.#ticks = new SlotTicks({
      clock,
      log,
      onNote,
      due: this.#due,
      chains: this.#chains,
      dispatchers: this.#dispatchers,
      outcomes: this.#outcomes,
      planner: this.#planner,
    });
  }

  /**
   * Polls every job at once for what the slot that still lasts has not got from an earlier run, then each at its slots.
   *
   * @param away how the wall clock was moved while nothing ran; null: it was not
   * @returns the instant from which on, with the slots that lasted then, the ledger is kept
   */
  start(away: ClockStep | null = null): Date {
    const { earlier } = this.#options;
    earlier?.documents.forEach((document) => this.#chains.recordAnswer(document));
    for (const { underlying, expirations, askedMs } of earlier?.listed.values() ?? [])
      this.#chains.list(underlying, expirations, this.#chains.contractDate(new Date(askedMs)));
    this.#due.earlier = earlier;
    const now = this.#ticks.start(away);
    this.#due.earlier = null;
    return now;
  }

  /**
   * Polls a job at a slot that has no end: now, and once more when the same slot is asked for again with what is left of it.
   * It is over when its slot is open no more.
   */
  pollOnce({ job, slotAt, symbols, options, chains, known }: OncePoll, once: Once): void {
    const { today, slots } = this.#due;
    this.#outcomes.turnTo(today);
    this.#due.settleOwners();
    const dueSlot = { job, slotAt, deadlineMs: Infinity, closes: false, once };
    const { contracts: all, ...lacks } = this.#chains.expand({ options, chains }, today);
    const { contracts } = withoutNames({ job, symbols, contracts: all }, known);
    const { pending, broken, priceless, unlisted } = lacks;
    const names = [...dueNames({ job, symbols, contracts }), ...pending, ...broken];
    const slot = { job: job.name, slotAt };
    slots.open({ ...slot, deadlineMs: Infinity, delayed: job.delayed, due: names, ownerOf: once.ownerOf });
    slots.settle([slot], broken, "malformed");
    this.#chains.await({ due: dueSlot, chains: [...chains] }, pending, today);
    const due = {
      ...dueSlot,
      symbols: [...new Set([...symbols, ...priceless])],
      contracts: [...contracts, ...unlisted],
    };
    const { batch } = this.#options;
    const planOptions = this.#outcomes.planOptions;
    const size = once.single ? batch.most : planOptions.batchSize;
    for (const planned of planOnce(due, once, { ...planOptions, batchSize: size })) this.#once.add(planned);
  }

  /** Takes what an answer to an earlier call of a one-off job says of chains. @param at when it was asked for */
  knowOnce(call: QuoteCall, document: ReadDocument, at: Date): void {
    this.#chains.recordAnswer(document);
    const { expirations = [] } = document;
    if (call.form === "expirations" && expirations.length > 0)
      this.#chains.list(call.underlying, expirations, this.#chains.contractDate(at));
  }

  /** Whether a one-off job's slot is still polled. */
  isOpen(slot: Slot): boolean {
    return this.#due.slots.isOpen(slot);
  }

  /** What the jobs leave, of `limit` calls a window, to the calls of a one-off job that wait for room; null: none waits for it. */
  roomForOnce(slot: Slot): { calls: number; spare: number; limit: number; windowMs: number } | null {
    const waiting = this.#once.waiting(slot);
    const [first] = waiting;
    const names = new Set(waiting.flatMap(({ account }) => this.#dispatchers.queueOf(account)?.name ?? []));
    const rooms = [...names].map((name) => {
      const { limit, windowMs } = this.#dispatchers.of(name).governor;
      return { spare: this.#roomOf(name, first?.priority ?? 0).spare, limit, windowMs };
    });
    const [{ windowMs } = { windowMs: 0 }] = rooms;
    const spare = rooms.reduce((sum, room) => sum + room.spare, 0);
    if (windowMs === 0 || spare === Infinity) return null;
    return {
      calls: waiting.length,
      spare,
      limit: rooms.reduce((sum, room) => sum + room.limit, 0),
      windowMs,
    };
  }

  /** Whether an instrument was found to make calls fail. */
  isSuspect(name: string): boolean {
    return this.#outcomes.askBackoff.isSuspect(name);
  }

  /** Asks for nothing more of a one-off job: what is left of its slot is missed. */
  withdrawOnce(slot: Slot): void {
    this.#once.withdraw(slot);
    this.#due.slots.settleSlot(slot, "down");
  }

  /** Takes other jobs from the next slot on. What waits or is under way goes on. */
  replaceJobs(jobs: readonly Job[], calendar: Calendar, exchange: Calendar): void {
    this.#ticks.useJobs(jobs.map((job) => scheduleJob(job, calendar)));
    this.#reserved.clear();
    this.#chains.useCalendar(exchange);
  }

  /**
   * Takes other accounts. What waits is given out anew; one that goes finishes what it has under way. The slots that
   * last stay in the shares that they were opened in.
   *
   * @param gone names of those that go; `come` may have another account of the same name
   * @returns resolves when those that go are done
   */
  async replaceAccounts(gone: readonly string[], come: readonly CalledAccount[]): Promise<void> {
    const waiting = this.#planner.removeWaiting();
    const leaving = gone.map((name) => this.#dispatchers.remove(name));
    for (const account of come) this.#open(account);
    this.#options.shares?.replace(gone, come.map(sharerOf));
    this.#reserved.clear();
    this.#planner.planAgain(waiting);
    await Promise.all(leaving.map((remove) => remove?.((dispatcher) => dispatcher.idle())));
  }

  /** Other accounts share the jobs from the next slot on: where collectors have agreed on it, whoever calls them. */
  shareAmong(gone: readonly string[], come: readonly Sharer[]): void {
    this.#options.shares?.replace(gone, come);
    this.#reserved.clear();
    this.#due.beginSharing(come.map(({ name }) => name));
  }

  /**
   * Calls an account that shares the jobs and that another collector, or none, has called until now: at once what its share of
   * the slots that last still lacks.
   *
   * @param storedIn what others have stored of a share within its slot
   */
  async startCalling(account: CalledAccount, storedIn: StoredIn): Promise<void> {
    const { name } = account;
    this.#open(account);
    const begun = this.#due.byAgreement(this.#due.lasting(this.#options.clock.now(), name)).map((group) => {
      this.#due.settleOwners(group.at);
      const stored = group.due.map((slot) => this.#due.storedOf(slot, name, storedIn));
      return Promise.all(stored).then((found) => ({ ...group, found }));
    });
    this.#due.settleOwners();
    for (const { at, due, found } of await Promise.all(begun)) {
      // Another collector may call the account again.
      if (!this.#dispatchers.has(name)) break;
      this.#due.settleOwners(at);
      const opened = due.flatMap((slot, place) => this.#due.openShare(slot, name, found[place]) ?? []);
      allOf(this.#planner.plan(opened.map(({ asked }) => this.#outcomes.withoutResting(asked))));
    }
    this.#due.settleOwners();
  }

  /**
   * Calls an account no more: another collector does. What waits for it is that one's to ask.
   *
   * @returns resolves when nothing of it is under way, and its shares of the slots that last are settled
   */
  async stopCalling(name: string): Promise<void> {
    if (!this.#dispatchers.has(name)) return;
    const waiting = this.#planner.removeWaiting();
    const remove = this.#dispatchers.remove(name);
    this.#options.shares?.forgetRefusal(name);
    this.#reserved.clear();
    this.#planner.planAgain(waiting);
    // An account that is in no file any more ends all that it had; what another collector calls is not asked again.
    const isCalled = this.#due.isCalled(name);
    await remove?.((dispatcher) => (isCalled ? dispatcher.idle() : dispatcher.close(LEAVE_MS)));
    this.#once.forget(name);
    if (!this.#due.isCalled(name)) this.#due.slots.settleAccount(name, "down");
  }

  /** What this collector would have all of them agree on: who is refused for long, and what chains were expanded by. */
  knows(): { refused: string[]; prices: ChainFacts | null } {
    const { shares, clock } = this.#options;
    return {
      refused: shares?.refusedSince(clock.monotonicMs()) ?? [],
      prices: this.#chains.used(this.#due.today),
    };
  }

  /** What is known of an account's budget, for whoever calls it next; null: it is not called. */
  handOver(account: string): ReturnType<Dispatcher["budget"]["handOver"]> | null {
    return this.#dispatchers.get(account)?.budget.handOver() ?? null;
  }

  /** Whether the leases of the accounts are in doubt: then their calls leave with care. */
  beUnsure(unsure: boolean): void {
    for (const dispatcher of this.#dispatchers.called) dispatcher.budget.beUnsure(unsure);
  }

  /** Listens for a window, before the next call of each account, whether another collector calls it. */
  listen(): void {
    for (const dispatcher of this.#dispatchers.called) dispatcher.budget.listen();
  }

  /** Drains these accounts: they make no calls from the next slot on. */
  drain(names: readonly string[]): void {
    this.#options.shares?.drain(names);
  }

  get jobs(): readonly ScheduledJob[] {
    return this.#due.jobs;
  }

  /** What is due of a job in an account's share now. */
  shareOf(job: Job, account: string): readonly string[] {
    return this.#due.shareOf(job, account);
  }

  status() {
    const now = this.#options.clock.now();
    const next = this.#due.jobs.flatMap(({ schedule }) => schedule.next(now)?.getTime() ?? []);
    return {
      ...this.#dispatchers.status,
      /** Instruments missed at slots since the start. */
      missed: this.#due.missed,
      /** Instruments that the service does not know, and is asked for less and less often. */
      unknown: this.#outcomes.askBackoff.names(),
      /** The next slot of any job; null when there is none within a year. */
      nextPollAt: next.length > 0 ? new Date(Math.min(...next)) : null,
    };
  }

  async idle(): Promise<void> {
    await this.#dispatchers.idle();
  }

  /** Sends nothing more, waits for the calls under way, at most `graceMs`; what is open then was missed. */
  async close(graceMs: number): Promise<void> {
    this.#once.close();
    await Promise.all(this.#dispatchers.all.map((dispatcher) => dispatcher.close(graceMs)));
    // Only now: a call that was let go for one slot may be asked for within the next.
    this.#ticks.stop();
    this.#due.slots.settleAll("down");
  }

  #open(account: CalledAccount): void {
    this.#dispatchers.open(account);
    this.#reserved.clear();
  }

  /** Calls of an account's window that the jobs of a priority and above do not need. */
  #roomOf(name: string, priority: number): ReturnType<Reserved["left"]> {
    const { governor, budget } = this.#dispatchers.of(name);
    const { limit, secondClientCount } = budget.state;
    const { jobs, ownerOf } = this.#due;
    const { clock, batch } = this.#options;
    const schedule = {
      jobs,
      chains: this.#chains,
      ownerOf,
      batchSize: batch.first,
      nowMs: clock.now().getTime(),
    };
    const asked = { account: name, priority, ...governor, limit: limit - secondClientCount };
    return this.#reserved.left(asked, schedule);
  }
}
