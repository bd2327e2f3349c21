/**
 * The keys of months that are over. Rows of many series come into a key at as many places, and leave its pages half empty; rebuilt,
 * a key takes 40 bytes a row in place of 55 to 72. Only on the plain tier: hypertables compress their keys' rows.
 */
import type pg from "pg";

/** The partitions of months that were over two days ago, when what came late has come. */
const ENDED = `
  select p.oid, p.reltuples
  from pg_inherits h
  join pg_class p on p.oid = h.inhrelid
  where h.inhparent in (to_regclass('quotes'), to_regclass('extended_quotes'))
    and substring(pg_get_expr(p.relpartbound, p.oid) from 'TO \\(''([^'']+)''\\)')::timestamptz < $1::timestamptz - interval '2 days'`;

/**
 * Keys that take a quarter more than they would when rebuilt, and a megabyte at least. A rebuild counts the rows, so one that was
 * rebuilt is not found again. One that another program rebuilds is passed over.
 */
const LOOSE_KEYS = `
  select i.indexrelid::regclass::text as key
  from (${ENDED}) e
  join pg_index i on i.indrelid = e.oid and i.indisprimary
  where e.reltuples > 0
    and pg_relation_size(i.indexrelid) > greatest(50 * e.reltuples, 1000000)
    and not exists (select from pg_stat_progress_create_index p where p.relid = e.oid)
  order by 1`;

/** What a rebuild leaves behind that was ended by a kill or a full disk. */
const LEFT_BEHIND = `
  select i.indexrelid::regclass::text as key
  from (${ENDED}) e
  join pg_index i on i.indrelid = e.oid
  join pg_class c on c.oid = i.indexrelid
  where not i.indisvalid and c.relname ~ '_cc(new|old)[0-9]*$'
    and not exists (select from pg_stat_progress_create_index p where p.relid = e.oid)`;

/**
 * Rebuilds them one after the other. Meanwhile the tables are read and written as always; each key needs room for a second one.
 *
 * @param options.signal ends the rebuild that is under way
 * @returns the names of the keys that were rebuilt
 * @throws the database's errors; the keys that were there stay
 */
export async function rebuildKeys(
  pool: pg.Pool,
  { now, signal }: { now: Date; signal: AbortSignal },
): Promise<string[]> {
  const client = await pool.connect();
  const { processID } = client as pg.PoolClient & { processID: number };
  const cancel = (): void =>
    void pool.query("select pg_cancel_backend($1)", [processID]).catch(() => undefined);
  signal.addEventListener("abort", cancel);
  const rebuilt: string[] = [];
  try {
    await client.query("set statement_timeout = 0");
    const find = async (sql: string): Promise<string[]> => {
      const { rows } = await client.query<{ key: string }>(sql, [now.toISOString()]);
      return rows.map(({ key }) => key);
    };
    for (const key of await find(LEFT_BEHIND)) await client.query(`drop index concurrently if exists ${key}`);
    for (const key of await find(LOOSE_KEYS)) {
      signal.throwIfAborted();
      await client.query(`reindex index concurrently ${key}`);
      rebuilt.push(key);
    }
    return rebuilt;
  } finally {
    signal.removeEventListener("abort", cancel);
    // With its settings it is nobody else's.
    client.release(true);
  }
}
