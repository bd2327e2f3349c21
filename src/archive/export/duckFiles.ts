/** Parquet files as the tables of DuckDB's schema `parts`, which the views of `quotekeeper sql` are made of (duckViews.ts). */
import type { DuckColumn, DuckTable } from "./duckTables.ts";

/** A decimal of a table that no file was read for. */
const USUAL = "decimal(18,8)";

/** A decimal that makes none of a file's wider. */
const NARROWEST = "decimal(4,4)";

/** A table that has no rows yet: what a statement reads of it can be found out with this. */
export function emptyTable(table: DuckTable): string {
  const columns = columnsOf(table).map((column) => `"${column.name}" ${duckType(column, USUAL)}`);
  return `create table parts.${table.name} (${columns.join(", ")})`;
}

/** Rows that have a table's columns, in any order and not all of them: SQL. */
export type Rows = readonly string[];

/** The table with its rows, which are read when they are asked for. @returns the statements */
export function filledTable(table: DuckTable, rows: Rows): string[] {
  return rows.length === 0 ? [] : [`drop table parts.${table.name}`, viewOf(table.name, table, rows)];
}

/** A view of a table's columns over rows, which may be none. A column that no rows have is NULL. */
export function viewOf(name: string, table: DuckTable, rows: Rows): string {
  const columns = columnsOf(table);
  const nulls = columns.map((column) => `null::${storedType(column)} as "${column.name}"`);
  const all = [`select ${nulls.join(", ")} where false`, ...rows].join(" union all by name ");
  return `create view parts.${name} as select ${columns.map(read).join(", ")} from (${all})`;
}

/**
 * Files that cannot be read together, and how each has to be read. DuckDB finds a type for columns of different decimals by itself, but
 * where 38 digits are not enough for all of them it drops some behind the point.
 *
 * @returns a question for the path of each, and what stands in place of its columns
 */
export function decimalsApart(paths: readonly string[]): string {
  return `with d as (select file_name, name, precision, scale from parquet_schema([${paths.map(quoted).join(", ")}]) where scale is not null)
    select file_name, string_agg('"' || name || '"::decimal(38,' || most || ') as "' || name || '"', ', ')
    from d join (select name, max(scale) as most from d group by name having max(precision - scale) + max(scale) > 38) using (name)
    group by file_name`;
}

/** Rows of files. @param apart an answer to `decimalsApart` */
export function rowsOfFiles(
  { isDated }: DuckTable,
  paths: readonly string[],
  apart: readonly (readonly [path: string, columns: string])[],
): Rows {
  const others = paths.filter((path) => !apart.some(([one]) => one === path));
  return [
    ...(others.length > 0 ? [`from ${readParquet(others, isDated)}`] : []),
    ...apart.map(([path, columns]) => `select * replace (${columns}) from ${readParquet([path], isDated)}`),
  ];
}

/** A table's columns, and the exchange date to find files by, which is the name of a file's directory. */
function columnsOf({ columns, isDated }: DuckTable): readonly DuckColumn[] {
  const hasDate = !isDated || columns.some(({ name }) => name === "date");
  return hasDate ? columns : [...columns, { name: "date", type: "date" }];
}

function read(column: DuckColumn): string {
  const { name, type } = column;
  if (type === "numeric") return `"${name}"`;
  if (type.endsWith("[]")) return `from_json("${name}", '["VARCHAR"]') as "${name}"`;
  return `"${name}"::${duckType(column, USUAL)} as "${name}"`;
}

function storedType(column: DuckColumn): string {
  return column.type === "jsonb" || column.type.endsWith("[]") ? "varchar" : duckType(column, NARROWEST);
}

function duckType({ type }: DuckColumn, numeric: string): string {
  if (type === "numeric") return numeric;
  if (type === "timestamp with time zone") return "timestamptz";
  if (type === "jsonb") return "json";
  return type.endsWith("[]") ? "varchar[]" : type;
}

/** @param isDated whether each file lies in a directory of its date */
function readParquet(paths: readonly string[], isDated: boolean): string {
  const dates = isDated ? "true, hive_types = {'date': 'date'}" : "false";
  return `read_parquet([${paths.map(quoted).join(", ")}], union_by_name = true, hive_partitioning = ${dates})`;
}

/** A text as a literal, which PostgreSQL and DuckDB write alike. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Seconds of the bars that a lake's files have of some series alone. */
const WIDTHS: Readonly<Record<string, number>> = { bars_5m: 300, bars_1h: 3_600 };

/** Whether a lake's files of a table leave out bars that its quotes make. */
export function leavesOut(table: string): boolean {
  return WIDTHS[table] !== undefined;
}

/** Rows of bars that the lake's files leave out. @param files names of views of quotes, extended quotes and bars of these files */
export function barsLeftOut(table: string, files: readonly string[]): string {
  return `from bars_left_out(${[...files.map((name) => quoted(`parts.${name}`)), WIDTHS[table]].join(", ")})`;
}

/** Rows of `latest_quotes` whose quotes are in files alone. @param files names of views of quotes and extended quotes */
export function coldLatest(newest: string, files: readonly string[]): string {
  return `from latest_of(${[newest, ...files].map((name) => quoted(`parts.${name}`)).join(", ")})`;
}

/** When each series was quoted last: of a file of `newestGone`, or of a lake alone. */
export function newestView(name: string, path: string | null): string {
  return `create view parts.${name} as from ${path === null ? "newest_of_bars()" : readParquet([path], false)}`;
}

export function datesOfNewest(newest: string): string {
  return `select distinct (last_at at time zone 'America/New_York')::date::varchar from parts.${newest}`;
}
