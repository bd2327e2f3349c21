/** From native partitions to hypertables, every row kept: for an empty database at once, for a filled one when asked. */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";

/** Tables that are partitioned by `observed_at`. */
export const PARTITIONED_TABLES = ["responses", "quotes", "extended_quotes", "dividends"] as const;

/**
 * How much time one chunk holds. What is written lately should fit into memory, indexes included; and every chunk costs
 * each query some planning, of which years of weeks would be too many.
 */
const CHUNK_INTERVALS: Readonly<Record<(typeof PARTITIONED_TABLES)[number], string>> = {
  responses: "28 days",
  quotes: "28 days",
  extended_quotes: "28 days",
  // A few rows a month.
  dividends: "1 year",
};

/** Whether no table that would move holds a row. */
export async function holdsNothing(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ filled: boolean }>(
    `select ${PARTITIONED_TABLES.map((table) => `exists (select from ${table})`).join(" or ")} as filled`,
  );
  return rows[0]?.filled === false;
}

/** A statement that makes again what has to go while the tables are exchanged. */
type RestoreStatement = { statement: string };

/**
 * Exchanges the partitioned tables for hypertables of the same names, columns, keys and grants, with the triggers that
 * hypertables can have. Runs inside the caller's transaction: it happens as a whole or not at all. Nobody can read or write meanwhile.
 *
 * @throws when a view outside the schema depends on the tables, or a row would not arrive
 */
export async function moveToHypertables(client: pg.ClientBase): Promise<void> {
  await client.query(`lock table ${PARTITIONED_TABLES.join(", ")} in access exclusive mode`);
  const { names, restoring } = await readDependents(client);
  if (names.length > 0) await client.query(`drop view ${names.join(", ")}`);
  await client.query(CREATE_DICTIONARY_NUMERIC);
  for (const table of PARTITIONED_TABLES) await moveTable(client, table);
  for (const { statement } of restoring) await client.query(statement);
}

async function moveTable(client: pg.ClientBase, table: (typeof PARTITIONED_TABLES)[number]): Promise<void> {
  const old = `${table}_before_move`;
  const indexes = await takeIndexes(client, table);
  await client.query(`alter table ${table} rename to ${old}`);
  await client.query(`alter index ${table}_pkey rename to ${old}_pkey`);
  await client.query(`create table ${table} (like ${old} including all)`);
  if (table === "quotes" || table === "extended_quotes") await compressAsDictionary(client, table);
  await client.query(
    `select create_hypertable($1::regclass, 'observed_at', chunk_time_interval => $2::interval,
       create_default_indexes => false)`,
    [table, CHUNK_INTERVALS[table]],
  );
  await client.query(`insert into ${table} select * from ${old}`);
  const { rows } = await client.query<{ before: string; after: string }>(
    `select (select count(*) from ${old}) as before, (select count(*) from ${table}) as after`,
  );
  const [{ before, after } = { before: "?", after: "!" }] = rows;
  if (before !== after)
    throw new QuotekeeperError(
      "UNEXPECTED",
      `${table} has ${before} rows, ${after} of them arrived: nothing was moved`,
    );
  await client.query(`drop table ${old}`);
  for (const { statement } of indexes) await client.query(statement);
}

/**
 * `numeric` by another name: TimescaleDB compresses any type as a dictionary of its values where that is smaller, but `numeric` as
 * the values come (2.24, `compression_get_default_algorithm`). Programs are told it is `numeric`.
 */
const CREATE_DICTIONARY_NUMERIC = `
  do $$ begin
    if to_regtype('dictionary_numeric') is null then create domain dictionary_numeric as numeric; end if;
  end $$`;

/** Has the decimals of a new table compressed so, but for `change`: hardly one of its values comes twice, and a list of them is smaller. */
async function compressAsDictionary(client: pg.ClientBase, table: string): Promise<void> {
  const { rows } = await client.query<RestoreStatement>(
    `select pg_catalog.format('alter table %s %s', attrelid::regclass, string_agg(pg_catalog.format('alter %I type dictionary_numeric', attname), ', ')) as statement
     from pg_attribute where attrelid = $1::regclass and atttypid = 'numeric'::regtype and not attisdropped and attname <> 'change' group by attrelid`,
    [table],
  );
  for (const { statement } of rows) await client.query(statement);
}

/** Drops a table's indexes besides its key, which copies of it would have by other names. @returns what makes them again */
async function takeIndexes(client: pg.ClientBase, table: string): Promise<RestoreStatement[]> {
  const { rows } = await client.query<RestoreStatement & { name: string }>(
    `select indexrelid::regclass::text as name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as statement
     from pg_index where indrelid = $1::regclass and not exists (select from pg_constraint where conindid = indexrelid)`,
    [table],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows;
}

/**
 * The schema's views, which hold on to the tables they were made on, and the triggers, grants and comments; in an order
 * in which they can be made again: a view is younger than those it reads. Each stays its owner's, with whose rights it reads.
 */
async function readDependents(
  client: pg.ClientBase,
): Promise<{ names: string[]; restoring: RestoreStatement[] }> {
  const views = await client.query<{ name: string } & RestoreStatement>(
    `select c.oid::regclass::text as name,
            pg_catalog.format('create view %s as %s alter view %1$s owner to %3$I', c.oid::regclass, pg_get_viewdef(c.oid), pg_get_userbyid(c.relowner)) as statement
     from pg_class c
     where c.relkind = 'v' and c.relnamespace = current_schema()::regnamespace and not ${OF_AN_EXTENSION}
     order by c.oid`,
  );
  const comments = await client.query<RestoreStatement>(
    `select pg_catalog.format('comment on %s %s is %L',
                   case when d.objsubid > 0 then 'column' when c.relkind = 'v' then 'view' else 'table' end,
                   c.oid::regclass || coalesce('.' || quote_ident(a.attname::text), ''), d.description) as statement
     from pg_class c
     join pg_description d on d.objoid = c.oid and d.classoid = 'pg_class'::regclass
     left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
     where c.relkind = 'v' and c.relnamespace = current_schema()::regnamespace and not ${OF_AN_EXTENSION}
       or c.oid = any ($1::regclass[])`,
    [PARTITIONED_TABLES],
  );
  const triggers = await client.query<RestoreStatement>(
    `select pg_get_triggerdef(oid) as statement from pg_trigger
     where tgrelid = any ($1::regclass[]) and not tgisinternal`,
    [PARTITIONED_TABLES],
  );
  const grants = await client.query<RestoreStatement>(
    `select pg_catalog.format('grant %s on %s to %s', a.privilege_type, c.oid::regclass,
                   case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)::text) end) as statement
     from pg_class c cross join aclexplode(c.relacl) a
     where a.grantee <> c.relowner and c.relnamespace = current_schema()::regnamespace
       and (c.relkind = 'v' and not ${OF_AN_EXTENSION} or c.oid = any ($1::regclass[]))`,
    [PARTITIONED_TABLES],
  );
  return {
    names: views.rows.map(({ name }) => name),
    restoring: [views, comments, triggers, grants].flatMap(({ rows }) => rows),
  };
}

const OF_AN_EXTENSION = `exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`;
