/** A migrated database and a journal, and loading the one from the other. */
import type pg from "pg";
import type { LoadReport } from "../../src/archive/load/batch.ts";
import { loadAll, type LoaderOptions } from "../../src/archive/load/loader.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { createTestClock } from "./clock.ts";
import { freshDatabase } from "./database.ts";
import { appendAll } from "./journal.ts";
import { tempDir } from "./tempDir.ts";

/** An archive to load. */
export type LoadingWorld = {
  url: string;
  pool: pg.Pool;
  journalDir: string;
  /** Appends records to a new segment of the journal. */
  append: (...records: JournalRecord[]) => Promise<void>;
  /** Loads what the journal holds and the database has not. */
  load: (options?: Partial<LoaderOptions>) => Promise<LoadReport>;
  /** Makes the database forget how far it has loaded: everything comes again. */
  forgetPositions: () => Promise<void>;
};

/** A fresh database with an empty journal beside it. */
export async function loadingWorld(): Promise<LoadingWorld> {
  const { url, pool } = await freshDatabase();
  const journalDir = tempDir();
  const clock = createTestClock();
  return {
    url,
    pool,
    journalDir,
    append: (...records) => appendAll(journalDir, records, { clock }),
    load: (options) => loadAll({ pool, journalDir, clock: createTestClock(), ...options }),
    forgetPositions: async () => {
      await pool.query("delete from journal_positions");
    },
  };
}
