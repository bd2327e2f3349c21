/** Quotes as they lie in the database: stretches of time that can be dropped, and rows that are brought back. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { type Instant, instantOf } from "../../clock.ts";
import { ensurePartitionsFor } from "../partitions.ts";
import { droppedDays } from "../schema.ts";
import { columnList, instantText } from "../tableRows.ts";
import { isOnCitus } from "../tiers/citus.ts";
import { inTransaction } from "../transaction.ts";

/** A stretch of time whose quotes are kept together: a partition, or chunks. Instants are UTC. */
export type HotRange = { from: Instant; to: Instant; tables: { table: string; partition: string }[] };

/**
 * The stretches of `quotes` and `extended_quotes` that end before an instant, the oldest first; a stretch is only there where
 * both tables are cut alike.
 */
export async function readHotRanges(pool: pg.Pool, before: Instant): Promise<HotRange[]> {
  const { rows } = await pool.query<{ tier: string }>(
    "select case relkind when 'p' then 'plain' else 'hypertables' end as tier from pg_class where oid = 'quotes'::regclass",
  );
  const partitions =
    rows[0]?.tier === "plain"
      ? `select p.relname as "table", c.oid::regclass::text as partition,
           substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \\(''([^'']*)''\\)')::timestamptz as from_at,
           substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([^'']*)''\\)')::timestamptz as to_at
         from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
         where i.inhparent in ('quotes'::regclass, 'extended_quotes'::regclass)`
      : `select hypertable_name as "table", format('%I.%I', chunk_schema, chunk_name) as partition,
           range_start as from_at, range_end as to_at
         from timescaledb_information.chunks
         where hypertable_schema = current_schema() and hypertable_name in ('quotes', 'extended_quotes')`;
  const ranges = await pool.query<HotRange>(
    `select ${instantText("from_at")} as from, ${instantText("to_at")} as to,
       json_agg(json_build_object('table', "table", 'partition', partition) order by "table" desc) as tables
     from (${partitions}) p
     where to_at <= $1 group by from_at, to_at
     having not exists (
       select from (${partitions}) o where o.from_at < p.to_at and o.to_at > p.from_at and (o.from_at, o.to_at) <> (p.from_at, p.to_at)
     )
     order by from_at`,
    [before],
  );
  return ranges.rows;
}

/**
 * Drops a stretch, in one transaction, once `prove` has found no reason against it. Meanwhile nobody can change its rows.
 *
 * @param prove gives the number of its quotes, or why they must stay
 * @throws the database's errors; nothing is dropped then
 */
export async function dropRange(
  pool: pg.Pool,
  { from, to, tables }: HotRange,
  { dates, prove }: { dates: readonly string[]; prove: (client: pg.ClientBase) => Promise<number | string> },
): Promise<number | string> {
  return inTransaction(pool, async (client) => {
    await client.query("set local statement_timeout = 0; set local lock_timeout = '10s'");
    const partitions = tables.map(({ partition }) => partition);
    await client.query(`lock table ${partitions.join(", ")} in share row exclusive mode`);
    const quotes = await prove(client);
    // Partitions that are empty are left for what may come.
    if (quotes === 0 || typeof quotes === "string") return quotes;
    await client.query("select keep_bars_of_dropped($1, $2)", [from, to]);
    const { rows } = await client.query<{ hypertables: boolean }>(
      "select relkind <> 'p' as hypertables from pg_class where oid = 'quotes'::regclass",
    );
    for (const { table, partition } of tables)
      if (rows[0]?.hypertables)
        await client.query(
          "select drop_chunks($1::regclass, older_than => $3::timestamptz, newer_than => $2::timestamptz)",
          [table, from, to],
        );
      else await client.query(`drop table ${partition}`);
    await client.query(
      `insert into dropped_days (${columnList(droppedDays, "date", "droppedAt")})
       select date, now() from unnest($1::date[]) as date on conflict do nothing`,
      [dates],
    );
    return quotes;
  });
}

/** Rows of a table as lines of COPY's text, and in which time they lie, which is known when all lines are read. */
export type LinesBack = {
  table: string;
  lines: (columns: readonly string[]) => AsyncIterable<string>;
  span: () => { first: bigint; last: bigint } | null;
};

/**
 * Brings rows of an exchange date back, in one transaction; those that are there stay as they are.
 *
 * @returns how many were not there, in the order of the tables
 */
export async function bringBack(pool: pg.Pool, date: string, all: readonly LinesBack[]): Promise<number[]> {
  return inTransaction(pool, async (client) => {
    await client.query("set local statement_timeout = 0");
    const counts: number[] = [];
    for (const one of all) counts.push(await insertLines(client, one));
    await client.query("delete from dropped_days where date = $1", [date]);
    // Elsewhere the rows' triggers have seen to their bars.
    if (await isOnCitus(client)) await client.query("select recompute_session_bars($1, $1)", [date]);
    return counts;
  });
}

/** Of rows that are there already Citus says that it has put them in. */
async function countThere(client: pg.ClientBase, table: string): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n from pg_temp.brought_back b
     join ${table} t on t.instrument_id = b.instrument_id and t.observed_at = b.observed_at and t.source_id = b.source_id`,
  );
  return rows[0]?.n ?? 0;
}

async function insertLines(client: pg.ClientBase, { table, lines, span }: LinesBack): Promise<number> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  const columns = rows.map(({ name }) => name);
  const list = columns.join(", ");
  await client.query(
    `create temp table brought_back on commit drop as select ${list} from ${table} where false`,
  );
  await pipeline(
    Readable.from(lines(columns)),
    client.query(copyFrom(`copy pg_temp.brought_back (${list}) from stdin`)),
  );
  const times = span();
  if (times === null) return 0;
  await ensurePartitionsFor(client, [instantOf(times.first), instantOf(times.last)]);
  const there = (await isOnCitus(client)) ? await countThere(client, table) : null;
  const { rowCount } = await client.query(
    `insert into ${table} (${list}) select ${list} from pg_temp.brought_back
     order by instrument_id, observed_at, source_id on conflict do nothing`,
  );
  await client.query("drop table pg_temp.brought_back");
  return (rowCount ?? 0) - (there ?? 0);
}
