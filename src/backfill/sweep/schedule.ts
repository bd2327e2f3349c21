/** The collector's schedule as a sweep sees it: what its slots cost, and which of them was over last. Pure. */
import { ChainBook } from "../../collect/chainBook.ts";
import type { GovernorConfig } from "../../collect/governor/governor.ts";
import { type ScheduledJob, scheduleJob } from "../../schedule/jobSchedule.ts";
import type { JobsReport } from "../../schedule/readJobs.ts";
import { createCalendar } from "../../market/calendar/calendar.ts";
import { LOOK_AHEAD_WINDOWS, reservedCalls, type SlotCost, slotCosts } from "./reserve.ts";

/** What a schedule is made of. */
export type ScheduleSources = Pick<JobsReport, "jobs" | "calendar">;

/** A slot has this long after its end to be accounted for in the journal, in ms. */
const SETTLING_MS = 30_000;

/** How far back a slot that is over is looked for, in ms: most are young, and the others take longer to be found. */
const RECENT_MS = 3_600_000;
const LONG_AGO_MS = [1, 8].map((days) => days * 86_400_000);

/** How long what was found among the others holds, in ms. */
const FOUND_HOLDS_MS = 60_000;

/** How far the schedule is looked ahead for the time that a sweep takes, in ms: over a long weekend. */
const HORIZON_MS = 5 * 86_400_000;

export class RunningSchedule {
  readonly #governor: GovernorConfig;
  /** Last prices by symbol, which chains hang on. */
  readonly #prices: ReadonlyMap<string, string>;
  #scheduled: ScheduledJob[] = [];
  #costs: SlotCost[] = [];
  #untilMs = -Infinity;
  #text = "";
  #longAgo: { slot: Date | null; foundAtMs: number } | null = null;

  constructor(governor: GovernorConfig, prices: ReadonlyMap<string, string>) {
    this.#governor = governor;
    this.#prices = prices;
  }

  /** Takes the job files in, as they are now; costs nothing while they are the same and the horizon is far. */
  read({ jobs, calendar: overrides }: ScheduleSources, nowMs: number): void {
    const text = JSON.stringify({ jobs, overrides });
    if (text === this.#text && this.#untilMs > nowMs + HORIZON_MS / 2) return;
    this.#text = text;
    this.#longAgo = null;
    const { windowMs } = this.#governor;
    const calendar = createCalendar(overrides);
    const chains = new ChainBook(calendar, () => undefined);
    chains.price(this.#prices);
    this.#scheduled = jobs.map((job) => scheduleJob(job, calendar));
    const untilMs = nowMs + Math.max(HORIZON_MS, 2 * LOOK_AHEAD_WINDOWS * windowMs);
    const span = { after: new Date(nowMs - windowMs), until: new Date(untilMs) };
    this.#costs = slotCosts(this.#scheduled, chains, span);
    this.#untilMs = untilMs - LOOK_AHEAD_WINDOWS * windowMs;
  }

  /** What its slots cost, ascending. */
  get costs(): readonly SlotCost[] {
    return this.#costs;
  }

  /** How far the costs reach, epoch ms. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** Calls a window that it needs from an instant on, epoch ms; the spare ones not included. */
  reservedAt(atMs: number): number {
    return reservedCalls(this.#costs, atMs, this.#governor.windowMs);
  }

  /** The newest slot that is over and has been accounted for, if a collector runs; null when there was none for days. */
  newestOver(now: Date): Date | null {
    const recent = this.#newestWithin(RECENT_MS, now);
    if (recent !== null) return recent;
    const nowMs = now.getTime();
    if (this.#longAgo === null || Math.abs(nowMs - this.#longAgo.foundAtMs) >= FOUND_HOLDS_MS) {
      const slot = LONG_AGO_MS.reduce<Date | null>(
        (found, backMs) => found ?? this.#newestWithin(backMs, now),
        null,
      );
      this.#longAgo = { slot, foundAtMs: nowMs };
    }
    return this.#longAgo.slot;
  }

  #newestWithin(backMs: number, now: Date): Date | null {
    const overMs = now.getTime() - SETTLING_MS;
    const over = this.#scheduled.flatMap(
      ({ schedule }) =>
        schedule
          .slotsBetween(new Date(now.getTime() - backMs), now)
          .findLast((slot) => schedule.endOf(slot).deadlineMs <= overMs) ?? [],
    );
    return over.length === 0 ? null : new Date(Math.max(...over.map((slot) => slot.getTime())));
  }
}
