/** Undoing a part of a transaction. */
import type pg from "pg";

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
