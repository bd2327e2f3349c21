/**
 * How many calls are kept free for the schedule, where one-off jobs are polled on the same account. Pure.
 *
 * What a collector is due to send in its busiest window, from one window back to `LOOK_AHEAD_WINDOWS` ahead, is its own:
 * a service may count a call of ours for a whole window, and a collector that has seen ours in some windows leaves as
 * many free for a quarter of an hour. So what it will need then is kept free from now on.
 */
import type { ChainBook } from "../chainBook.ts";
import type { GovernorConfig } from "../governor/state.ts";
import { largestBurst } from "../governor/pace.ts";
import type { ScheduledJob } from "../../schedule/jobSchedule.ts";
import { firstLater } from "../../schedule/slots.ts";
import type { OwnerOf } from "../../accounts/shares.ts";
import { type PlannedCall, planCalls } from "../callPlan.ts";
import { instantFromDate } from "../../ground/clock.ts";

type SlotCost = { atMs: number; calls: number };

/** How far ahead a collector remembers what others used, in windows (`REMEMBERED_WINDOWS` of its governor), and one. */
export const LOOK_AHEAD_WINDOWS = 16;

/**
 * Assumed: a one-off job that leaves three calls a window, beside what the job files need, leaves a collector room for a
 * retry and for the call that its governor keeps unsent beside a second client.
 */
const SPARE_CALLS = 3;

/** A service counts a call from when it arrived, which is later than it left, in ms. */
const COUNTED_LONGER_MS = 5_000;

type CostSpan = {
  /** In (after, until]. */
  after: Date;
  until: Date;
  batchSize: number;
  ownerOf: OwnerOf | undefined;
  isOurs: (call: PlannedCall) => boolean;
};

/** What the jobs cost at each of their slots, ascending. */
function slotCosts(
  scheduled: readonly ScheduledJob[],
  chains: ChainBook,
  { after, until, batchSize, ownerOf, isOurs }: CostSpan,
): SlotCost[] {
  const bySlot = new Map<number, number[]>();
  scheduled.forEach(({ schedule }, job) => {
    for (const slot of schedule.slotsBetween(after, until)) {
      const jobs = bySlot.get(slot.getTime());
      if (jobs) jobs.push(job);
      else bySlot.set(slot.getTime(), [job]);
    }
  });
  const known = new Map<string, number>();
  const costOf = (jobs: readonly number[], at: Date): number => {
    const today = chains.contractDate(at);
    const key = `${today} ${jobs.join()}`;
    const calls =
      known.get(key) ??
      callsOf(
        jobs.flatMap((job) => scheduled[job] ?? []),
        chains,
        { at, today, batchSize, ownerOf },
      ).filter(isOurs).length;
    known.set(key, calls);
    return calls;
  };
  return [...bySlot]
    .sort(([a], [b]) => a - b)
    .map(([atMs, jobs]) => ({ atMs, calls: costOf(jobs, new Date(atMs)) }));
}

function callsOf(
  jobs: readonly ScheduledJob[],
  chains: ChainBook,
  { at, today, ...options }: { at: Date; today: string; batchSize: number; ownerOf: OwnerOf | undefined },
): PlannedCall[] {
  const due = jobs.map(({ job }) => {
    const slot = { slotAt: instantFromDate(at), deadlineMs: Infinity, closes: false };
    return { job, ...slot, ...chains.asked(job, today) };
  });
  return planCalls(due, options);
}

/** What the jobs of some priority and above need of each queue, found once a window. */
export class Reserved {
  readonly #costs = new Map<string, { costs: readonly SlotCost[]; untilMs: number }>();

  clear(): void {
    this.#costs.clear();
  }

  /**
   * Calls of a queue's window, of `limit`, that the jobs do not need; Infinity: there are no such jobs.
   *
   * @param isOurs whether a call of the jobs waits in that queue
   * @returns `now`: none either where a slot is so near that a call would hold its calls up
   */
  left(
    {
      queue,
      isOurs,
      priority,
      limit,
      windowMs,
    }: { queue: string; priority: number } & Pick<CostSpan, "isOurs"> & GovernorConfig,
    schedule: {
      jobs: readonly ScheduledJob[];
      chains: ChainBook;
      ownerOf: OwnerOf | undefined;
      batchSize: number;
      nowMs: number;
    },
  ): { spare: number; now: number } {
    const { jobs, chains, ownerOf, batchSize, nowMs } = schedule;
    const before = jobs.filter(({ job }) => job.priority >= priority);
    const key = `${priority} ${queue}`;
    let known = this.#costs.get(key);
    if (!known || nowMs >= known.untilMs) {
      const untilMs = nowMs + windowMs;
      const costs = slotCosts(before, chains, {
        after: new Date(nowMs - windowMs),
        until: new Date(untilMs + (LOOK_AHEAD_WINDOWS + 1) * windowMs),
        batchSize,
        ownerOf,
        isOurs,
      });
      known = { costs, untilMs };
      this.#costs.set(key, known);
    }
    const reserved = reservedCalls(known.costs, {
      atMs: nowMs,
      windowMs,
      burst: largestBurst({ limit, windowMs }, limit),
    });
    if (reserved === 0) return { spare: Infinity, now: Infinity };
    const next = known.costs[firstLater(known.costs, nowMs, ({ atMs }) => atMs)];
    const isNear = next !== undefined && next.atMs - nowMs < recoveryMs(next.calls, { limit, windowMs });
    const spare = Math.max(0, limit - reserved - SPARE_CALLS);
    return { spare, now: isNear ? 0 : spare };
  }
}

/** How long nothing may be sent before a slot, in ms: until so many calls may leave at once again. */
function recoveryMs(calls: number, { limit, windowMs }: GovernorConfig): number {
  return (Math.min(calls, largestBurst({ limit, windowMs }, limit)) + 1) * (windowMs / limit);
}

/**
 * The calls to keep free at an instant, the spare ones not included: of the busiest window, and of the slot behind it what leaves at
 * once, while the service still counts the window.
 */
function reservedCalls(
  costs: readonly SlotCost[],
  { atMs, windowMs, burst }: { atMs: number; windowMs: number; burst: number },
): number {
  let most = 0;
  for (
    let first = firstLater(costs, atMs - windowMs, ({ atMs: slotMs }) => slotMs);
    first < costs.length;
    first += 1
  ) {
    const startMs = costs[first]?.atMs ?? 0;
    if (startMs > atMs + LOOK_AHEAD_WINDOWS * windowMs) break;
    let calls = 0;
    let slot = first;
    for (; (costs[slot]?.atMs ?? Infinity) < startMs + windowMs; slot += 1) calls += costs[slot]?.calls ?? 0;
    const behind = costs[slot];
    if (behind && behind.atMs <= startMs + windowMs + COUNTED_LONGER_MS)
      calls += Math.min(behind.calls, burst);
    most = Math.max(most, calls);
  }
  return most;
}
