/**
 * Rows near a statement, on the coordinator: what a worker cannot do for another one's rows, a look for the first row of each of many
 * series, is then asked as on one machine.
 */
import type pg from "pg";
import { isOnCitus } from "./isOnCitus.ts";

/** Which rows of a table are wanted: a condition of its rows `t`, or what they are joined with; none: all. */
export type NearRows = { table: string; rows?: string; values?: unknown[] };

/**
 * Runs `work` while copies of the wanted rows hide their tables, within a transaction of the caller's. `work` reads them, and has no
 * prepared statements. Where nothing is distributed it just runs.
 *
 * @param readWanted asked only where something is distributed
 */
export async function withNear<T>(
  client: pg.ClientBase,
  readWanted: () => readonly NearRows[] | Promise<readonly NearRows[]>,
  work: () => Promise<T>,
): Promise<T> {
  if (!(await isOnCitus(client))) return work();
  const wanted = await readWanted();
  const { rows } = await client.query<{ schema: string }>(
    "select quote_ident(current_schema()::text) as schema",
  );
  const schema = rows[0]?.schema ?? "public";
  for (const { table } of wanted)
    await client.query(`create temp table near_${table} (like ${schema}.${table} including indexes)`);
  for (const { table, rows: which = "", values = [] } of wanted) {
    await client.query(
      `insert into pg_temp.near_${table} select t.* from ${schema}.${table} t ${which}`,
      values,
    );
    await client.query(`analyze pg_temp.near_${table}`);
  }
  for (const { table } of wanted) await client.query(`alter table pg_temp.near_${table} rename to ${table}`);
  // After an error there is no transaction any more, and no table of it.
  const result = await work();
  for (const { table } of wanted) await client.query(`drop table pg_temp.${table}`);
  return result;
}

/**
 * For a look around the instants of instruments (`Engine.nearFound`): their days, and of these the newest quotes, the next ones, and
 * the underlyings' of the same times.
 */
export const NEAR_FOUND = `series as materialized (
  select distinct f.id, f.underlying_id, c.delayed, c.until
  from found f cross join lateral (values (false, f.real_time_at), (true, f.delayed_at)) as c (delayed, until)
), days as materialized (
  select s.id, s.underlying_id, s.delayed, s.until, b.source_id,
         max(b.date) filter (where b.first_at <= s.until) as date, min(b.date) filter (where b.last_at > s.until) as next_date,
         max(b.first_at) filter (where b.first_at <= s.until) as from_at, max(b.last_at) filter (where b.first_at <= s.until) as to_at,
         min(b.first_at) filter (where b.last_at > s.until) as next_from, min(b.last_at) filter (where b.last_at > s.until) as next_to
  from series s join session_bars b on b.instrument_id = s.id and b.delayed = s.delayed
  group by 1, 2, 3, 4, 5
), times as materialized (
  select d.id, d.underlying_id, d.source_id, max(q.observed_at) filter (where q.observed_at <= d.until) as at,
         min(q.observed_at) filter (where q.observed_at > d.until) as next_at
  from days d join quotes q on q.instrument_id = d.id and q.source_id = d.source_id and q.delayed = d.delayed
    and q.observed_at between coalesce(d.from_at, d.next_from) and coalesce(d.next_to, d.to_at)
  group by d.id, d.underlying_id, d.source_id, d.delayed, d.until
), keys as materialized (
  select id, source_id, at from times union select id, source_id, next_at from times union select underlying_id, source_id, at from times
), session_bars (instrument_id, source_id, delayed, date, first_at, last_at) as materialized (
  select id, source_id, delayed, date, from_at, to_at from days
  union select id, source_id, delayed, next_date, next_from, next_to from days
), extended_quotes as materialized (
  select e.* from keys k join extended_quotes e on e.instrument_id = k.id and e.observed_at = k.at and e.source_id = k.source_id
), quotes as materialized (
  select q.* from keys k join quotes q on q.instrument_id = k.id and q.observed_at = k.at and q.source_id = k.source_id
)`;
