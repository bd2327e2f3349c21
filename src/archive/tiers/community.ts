/** What TimescaleDB Community adds: compression, a continuous aggregate under the bars, retention if it is wanted. */
import type pg from "pg";
import { refreshForce } from "./refreshPieces.ts";

/** Rows of a chunk are compressed when all of them are older than this. */
const COMPRESS_AFTER = "7 days";

/** Pieces of bars are made when they are older than this; what is newer is read from the rows. */
const PIECES_AFTER = "1 day";

/** Tables that are compressed, and what their rows are grouped by. */
const COMPRESSED = [
  { table: "quotes", segmentBy: "instrument_id", orderBy: "observed_at desc, source_id" },
  { table: "extended_quotes", segmentBy: "instrument_id", orderBy: "observed_at desc, source_id" },
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
  for (const compression of COMPRESSED) await compress(client, compression);
  for (const [name, statement] of Object.entries(PIECES)) {
    if (await exists(client, name)) continue;
    await client.query(statement);
    await refreshSince(client, name, await readRetention(client));
  }
  await client.query(WIDE_BARS);
  await openCompressed(client);
  await client.query(retention(await refreshForce(client)));
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
    create or replace function admit_quotes() returns trigger language plpgsql as $$
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
    $$`);
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
  for (const name of Object.keys(PIECES)) await refreshSince(client, name, days);
  if (days === null) return;
  await client.query(
    "select add_job('drop_old_quotes', interval '1 day', config => jsonb_build_object('days', $1::int))",
    [days],
  );
}

/**
 * The pieces follow late rows of any age, but never into what retention has dropped: a refresh there would find no
 * rows and empty the bars.
 */
async function refreshSince(client: pg.ClientBase, pieces: string, days: number | null): Promise<void> {
  await client.query("select remove_continuous_aggregate_policy($1::regclass, if_exists => true)", [pieces]);
  await client.query(
    `select add_continuous_aggregate_policy($1::regclass, start_offset => make_interval(days => $2::int),
       end_offset => $3::interval, schedule_interval => interval '1 hour')`,
    [pieces, days, PIECES_AFTER],
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
 * Five minutes of one series. Only what is in the hypertable when it is refreshed; `wide_quote_bars` takes the pieces of a
 * session when they count as many observations as the session has, and the rows themselves otherwise. Rows are only
 * ever added, so as many means the same. Pieces that were made before a price of 0 was no trade are not taken while the
 * rows are there; afterwards such a price is passed over, and the lowest one of its five minutes is not known.
 */
const BAR_PIECES = `
create materialized view bar_pieces with (timescaledb.continuous, timescaledb.materialized_only = true) as
select instrument_id, source_id, delayed, time_bucket(interval '5 minutes', observed_at) as bar_at,
       first(last, observed_at) filter (where last > 0) as open,
       max(last) filter (where last > 0) as high,
       min(last) filter (where last > 0) as low,
       last(last, observed_at) filter (where last > 0) as close,
       min(observed_at) filter (where last > 0) as open_at,
       max(observed_at) filter (where last > 0) as close_at,
       sum(ask - bid) filter (where bid > 0 and ask > 0) as spread_sum,
       count(*) filter (where bid > 0 and ask > 0) as spread_count,
       count(*) as quote_count
from quotes
group by 1, 2, 3, 4
with no data`;

/** The cumulative volume shown in those five minutes. The table does not know whether a row is delayed. */
const VOLUME_PIECES = `
create materialized view volume_pieces with (timescaledb.continuous, timescaledb.materialized_only = true) as
select instrument_id, source_id, time_bucket(interval '5 minutes', observed_at) as bar_at,
       first(volume, observed_at) filter (where volume is not null) as first_shown,
       last(volume, observed_at) filter (where volume is not null) as shown,
       count(*) as row_count
from extended_quotes
group by 1, 2, 3
with no data`;

const PIECES: Readonly<Record<string, string>> = { bar_pieces: BAR_PIECES, volume_pieces: VOLUME_PIECES };

/** `wide_quote_bars` of the migrations, over the pieces where they are whole. */
export const WIDE_BARS = `
create or replace function wide_quote_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, from_at timestamptz, to_at timestamptz,
  pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  with piece as (
    select b.bar_at as at, case when b.open > 0 then b.open end as open, case when b.high > 0 then b.high end as high,
           case when b.low > 0 then b.low end as low, case when b.close > 0 then b.close end as close, b.open_at,
           b.close_at, b.spread_sum, b.spread_count, b.quote_count, v.first_shown, v.shown,
           b.low <= 0 as has_zero
    from bar_pieces b
    left join volume_pieces v on v.instrument_id = $1 and v.source_id = $2 and v.bar_at = b.bar_at
    where b.instrument_id = $1 and b.source_id = $2 and b.delayed = $3
      and b.bar_at between time_bucket(interval '5 minutes', $4) and $5
  ), whole as (
    select (select sum(p.quote_count) from piece p) = d.quote_count
       and (d.quotes_dropped or not exists (select from piece p where p.has_zero))
       and (select sum(v.row_count) from volume_pieces v where v.instrument_id = $1 and v.source_id = $2
              and v.bar_at between time_bucket(interval '5 minutes', $4) and $5) = d.quote_count
       and not exists (select from session_bars o where o.instrument_id = $1 and o.source_id = $2
              and o.delayed <> $3 and o.date = d.date)
       as whole
    from session_bars d
    where d.instrument_id = $1 and d.source_id = $2 and d.delayed = $3 and d.first_at = $4 and d.last_at = $5
  ), part as (
    select p.at, p.open, p.high, p.low, p.close, p.open_at, p.close_at, p.spread_sum, p.spread_count,
           p.quote_count, p.first_shown, p.shown
    from piece p where (select w.whole from whole w)
    union all
    select q.observed_at, t.price, t.price, t.price, t.price,
           case when t.price is not null then q.observed_at end, case when t.price is not null then q.observed_at end,
           case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end,
           case when q.bid > 0 and q.ask > 0 then 1 else 0 end, 1, e.volume, e.volume
    from quotes q
    cross join lateral (select case when q.last > 0 then q.last end as price) t
    left join extended_quotes e
      on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
     and e.instrument_id = $1 and e.source_id = $2 and e.observed_at between $4 and $5
    where (select w.whole from whole w) is not true
      and q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3 and q.observed_at between $4 and $5
  )
  select p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end
  from (
    select b.*,
           coalesce(lag(b.shown) over (partition by b.shown is null order by b.bar_at), b.first_shown) as before
    from (
      select case
               when r.at >= $9 then 'closed'
               when r.at >= $8 then 'post'
               when r.at >= $7 then 'regular'
               when r.at >= $6 then 'pre'
               else 'closed'
             end as session,
             date_bin($10, r.at, case
               when r.at >= $9 then $9
               when r.at >= $8 then $8
               when r.at >= $7 then $7
               else coalesce($6, '2000-01-01 00:00+00')
             end) as bar_at,
             (array_agg(r.open order by r.open_at) filter (where r.open is not null))[1] as open,
             max(r.high) as high,
             min(r.low) as low,
             (array_agg(r.close order by r.close_at desc) filter (where r.close is not null))[1] as close,
             sum(r.spread_sum) / nullif(sum(r.spread_count), 0) as mean_spread,
             sum(r.quote_count)::bigint as quote_count,
             (array_agg(r.first_shown order by r.at) filter (where r.first_shown is not null))[1] as first_shown,
             (array_agg(r.shown order by r.at desc) filter (where r.shown is not null))[1] as shown
      from part r
      group by 1, 2
    ) b
  ) p
$$`;

/** The days (UTC) of a chunk of which the rows count more than the pieces. */
const UNCOUNTED = [
  { table: "quotes", pieces: "bar_pieces", count: "quote_count" },
  { table: "extended_quotes", pieces: "volume_pieces", count: "row_count" },
]
  .map(
    ({ table, pieces, count }) => `select r.day from (
        select date_trunc('day', observed_at, 'UTC') as day, count(*) as rows from ${table}
        where observed_at >= old.range_start and observed_at < old.range_end
        group by 1
      ) r
      where r.rows > (select coalesce(sum(p.${count}), 0) from ${pieces} p
        where p.bar_at >= r.day and p.bar_at < r.day + interval '24 hours')`,
  )
  .join("\n      union ");

/**
 * The job of retention. A chunk goes only after its rows are in the pieces, and the volumes that its rows alone knew in
 * their sessions' bars, which are marked then: rows of theirs that come again make no bar anew before all are there. A
 * day of late rows, whose time was dropped before, is no reason to make its pieces anew. When the pieces still count
 * fewer rows than there are, the job fails and drops nothing.
 *
 * @param force as `refreshForce` gives it
 */
export const retention = (force: string): string => `
create or replace procedure drop_old_quotes(job_id integer, config jsonb) language plpgsql as $$
declare
  boundary timestamptz := now() - make_interval(days => (config->>'days')::int);
  dropped_to timestamptz;
  uncounted timestamptz;
  old record;
begin
  for old in
    select range_start, range_end from timescaledb_information.chunks
    where hypertable_schema = current_schema() and hypertable_name = 'quotes' and range_end <= boundary
  loop
    dropped_to := greatest(dropped_to, old.range_end);
    for uncounted in
      ${UNCOUNTED}
    loop
      call refresh_continuous_aggregate('bar_pieces', uncounted, uncounted + interval '24 hours'${force});
      call refresh_continuous_aggregate('volume_pieces', uncounted, uncounted + interval '24 hours'${force});
    end loop;
    for uncounted in
      ${UNCOUNTED}
    loop
      raise exception 'bar_pieces and volume_pieces count fewer quotes of % than there are: nothing was dropped', uncounted
        using hint = 'Refresh them over that day by hand, and look what keeps them from it.';
    end loop;
  end loop;
  update session_bars b
  set quotes_dropped = true,
      volume = coalesce(b.volume, (
        select e.volume
        from extended_quotes e
        join quotes q
          on q.instrument_id = e.instrument_id and q.observed_at = e.observed_at and q.source_id = e.source_id
        where e.instrument_id = b.instrument_id and e.source_id = b.source_id and e.volume is not null
          and e.observed_at between b.first_at and b.last_at and q.delayed = b.delayed
        order by e.observed_at desc
        limit 1
      ))
  where not b.quotes_dropped and b.first_at < dropped_to;
${RETAINED_TABLES.map((table) => `  perform drop_chunks('${table}', older_than => boundary);`).join("\n")}
end
$$`;
