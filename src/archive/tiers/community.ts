/** What TimescaleDB Community adds: compression, and retention if it is wanted. */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";

/** Rows of a chunk are compressed when all of them are older than this. */
const COMPRESS_AFTER = "7 days";

const COMPRESSED = [
  { table: "quotes", segmentBy: "instrument_id, source_id", orderBy: "observed_at desc" },
  { table: "extended_quotes", segmentBy: "instrument_id, source_id", orderBy: "observed_at desc" },
  {
    // An instrument has too few bars of an hour in a chunk to be grouped by: a group that is not full costs as much as a full one.
    table: "intraday_bars",
    segmentBy: "minutes",
    orderBy: "instrument_id, date desc, source_id, delayed, bar_at desc",
  },
  { table: "responses", segmentBy: "", orderBy: "observed_at desc, source_id, request_id" },
];

/** Tables whose old rows retention drops. Bars, dividends, answers and the ledger stay. */
const RETAINED_TABLES = ["quotes", "extended_quotes"] as const;

/**
 * Brings a database of hypertables to what Community offers. Harmless when it is there already.
 *
 * @param retentionDays rows older than this are dropped every day; null: none are; undefined: as it was
 */
export async function settleCommunity(
  client: pg.ClientBase,
  retentionDays: number | null | undefined,
): Promise<void> {
  // Compressed, bars are a small part of the archive; as a plain table they would be most of it.
  await client.query(
    `select create_hypertable('intraday_bars', 'bar_at', chunk_time_interval => interval '28 days',
       create_default_indexes => false, if_not_exists => true, migrate_data => true)`,
  );
  for (const compression of COMPRESSED) await compress(client, compression);
  await client.query(RETENTION);
  if (retentionDays !== undefined) await retain(client, retentionDays);
}

async function compress(
  client: pg.ClientBase,
  { table, segmentBy, orderBy }: (typeof COMPRESSED)[number],
): Promise<void> {
  const { rows } = await client.query<{ on: boolean }>(
    "select compression_enabled as on from timescaledb_information.hypertables where hypertable_name = $1 and hypertable_schema = current_schema()",
    [table],
  );
  if (rows[0]?.on) return;
  await client.query(
    `alter table ${table} set (timescaledb.compress, timescaledb.compress_segmentby = '${segmentBy}',
       timescaledb.compress_orderby = '${orderBy}')`,
  );
  await client.query("select add_compression_policy($1::regclass, $2::interval, if_not_exists => true)", [
    table,
    COMPRESS_AFTER,
  ]);
}

/** Retention as it is wanted now: the job is made, changed or taken away. */
async function retain(client: pg.ClientBase, days: number | null): Promise<void> {
  await client.query(
    "select delete_job(job_id) from timescaledb_information.jobs where proc_name = 'drop_old_quotes' and proc_schema = current_schema()",
  );
  if (days === null) return;
  await client.query(
    "select add_job('drop_old_quotes', interval '1 day', config => jsonb_build_object('days', $1::int))",
    [days],
  );
}

/** How many days of quotes are kept; null: all of them. */
export async function readRetention(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ days: number }>(
    "select (config->>'days')::int as days from timescaledb_information.jobs where proc_name = 'drop_old_quotes' and proc_schema = current_schema()",
  );
  return rows[0]?.days ?? null;
}

/** The job of retention. Before the quotes go, what their rows alone knew of bars is kept. */
export const RETENTION = `
create or replace procedure drop_old_quotes(job_id integer, config jsonb) language plpgsql set search_path from current as $$
declare
  boundary timestamptz := now() - make_interval(days => (config->>'days')::int);
  dropped_to timestamptz;
begin
  select max(range_end) into dropped_to
  from timescaledb_information.chunks
  where hypertable_schema = current_schema() and hypertable_name = 'quotes' and range_end <= boundary;
  perform keep_bars_of_dropped('-infinity', dropped_to);
${RETAINED_TABLES.map((table) => `  perform drop_chunks('${table}', older_than => boundary);`).join("\n")}
end
$$;
comment on procedure drop_old_quotes(integer, jsonb) is
  'Internal, the job of retention: keeps what quotes alone know of bars, then drops quotes that are too old.'`;
