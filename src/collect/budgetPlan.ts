/** What the jobs cost over a day: calls at each slot, who starves when they do not fit, how long a pass takes. Pure. */
import { partition, type Sharer } from "../accounts/partition.ts";
import { describeCall } from "../quotes/call.ts";
import type { GovernorConfig } from "./governor/state.ts";
import { type DueJob, dueNames, grouped, wantedOf } from "./asks.ts";
import { ownedOf, type PlannedCall, planCalls } from "./callPlan.ts";
import { type BudgetWalk, slotsInOrder, walkBudget } from "./budgetWalk.ts";

type JobPlan = {
  job: string;
  slots: number;
  instruments: number;
  /** Instruments due over the day, and those of them that no call reaches in time. */
  due: number;
  starved: number;
};

type SlotPlan = {
  at: Date;
  calls: number;
  /** When the last of them leaves, after the slot; null when some never do. */
  doneMs: number | null;
};

export type BudgetPlan = {
  slots: SlotPlan[];
  jobs: JobPlan[];
  batches: string[];
  callsPerPass: number;
  /** Time the fullest slot's calls take at the pace of the limit, in ms. */
  passMs: number;
  /** When everything has been asked once, after the first slot, in ms; null when something never is. */
  fullPassMs: number | null;
  fits: boolean;
  /** Instruments over the day that are missed at GOVERNOR_REACH although the calls fit; 0 where they do not. */
  missedAtReach: number;
  starving: string[];
  /**
   * The shortest interval that fits, in ms: for all of it together while it fits; else for the starving jobs, the
   * others as they are, and null when an hour is too short.
   */
  fitsEveryMs: number | null;
};

/** The part of the service that a plan depends on: symbols in one call, and the limit of one more account. */
export type PlannedService = { batchSize: number; another: Omit<Sharer, "name"> };

type AccountsPlan = {
  accounts: { account: string; plan: BudgetPlan }[];
  unasked: string[];
  /** Of all accounts together: they call side by side. `batches` are those of each one's fullest slot. */
  total: BudgetPlan;
  withOneMore: BudgetPlan;
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

/**
 * Each account's plan of its share.
 *
 * @param due jobs at their slots, any order
 * @param accounts those that take part
 * @param another limit of one more account
 */
export function planAccounts(
  due: readonly DueJob[],
  accounts: readonly Sharer[],
  { batchSize, another }: PlannedService,
): AccountsPlan {
  // No account has a name with a blank.
  const more = [...accounts, { name: "one more", ...another }];
  const { total, ...plan } = planShares(due, accounts, batchSize);
  return { ...plan, total, withOneMore: planShares(due, more, batchSize).total };
}

function planShares(
  due: readonly DueJob[],
  accounts: readonly Sharer[],
  batchSize: number,
): Omit<AccountsPlan, "withOneMore"> {
  const ownerOf = partition(wantedOf(due), accounts, batchSize);
  const shareOf = (owner: string | null): DueJob[] =>
    ownedOf(due, (name, delayed) => ownerOf(name, delayed) === owner);
  const plans = accounts.map(({ name, ...limit }) => ({
    account: name,
    plan: planBudget(shareOf(name), limit, batchSize),
  }));
  return {
    accounts: plans,
    unasked: [...new Set(shareOf(null).flatMap(dueNames))],
    total: totalOf(plans.map(({ plan }) => plan)),
  };
}

function totalOf(plans: readonly BudgetPlan[]): BudgetPlan {
  const slots = [
    ...grouped(
      plans.flatMap((plan) => plan.slots),
      ({ at }) => at.getTime(),
    ),
  ]
    .sort(([one], [other]) => one - other)
    .map(([atMs, shares]) => ({
      at: new Date(atMs),
      calls: sumOf(shares.map(({ calls }) => calls)),
      doneMs: latest(shares.map(({ doneMs }) => doneMs)),
    }));
  const jobs = [
    ...grouped(
      plans.flatMap((plan) => plan.jobs),
      ({ job }) => job,
    ),
  ].map(([job, shares]) => ({
    job,
    slots: Math.max(...shares.map((share) => share.slots)),
    instruments: sumOf(shares.map(({ instruments }) => instruments)),
    due: sumOf(shares.map(({ due }) => due)),
    starved: sumOf(shares.map(({ starved }) => starved)),
  }));
  const starving = jobs.filter(({ starved }) => starved > 0).map(({ job }) => job);
  const fits = starving.length === 0;
  const passMs = Math.max(0, ...plans.map((plan) => plan.passMs));
  return {
    slots,
    jobs,
    starving,
    fits,
    passMs,
    batches: plans.flatMap(({ batches }) => batches),
    callsPerPass: Math.max(0, ...slots.map(({ calls }) => calls)),
    fullPassMs: latest(plans.map(({ fullPassMs }) => fullPassMs)),
    missedAtReach: fits ? sumOf(plans.map(({ missedAtReach }) => missedAtReach)) : 0,
    fitsEveryMs: fits ? passMs : latest(plans.filter((plan) => !plan.fits).map((plan) => plan.fitsEveryMs)),
  };
}

/**
 * Calls of each minute of a day, of all accounts together, by its time in epoch ms.
 *
 * @param accounts those that share what is due; one alone asks for everything
 */
export function callsByMinute(
  due: readonly DueJob[],
  accounts: readonly Sharer[],
  batchSize: number,
): Map<number, number> {
  const ownerOf = accounts.length > 1 ? partition(wantedOf(due), accounts, batchSize) : null;
  const shares = ownerOf
    ? accounts.map(({ name }) => ownedOf(due, (asked, delayed) => ownerOf(asked, delayed) === name))
    : [due];
  const minutes = new Map<number, number>();
  for (const [slotAt, { length }] of shares.flatMap((share) => [...callsBySlot(share, batchSize)])) {
    const minute = Math.floor(Date.parse(slotAt) / MINUTE_MS) * MINUTE_MS;
    minutes.set(minute, (minutes.get(minute) ?? 0) + length);
  }
  return minutes;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, each) => sum + each, 0);
}

/** Null, which is never, is later than all times. */
function latest(times: readonly (number | null)[]): number | null {
  return times.reduce<number | null>(
    (last, each) => (last === null || each === null ? null : Math.max(last, each)),
    0,
  );
}

function missedAt(gapMs: number, due: readonly DueJob[], batchSize: number): number {
  return [...walkBudget(due, gapMs, batchSize).starved.values()].reduce((sum, each) => sum + each, 0);
}

/** The calls of each slot by themselves, by its time; slots of the same jobs make the same calls. */
function callsBySlot(due: readonly DueJob[], batchSize: number): Map<string, PlannedCall[]> {
  const known = new Map<string, PlannedCall[]>();
  return new Map(
    slotsInOrder(due).map(([slotAt, jobs]) => {
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
    const counts = slots.map((slot) => dueNames(slot).length);
    return {
      job,
      slots: slots.length,
      instruments: Math.max(...counts),
      due: counts.reduce((sum, count) => sum + count, 0),
      starved: starved.get(job) ?? 0,
    };
  });
}

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
  for (const slot of slotsInOrder(slots).flatMap(([, jobs]) => jobs)) {
    const last = kept.at(-1);
    if (last && Date.parse(slot.slotAt) - Date.parse(last.slotAt) < everyMs) {
      kept[kept.length - 1] = { ...last, deadlineMs: slot.deadlineMs, closes: slot.closes };
    } else kept.push(slot);
  }
  return kept;
}
