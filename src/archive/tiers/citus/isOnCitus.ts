import type { Queryable } from "../../connect/transaction.ts";

const known = new WeakMap<object, Promise<boolean>>();

/**
 * Whether what this connection calls `quotes` is cut over nodes. Asked once of each connection: one that fails is closed, so
 * that nobody remembers what was before a move.
 */
export function isOnCitus(db: Queryable): Promise<boolean> {
  const asked = known.get(db) ?? readIsOnCitus(db, () => known.delete(db));
  known.set(db, asked);
  asked.catch(() => known.delete(db));
  return asked;
}

/** @param forget called where a move may come: then it is asked for again */
async function readIsOnCitus(db: Queryable, forget: () => void): Promise<boolean> {
  const catalog = await db.query<{ there: boolean }>(
    "select to_regclass('pg_catalog.pg_dist_partition') is not null as there",
  );
  if (!catalog.rows[0]?.there) return false;
  const { rows } = await db.query<{ cut: boolean }>(
    "select exists (select from pg_dist_partition where logicalrelid = to_regclass('quotes')) as cut",
  );
  if (rows[0]?.cut !== true) forget();
  return rows[0]?.cut === true;
}
