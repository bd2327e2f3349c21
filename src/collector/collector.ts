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
import { AccountDispatchers, type CalledAccount, sharerOf } from "../collect/accountDispatchers.ts";
import { isOnce, type PlannedCall } from "../collect/callPlan.ts";
import { ChainBook } from "../collect/chainBook.ts";
import type { DispatcherOptions } from "../collect/dispatcher.ts";
import { DueShares, type StoredIn } from "../collect/dueShares.ts";
import type { EarlierRuns } from "../collect/earlierRuns.ts";
import { OnceCalls } from "../collect/once/onceCalls.ts";
import { Outcomes } from "../collect/outcomes.ts";
import { Planner } from "../collect/planner.ts";
import { SlotTicks, type SlotTicksOptions } from "../collect/slotTicks.ts";
import type { ClockStep, LedgerNote } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "../schedule/readJobs.ts";
import { type ScheduledJob, scheduleJob } from "../schedule/jobSchedule.ts";
import type { Batch } from "../services/service.ts";
import { pollSlots } from "./pipeline.ts";

export type CollectorOptions = Pick<DispatcherOptions, "clock" | "log"> & {
  accounts: readonly CalledAccount[];
  batch: Batch;
  /** Says which account owns an instrument; undefined: one account owns all. */
  shares?: Shares;
  jobs: readonly Job[];
  /** Says when sessions are open: the exchange's, or one that always is. */
  calendar: Calendar;
  /** The exchange's own, which says when options expire. */
  exchange: Calendar;
  onNote: (note: LedgerNote) => void;
  run: string;
  /** What the runs before have asked lately; null: nothing. */
  earlier: EarlierRuns | null;
  /** Called whenever something changed that `status` shows. */
  onChange?: () => void;
  /** What several collectors have agreed on for the slots at an instant; null, and by default: this one decides alone. */
  agreedAt?: (at: Date) => EpochTerms | null;
};

/** The longest wait for calls under way at an account that another collector calls now, in ms: a call lasts no longer. */
const LEAVE_MS = 20_000;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #dispatchers: AccountDispatchers;
  readonly #chains: ChainBook;
  readonly #due: DueShares;
  readonly #outcomes: Outcomes;
  readonly #planner: Planner;
  readonly #ticks: SlotTicks;
  readonly once: OnceCalls;
  #isClosed = false;

  constructor(options: CollectorOptions) {
    const { clock, log, jobs, calendar, exchange, accounts, shares, agreedAt, run, onNote, batch } = options;
    this.#options = options;
    this.#chains = new ChainBook(exchange, (problem) => log.error({}, problem.message));
    const chains = this.#chains;
    const due = (this.#due = new DueShares({ clock, chains, shares, agreedAt, onNote, run }));
    due.jobs = jobs.map((job) => scheduleJob(job, calendar));
    const dispatchers = (this.#dispatchers = new AccountDispatchers({
      clock,
      log,
      shares,
      isCutShort: (want, account) => due.slots.isCutShort(want, account),
      onResult: (planned, result) => {
        this.once.ended(planned, result);
        this.#outcomes.end(planned, result);
        this.once.look();
        options.onChange?.();
      },
    }));
    const outcomes = (this.#outcomes = new Outcomes({
      clock,
      log,
      batch,
      chains,
      slots: due.slots,
      ownerOf: due.ownerOf,
      isCalled: due.isCalled,
      lastSeenMs: options.earlier?.lastSeenMs ?? new Map(),
      ask: this.#govern,
      onExpanded: () => due.settleOwners(),
      standIn: (planned) => dispatchers.standIn(planned),
      removeWaiting: () => this.#planner.removeWaiting(),
    }));
    this.once = new OnceCalls({ clock, due, chains, dispatchers, outcomes, batch });
    for (const account of accounts) this.#open(account);
    shares?.watchLogins((account) => dispatchers.get(account)?.credentials.lookAtSession() === false);
    const planner = new Planner({ shares, due, dispatchers, outcomes, onChange: options.onChange });
    this.#planner = planner;
    const poll: SlotTicksOptions["poll"] = (at) => pollSlots(at, { due, planner, govern: this.#govern });
    this.#ticks = new SlotTicks({ clock, log, onNote, due, chains, dispatchers, outcomes, poll });
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

  /** Takes other jobs from the next slot on. What waits or is under way goes on. */
  replaceJobs(jobs: readonly Job[], calendar: Calendar, exchange: Calendar): void {
    if (this.#isClosed) return;
    this.#ticks.useJobs(jobs.map((job) => scheduleJob(job, calendar)));
    this.once.reckonAnew();
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
    this.once.reckonAnew();
    this.#planAgain(waiting);
    await Promise.all(leaving.map((remove) => remove?.((dispatcher) => dispatcher.idle())));
  }

  /** Other accounts share the jobs from the next slot on: where collectors have agreed on it, whoever calls them. */
  shareAmong(gone: readonly string[], come: readonly Sharer[]): void {
    this.#options.shares?.replace(gone, come);
    this.once.reckonAnew();
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
    // An account is taken while the program ends: the journal would not have the answers to its calls.
    if (this.#isClosed) return;
    this.#open(account);
    const begun = this.#due.byAgreement(this.#due.lasting(this.#options.clock.now(), name)).map((group) => {
      this.#due.settleOwners(group.at);
      const stored = group.due.map((slot) => this.#due.storedOf(slot, name, storedIn));
      return Promise.all(stored).then((found) => ({ ...group, found }));
    });
    this.#due.settleOwners();
    for (const { at, due, found } of await Promise.all(begun)) {
      // Another collector may call the account again.
      if (!this.#dispatchers.get(name)) break;
      this.#due.settleOwners(at);
      const opened = due.flatMap((slot, place) => this.#due.openShare(slot, name, found[place]) ?? []);
      this.#governAll(this.#planner.plan(opened.map(({ asked }) => this.#outcomes.withoutResting(asked))));
    }
    this.#due.settleOwners();
  }

  /**
   * Calls an account no more: another collector does. What waits for it is that one's to ask.
   *
   * @returns resolves when nothing of it is under way, and its shares of the slots that last are settled
   */
  async stopCalling(name: string): Promise<void> {
    if (!this.#dispatchers.get(name)) return;
    const waiting = this.#planner.removeWaiting();
    const remove = this.#dispatchers.remove(name);
    this.#options.shares?.forgetRefusal(name);
    this.once.reckonAnew();
    this.#planAgain(waiting);
    // An account that is in no file any more ends all that it had; what another collector calls is not asked again.
    const isCalled = this.#due.isCalled(name);
    await remove?.((dispatcher) => (isCalled ? dispatcher.idle() : dispatcher.close(LEAVE_MS)));
    this.once.forget(name);
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

  /** What this collector tells the next one of an account's budgets; null: it does not call the account. */
  handOver(account: string): ReturnType<AccountDispatchers["handOver"]> {
    return this.#dispatchers.handOver(account);
  }

  /** Whether the leases of the accounts are in doubt: then their calls leave with care. */
  beUnsure(unsure: boolean): void {
    for (const dispatcher of this.#dispatchers.called) dispatcher.budget.beUnsure(unsure);
  }

  listen(): void {
    for (const dispatcher of this.#dispatchers.called) dispatcher.budget.listen();
  }

  drain(names: readonly string[]): void {
    this.#options.shares?.drain(names);
  }

  get jobs(): readonly ScheduledJob[] {
    return this.#due.jobs;
  }

  shareOf(job: Job, account: string): readonly string[] {
    return this.#due.shareOf(job, account);
  }

  status() {
    const now = this.#options.clock.now();
    const next = this.#due.jobs.flatMap(({ schedule }) => schedule.next(now)?.getTime() ?? []);
    return {
      ...this.#dispatchers.status,
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
    this.#isClosed = true;
    this.once.close();
    await Promise.all(this.#dispatchers.all.map((dispatcher) => dispatcher.close(graceMs)));
    // Only now: a call that was let go for one slot may be asked for within the next.
    this.#ticks.stop();
    this.#due.slots.settleAll("down");
  }

  #open(account: CalledAccount): void {
    this.#dispatchers.open(account);
    this.once.reckonAnew();
  }

  /** Hands a call to the queue of its account, which the governor opens; one that nobody can make is missed. */
  readonly #govern = (planned: PlannedCall): void => {
    if (isOnce(planned)) return this.once.add(planned);
    const reason = this.#dispatchers.add(planned);
    if (reason !== null) this.#outcomes.end(planned, { kind: "missed", reason });
  };

  #governAll(steps: Iterable<readonly PlannedCall[]>): void {
    for (const calls of steps) calls.forEach(this.#govern);
  }

  #planAgain(waiting: PlannedCall[]): void {
    this.#due.settleOwners();
    this.#governAll(this.#planner.plan([], waiting));
  }
}
