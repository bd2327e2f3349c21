/**
 * Rows through Drizzle's tables (schema.ts, backfillSchema.ts), which are the one statement of the schema: the columns that a
 * statement writes, and their types, come from there. Rows in number go by `insertAll` and `upsertAll`, quotes by staging
 * tables (load/staging.ts), all else by Drizzle's builder.
 */
import { DrizzleQueryError, getTableColumns, getTableName } from "drizzle-orm";
import { type NodePgQueryResultHKT, NodePgSession } from "drizzle-orm/node-postgres";
import {
  getTableConfig,
  type PgColumn,
  PgDatabase,
  PgDialect,
  type PgPreparedQuery,
  type PgTable,
  type PreparedQueryConfig,
} from "drizzle-orm/pg-core";
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { cleanText } from "../../ground/outsideText.ts";

/** A time as the program writes instants: SQL of a `timestamptz`. */
export function instantText(sql: string): string {
  return `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** Whether a time lies on the exchange dates from one to another, both included: SQL of a `timestamptz` and of two dates. */
export function isOnDates(time: string, from: string, to: string): string {
  return `${time} >= ${from}::date::timestamp at time zone 'America/New_York'
      and ${time} < (${to}::date + 1)::timestamp at time zone 'America/New_York'`;
}

/** Fields of rows as parallel arrays, for unnest. */
export function inArrays<Row, F extends keyof Row>(rows: readonly Row[], ...fields: F[]): Row[F][][] {
  return fields.map((field) => rows.map((row) => row[field]));
}

const dialect = new PgDialect();

/** Drizzle's session, but its errors are the database's own: Drizzle wraps them, and an SQLSTATE would be looked for in vain. */
class PlainSession extends NodePgSession<Record<string, never>, Record<string, never>> {
  override prepareQuery<T extends PreparedQueryConfig>(
    ...given: Parameters<NodePgSession<Record<string, never>, Record<string, never>>["prepareQuery"]>
  ): PgPreparedQuery<T> {
    const prepared = super.prepareQuery<T>(...given);
    const execute = prepared.execute.bind(prepared);
    prepared.execute = (values) =>
      execute(values).catch((error: unknown) => {
        throw error instanceof DrizzleQueryError ? error.cause : error;
      });
    return prepared;
  }
}

/** Drizzle's builder on a connection, within its transaction if one is under way. Throws the database's errors as they are. */
export function tablesOn(db: Queryable): PgDatabase<NodePgQueryResultHKT, Record<string, never>> {
  return new PgDatabase(dialect, new PlainSession(db as pg.Pool, dialect, undefined), undefined);
}

type FieldOf<T extends PgTable> = keyof T["$inferSelect"] & string;

/**
 * The names of columns for the list of an `insert` whose values are written out: `job, slot_at, source_id`. Each is named, so
 * that values stay with their columns when the table gets others.
 */
export function columnList<T extends PgTable>(table: T, ...fields: [FieldOf<T>, ...FieldOf<T>[]]): string {
  const columns = getTableColumns<PgTable>(table);
  return fields.map((field) => columns[field]?.name).join(", ");
}

export function allColumns(table: PgTable): string {
  return Object.values(getTableColumns(table))
    .map(({ name }) => name)
    .join(", ");
}

/**
 * Inserts rows in one statement, prepared once per connection; those that are there already are passed over. They travel as an
 * array for each column: there is no limit to their number.
 *
 * @param rows in the order in which they are locked
 * @returns how many were not there before
 */
export function insertAll<T extends PgTable>(
  client: Queryable,
  table: T,
  rows: readonly T["$inferSelect"][],
): Promise<number> {
  const arrays = arraysOf(table, rows);
  return insertUnnested(client, table, { arrays, name: "insert", onConflict: "do nothing" });
}

/**
 * The same as `insertAll`, but rows that are there already get the new values. One that says the same to the letter is not
 * written again.
 *
 * @param rows each key once
 * @returns how many rows were written
 */
export function upsertAll<T extends PgTable>(
  client: Queryable,
  table: T,
  rows: readonly T["$inferSelect"][],
): Promise<number> {
  const arrays = arraysOf(table, rows);
  return insertUnnested(client, table, { arrays, name: "upsert", onConflict: replacing(table) });
}

function arraysOf(table: PgTable, rows: readonly Record<string, unknown>[]): unknown[][] {
  return Object.entries(getTableColumns(table)).map(([field, column]) =>
    rows.map((row) => unnestedValue(column, row[field])),
  );
}

/** `name` begins the name of the prepared statement; `onConflict` says what becomes of a row that is there already. */
type Insertion = { arrays: unknown[][]; name: string; onConflict: string };

async function insertUnnested(
  client: Queryable,
  table: PgTable,
  { arrays, name, onConflict }: Insertion,
): Promise<number> {
  if (arrays[0]?.length === 0) return 0;
  const types = Object.values(getTableColumns(table)).map(unnestedType);
  // Citus counts the rows that it was given, those among them that were there already as well; what is returned is a row put in.
  const { rowCount } = await (client as Pick<pg.ClientBase, "query">).query({
    name: `${name} ${getTableName(table)}`,
    text: `insert into ${getTableName(table)} as kept (${allColumns(table)})
      select * from unnest(${types.map((type, place) => `$${place + 1}::${type}[]`).join(", ")})
      on conflict ${onConflict} returning 1`,
    values: arrays,
  });
  return rowCount ?? 0;
}

/** A column of arrays has none: unnest would take them apart. */
function unnestedType(column: PgColumn): string {
  if (column.dataType !== "array") return column.getSQLType();
  throw new QuotekeeperError("UNEXPECTED", `unnest would take the arrays of ${column.name} apart`);
}

/** Drizzle's own value of a column is what the driver takes, except for JSON, of which an array has text. */
function unnestedValue(column: PgColumn, value: unknown): unknown {
  return column.getSQLType() === "jsonb" && value !== null ? column.mapToDriverValue(value) : value;
}

function replacing(table: PgTable): string {
  const columns = Object.values(getTableColumns(table));
  const { primaryKeys } = getTableConfig(table);
  const keys =
    primaryKeys.length > 0 ? primaryKeys.flatMap((key) => key.columns) : columns.filter((one) => one.primary);
  const values = columns.filter((column) => !keys.some(({ name }) => name === column.name));
  // Decimals alone have several texts. Of a time the text is the session's, and Citus takes no such expression here.
  const texts = (row: string): string =>
    values
      .map((column) => `${row}.${column.name}${column.getSQLType().startsWith("numeric") ? "::text" : ""}`)
      .join(", ");
  return `(${keys.map(({ name }) => name).join(", ")}) do update
    set ${values.map(({ name }) => `${name} = excluded.${name}`).join(", ")}
    where (${texts("kept")}) is distinct from (${texts("excluded")})`;
}

export function clean(text: string | null | undefined): string | null {
  return typeof text === "string" ? cleanText(text) : null;
}
