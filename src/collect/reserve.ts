/**
 * How many calls are kept free for the schedule, where work that can wait is done on the same account. Pure.
 *
 * What a collector is due to send in its busiest window, from one window back to `LOOK_AHEAD_WINDOWS` ahead, is its own:
 * a service may count a call of ours for a whole window, and a collector that has seen ours in some windows leaves as
 * many free for a quarter of an hour. So what it will need then is kept free from now on.
 */
import type { ChainBook } from "./chainBook.ts";
import type { GovernorConfig } from "./governor/governor.ts";
import type { ScheduledJob } from "../schedule/jobSchedule.ts";
import { firstLater } from "../schedule/slots.ts";
import type { OwnerOf } from "../accounts/shares.ts";
import { type PlannedCall, planCalls } from "./callPlan.ts";
import { instantFromDate } from "../clock.ts";

type SlotCost = { atMs: number; calls: number };

/** How far ahead a collector remembers what others used, in windows (`REMEMBERED_WINDOWS` of its governor), and one. */
export const LOOK_AHEAD_WINDOWS = 16;

/**
 * Assumed: a sweep that leaves three calls a window, beside what the job files need, leaves a collector room for a
 * retry and for the call that its governor keeps unsent beside a second client.
 */
const SPARE_CALLS = 3;

type Costed = {
  /** In (after, until]. */
  after: Date;
  until: Date;
  /** Symbols in one call. */
  batchSize: number;
  ownerOf?: OwnerOf | undefined;
  /** Which calls count. Default: all. */
  isOurs?: (call: PlannedCall) => boolean;
};

/** What the jobs cost at each of their slots, ascending. */
export function slotCosts(
  scheduled: readonly ScheduledJob[],
  chains: ChainBook,
  { after, until, batchSize, ownerOf, isOurs = () => true }: Costed,
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

/** What the schedule needs of each account, found once a window. */
export class Reserved {
  readonly #costs = new Map<string, { costs: readonly SlotCost[]; untilMs: number }>();

  clear(): void {
    this.#costs.clear();
  }

  /** Calls of an account's window, of `limit`, that the schedule does not need. */
  left(
    account: string,
    { limit, windowMs }: GovernorConfig,
    schedule: {
      jobs: readonly ScheduledJob[];
      chains: ChainBook;
      ownerOf: OwnerOf | undefined;
      batchSize: number;
      nowMs: number;
    },
  ): number {
    const { jobs, chains, ownerOf, batchSize, nowMs } = schedule;
    let known = this.#costs.get(account);
    if (!known || nowMs >= known.untilMs) {
      const untilMs = nowMs + windowMs;
      const costs = slotCosts(jobs, chains, {
        after: new Date(nowMs - windowMs),
        until: new Date(untilMs + (LOOK_AHEAD_WINDOWS + 1) * windowMs),
        batchSize,
        ownerOf,
        isOurs: (call) => call.account === null || call.account === account,
      });
      known = { costs, untilMs };
      this.#costs.set(account, known);
    }
    return shareOf({ limit }, reservedCalls(known.costs, nowMs, windowMs));
  }
}

/** The calls to keep free at an instant, the spare ones not included. */
export function reservedCalls(costs: readonly SlotCost[], atMs: number, windowMs: number): number {
  let most = 0;
  for (
    let first = firstLater(costs, atMs - windowMs, ({ atMs: slotMs }) => slotMs);
    first < costs.length;
    first += 1
  ) {
    const startMs = costs[first]?.atMs ?? 0;
    if (startMs > atMs + LOOK_AHEAD_WINDOWS * windowMs) break;
    let calls = 0;
    for (let slot = first; (costs[slot]?.atMs ?? Infinity) < startMs + windowMs; slot += 1)
      calls += costs[slot]?.calls ?? 0;
    most = Math.max(most, calls);
  }
  return most;
}

/** The calls a window that are a sweep's while `reserved` are the schedule's. */
export function shareOf({ limit }: Pick<GovernorConfig, "limit">, reserved: number): number {
  return reserved === 0 ? limit : Math.max(0, limit - reserved - SPARE_CALLS);
}

/**
 * How long so many calls take, in ms.
 *
 * @param costs of the schedule, as far as is looked ahead; none: there is none
 * @param untilMs how far `costs` reach, epoch ms
 * @returns null when they do not leave within that time
 */
export function timeFor(
  calls: number,
  costs: readonly SlotCost[],
  { limit, windowMs, atMs, untilMs }: GovernorConfig & { atMs: number; untilMs: number },
): number | null {
  if (costs.length === 0) return (calls * windowMs) / limit;
  let left = calls;
  for (let at = atMs; at < untilMs; at += windowMs) {
    const share = shareOf({ limit }, reservedCalls(costs, at, windowMs));
    if (left <= share) return at - atMs + (left * windowMs) / Math.max(1, share);
    left -= share;
  }
  return null;
}
