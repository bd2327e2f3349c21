/** What the jobs cost over a day: calls at each slot, who starves when they do not fit, how long a pass takes. Pure. */
import { describeCall } from "../quotes-api/request.ts";
import { type BudgetWalk, walkBudget } from "./budgetWalk.ts";
import type { GovernorConfig } from "./governor/governor.ts";
import { grouped } from "./grouped.ts";
import { type DueJob, dueNames, type PlannedCall, planCalls } from "./callPlan.ts";

/** One job's part of the plan. */
type JobPlan = {
  job: string;
  slots: number;
  /** Instruments due at its fullest slot. */
  instruments: number;
  /** Instruments due over the day, and those of them that no call reaches in time. */
  due: number;
  starved: number;
};

/** All that falls due at one instant. */
type SlotPlan = {
  at: Date;
  calls: number;
  /** When the last of them leaves, after the slot; null when some never do. */
  doneMs: number | null;
};

/** The plan of a day. */
export type BudgetPlan = {
  slots: SlotPlan[];
  jobs: JobPlan[];
  /** The calls of the fullest slot, the most urgent first. */
  batches: string[];
  callsPerPass: number;
  /** Time the fullest slot's calls take at the pace of the limit, in ms. */
  passMs: number;
  /** When everything has been asked once, after the first slot, in ms; null when something never is. */
  fullPassMs: number | null;
  /** Whether the calls are within the limit. */
  fits: boolean;
  /** Instruments over the day that are missed at GOVERNOR_REACH although the calls fit; 0 where they do not. */
  missedAtReach: number;
  /** The jobs that do not fit. */
  starving: string[];
  /**
   * The shortest interval that fits, in ms: for all of it together while it fits; else for the starving jobs, the
   * others as they are, and null when an hour is too short.
   */
  fitsEveryMs: number | null;
};

const MINUTE_MS = 60_000;

/**
 * The share of the limit that the governor promises to use when there is always something to ask, see
 * docs/decisions/governor.md; `npm run bench:governor` holds it to that.
 */
export const GOVERNOR_REACH = 0.99;

/** Intervals that cron can say, in minutes. */
const INTERVALS = [2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];

/** @param due jobs at their slots, any order */
export function planBudget(due: readonly DueJob[], governor: GovernorConfig, batchSize: number): BudgetPlan {
  const gapMs = governor.windowMs / governor.limit;
  const walk = walkBudget(due, gapMs, batchSize);
  const calls = callsBySlot(due, batchSize);
  const fullest = [...calls.values()].reduce<PlannedCall[]>(
    (most, each) => (each.length > most.length ? each : most),
    [],
  );
  const jobs = jobPlans(due, walk);
  const starving = jobs.filter(({ starved }) => starved > 0).map(({ job }) => job);
  const passMs = fullest.length * gapMs;
  return {
    slots: [...calls].map(([slotAt, { length }]) => ({
      at: new Date(slotAt),
      calls: length,
      doneMs: walk.doneMs.get(slotAt) ?? null,
    })),
    jobs,
    batches: fullest.map(({ call }) => describeCall(call)),
    callsPerPass: fullest.length,
    passMs,
    fullPassMs: walk.fullPassMs,
    fits: starving.length === 0,
    missedAtReach: starving.length > 0 ? 0 : missedAt(gapMs / GOVERNOR_REACH, due, batchSize),
    starving,
    fitsEveryMs: starving.length === 0 ? passMs : shortestInterval(due, starving, { gapMs, batchSize }),
  };
}

/** Instruments that no call reaches in time when one leaves every `gapMs`. */
function missedAt(gapMs: number, due: readonly DueJob[], batchSize: number): number {
  return [...walkBudget(due, gapMs, batchSize).starved.values()].reduce((sum, each) => sum + each, 0);
}

/** The calls of each slot by themselves, by its time; slots of the same jobs make the same calls. */
function callsBySlot(due: readonly DueJob[], batchSize: number): Map<string, PlannedCall[]> {
  const bySlot = grouped([...due].sort(byTime), ({ slotAt }) => slotAt);
  const known = new Map<string, PlannedCall[]>();
  return new Map(
    [...bySlot].map(([slotAt, jobs]) => {
      const key = jobs
        .map(({ job, symbols, contracts }) => [job.name, symbols.length, contracts.length])
        .join();
      const calls = known.get(key) ?? planCalls(jobs, { batchSize });
      known.set(key, calls);
      return [slotAt, calls];
    }),
  );
}

function jobPlans(due: readonly DueJob[], { starved }: BudgetWalk): JobPlan[] {
  return [...grouped(due, ({ job }) => job.name)].map(([job, slots]) => {
    const counts = slots.map(countOf);
    return {
      job,
      slots: slots.length,
      instruments: Math.max(...counts),
      due: counts.reduce((sum, count) => sum + count, 0),
      starved: starved.get(job) ?? 0,
    };
  });
}

/** Slots of a day share their lists: each is counted once. */
const counted = new WeakMap<DueJob["contracts"], { symbols: DueJob["symbols"]; count: number }>();

function countOf(due: DueJob): number {
  const known = counted.get(due.contracts);
  if (known?.symbols === due.symbols) return known.count;
  const count = dueNames(due).length;
  counted.set(due.contracts, { symbols: due.symbols, count });
  return count;
}

/** Tries the intervals of cron for the jobs that starve, the shortest first. */
function shortestInterval(
  due: readonly DueJob[],
  starving: readonly string[],
  { gapMs, batchSize }: { gapMs: number; batchSize: number },
): number | null {
  for (const minutes of INTERVALS) {
    const everyMs = minutes * MINUTE_MS;
    const thinned = [...grouped(due, ({ job }) => job.name)].flatMap(([job, slots]) =>
      starving.includes(job) ? everyNth(slots, everyMs) : slots,
    );
    const rare = thinned.filter(({ job }) => starving.includes(job.name));
    const longest = Math.max(0, ...[...callsBySlot(rare, batchSize).values()].map(({ length }) => length));
    // A pass that is longer than the interval needs no trial.
    if (longest * gapMs > everyMs) continue;
    if (walkBudget(thinned, gapMs, batchSize).starved.size === 0) return everyMs;
  }
  return null;
}

/** The slots of one job, none sooner than `everyMs` after the one before; each lasts until the next. */
function everyNth(slots: readonly DueJob[], everyMs: number): DueJob[] {
  const kept: DueJob[] = [];
  for (const slot of [...slots].sort(byTime)) {
    const last = kept.at(-1);
    if (last && Date.parse(slot.slotAt) - Date.parse(last.slotAt) < everyMs) {
      kept[kept.length - 1] = { ...last, deadlineMs: slot.deadlineMs, closes: slot.closes };
    } else kept.push(slot);
  }
  return kept;
}

function byTime(a: DueJob, b: DueJob): number {
  return a.slotAt < b.slotAt ? -1 : a.slotAt > b.slotAt ? 1 : 0;
}
