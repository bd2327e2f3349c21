/** What a server says of itself, and the system of it: bytes, digests, processor time. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";

/** Of a table with all its partitions or chunks, compressed ones too, and their indexes. */
export async function tableBytes(pool: pg.Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ hypertable: boolean }>(
    "select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '_timescaledb_catalog' and c.relname = 'hypertable') as hypertable",
  );
  const hypertables = rows[0]?.hypertable
    ? await oneNumber(
        pool,
        `select count(*) as n from timescaledb_information.hypertables where hypertable_name = '${table}'`,
      )
    : 0;
  return oneNumber(
    pool,
    hypertables > 0
      ? `select hypertable_size('${table}') as n`
      : `select coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size('${table}')) as n from pg_partition_tree('${table}')`,
  );
}

/** The process id of a server on this machine; null for another's. */
export async function postmasterOf(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query<{ dir: string }>("select current_setting('data_directory') as dir");
  const file = join(rows[0]?.dir ?? "", "postmaster.pid");
  return existsSync(file) ? (readFileSync(file, "utf8").split("\n")[0] ?? null) : null;
}

/** Processor time of a server and all that it has started, ended or not: the wall's clock tells what else the machine does. */
export function serverCpuMs(postmaster: string | null): number {
  if (postmaster === null) return NaN;
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && existsSync(`/proc/${name}/stat`))
    .map((pid) => ({ pid, fields: statOf(pid) }));
  const ticks = stats
    .filter(({ pid, fields }) => pid === postmaster || fields[1] === postmaster)
    // utime and stime; those of children that have ended are the postmaster's.
    .flatMap(({ pid, fields }) => fields.slice(11, pid === postmaster ? 15 : 13));
  return ticks.reduce((sum, tick) => sum + 10 * Number(tick), 0);
}

function statOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return []; // It has ended meanwhile.
  }
}

/** What the policies would do in their own time. */
export async function compress(pool: pg.Pool): Promise<void> {
  for (const table of ["quotes", "extended_quotes", "intraday_bars", "responses"])
    await pool.query(`select compress_chunk(c) from show_chunks('${table}') c`);
}

/** Of every row's numbers: zeros behind the last digit do not come back from the lake. */
export async function digest(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query(
    `select count(*), sum(hash_numeric_extended(coalesce(bid, -1), instrument_id)::numeric * extract(epoch from observed_at)) as b,
       sum(hash_numeric_extended(coalesce(last, -1), instrument_id)::numeric * extract(epoch from observed_at)) as l,
       (select sum(hash_numeric_extended(coalesce(volume, -1), instrument_id)::numeric * extract(epoch from observed_at)) from extended_quotes) as v
     from quotes`,
  );
  return JSON.stringify(rows);
}

export async function databaseBytes(pool: pg.Pool): Promise<number> {
  return oneNumber(pool, "select pg_database_size(current_database()) as n");
}

export async function oneNumber(pool: pg.Pool, sql: string): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(sql);
  return Number(rows[0]?.n);
}
