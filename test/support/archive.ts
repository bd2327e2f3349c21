/** Looking into the archive's database. */
import type pg from "pg";

/** The content of the whole archive: rows and digest by table. `loaded_at` alone is left out, it is when, not what. */
export async function contentOf(
  pool: pg.Pool,
): Promise<Record<string, { rows: number; digest: string | null }>> {
  const content: Record<string, { rows: number; digest: string | null }> = {};
  for (const table of await tablesOf(pool)) {
    const { rows } = await pool.query<{ rows: string; digest: string | null }>(
      `select count(*) as rows, md5(string_agg(line, e'\\n' order by line)) as digest
       from (select (to_jsonb(t) - 'loaded_at')::text as line from ${table} t) as lines`,
    );
    content[table] = { rows: Number(rows[0]?.rows), digest: rows[0]?.digest ?? null };
  }
  return content;
}

/** Makes bars agree with quotes that a test has put in, changed or taken out by plain SQL. */
export async function followOwnRows(pool: pg.Pool): Promise<void> {
  await pool.query("select recompute_session_bars('2000-01-01', '2099-12-31')");
}

/** Every table but what a migration itself fills; what refers to another table comes before it. */
const WRITTEN = [
  ...["responses", "quotes", "extended_quotes", "dividends", "dead_letters", "session_bars", "intraday_bars"],
  ...["misses", "fills", "slots", "open_slots", "due_sets", "derived_closes", "dropped_days", "late_days"],
  ...["archive_lake", "clock_steps", "calendar_days"],
  ...["collectors", "epochs", "leases", "lease_history", "journal_positions"],
  ...["backfill_positions", "backfills", "instruments"],
  // The first two, the first, and the years around this one are there from the beginning.
  ...["sources where id > 2", "accounts where id > 1"],
  "sessions where abs(extract(year from date) - extract(year from now())) > 1",
];

/** The tables that emptyArchive looks at. */
export const EMPTIED = WRITTEN.map((rows) => rows.replace(/ where .*/, ""));

/** Numbers are given from the beginning again; those of TimescaleDB are its own. */
const COUNT_ANEW =
  "select setval(sequencename::regclass, start_value, false) from pg_sequences where schemaname = current_schema()";

/**
 * Takes out again what was written. A few rows are deleted in a tenth of the time in which tables are truncated: that makes a
 * file anew for each of their partitions and indexes.
 */
export async function emptyArchive(pool: pg.Pool): Promise<void> {
  await pool.query([...WRITTEN.map((rows) => `delete from ${rows}`), COUNT_ANEW].join("; "));
}

/** How many rows each table has. */
export async function countsOf(pool: pg.Pool): Promise<Record<string, number>> {
  const content = await contentOf(pool);
  return Object.fromEntries(Object.entries(content).map(([table, { rows }]) => [table, rows]));
}

/**
 * Quotes, open interest that stands alone, and sources, each in a line without the numbers that hang on the order of loading. Open
 * interest alone has no row of `quotes`.
 */
export async function rowsSaidBy(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select concat_ws(' ', s.name, i.symbol, i.root, i.expiration, i.option_type, i.strike,
         to_jsonb(q) - 'instrument_id' - 'source_id', to_jsonb(e) - 'instrument_id' - 'source_id') as line
     from quotes q full join extended_quotes e using (instrument_id, observed_at, source_id)
     join instruments i on i.id = instrument_id join sources s on s.id = source_id
     union all
     select concat_ws(' ', 'source', kind, name, 'spot', spot, 'interest', interest) from sources`,
  );
  return rows.map(({ line }) => line).sort();
}

/** The rows of a query; numbers and times are text. */
export async function rowsOfQuery(
  pool: pg.Pool,
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const { rows } = await pool.query<Record<string, unknown>>(sql, values);
  return rows;
}

/** The rows of a query as lists of their columns; numbers and times are text. */
export async function listsOfQuery(pool: pg.Pool, sql: string, values: unknown[] = []): Promise<unknown[][]> {
  const { rows } = await pool.query<unknown[]>({ text: sql, values, rowMode: "array" });
  return rows;
}

/** How many statements wait for a lock; a look in the transaction that holds it would see the same for ever. */
export async function countWaiting(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rowCount ?? 0;
}

/** The archive's tables; the history of its schema and who collects are not its content. */
async function tablesOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not in ('schema_migrations', 'schema_texts', 'migration_lock', 'collectors', 'leases', 'lease_history', 'epochs', 'archive_identity',
         'archive_lake', 'late_days', 'dropped_days')
     order by relname`,
  );
  return rows.map(({ name }) => name);
}

/** A segment of no journal, for rows that no loader has brought. */
const SEGMENT = "20261120T22-00000000-0000-7000-8000-00000000beef";

/** Notes that an answer was loaded, as a loader does with its rows. @param observedAt when the oldest of its rows was observed */
export async function tellLoaded(pool: pg.Pool, observedAt: Date): Promise<void> {
  const { rows } = await pool.query<{ to: string }>(
    `insert into journal_positions values ($1, 1, now())
     on conflict (segment) do update set loaded_to = journal_positions.loaded_to + 1, loaded_at = now() returning loaded_to as to`,
    [SEGMENT],
  );
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, body_bytes,
       journal_segment, journal_offset)
     values ($1, 2, gen_random_uuid(), $1, 'us', '{"form": "symbols", "symbols": [], "delayed": false}', 200, 'quotes', 1, $2, $3)`,
    [new Date(observedAt.getTime() - 1_000), SEGMENT, Number(rows[0]?.to) - 1],
  );
}
