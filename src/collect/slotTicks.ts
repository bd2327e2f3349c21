/** Polls each job at its slots, as the clock ticks, steps or stands still. */
import { type Clock, instantFromDate } from "../ground/clock.ts";
import type { ClockStep, LedgerNote } from "../journal/ledger.ts";
import type { Log } from "../ground/log.ts";
import type { ScheduledJob } from "../schedule/jobSchedule.ts";
import { startTicker, type TickUnit, type Ticker, type TickWindow } from "../schedule/ticker.ts";
import type { AccountDispatchers } from "./accountDispatchers.ts";
import type { ChainBook } from "./chainBook.ts";
import type { DueShares } from "./dueShares.ts";
import { type Outcomes } from "./outcomes.ts";

const STEP_WORDS: Readonly<Record<ClockStep["kind"], string>> = {
  set_back: "the machine's clock was set back: polling goes on, and the slots since then come once more",
  set_forward: "the machine's clock was set forward: the slots in between were passed over",
  slept: "the machine slept",
  stopped: "the program could not run: the machine was busy, or the program was stopped",
};

export type SlotTicksOptions = {
  clock: Clock;
  log: Log;
  onNote: (note: LedgerNote) => void;
  due: DueShares;
  chains: ChainBook;
  dispatchers: AccountDispatchers;
  outcomes: Outcomes;
  /** Polls in steps: see `pollSlots` of `collector/pipeline.ts`. */
  poll: (at: Date | TickWindow) => Iterable<void>;
};

export class SlotTicks {
  readonly #given: SlotTicksOptions;
  #ticker: Ticker | null = null;

  constructor(given: SlotTicksOptions) {
    this.#given = given;
  }

  /** Polls for the slots that last, then at each slot. @param away see `Collector.start` */
  start(away: ClockStep | null = null): Date {
    const { clock, log } = this.#given;
    if (away) this.#clockStepped(away);
    const now = clock.now();
    allOf(this.#given.poll(now));
    this.#ticker = startTicker({
      clock,
      every: this.#tickUnit(),
      since: now,
      onOver: (at) => this.#expire(at),
      onTick: (window) => this.#given.poll(window)[Symbol.iterator](),
      onSetBack: (earlier) => this.#setBack(earlier),
      onClockStep: (step) => this.#clockStepped(step),
      onError: (error) => log.error({ err: error }, "a tick failed"),
    });
    return now;
  }

  useJobs(jobs: readonly ScheduledJob[]): void {
    // What became due since the last tick is due of the jobs before.
    this.#ticker?.cover();
    this.#given.due.jobs = jobs;
    this.#ticker?.setUnit(this.#tickUnit());
  }

  /** Ends the ticks. A slot that has begun before its tick is opened: answers may have been asked for within it. */
  stop(): void {
    this.#ticker?.cover();
    this.#ticker?.stop();
  }

  *#expire(now: Date): Iterator<void> {
    this.#given.due.slots.forget(now.getTime());
    for (const dispatcher of this.#given.dispatchers.all) yield* dispatcher.expire();
    for (const { due, names, reason } of this.#given.chains.waiting.expire(now.getTime())) {
      const slot = { job: due.job.name, slotAt: due.slotAt };
      this.#given.due.slots.settle([slot], names, reason);
    }
  }

  #tickUnit(): TickUnit {
    return this.#given.due.jobs.some(({ schedule }) => schedule.subMinute) ? "second" : "minute";
  }

  /** As at a start; but what is under way still counts for slots that lie ahead now, and will come once more. */
  #setBack(now: Date): void {
    for (const dispatcher of this.#given.dispatchers.all) dispatcher.missAhead();
    allOf(this.#given.poll(now));
  }

  #clockStepped({ kind, stepMs }: ClockStep): void {
    const { clock, log, onNote } = this.#given;
    log.warn({ kind, stepMs }, STEP_WORDS[kind]);
    onNote({ type: "clock", at: instantFromDate(clock.now()), kind, stepMs });
    if (kind !== "set_back") this.#given.due.slots.lose(stepMs);
    if (kind !== "set_back" && kind !== "set_forward") return;
    this.#given.outcomes.moveTimes(stepMs);
    for (const dispatcher of this.#given.dispatchers.all) dispatcher.credentials.clockSet();
  }
}

/** Goes through steps without a turn of the event loop in between. */
function allOf(steps: Iterable<void>): void {
  for (const _ of steps);
}
