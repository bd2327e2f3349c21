/** The lock under which one migration runs at a time. */
import type pg from "pg";
import { connectBeside } from "../connect/connect.ts";
import { endReaders, watching } from "./readerRole.ts";

/** How often readers that hold a migration up are ended: sooner than the server looks for deadlocks (1 s). */
const END_READERS_EVERY_MS = 500;

/**
 * Takes the history for ourselves, on a connection of its own, for a migration has many transactions. Anybody who may
 * connect can take an advisory lock; nobody without rights to a table can keep SHARE UPDATE EXCLUSIVE of it from us. Not even
 * by a statement that is only prepared, which takes ROW EXCLUSIVE before any right is looked at. It is a table of its own: were
 * it the history, somebody's ALTER of that would wait for this lock, and we, on another connection, for the ALTER.
 *
 * @returns gives it up
 */
export async function lockHistory(pool: pg.Pool): Promise<() => Promise<void>> {
  const keeper = await connectBeside(pool);
  try {
    await keeper.query("create table if not exists migration_lock ()").catch(async (error: unknown) => {
      // Made at the same moment elsewhere.
      const { rows } = await keeper.query<{ there: string | null }>(
        "select to_regclass('migration_lock') as there",
      );
      if ((rows[0]?.there ?? null) === null) throw error;
    });
    // No migration can say it: it would wait for the lock.
    await keeper.query(
      `do $$ begin
         if exists (
           select from pg_class where oid = 'migration_lock'::regclass and obj_description(oid, 'pg_class') is null
             and pg_has_role(relowner, 'usage')
         ) then
           comment on table migration_lock is
             'Internal: a table without columns. quotekeeper migrate locks it, so that one migration runs at a time.';
         end if;
       end $$`,
    );
    await keeper.query("begin");
    await keeper.query("lock table migration_lock in share update exclusive mode");
  } catch (error) {
    await keeper.end().catch(() => undefined);
    throw error;
  }
  const unwatch = watching(() => endReaders(keeper), END_READERS_EVERY_MS);
  return async () => {
    unwatch();
    await keeper.end().catch(() => undefined);
  };
}
