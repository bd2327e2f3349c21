/** Work that is done as a whole or not at all. */
import type pg from "pg";

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

/** Runs `work` in a transaction on a connection of its own. One that failed is closed, never handed out again half-way through. */
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
