/** Work that is done as a whole or not at all. */
import type pg from "pg";

export type Queryable = Pick<pg.ClientBase | pg.Pool, "query">;

/**
 * All who store quotes hold a lock together, and a rebuild, which stores batch after batch in one transaction, holds it alone: a
 * loader and a rebuild would wait for each other in a ring. It is the lock of a row: nobody without rights to change rows can keep it
 * from us.
 */
const LOCK = "select from archive_identity for";

/**
 * The longest wait of a transaction that stores for its program's next statement. A program that is cut off, or whose machine
 * sleeps, holds up others who store quotes of the same instruments.
 */
const LONGEST_PAUSE = "set local idle_in_transaction_session_timeout = '1min'";

/** Opens a transaction that stores quotes. The lock comes first, as in all of them: they never wait for each other in a ring. */
export const BEGIN_STORING = `begin; ${LONGEST_PAUSE}; ${LOCK} key share`;

/** Opens a transaction of many batches: waits until no other one that stores is open, and keeps them waiting. */
export const BEGIN_STORING_ALONE = `begin; ${LONGEST_PAUSE}; ${LOCK} update`;

/**
 * Held until the transaction ends while instruments, accounts, partitions or sessions are added: two loaders that add some in
 * different order would wait for each other. A table that hardly changes stands for all; no reader can keep this lock of it from
 * us, see lockHistory in migrationLock.ts.
 */
export const ADDING_LOCK = "lock table due_sets in share update exclusive mode";

/** Runs `work` in a transaction on a connection of the caller's. @param begin what opens it */
export async function transactionOn<T>(
  client: pg.ClientBase,
  work: () => Promise<T>,
  begin = "begin",
): Promise<T> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** Runs `work` in a transaction on a connection of its own, which is closed if it failed: the pool must not hand it out again half-way through. */
export async function inTransaction<T>(
  pool: Pick<pg.Pool, "connect">,
  work: (client: pg.PoolClient) => Promise<T>,
  begin?: string,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await transactionOn(client, () => work(client), begin);
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Undoes what was done since the savepoint, and forgets the savepoint.
 *
 * @throws `cause`, the error that made it necessary, when there is no transaction any more in which to undo
 */
export async function undo(client: pg.ClientBase, savepoint: string, cause: unknown): Promise<void> {
  try {
    await client.query(`rollback to savepoint ${savepoint}`);
    await client.query(`release savepoint ${savepoint}`);
  } catch {
    throw cause;
  }
}
