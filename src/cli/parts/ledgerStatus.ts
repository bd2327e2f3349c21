/** What `status` says of the ledger: slots of the last day, jobs that are late, instruments nobody knows. */
import type pg from "pg";
import { readLateness, readUnknownInstruments } from "../../archive/coverage.ts";
import { createSchedule } from "../../collect/schedule/slots.ts";
import type { Job } from "../../config/jobs/readJobs.ts";
import { type Calendar } from "../../market/calendar/calendar.ts";

/** The ledger in a few words. */
export type LedgerStatus = {
  /** Instruments due in the last day, and those of them that were missed, by reason. */
  due: number;
  missed: Record<string, number>;
  /** Jobs whose slots have passed without an entry, and since when. */
  late: { job: string; since: Date }[];
  /** Instruments that the service did not know when it was last asked. */
  unknown: string[];
};

/** A slot has this long to be settled and loaded before its job counts as late, in ms. */
export const SETTLING_MS = 3 * 60_000;

/** Names of instruments that are listed; more are counted. */
const MOST_NAMES = 8;

/** @param calendar null when lateness means nothing: the simulated market runs only while `start` does */
export async function readLedgerStatus(
  pool: pg.Pool,
  jobs: readonly Job[],
  calendar: Calendar | null,
  now: Date,
): Promise<LedgerStatus> {
  const source = calendar === null ? "simulated" : "account";
  const names = jobs.map(({ name }) => name);
  const { due, missed, newest } = await readLateness(
    pool,
    names,
    source,
    new Date(now.getTime() - 86_400_000),
  );
  const late =
    calendar === null ? [] : jobs.flatMap((job) => lateJob(job, newest.get(job.name), calendar, now));
  return { due, missed, late, unknown: await readUnknownInstruments(pool, names, source) };
}

/** A job that was never in the ledger is new, not late. */
function lateJob(job: Job, newest: Date | undefined, calendar: Calendar, now: Date): LedgerStatus["late"] {
  if (!newest) return [];
  const { schedule: cron, timezone, session } = job;
  const schedule = createSchedule({ cron, timezone, session, calendar });
  const since = schedule.next(newest);
  const settledBy = since && (schedule.next(since)?.getTime() ?? since.getTime()) + SETTLING_MS;
  return since && settledBy !== null && settledBy < now.getTime() ? [{ job: job.name, since }] : [];
}

/** `AAPL, MSFT and 3 more`. */
export function someOf(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
