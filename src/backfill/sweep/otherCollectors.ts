/**
 * What goes on around a sweep on the same account: the calls that the journal shows, and a collector's schedule.
 *
 * A collector is taken to run when the journal has something of it (an answer for a job, a slot's account) that is not
 * older than the newest slot that is over: `status` tells lateness in the same way, from the database, which may be away.
 */
import { type Clock, dateOf, instantFromDate } from "../../clock.ts";
import type { CallHistory, GovernorConfig } from "../../collect/governor/governor.ts";
import type { JournalRecord } from "../../journal/record.ts";
import { isLedgerNote } from "../../journal/ledger.ts";
import { SweepBudget, type SeenCall } from "./budget.ts";
import { JournalFollower } from "./follow.ts";
import { recordsSince } from "./journaled.ts";
import { shareOf, timeFor } from "./reserve.ts";
import { isSweepName } from "./runFile.ts";
import { RunningSchedule, type ScheduleSources } from "./schedule.ts";

/** What is needed to look around. */
export type OtherCollectorsOptions = {
  clock: Clock;
  journalDir: string;
  governor: GovernorConfig;
  /** All calls of the last window, whoever made them; null: nothing is known to count. */
  history: CallHistory | null;
  /** Whether the calls are this process's alone: the simulated service lives in it. */
  alone: boolean;
  /** Reads the job files; called again now and then. */
  readJobs: () => Promise<ScheduleSources>;
  /** Last prices by symbol, which chains of the job files hang on, as far as they are known. */
  prices: ReadonlyMap<string, string>;
  /** Whether a request was made by this process. */
  isOwn: (requestId: string) => boolean;
};

/** How often the journal is looked at, and the job files with their schedule, in ms. */
const LOOK_EVERY_MS = 1_000;
const JOBS_EVERY_MS = 60_000;

/** Without any slot to go by, a trace of a collector holds for so many windows. */
const TRACE_WINDOWS = 5;

export class OtherCollectors {
  readonly #options: OtherCollectorsOptions;
  readonly #follower: JournalFollower;
  readonly budget: SweepBudget;
  readonly #schedule: RunningSchedule;
  #traceAtMs = -Infinity;
  #lookedAtMs: number;
  #jobsReadAtMs: number;
  #looking: Promise<void> | null = null;
  #collecting = false;

  /** Looks around for the first time. @throws QuotekeeperError JOURNAL_UNREADABLE */
  static async open(options: OtherCollectorsOptions): Promise<OtherCollectors> {
    const { clock, journalDir, governor, alone } = options;
    const follower = new JournalFollower(journalDir);
    const now = clock.now();
    const nowMs = clock.monotonicMs();
    const sinceMs = now.getTime() - governor.windowMs;
    const records = alone ? [] : await follower.look(sinceMs);
    const recent = records.flatMap((record) =>
      record.kind === "response" && dateOf(record.observedAt).getTime() > sinceMs
        ? [seen(record, now, nowMs)]
        : [],
    );
    const budget = new SweepBudget(governor, recent, { nowMs, alone, history: options.history });
    const otherCollectors = new OtherCollectors(options, follower, budget, nowMs);
    if (!alone) {
      records.forEach((record) => otherCollectors.#trace(record));
      await otherCollectors.#readJobs();
      await otherCollectors.#findTrace();
      otherCollectors.#reserve();
    }
    return otherCollectors;
  }

  private constructor(
    options: OtherCollectorsOptions,
    follower: JournalFollower,
    budget: SweepBudget,
    nowMs: number,
  ) {
    this.#options = options;
    this.#follower = follower;
    this.#schedule = new RunningSchedule(options.governor, options.prices);
    this.budget = budget;
    this.#lookedAtMs = nowMs;
    this.#jobsReadAtMs = nowMs;
  }

  /** Whether a collector runs beside. */
  get collecting(): boolean {
    return this.#collecting;
  }

  /** Calls a window that are kept free for it; the spare ones not included. */
  get reserved(): number {
    return this.#collecting ? this.#schedule.reservedAt(this.#options.clock.now().getTime()) : 0;
  }

  /** How long so many calls take, in ms; null when they do not leave within days, as the schedule needs all. */
  timeFor(calls: number): number | null {
    const { clock, governor } = this.#options;
    const atMs = clock.now().getTime();
    const costs = this.#collecting ? this.#schedule.costs : [];
    const strangers = this.budget.strangers(clock.monotonicMs());
    // Beside a schedule the spare calls are left out of its share already.
    const limit = this.#collecting ? governor.limit - strangers : Math.max(1, shareOf(governor, strangers));
    return timeFor(calls, costs, { ...governor, limit, atMs, untilMs: this.#schedule.untilMs });
  }

  /** Looks around again when it is time to; the budget learns of what it finds. */
  async look(): Promise<void> {
    const { clock, alone } = this.#options;
    if (alone || clock.monotonicMs() - this.#lookedAtMs < LOOK_EVERY_MS) return;
    // Two looks at once would count the same calls twice.
    this.#looking ??= this.#lookAgain().finally(() => (this.#looking = null));
    await this.#looking;
  }

  async #lookAgain(): Promise<void> {
    const { clock, governor, isOwn } = this.#options;
    this.#lookedAtMs = clock.monotonicMs();
    const sinceMs = clock.now().getTime() - governor.windowMs;
    const records = await this.#follower.look(sinceMs);
    const now = clock.now();
    const nowMs = clock.monotonicMs();
    const calls = records.flatMap((record) => {
      this.#trace(record);
      if (record.kind !== "response" || isOwn(record.requestId)) return [];
      return dateOf(record.observedAt).getTime() > sinceMs ? [seen(record, now, nowMs)] : [];
    });
    this.budget.saw(calls, nowMs);
    if (nowMs - this.#jobsReadAtMs >= JOBS_EVERY_MS) await this.#readJobs();
    this.#reserve();
  }

  #reserve(): void {
    const { clock, governor } = this.#options;
    const now = clock.now();
    const overAt = this.#schedule.newestOver(now);
    const aliveSinceMs = overAt?.getTime() ?? now.getTime() - TRACE_WINDOWS * governor.windowMs;
    this.#collecting = this.#traceAtMs >= aliveSinceMs;
    this.budget.reserve(this.#collecting ? this.#schedule.reservedAt(now.getTime()) : 0);
  }

  /** What a collector leaves in the journal. */
  #trace(record: JournalRecord): void {
    const atMs = traceOf(record);
    if (atMs !== null) this.#traceAtMs = Math.max(this.#traceAtMs, atMs);
  }

  /** Looks for a collector's traces since the newest slot that is over. */
  async #findTrace(): Promise<void> {
    const overAt = this.#schedule.newestOver(this.#options.clock.now());
    if (overAt === null || this.#traceAtMs >= overAt.getTime()) return;
    for await (const { record } of recordsSince(this.#options.journalDir, instantFromDate(overAt))) {
      this.#trace(record);
      if (this.#traceAtMs >= overAt.getTime()) return;
    }
  }

  async #readJobs(): Promise<void> {
    const { clock, readJobs } = this.#options;
    this.#jobsReadAtMs = clock.monotonicMs();
    this.#schedule.read(await readJobs(), clock.now().getTime());
  }
}

function seen(
  { observedAt, jobs }: Extract<JournalRecord, { kind: "response" }>,
  now: Date,
  nowMs: number,
): SeenCall {
  const ageMs = Math.max(0, now.getTime() - dateOf(observedAt).getTime());
  return { answeredAtMs: nowMs - ageMs, bySweep: isSweepName(jobs[0]) };
}

/** When a collector left this, epoch ms; null: it is not a collector's. */
function traceOf(record: JournalRecord): number | null {
  if (record.kind === "note") return isLedgerNote(record.note) ? dateOf(record.at).getTime() : null;
  const [job] = record.jobs;
  if (job === undefined || isSweepName(job)) return null;
  return dateOf(record.observedAt).getTime();
}
