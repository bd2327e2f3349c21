/** The archive that a backfill works on: brought up to date, or copies of it for a trial. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type pg from "pg";
import { currentVersion, migrate } from "../../archive/schema/migrations.ts";
import type { Polled } from "../../archive/refill/fillSlots.ts";
import { TempCopies } from "../../archive/load/tempCopies.ts";
import { instantFromDate } from "../../clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { Edges } from "../../run/edges.ts";
import { archiveExists, withArchive } from "../../run/archive.ts";
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

/** Temporary copies of an archive. `pool`: the archive; null: it was never migrated. */
export type Tried = { tempCopies: TempCopies; pool: pg.Pool | null };

/**
 * Runs `work` with temporary copies of the archive, which stays as it was: a database without a schema gets none, and a
 * data directory without a database gets none.
 */
export async function withTrial<T>(
  config: Config,
  { clock }: Pick<Edges, "clock">,
  work: (tried: Tried) => Promise<T>,
): Promise<T> {
  const there = (await archiveExists(config)) ? config : await temporary(config);
  try {
    return await withArchive(there, { clock }, async ({ pool, openScratch }) => {
      const version = await currentVersion(pool);
      const scratch = openScratch();
      try {
        const tempCopies = await TempCopies.open(scratch, version);
        return await work({ tempCopies, pool: version === 0 ? null : pool });
      } finally {
        await scratch.end();
      }
    });
  } finally {
    if (there !== config) await rm(dirname(there.dataDir), { recursive: true, force: true });
  }
}

/** The configuration with a temporary data directory, for an embedded database of the trial. */
async function temporary(config: Config): Promise<Config> {
  const dir = await mkdtemp(join(tmpdir(), "quotekeeper-trial-"));
  // The server may run as another user, who needs access.
  await chmod(dir, 0o755);
  return { ...config, dataDir: join(dir, "data") };
}

export async function polledJobs(config: Config): Promise<Polled> {
  const { jobs, calendar } = await readJobs(config.jobsDir).catch(() => ({ jobs: [], calendar: [] }));
  return {
    delayedJobs: jobs.filter(({ delayed }) => delayed).map(({ name }) => name),
    endOf: pastSlotEnds(jobs, createCalendar(calendar)),
  };
}
