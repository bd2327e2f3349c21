/** The loading half of a sweep. The database may be away: the sweep goes on, and the journal keeps its answers. */
import { resolve } from "node:path";
import type pg from "pg";
import { databaseError, isDatabaseError, isRetryable } from "../../../archive/connect/databaseError.ts";
import { type Loader, startLoader } from "../../../archive/load/loader.ts";
import { migrate } from "../../../archive/schema/migrations.ts";
import { beginRun, finishRun, type Asked, type Run } from "../../../archive/refill/runs.ts";
import { fillSlots } from "../../../archive/refill/fillSlots.ts";
import { countSweep, type SweepCount } from "../../../backfill/sweep/count.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../../errors.ts";
import { type Clock, dateOf, type Instant, instantFromDate } from "../../../clock.ts";
import { type Archive, openArchive } from "../../../run/archive.ts";
import { journalDir } from "../../../run/stations.ts";
import { readCalendarDays } from "../../../schedule/readJobs.ts";
import { LONGEST_SLOT_MS } from "../../../schedule/slotEnd.ts";
import { polledJobs } from "../archives.ts";
import type { Display } from "../display.ts";

export type Settled = SweepCount & {
  /** Why not all of it is in the archive; null when it is. */
  problem: string | null;
};

export type Store = {
  /** Null: it could not be opened. */
  archive: Archive | null;
  loader: Pick<Loader, "notify">;
  /**
   * Loads what is left, marks slots that are filled now, and counts.
   *
   * @param over whether the sweep has come to its end: asked again, it begins anew
   */
  settle: (over: boolean) => Promise<Settled>;
  close: () => Promise<void>;
};

/** What is stored, and whom to tell. */
type StoreOptions = { run: SweepRun; asked: Asked & { kind: "sweep" }; display: Display };

/** The longest wait for the last rows at the end, in ms. */
const LOAD_GRACE_MS = 1_500;

/** Opens the archive and loads into it what the journal holds, from now on. */
export async function openStore(config: Config, clock: Clock, options: StoreOptions): Promise<Store> {
  const { run, asked, display } = options;
  const dir = journalDir(config);
  let archive: Archive;
  try {
    archive = await openArchive(config, clock);
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    display.log.warn({}, `${error.message} The sweep goes on; its answers are kept in the journal.`);
    return closedStore(dir, run, error.message);
  }
  const { pool, address } = archive;
  const now = () => instantFromDate(clock.now());
  let begun: Run | null = null;
  const telling = tellOf(display, address);
  const loader = startLoader({
    pool,
    journalDir: dir,
    clock,
    revive: archive.revive,
    ...telling.listeners,
    prepare: async () => {
      await migrate(pool, now(), { calendar: await readCalendarDays(resolve(config.jobsDir)) });
      begun = await beginRun(pool, asked, run.begunAt);
      if (!begun.resumed || run.resumed) return;
      // That one was ended in its midst, and is not gone on with.
      await finishRun(pool, begun, run.begunAt);
      begun = await beginRun(pool, asked, run.begunAt);
    },
  });
  return {
    archive,
    loader,
    settle: async (over) => {
      try {
        await loader.drain();
        const { report, waiting } = await countSweep(pool, dir, run);
        const filled = report.stored === 0 ? 0 : await fillSwept(config, pool, { run, now: now() });
        const whole = { ...report, filled };
        if (begun !== null && over) await finishRun(pool, { ...begun, report: whole }, now());
        return { report: whole, waiting, problem: null };
      } catch (error) {
        if (!(error instanceof QuotekeeperError) && !isDatabaseError(error)) throw error;
        return { ...(await countSweep(null, dir, run)), problem: databaseError(error, address).message };
      }
    },
    close: async () => {
      telling.hush();
      await loader.close(LOAD_GRACE_MS);
      await archive.close();
    },
  };
}

/** One that stores nothing. */
function closedStore(journalDir: string, run: SweepRun, problem: string): Store {
  return {
    archive: null,
    loader: { notify: () => undefined },
    close: () => Promise.resolve(),
    settle: async () => ({ ...(await countSweep(null, journalDir, run)), problem }),
  };
}

type Listeners = Pick<Parameters<typeof startLoader>[0], "onDamage" | "onFailure" | "onRecovered">;

/** Says once that the database is away, and once that it is back. */
function tellOf({ log, onDamage }: Display, address: string): { listeners: Listeners; hush: () => void } {
  let told = false;
  return {
    listeners: {
      onDamage,
      onFailure: (error) => {
        const { message } = databaseError(error, address);
        if (!told)
          log.warn(
            { retried: isRetryable(error) },
            `${message} The sweep goes on; the journal keeps its answers.`,
          );
        told = true;
      },
      onRecovered: () => {
        told = false;
        log.info({}, "the database is back, and has all of the journal");
      },
    },
    // Whatever is in the way at the end has been told.
    hush: () => (told = true),
  };
}

/** Marks the slots of the ledger, also of those that began before the sweep, that the sweep's quotes fill. @returns how many misses are filled now */
async function fillSwept(
  config: Config,
  pool: pg.Pool,
  { run, now }: { run: SweepRun; now: Instant },
): Promise<number> {
  const from = instantFromDate(new Date(dateOf(run.begunAt).getTime() - LONGEST_SLOT_MS));
  return fillSlots(pool, { from, to: null, by: "sweep", now, polled: await polledJobs(config) });
}
