/** The aggregates of the Community tier after rows of the past were replaced. */
import type pg from "pg";

/** The continuous aggregates that the bars are made of. */
const PIECES = ["bar_pieces", "volume_pieces"];

/**
 * What a refresh must be told to look at the rows themselves; nothing where TimescaleDB does not know it. Otherwise it
 * looks only where a change was noted, and 2.23 and 2.24 note none for rows of the past that come by COPY into a table
 * with triggers.
 */
export async function refreshForce(db: pg.ClientBase | pg.Pool): Promise<"" | ", force => true"> {
  const { rows } = await (db as pg.ClientBase).query<{ known: boolean }>(
    `select exists (select from pg_proc where proname = 'refresh_continuous_aggregate' and 'force' = any (proargnames))
       as known`,
  );
  return rows[0]?.known ? ", force => true" : "";
}

/**
 * Makes the aggregates of some exchange dates anew: their own policy looks at the last days alone, and a sum of as many
 * rows as before would be believed. Does nothing on the other tiers. Not inside a transaction (SQLSTATE 25001).
 *
 * @param from first exchange date, `to` the last one; null: none was touched
 */
export async function refreshPieces(pool: pg.Pool, from: string | null, to: string | null): Promise<void> {
  if (from === null || to === null) return;
  const { rows } = await pool.query<{ name: string }>(
    "select name from unnest($1::text[]) as name where to_regclass(name) is not null",
    [PIECES],
  );
  const force = await refreshForce(pool);
  for (const { name } of rows)
    await pool.query(
      `call refresh_continuous_aggregate('${name}', ($1::date - 1)::timestamptz, ($2::date + 2)::timestamptz${force})`,
      [from, to],
    );
}
