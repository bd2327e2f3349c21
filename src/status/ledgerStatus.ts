/** What `status` says of the ledger: slots of the last day, jobs that are late, instruments nobody knows. */
import { createSchedule } from "../schedule/slots.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { readGuesses } from "./didYouMean.ts";
import { inNewYork } from "../market/durations.ts";
import type { AccountAnswers } from "../archive/ask/queries.ts";
import { GOES_ON_MS, isMended } from "./goesOn.ts";
import type { Line } from "./statusJson.ts";
import type pg from "pg";
import { type JobMisses, readSlotsSince, readUnknownInstruments } from "../archive/ledger/coverageRows.ts";
import { thousands, someNames } from "../ground/figures.ts";

/** Misses that somebody can do something about; the others heal by themselves, or are somebody's decision. */
const MENDABLE = ["budget", "refused", "malformed", "unauthorized"];

export function ledgerLines({ due, missed, late, unknown, guesses }: LedgerStatus): Line[] {
  if (due === 0 && late.length === 0)
    return [{ subject: "slots", state: "idle", text: "none in the last day" }];
  const mendable = missed.filter(({ reason }) => MENDABLE.includes(reason));
  const reasons = missed.map((miss) => {
    const { reason, count, lastAt, goesOn } = miss;
    return `${thousands(count)} ${reason}${mendable.includes(miss) ? when(lastAt, goesOn) : ""}`;
  });
  const counts = `${thousands(due)} due in the last day, ${reasons.length > 0 ? `missed: ${reasons.join(", ")}` : "none missed"}`;
  const lateText = late.map(({ job, since }) => `${job} is late since ${inNewYork(since)}`).join(", ");
  const needsPerson = late.length > 0 || mendable.some(({ goesOn }) => goesOn);
  const text = late.length > 0 ? `${lateText}: is \`quotekeeper start\` running? ${counts}` : counts;
  const lines: Line[] = [{ subject: "slots", state: needsPerson ? "attention" : "ok", text }];
  if (unknown.length > 0) {
    const names = someNames(
      unknown.map((name) => `${name}${guesses?.get(name) ?? ""}`),
      MOST_NAMES,
    );
    const says = `the service does not know ${names}: correct the job files`;
    lines.push({ subject: "unknown", state: "attention", text: says });
  }
  return lines;
}

/** How often something was missed for one reason, the newest slot at which it was, and whether that goes on. */
type MissCount = { reason: string; count: number; lastAt: Date; goesOn: boolean };

type LedgerStatus = {
  /** Instruments due in the last day, and those of them that were missed, the most frequent reason first. */
  due: number;
  missed: MissCount[];
  /** Jobs whose slots have passed without an entry, and since when. */
  late: { job: string; since: Date }[];
  unknown: string[];
  /** What stands behind their names, as `readGuesses` has it. */
  guesses?: ReadonlyMap<string, string>;
};

/** A slot has this long to be settled and loaded before its job counts as late, in ms. */
const SETTLING_MS = 3 * 60_000;

/** Names of instruments that are listed; more are counted. */
export const MOST_NAMES = 8;

type LedgerQuestion = {
  source: LedgerSource;
  calendar: Calendar | null;
  now: Date;
  answers: readonly AccountAnswers[];
};

/**
 * @param source the market that is polled
 * @param calendar null when lateness means nothing: the program's own simulated market runs only while `start` does
 */
export async function readLedgerStatus(
  pool: pg.Pool,
  jobs: readonly Job[],
  { source, calendar, now, answers }: LedgerQuestion,
): Promise<LedgerStatus & { misses: JobMisses[]; newest: ReadonlyMap<string, Date> }> {
  const names = jobs.map(({ name }) => name);
  const since = new Date(now.getTime() - 86_400_000);
  const { due, misses, newest } = await readSlotsSince(pool, { jobs: names, source, since });
  const late =
    calendar === null ? [] : jobs.flatMap((job) => lateJob(job, newest.get(job.name), { calendar, now }));
  const unknown = await readUnknownInstruments(pool, names, source);
  const guesses = await readGuesses(pool, unknown);
  return { due, missed: missedBy(misses, newest, answers), misses, newest, late, unknown, guesses };
}

/**
 * Misses by reason. They go on while the newest slots of a job have them, and no answer since shows that they are mended; those of a
 * job that is no longer there do not.
 *
 * @param newest the newest slot of each job
 * @param answers those of the last hour
 */
export function missedBy(
  misses: readonly (Omit<JobMisses, "account"> & { account?: string })[],
  newest: ReadonlyMap<string, Date>,
  answers: readonly AccountAnswers[] = [],
): MissCount[] {
  const byReason = new Map<string, MissCount>();
  for (const miss of misses) {
    const { job, reason, count, lastAt } = miss;
    const last = newest.get(job);
    const isRecent = lastAt.getTime() > (last?.getTime() ?? Infinity) - GOES_ON_MS;
    const goesOn = isRecent && !isMended(miss, last, answers);
    const before = byReason.get(reason) ?? { reason, count: 0, lastAt, goesOn: false };
    byReason.set(reason, {
      reason,
      count: before.count + count,
      lastAt: lastAt > before.lastAt ? lastAt : before.lastAt,
      goesOn: before.goesOn || goesOn,
    });
  }
  return [...byReason.values()].sort((a, b) => b.count - a.count);
}

/** A job that was never in the ledger is new, not late. */
function lateJob(
  job: Job,
  newest: Date | undefined,
  { calendar, now }: { calendar: Calendar; now: Date },
): LedgerStatus["late"] {
  if (!newest) return [];
  const { schedule: cron, timezone, session } = job;
  const schedule = createSchedule({ cron, timezone, session, calendar });
  const since = schedule.next(newest);
  const settledBy = since && (schedule.next(since)?.getTime() ?? since.getTime()) + SETTLING_MS;
  return since && settledBy !== null && settledBy < now.getTime() ? [{ job: job.name, since }] : [];
}

/** ` (last at 2026-11-20 10:12:00 New York)`, or ` (going on, last at ...)`. */
export function when(lastAt: Date, goesOn: boolean): string {
  return ` (${goesOn ? "going on, " : ""}last at ${inNewYork(lastAt)})`;
}
