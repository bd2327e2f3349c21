/**
 * The collector: at each slot it plans what is due, together with what still waits, and hands it to the dispatcher.
 * What comes of it is for `outcomes.ts`; the ledger gets a note for every slot that is settled.
 */
import type { Job } from "../schedule/readJobs.ts";
import { type Instant, instantFromDate } from "../clock.ts";
import type { ClockStep, LedgerNote, SlotEntry } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { contractDate } from "../market/expirations.ts";
import { ChainBook } from "./chainBook.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { downtimeNotes, LONGEST_DOWNTIME_MS } from "./downtime.ts";
import type { BudgetState } from "./governor/budgetState.ts";
import { type ScheduledJob, scheduleJob } from "../schedule/slots.ts";
import { Outcomes, pendingChain } from "./outcomes.ts";
import type { EarlierRuns } from "./earlierRuns.ts";
import { type DueJob, dueNames } from "./asks.ts";
import { type PlannedCall, planInTurn, withoutNames } from "./callPlan.ts";
import { startTicker, type TickUnit, type Ticker, type TickWindow } from "../schedule/ticker.ts";
import { LOOK_AHEAD_WINDOWS, reservedCalls, shareOf, type SlotCost, slotCosts } from "./reserve.ts";
import { type BeginningSlot, SlotBook } from "./slotBook.ts";

export type { ScheduledJob } from "../schedule/slots.ts";

/** What the collector is made of. */
export type CollectorOptions = Omit<DispatcherOptions, "onResult" | "lendable"> & {
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
};

/** What is going on, for a status line. */
type CollectorStatus = {
  /** Calls sent in the last window. */
  callsUsed: number;
  /** Calls of a window by the limit in force, which may not be the configured one. */
  limit: number;
  queued: number;
  /** Slots' instruments missed since the start. */
  missed: number;
  /** Instruments that the service does not know, and is asked for more and more seldom. */
  unknown: string[];
  /** The next slot of any job; null when there is none within a year. */
  nextPollAt: Date | null;
  /** The last call's error, null when it brought quotes. */
  lastError: Error | null;
};

/** What the log says of a step of the machine's clock. */
const STEP_WORDS: Readonly<Record<ClockStep["kind"], string>> = {
  set_back: "the machine's clock was set back: polling goes on, and the slots since then come once more",
  set_forward: "the machine's clock was set forward: the slots in between were passed over",
  slept: "the machine slept",
  stopped: "the program could not run: the machine was busy, or the program was stopped",
};

const NOTHING_STORED: ReadonlySet<string> = new Set();

/**
 * What a turn of the event loop does at a slot's start: it opens slots until so many instruments are due at them, or hands so
 * many calls over. What has arrived would wait for thousands of them.
 */
export const OPENED_AT_ONCE = 1_000;
export const ADDED_AT_ONCE = 250;

/** A collector under way; `close` ends it. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #dispatcher: Dispatcher;
  readonly #slots = new SlotBook({
    onOpened: (slot) => this.#noteOpened(slot),
    onSettled: (entries) => this.#note(entries),
  });
  readonly #chains: ChainBook;
  readonly #outcomes: Outcomes;
  #jobs: ScheduledJob[];
  /** What the runs before have asked: looked at when the first slots are opened, and forgotten then. */
  #earlier: EarlierRuns | null;
  #missed = 0;
  #ticker: Ticker | null = null;
  /** Calls that are planned and not handed over yet: in a turn of the event loop only so many are. */
  #planned: IterableIterator<PlannedCall> = [].values();
  /** What the slots of the coming windows cost, and how long that holds; null: it was not asked for. */
  #reserved: { costs: SlotCost[]; untilMs: number } | null = null;

  constructor(options: CollectorOptions) {
    const { clock, log, jobs, calendar, exchange } = options;
    this.#options = options;
    this.#earlier = options.earlier;
    this.#jobs = jobs.map((job) => scheduleJob(job, calendar));
    this.#chains = new ChainBook(exchange, (problem) => log.error({}, problem.message));
    this.#dispatcher = new Dispatcher({
      ...options,
      onResult: (planned, result) => {
        this.#outcomes.take(planned, result);
        options.onChange?.();
      },
      lendable: () => this.#lendable(),
    });
    this.#outcomes = new Outcomes({
      ...{ clock, log, slots: this.#slots, chains: this.#chains },
      lastSeenMs: options.earlier?.lastSeenMs ?? new Map(),
      ask: (planned) => this.#dispatcher.add(planned),
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
    this.#outcomes.turnTo(contractDate(this.#options.clock.now()));
    this.#slots.open({ job: name, ...end, delayed, due: dueNames(due) });
    allOf(this.#plan([this.#outcomes.withoutResting({ ...due, ...end })]));
  }

  /** Takes other jobs from the next slot on. What waits or is under way goes on. */
  replaceJobs(jobs: readonly Job[], calendar: Calendar, exchange: Calendar): void {
    // What became due since the last tick is the jobs' before.
    this.#ticker?.cover();
    this.#jobs = jobs.map((job) => scheduleJob(job, calendar));
    this.#reserved = null;
    this.#chains.useCalendar(exchange);
    this.#ticker?.setUnit(this.#tickUnit());
  }

  /** What is scheduled now. */
  get jobs(): readonly ScheduledJob[] {
    return this.#jobs;
  }

  status(): CollectorStatus {
    const now = this.#options.clock.now();
    const next = this.#jobs.flatMap(({ schedule }) => schedule.next(now)?.getTime() ?? []);
    return {
      callsUsed: this.#dispatcher.callsUsed,
      limit: this.#dispatcher.budget.limit,
      queued: this.#dispatcher.queued,
      missed: this.#missed,
      unknown: this.#outcomes.askBackoff.names(),
      nextPollAt: next.length > 0 ? new Date(Math.min(...next)) : null,
      lastError: this.#dispatcher.lastError,
    };
  }

  /** What the governor knows of the budget at the moment. */
  budget(): BudgetState {
    return this.#dispatcher.budget;
  }

  /** Lets a program beside make a call of this budget: see `Dispatcher.lend`. */
  lend(urgent: boolean, signal: AbortSignal): ReturnType<Dispatcher["lend"]> {
    return this.#dispatcher.lend(urgent, signal);
  }

  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void> {
    return this.#dispatcher.idle();
  }

  /** Sends nothing more, waits for the calls under way, at most `graceMs`; what is open then was missed. */
  async close(graceMs: number): Promise<void> {
    // A slot that has begun before its tick came is in the ledger as well: answers may have been asked for within it.
    this.#ticker?.cover();
    this.#ticker?.stop();
    await this.#dispatcher.close(graceMs);
    this.#slots.settleAll("down");
  }

  /** Misses what still waits for slots that are over. */
  *#expire(now: Date): Iterator<void> {
    yield* this.#dispatcher.expire();
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
        return lasts ? [{ ...scheduled, slot: newest }] : [];
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
          return slot ? [{ ...scheduled, slot }] : [];
        }),
      ),
    );
  }

  /** As at a start; but what is under way still counts for slots that lie ahead now, and will come once more. */
  #setBack(now: Date): void {
    this.#dispatcher.missAhead();
    this.#pollCurrent(now);
  }

  #clockStepped({ kind, stepMs }: ClockStep): void {
    const { clock, log, onNote } = this.#options;
    log.warn({ kind, stepMs }, STEP_WORDS[kind]);
    onNote({ type: "clock", at: instantFromDate(clock.now()), kind, stepMs });
    if (kind !== "set_back" && kind !== "set_forward") return;
    this.#outcomes.moveTimes(stepMs);
    this.#dispatcher.clockSet();
  }

  /**
   * Opens the slots of what is due, all of them before any call is planned: what is asked for is in the ledger by then.
   * A step ends where so much has been done that whatever has arrived is to have its turn.
   */
  *#poll(due: readonly (ScheduledJob & { slot: Date })[]): Iterable<void> {
    if (due.length === 0) return;
    const today = contractDate(this.#options.clock.now());
    this.#outcomes.turnTo(today);
    const jobs: DueJob[] = [];
    let opened = 0;
    for (const scheduled of due) {
      const { names, asked } = this.#open(scheduled, today);
      jobs.push(asked);
      opened += names;
      if (opened < OPENED_AT_ONCE) continue;
      opened = 0;
      yield;
    }
    yield* this.#plan(jobs);
  }

  *#plan(jobs: readonly DueJob[]): Iterable<void> {
    this.#planned = planInTurn(jobs, this.#outcomes.planOptions, this.#withdraw());
    let added = 0;
    for (const call of this.#planned) {
      this.#dispatcher.add(call);
      added += 1;
      if (added % ADDED_AT_ONCE === 0) yield;
    }
    this.#options.onChange?.();
  }

  /** Takes the calls back that only wait for their turn, so that they can be planned anew. */
  #withdraw(): PlannedCall[] {
    return [...this.#dispatcher.withdraw(), ...this.#planned];
  }

  /** Opens a job's slot in the ledger; gives what is to be asked for it, and how many names are due. */
  #open(
    { job, schedule, slot }: ScheduledJob & { slot: Date },
    today: string,
  ): { asked: DueJob; names: number } {
    const dueSlot = { job, slotAt: instantFromDate(slot), ...schedule.endOf(slot) };
    const { deadlineMs } = dueSlot;
    const { contracts, priceless, broken } = this.#chains.expand(job, today);
    const due = { ...dueSlot, symbols: job.symbols, contracts };
    const ledgerSlot = { job: job.name, slotAt: due.slotAt };
    const stored = this.#earlier?.storedWithin(job, slot.getTime(), deadlineMs) ?? new Set();
    const names = [...dueNames(due), ...[...priceless, ...broken].map(pendingChain)];
    this.#slots.open({ ...ledgerSlot, deadlineMs, delayed: job.delayed, due: names });
    this.#slots.settle([ledgerSlot], [...stored], "stored");
    this.#slots.settle([ledgerSlot], broken.map(pendingChain), "malformed");
    this.#chains.await(dueSlot, job.chains, priceless);
    // The job's own list where it is all: slots that share it are taken apart once.
    const symbols = priceless.length === 0 ? job.symbols : [...new Set([...job.symbols, ...priceless])];
    const lacking = withoutNames({ ...due, symbols }, stored);
    return { asked: this.#outcomes.withoutResting(lacking), names: names.length };
  }

  /** Calls of a window that the schedule does not need, for programs that can wait. */
  #lendable(): number {
    const { limit, secondClientCount } = this.#dispatcher.budget;
    const { windowMs } = this.#options.governor;
    const nowMs = this.#options.clock.now().getTime();
    if (this.#reserved === null || nowMs >= this.#reserved.untilMs) {
      const untilMs = nowMs + windowMs;
      const until = new Date(untilMs + (LOOK_AHEAD_WINDOWS + 1) * windowMs);
      const costs = slotCosts(this.#jobs, this.#chains, { after: new Date(nowMs - windowMs), until });
      this.#reserved = { costs, untilMs };
    }
    return shareOf(
      { limit: limit - secondClientCount },
      reservedCalls(this.#reserved.costs, nowMs, windowMs),
    );
  }

  #noteOpened({ job, slotAt, deadlineMs, due }: BeginningSlot): void {
    const endsAt = deadlineMs === Infinity ? null : instantFromDate(new Date(deadlineMs));
    this.#options.onNote({ type: "opened", run: this.#options.run, job, slotAt, endsAt, due: [...due] });
  }

  #note(entries: SlotEntry[]): void {
    this.#missed += entries.reduce((sum, { misses }) => sum + misses.length, 0);
    this.#options.onNote({ type: "slots", run: this.#options.run, entries });
  }

  /** Slots that passed while the machine slept, or that the clock has left out. */
  #down(job: Job, slots: readonly Date[]): void {
    if (slots.length === 0) return;
    const { contracts, priceless, broken } = this.#chains.expand(
      job,
      contractDate(this.#options.clock.now()),
    );
    const due = [
      ...dueNames({ job, symbols: job.symbols, contracts }),
      ...[...priceless, ...broken].map(pendingChain),
    ];
    if (due.length === 0) return;
    this.#missed += slots.length * due.length;
    const past = slots.map((slotAt) => ({ slotAt, stored: NOTHING_STORED }));
    downtimeNotes(job.name, due, past).forEach(this.#options.onNote);
  }
}

function allOf(steps: Iterable<void>): void {
  for (const _ of steps);
}
