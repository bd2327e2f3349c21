/**
 * The collector: at each slot it plans what is due, together with what still waits, and dispatches it.
 *
 * `dueShares.ts` settles which account owns what and opens the slots in the ledger; `accountDispatchers.ts` has the accounts that
 * are called here; `outcomes.ts` decides what comes of each call.
 */
import type { Agreed } from "../accounts/lease/agreement.ts";
import type { ChainFacts } from "../accounts/lease/leaseStore.ts";
import type { Sharer } from "../accounts/partition.ts";
import type { Shares } from "../accounts/shares.ts";
import type { Instant } from "../clock.ts";
import type { ClockStep, LedgerNote } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "../schedule/readJobs.ts";
import { type ScheduledJob, scheduleJob } from "../schedule/jobSchedule.ts";
import type { Batch } from "../services/service.ts";
import { AccountDispatchers, type CalledAccount, sharerOf } from "./accountDispatchers.ts";
import { type DueJob, dueNames, wantedOf } from "./asks.ts";
import { ChainBook } from "./chainBook.ts";
import type { Dispatcher, DispatcherOptions } from "./dispatcher.ts";
import { DueShares, type StoredIn } from "./dueShares.ts";
import type { EarlierRuns } from "./earlierRuns.ts";
import { Outcomes } from "./outcomes.ts";
import { allOf, Planner } from "./planner.ts";
import { Reserved } from "./reserve.ts";
import { SlotTicks } from "./slotTicks.ts";

export type CollectorOptions = Pick<DispatcherOptions, "clock" | "log"> & {
  accounts: readonly CalledAccount[];
  /** How long lists of the service may be. */
  batch: Batch;
  /** Whose of the accounts each instrument is; undefined: there is one. */
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
  agreedAt?: (at: Date) => Agreed | null;
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
      borrowable: (account) => this.#borrowable(account),
      isCutShort: (want, account) => slots.isCutShort(want, account),
      onResult: (planned, result) => {
        this.#outcomes.end(planned, result);
        options.onChange?.();
      },
    });
    for (const account of accounts) this.#dispatchers.open(account);
    shares?.watchLogins((account) => this.#dispatchers.get(account)?.lookAtSession() === false);
    this.#planner = new Planner({
      shares,
      due: this.#due,
      dispatchers: this.#dispatchers,
      outcomes: () => this.#outcomes,
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
   * Polls what a job without a schedule is due to poll, at a slot that has no end. What is polled again for it goes on
   * with that slot.
   */
  pollOnce(due: Pick<DueJob, "job" | "symbols" | "contracts">, slotAt: Instant): void {
    const { name, delayed } = due.job;
    const end = { slotAt, deadlineMs: Infinity, closes: false };
    this.#outcomes.turnTo(this.#due.today);
    this.#options.shares?.settle([due], wantedOf, this.#options.clock.monotonicMs());
    this.#due.slots.open({ job: name, ...end, delayed, due: dueNames(due) });
    allOf(this.#planner.plan([this.#outcomes.withoutResting({ ...due, ...end })]));
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
    for (const account of come) this.#dispatchers.open(account);
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
    this.#dispatchers.open(account);
    this.#reserved.clear();
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

  /** The accounts that are to make no calls, by the operator's word: from the next slot on. */
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

  /** Another program borrows a call of an account's budget: see `Dispatcher.borrow`. */
  borrow(account: string, urgent: boolean, signal: AbortSignal): ReturnType<Dispatcher["borrow"]> {
    return this.#dispatchers.of(account).borrow(urgent, signal);
  }

  async idle(): Promise<void> {
    await this.#dispatchers.idle();
  }

  /** Sends nothing more, waits for the calls under way, at most `graceMs`; what is open then was missed. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#dispatchers.all.map((dispatcher) => dispatcher.close(graceMs)));
    // Only now: a call that was let go for one slot may be asked for within the next.
    this.#ticks.stop();
    this.#due.slots.settleAll("down");
  }

  /** Calls of an account's window that the schedule does not need: other programs may borrow them if they can wait. */
  #borrowable({ name, governor }: CalledAccount): number {
    const { limit, secondClientCount } = this.#dispatchers.of(name).budget.state;
    const { jobs, ownerOf } = this.#due;
    const { clock, batch } = this.#options;
    const nowMs = clock.now().getTime();
    const schedule = { jobs, chains: this.#chains, ownerOf, batchSize: batch.first, nowMs };
    return this.#reserved.left(name, { ...governor, limit: limit - secondClientCount }, schedule);
  }
}
