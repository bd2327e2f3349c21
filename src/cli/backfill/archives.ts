/** The archive that a backfill works on, brought up to date, and the jobs whose slots it fills. */
import { resolve } from "node:path";
import type pg from "pg";
import { migrate } from "../../archive/schema/migrations.ts";
import type { PolledJobs } from "../../archive/refill/fillSlots.ts";
import { instantFromDate } from "../../ground/clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { Edges } from "../../ground/edges.ts";
import { withArchive } from "../../archive/openArchive.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { pastSlotEnds } from "../../schedule/pastSlots.ts";
import { readCalendarDays, readJobs } from "../../schedule/readJobs.ts";

export async function withMigrated<T>(
  config: Config,
  { clock }: Pick<Edges, "clock">,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  return withArchive(config, { clock }, async ({ pool }) => {
    const calendar = await readCalendarDays(resolve(config.jobsDir));
    await migrate(pool, instantFromDate(clock.now()), { calendar });
    return work(pool);
  });
}

export async function polledJobs(config: Config): Promise<PolledJobs> {
  const { jobs, calendar } = await readJobs(config.jobsDir).catch(() => ({ jobs: [], calendar: [] }));
  return {
    delayedJobs: jobs.filter(({ delayed }) => delayed).map(({ name }) => name),
    endOf: pastSlotEnds(jobs, createCalendar(calendar)),
  };
}
