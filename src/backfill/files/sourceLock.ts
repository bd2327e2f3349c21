/** One import at a time into each source: two would give the same second's answers the same times. */
import type pg from "pg";
import { QuotekeeperError } from "../../errors.ts";

/** Locks of imports, apart from those of other things. */
const IMPORT_LOCK = 0x71_6b_07;

/**
 * Runs `work` while no other import into the source runs. A process that is killed leaves no lock behind.
 *
 * @throws QuotekeeperError BACKFILL_OVERTAKEN when there is one
 */
export async function withSourceLock<T>(pool: pg.Pool, name: string, work: () => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1, hashtext($2)) as locked",
      [IMPORT_LOCK, name],
    );
    if (rows[0]?.locked !== true)
      throw new QuotekeeperError("BACKFILL_OVERTAKEN", `another import into the source ${name} is under way`);
    return await work();
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    // Ending the connection ends the lock, however the work has ended.
    client.release(broken ?? true);
  }
}
