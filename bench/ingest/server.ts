/** A server and a migrated database for one run of a bench, gone afterwards. */
import { rmSync } from "node:fs";
import type pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { systemClock, instantFromDate } from "../../src/ground/clock.ts";
import { makeServerDir, openOwnServer } from "../../test/support/postgres/server.ts";

/** A migrated database of one's own. */
export type BenchServer = {
  pool: pg.Pool;
  /** Connection string of its owner; holds a password. */
  url: string;
  /** The run's directory, for other files. */
  dir: string;
  close: () => Promise<void>;
};

/**
 * Starts the embedded PostgreSQL, with the settings the program gives it, in a fresh temporary directory; its owner is a
 * superuser here, who may ask for a checkpoint, and psql gets in.
 */
export async function openBenchServer(): Promise<BenchServer> {
  const dir = makeServerDir();
  const server = await openOwnServer(dir);
  const pool = createPool(server.url);
  const close = async (): Promise<void> => {
    await pool.end();
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await migrate(pool, instantFromDate(systemClock.now()));
    return { pool, url: server.url, dir, close };
  } catch (error) {
    await close();
    throw error;
  }
}
