/** Loads the journal of a collection into the database, and says what is not loaded. */
import { resolve } from "node:path";
import { addCounts } from "../archive/load/letterCounts.ts";
import { databaseError, isRetryable } from "../archive/connect/databaseError.ts";
import { type LoadReport, NOTHING_LOADED } from "../archive/load/batch.ts";
import { type Loader, startLoader } from "../archive/load/loader.ts";
import { migrate } from "../archive/schema/migrations.ts";
import { damageSaid } from "../archive/load/readBatches.ts";
import { type Clock, instantFromDate } from "../ground/clock.ts";
import { needsPerson } from "../ground/errors.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Journal } from "../journal/writer.ts";
import type { Logger } from "pino";
import type { Archive } from "../archive/openArchive.ts";
import type { CalmLog } from "../ground/calmLog.ts";
import { keepLoaderState, type LoaderStateFile } from "../status/loaderState.ts";

/** How often the size of the unloaded journal is looked up, in ms: a journal of years has thousands of files. */
const LOOK_AT_LAG_EVERY_MS = 30_000;

export type LoadingOptions = {
  config: Pick<Config, "dataDir">;
  archive: Archive;
  clock: Clock;
  log: Logger;
  calm: CalmLog;
  /** Called when a status line would change. */
  onChange: () => void;
  /** Whether the database has its schema, once that is known; if not, the loader makes it. Default: it has none. */
  schemaReady?: Promise<boolean>;
};

export type JournalLoading = {
  loader: Loader;
  loaded: () => LoadReport;
  state: LoaderStateFile;
  lag: ReturnType<typeof lagOf>;
};

/** The size of the unloaded journal in bytes, as of the last look; reading it starts a look in the background. */
function lagOf(loader: Pick<Loader, "behind">, { monotonicMs }: Pick<Clock, "monotonicMs">) {
  let bytes: number | null = null;
  let looking: Promise<void> | null = null;
  let lookedAtMs = -Infinity;
  const look = (): Promise<void> => {
    lookedAtMs = monotonicMs();
    return (looking ??= loader.behind().then((found) => {
      bytes = found;
      looking = null;
    }));
  };
  return {
    bytes: () => {
      if (monotonicMs() - lookedAtMs >= LOOK_AT_LAG_EVERY_MS) void look();
      return bytes;
    },
    look,
  };
}

export function openLoading(
  { config, archive, clock, log, calm, onChange, schemaReady }: LoadingOptions,
  { dir, journal }: { dir: string; journal: Pick<Journal, "keptTo"> },
): JournalLoading {
  const state = keepLoaderState(resolve(config.dataDir), clock);
  let loaded = NOTHING_LOADED;
  const loader = startLoader({
    pool: archive.pool,
    journalDir: dir,
    keptTo: journal.keptTo,
    clock,
    revive: archive.revive,
    onLoaded: (report) => {
      loaded = addCounts(loaded, report);
      onChange();
    },
    prepare: async () => {
      if (await schemaReady) return;
      const { applied, warnings } = await migrate(archive.pool, instantFromDate(clock.now()));
      if (applied.length > 0) log.info({ applied }, "the database's schema is up to date");
      for (const warning of warnings) log.warn(warning);
    },
    onDamage: (damage) => log.error(...damageSaid(damage)),
    onFailure: (error, waitMs) => {
      const problem = databaseError(error, archive.address);
      // Nobody has to know of a server that comes back by itself.
      if (problem.code !== "EMBEDDED_ENDED") state.failed(problem);
      const level = isRetryable(error) && !needsPerson(problem.code) ? "warn" : "error";
      calm[level]({ waitMs }, problem.message);
    },
    onRecovered: () => {
      calm.flush();
      state.works();
      log.info("the database is back, and has all of the journal");
    },
  });
  // What a run that was killed has left behind holds no longer once everything is loaded.
  void loader.drain().then(state.works, () => undefined);
  return { loader, state, lag: lagOf(loader, clock), loaded: () => loaded };
}
