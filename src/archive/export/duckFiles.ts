/** Parquet files as the tables of DuckDB's schema `parts`, which the views of `quotekeeper sql` are made of (duckViews.ts). */
import type { DuckColumn, DuckTable } from "./duckTables.ts";

/** A DECIMAL's digits, and how many of them are behind the point. */
type Digits = { precision: number; scale: number };

/** The decimals of a table by column, where they are not the usual ones. */
export type Decimals = Readonly<Record<string, Digits>>;

/** What a decimal is where nothing says what it needs. */
const USUAL: Digits = { precision: 18, scale: 8 };

/** Files that have the same columns of the same types. A dated table's file lies in a directory of its date. */
export type FileGroup = { paths: readonly string[]; columns: readonly string[] };

/** The files that have a table's rows. */
export type Rows = {
  /** Types that hold the decimals of all files. */
  decimals: Decimals;
  files: readonly FileGroup[];
};

/** Whether an exchange date is added to each row, to find files by. */
function hasAddedDate({ isDated, rows: { day } }: DuckTable): boolean {
  return isDated && day?.kind === "time";
}

/** A table that has no rows yet: what a statement reads of it can be found out with this. */
export function emptyTable(table: DuckTable): string {
  const columns = table.columns.map((column) => `"${column.name}" ${duckType(column, {})}`);
  const date = hasAddedDate(table) ? ["date date"] : [];
  return `create table parts.${table.name} (${[...columns, ...date].join(", ")})`;
}

/**
 * The table with its rows, which are read when they are asked for.
 *
 * @param more SQL of other rows that have the table's columns, in any order
 * @returns the statements
 */
export function filledTable(table: DuckTable, rows: Rows, more: readonly string[] = []): string[] {
  const { name } = table;
  const all = [
    ...eachGroup(table, rows),
    ...more.map(
      (sql) => `select ${table.columns.map((column) => `"${column.name}"`).join(", ")} from (${sql})`,
    ),
  ];
  if (all.length === 0) return [];
  return [`drop table parts.${name}`, `create view parts.${name} as ${all.join(" union all ")}`];
}

function eachGroup(table: DuckTable, rows: Rows): string[] {
  return rows.files.map((group) => rowsOfFiles(table, group, rows));
}

/** SQL of the rows of some files, which may be none. */
export function rowsIn(table: DuckTable, rows: Rows): string {
  const groups = eachGroup(table, rows);
  return `(${groups.length > 0 ? groups.join(" union all ") : `select * from ${emptyRows(table)}`})`;
}

function emptyRows(table: DuckTable): string {
  const date = hasAddedDate(table) ? [`null::date as "date"`] : [];
  const columns = table.columns.map((column) => `null::${duckType(column, {})} as "${column.name}"`);
  return `(select ${[...columns, ...date].join(", ")}) where false`;
}

function rowsOfFiles(
  table: DuckTable,
  { paths, columns }: FileGroup,
  { decimals }: Pick<Rows, "decimals">,
): string {
  const { isDated } = table;
  const list = table.columns.map((column) => {
    const isThere = columns.includes(column.name) || (isDated && column.name === "date");
    return `${isThere ? read(column, decimals) : `null::${duckType(column, decimals)}`} as "${column.name}"`;
  });
  if (hasAddedDate(table)) list.push("date");
  return `select ${list.join(", ")} from ${readParquet(paths, isDated)} r`;
}

function read(column: DuckColumn, decimals: Decimals): string {
  if (column.type.endsWith("[]")) return `from_json("${column.name}", '["VARCHAR"]')`;
  return `"${column.name}"::${duckType(column, decimals)}`;
}

function readParquet(paths: readonly string[], dated: boolean): string {
  const list = paths.map(quoted).join(", ");
  const dates = dated
    ? ", hive_partitioning = true, hive_types = {'date': 'date'}"
    : ", hive_partitioning = false";
  return `read_parquet([${list}]${dates})`;
}

/** A text as a literal, which PostgreSQL and DuckDB write alike. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function duckType({ name, type }: DuckColumn, decimals: Decimals): string {
  if (type === "numeric") {
    const { precision, scale } = decimals[name] ?? USUAL;
    return `decimal(${precision},${scale})`;
  }
  if (type === "timestamp with time zone") return "timestamptz";
  if (type === "jsonb") return "json";
  return type.endsWith("[]") ? "varchar[]" : type;
}

/** Columns of `latest_quotes` that neither a quote nor its instrument has by that name. */
const OF_OTHERS: Readonly<Record<string, string>> = {
  instrument_id: "i.id",
  source: "s.kind",
  source_name: "s.name",
  delayed: "n.delayed",
  observed_at: "q.observed_at",
};

/**
 * Rows of `latest_quotes` whose quotes are in files alone.
 *
 * @param newest SQL of a table that says which: instrument_id, source_id, delayed, last_at
 * @param quotes files of `quotes`, one at least; days may have been written before a column was there
 */
export function coldLatest(
  { columns }: DuckTable,
  { newest, quotes, extended }: Record<"quotes" | "extended", readonly FileGroup[]> & { newest: string },
): string {
  const hasColumn = (groups: readonly FileGroup[], name: string): boolean =>
    groups.some((group) => group.columns.includes(name));
  const valueOf = (column: DuckColumn): string => {
    const { name } = column;
    if (OF_OTHERS[name] !== undefined) return OF_OTHERS[name];
    if (OF_INSTRUMENT.has(name)) return `i."${name}"`;
    if (hasColumn(quotes, name)) return `q."${name}"`;
    return hasColumn(extended, name) ? `e."${name}"` : `null::${duckType(column, {})}`;
  };
  const list = columns.map((column) => `${valueOf(column)} as "${column.name}"`).join(", ");
  const beside =
    extended.length === 0
      ? ""
      : `left join ${readAll(extended)} e
      on e.instrument_id = n.instrument_id and e.observed_at = n.last_at and e.source_id = n.source_id`;
  return `select ${list}
    from ${newest} n
    join parts.instruments i on i.id = n.instrument_id
    join parts.sources s on s.id = n.source_id
    join ${readAll(quotes)} q
      on q.instrument_id = n.instrument_id and q.observed_at = n.last_at and q.source_id = n.source_id
    ${beside}`;
}

/** Columns of `latest_quotes` that are the instrument's. */
const OF_INSTRUMENT: ReadonlySet<string> = new Set([
  "security_type",
  "symbol",
  "expiration",
  "option_type",
  "strike",
  "description",
  "root",
]);

/** Files of different columns: what one of them does not have is NULL in its rows. */
function readAll(groups: readonly FileGroup[]): string {
  const list = groups.flatMap(({ paths }) => paths.map(quoted)).join(", ");
  return `read_parquet([${list}], union_by_name = true, hive_partitioning = false)`;
}

/** The same of a lake alone: its bars of sessions know when each series was quoted last. */
export const NEWEST_OF_LAKE = `(
  select b.instrument_id, s.id as source_id, b.delayed, arg_max(b.last_at, b.date) as last_at
  from parts.bars_1d b join parts.sources s on s.kind = b.source and s.name = b.source_name
  group by b.instrument_id, s.id, b.delayed
)`;

/** Rows of a file of `newestGone`. */
export function newestOf(path: string): string {
  return readParquet([path], false);
}

/** The exchange dates of newest quotes. */
export function datesOfNewest(newest: string): string {
  return `select distinct (last_at at time zone 'America/New_York')::date::varchar from ${newest}`;
}
