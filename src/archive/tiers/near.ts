/**
 * Tables of one transaction that hide distributed ones: rows that a statement needs lie near it, on the coordinator, for as long
 * as the work takes. What a worker cannot do for another one's rows (a look for the first row of each of many series) is then
 * asked as on every other tier.
 */
import type pg from "pg";
import { isOnCitus } from "./citus.ts";

/** Which rows of a table are wanted: a condition of its rows `t`, or what they are joined with; none: all. */
export type Wanted = { table: string; rows?: string; values?: unknown[] };

/**
 * Runs `work` while the wanted rows hide their tables, within a transaction of the caller's. `work` reads them, and has no
 * prepared statements. Where nothing is distributed it just runs.
 */
export async function withNear<T>(
  client: pg.ClientBase,
  wanted: readonly Wanted[],
  work: () => Promise<T>,
): Promise<T> {
  if (!(await isOnCitus(client))) return work();
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
