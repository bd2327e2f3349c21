/** What TimescaleDB Community adds: compression, and retention if it is wanted. */
import type pg from "pg";
import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";

/** Rows of a chunk are compressed when all of them are older than this. */
const COMPRESS_AFTER = "7 days";

/** Tables that are compressed, and what their rows are grouped by. */
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
  await openCompressed(client);
  if (await exists(client, "bar_pieces")) await client.query(TAKE_PIECES);
  await client.query(RETENTION);
  if (retentionDays !== undefined) await retain(client, retentionDays);
}

async function exists(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>("select to_regclass($1) is not null as there", [
    name,
  ]);
  return rows[0]?.there === true;
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

/**
 * Lets the bars see quotes that come into a compressed chunk. TimescaleDB marks such a chunk as one that holds loose rows
 * too when the statement has ended, which is after its triggers: until then nobody reads those rows (2.24,
 * chunk_insert_state.c). A statement inside the trigger ends before, and marks it although its row is there already.
 * Triggers go by their names, so this one comes before `keep_session_bars`.
 */
async function openCompressed(client: pg.ClientBase): Promise<void> {
  await client.query(`
    create or replace function admit_quotes() returns trigger language plpgsql set search_path from current as $$
    begin
      -- Its own statement puts in no row and ends here.
      if exists (select from inserted) then
        insert into quotes
        select distinct on (i.observed_at) i.* from inserted i
        where i.observed_at in (select min(observed_at) from inserted group by (observed_at at time zone 'UTC')::date)
        on conflict do nothing;
      end if;
      return null;
    end
    $$;
    comment on function admit_quotes() is
      'Internal, a trigger of quotes: lets the bars see quotes that come into a compressed chunk.'`);
  const { rowCount } = await client.query(
    "select from pg_trigger where tgrelid = 'quotes'::regclass and tgname = 'admit_quotes'",
  );
  if (rowCount === 0)
    await client.query(
      `create trigger admit_quotes after insert on quotes referencing new table as inserted
         for each statement execute function admit_quotes()`,
    );
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
export async function readRetention(db: pg.ClientBase | pg.Pool): Promise<number | null> {
  const { rows } = await (db as pg.ClientBase).query<{ days: number }>(
    "select (config->>'days')::int as days from timescaledb_information.jobs where proc_name = 'drop_old_quotes' and proc_schema = current_schema()",
  );
  return rows[0]?.days ?? null;
}

/**
 * Releases before kept bars of five minutes in continuous aggregates, for all series: of quotes that retention has dropped,
 * these alone know them. They go into `intraday_bars`, and the aggregates go. Pieces with a price of 0, which is no trade, do
 * not know their lowest price. A piece's volume does not say whether it was delayed.
 */
export const TAKE_PIECES = `
insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
  spread_sum, spread_count, quote_count, volume, volume_before)
select b.instrument_id, b.source_id, b.delayed, d.date, 5, b.bar_at,
       session_of(b.bar_at, t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at),
       case when b.open > 0 then b.open end, case when b.high > 0 then b.high end, case when b.low > 0 then b.low end,
       case when b.close > 0 then b.close end, coalesce(b.spread_sum, 0), b.spread_count, b.quote_count, v.shown,
       case when v.shown is not null then coalesce(
         lag(v.shown) over (partition by b.instrument_id, b.source_id, b.delayed, d.date, v.shown is null order by b.bar_at),
         v.first_shown) end
from session_bars d
join bar_pieces b
  on b.instrument_id = d.instrument_id and b.source_id = d.source_id and b.delayed = d.delayed
 and b.bar_at >= d.date::timestamp at time zone 'America/New_York'
 and b.bar_at < (d.date + 1)::timestamp at time zone 'America/New_York'
left join volume_pieces v on v.instrument_id = b.instrument_id and v.source_id = b.source_id and v.bar_at = b.bar_at
left join sessions t on t.date = d.date and d.source_id <> ${SIMULATED_SOURCE}
where d.quotes_dropped
on conflict do nothing;
insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
  spread_sum, spread_count, quote_count, volume, volume_before)
select b.instrument_id, b.source_id, b.delayed, b.date, 60,
       bar_beginning(b.bar_at, interval '1 hour', t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at), b.session,
       (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], max(b.high), min(b.low),
       (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
       sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
       (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
       (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
from session_bars d
join intraday_bars b
  on b.instrument_id = d.instrument_id and b.source_id = d.source_id and b.delayed = d.delayed and b.date = d.date
 and b.minutes = 5
left join sessions t on t.date = d.date and d.source_id <> ${SIMULATED_SOURCE}
where d.quotes_dropped
group by b.instrument_id, b.source_id, b.delayed, b.date, 6, b.session
on conflict do nothing;
update session_bars set bars_to = 'infinity' where quotes_dropped;
select fill_log_returns();
drop materialized view bar_pieces;
drop materialized view volume_pieces`;

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
