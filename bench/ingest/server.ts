/** A server and a migrated database for one run of a bench, gone afterwards. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { createPool } from "../../src/archive/connect.ts";
import { openEmbedded } from "../../src/archive/embedded/server.ts";
import { migrate, readMigrations } from "../../src/archive/migrate.ts";
import { systemClock } from "../../src/clock.ts";
import { instantFromDate } from "../../src/instant.ts";

/** A migrated database of one's own. */
export type BenchServer = {
  pool: pg.Pool;
  /** Connection string of its owner; holds a password. */
  url: string;
  /** The run's directory, for other files. */
  dir: string;
  close: () => Promise<void>;
};

/** Starts the embedded PostgreSQL, with the settings the program gives it, in a fresh temporary directory. */
export async function openBenchServer(): Promise<BenchServer> {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-bench-"));
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(dir, 0o755);
  const server = await openEmbedded(dir, systemClock);
  const pool = createPool(server.ownerUrl);
  const close = async (): Promise<void> => {
    await pool.end();
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    // npm runs scripts in the project's directory; the compiled files lie elsewhere than the program's.
    await migrate(
      pool,
      instantFromDate(systemClock.now()),
      await readMigrations(join(process.cwd(), "migrations")),
    );
    return { pool, url: server.ownerUrl, dir, close };
  } catch (error) {
    await close();
    throw error;
  }
}
