/** Quotes as they lie in the database: stretches of time that can be dropped, and rows that are brought back. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { Instant } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type ColumnDigest, digestsOf } from "./snapshot.ts";
import { type ExportTable } from "./tables.ts";
import { readColumns } from "./exportColumns.ts";
import { ensurePartitionsFor } from "../schema/partitions.ts";
import { instantText } from "../schema/tableRows.ts";
import { inTransaction } from "../connect/transaction.ts";
import { type DroppedFile, noteDropped } from "./lakeRows.ts";

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
      : `select hypertable_name as "table", pg_catalog.format('%I.%I', chunk_schema, chunk_name) as partition,
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
 * @param days the exchange dates of its rows, and the files that have them
 * @param prove gives the number of its quotes, or why they must stay
 * @throws the database's errors; nothing is dropped then
 */
export async function dropRange(
  pool: pg.Pool,
  { from, to, tables }: HotRange,
  {
    days,
    prove,
  }: {
    days: readonly { date: string; files: readonly DroppedFile[] }[];
    prove: (client: pg.ClientBase) => Promise<number | string>;
  },
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
    await noteDropped(client, days);
    return quotes;
  });
}

export type FileRows = {
  table: ExportTable;
  rows: number;
  columns: readonly ColumnDigest[];
  /** The values of columns as lines of COPY's text. */
  lines: (columns: readonly string[]) => AsyncIterable<string>;
};

/**
 * Brings rows of an exchange date back, in one transaction, which forgets that they were dropped. PostgreSQL's own digests of
 * what it was given are held against the file's before the first row comes into the archive.
 *
 * @param options.lake the lake's name in an error
 * @param options.changed whether rows that are there may have other values, which they keep: they came when the file was
 *   written already
 * @returns how many rows were not there, in the order of the tables
 * @throws QuotekeeperError LAKE_UNPROVEN; the database's errors. Nothing came back then
 */
export async function bringBack(
  pool: pg.Pool,
  date: string,
  { lake, all, changed }: { lake: string; all: readonly FileRows[]; changed: boolean },
): Promise<number[]> {
  return inTransaction(pool, async (client) => {
    await client.query("set local statement_timeout = 0");
    const counts: number[] = [];
    for (const one of all) counts.push(await insertLines(client, one, { lake, date, changed }));
    await client.query("delete from dropped_days where date = $1", [date]);
    await client.query("select recompute_session_bars($1, $1)", [date]);
    return counts;
  });
}

function unproven({ lake, date }: { lake: string; date: string }, why: string): QuotekeeperError {
  return new QuotekeeperError("LAKE_UNPROVEN", `${lake}, ${date}: ${why}`);
}

/** The table's own columns that the file has, in the file's order. */
async function readOwnColumns(client: pg.ClientBase, { table, columns }: FileRows) {
  const all = await readColumns(client, table.name);
  return columns.flatMap((digest) => {
    // The words that an export adds to numbers, such as an instrument's name, are no values of the table.
    const column = all.find(({ name, sql }) => name === digest.name && sql === `t.${name}`);
    return column ? [{ column, digest }] : [];
  });
}

async function insertLines(
  client: pg.ClientBase,
  file: FileRows,
  place: { lake: string; date: string; changed: boolean },
): Promise<number> {
  const { date, changed } = place;
  const table = file.table.name;
  const own = await readOwnColumns(client, file);
  const columns = own.map(({ column }) => column.name);
  const list = columns.join(", ");
  await client.query(
    `create temp table brought_back on commit drop as select ${list} from ${table} where false`,
  );
  await pipeline(
    Readable.from(file.lines(columns)),
    client.query(copyFrom(`copy pg_temp.brought_back (${list}) from stdin`)),
  );
  const { rows } = await client.query<{ n: string; first: Instant | null; last: Instant | null }>(
    `select count(*)::text as n, ${instantText("min(observed_at)")} as first, ${instantText("max(observed_at)")} as last
     from pg_temp.brought_back`,
  );
  const { n = "", first = null, last = null } = rows[0] ?? {};
  const found = await digestsOf(
    client,
    { table: { ...file.table, from: "pg_temp.brought_back" }, columns: own.map(({ column }) => column) },
    { from: date, to: date, symbols: null },
  );
  const isFile = own.every(({ digest: { values, sum } }, place) => {
    const other = found.columns[place];
    return other?.values === values && other.sum === sum;
  });
  if (Number(n) !== file.rows || found.rows !== file.rows || !isFile)
    throw unproven(place, `what was read of its ${table} is not what the manifest says of that date`);
  if (first === null || last === null) return 0;
  await ensurePartitionsFor(client, [first, last]);
  // Citus counts rows that are there already as put in.
  const there = await countThere(client, table, { first, last, equal: [] });
  await client.query(
    `insert into ${table} (${list}) select ${list} from pg_temp.brought_back
     order by instrument_id, observed_at, source_id on conflict do nothing`,
  );
  if (!changed && (await countThere(client, table, { first, last, equal: columns })) !== file.rows)
    throw unproven(place, `the archive has other ${table} of that date than the lake`);
  await client.query("drop table pg_temp.brought_back");
  return file.rows - there;
}

/** How many rows that were read are in a table. @param equal columns whose values have to be the same */
async function countThere(
  client: pg.ClientBase,
  table: string,
  { first, last, equal }: { first: Instant; last: Instant; equal: readonly string[] },
): Promise<number> {
  const same = equal.map((column) => ` and t.${column} is not distinct from b.${column}`).join("");
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n from pg_temp.brought_back b
     join ${table} t on t.instrument_id = b.instrument_id and t.observed_at = b.observed_at and t.source_id = b.source_id
     where t.observed_at between ${pg.escapeLiteral(first)} and ${pg.escapeLiteral(last)}${same}`,
  );
  return rows[0]?.n ?? 0;
}
