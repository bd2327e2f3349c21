/**
 * One import at a time into each source: two would give the same second's answers the same times. And one lake at a time.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { transactionOn } from "../connect/transaction.ts";

/**
 * Tells whether another session of this user bears a name, and gives the name to this one if none does. Not an advisory
 * lock, which every reader of the database can take; nor a row's, for a transaction that lasts as long as an import keeps
 * dead rows from being removed.
 */
const TAKE_NAME = `
  select set_config('application_name', $1, false) as name
  where not exists (
    select from pg_stat_activity
    where application_name = $1 and datname = current_database() and usename = session_user and pid <> pg_backend_pid()
  )`;

/**
 * Runs `work` while no other import into the source runs. A process that is killed leaves no lock behind.
 *
 * @throws QuotekeeperError BACKFILL_OVERTAKEN when there is one
 */
export async function withSourceLock<T>(pool: pg.Pool, name: string, work: () => Promise<T>): Promise<T> {
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
  const why = `another import into the source ${name} is under way`;
  const busy = new QuotekeeperError("BACKFILL_OVERTAKEN", why);
  return withName(pool, { name: `quotekeeper imports ${digest}`, busy }, work);
}

/**
 * Runs `work` on an archive's lake while nobody else does.
 *
 * @throws QuotekeeperError LAKE_BUSY when somebody does
 */
export async function withLakeLock<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const busy = new QuotekeeperError("LAKE_BUSY", "another program is at work on this archive's lake");
  return withName(pool, { name: "quotekeeper lake", busy }, work);
}

async function withName<T>(
  pool: pg.Pool,
  { name, busy }: { name: string; busy: QuotekeeperError },
  work: () => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const { rowCount } = await transactionOn(client, async () => {
      await client.query("lock table backfills in share update exclusive mode");
      return client.query(TAKE_NAME, [name]);
    });
    if (rowCount !== 1) throw busy;
    return await work();
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    // Ending the connection ends the lock, however the work has ended; the server needs a moment for it, which nobody waits for.
    await client.query("set application_name to default").catch(() => undefined);
    client.release(broken ?? true);
  }
}
