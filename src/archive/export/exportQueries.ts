/** The SQL of an export. COPY takes no parameters: what comes from outside is quoted here, and nowhere else. */
import pg from "pg";
import type { ExportTable } from "./tables.ts";
import type { ExportColumn } from "./exportColumns.ts";
import type { Instant } from "../../ground/clock.ts";
import { harmlessSql } from "../../read/formula.ts";
import { INSTRUMENT_NAME } from "../schema/instrumentNames.ts";
import { instantText } from "../schema/tableRows.ts";

/** What is exported of a table. Dates are the exchange's, both included; null: no bound. */
export type ExportRange = {
  from: string | null;
  to: string | null;
  /** Symbols of the instruments and of the underlyings of options; null: all. */
  symbols: readonly string[] | null;
  /** Only rows of this time, from `from` on and before `to`; absent: of all times. */
  within?: { from: Instant; to: Instant };
};

const NEW_YORK = "'America/New_York'";

/** Rows by exchange date, ascending; `rows` is null where counting would cost as much as reading. */
export function daysQuery(table: ExportTable, range: ExportRange): string {
  const { day } = table;
  if (day === null || !table.partitioned)
    return `select null::text as date, count(*)::text as rows ${fromWhere(table, range)}`;
  if (!table.counted) {
    // A view of bars has rows where session_bars, which it is made from, has some.
    const source = { ...table, name: "session_bars", symbol: "instrument_id" } as const;
    return `select distinct t.date::text as date, null::text as rows ${fromWhere(source, range)} order by 1`;
  }
  const date = day.kind === "date" ? `t.${day.column}` : `(t.${day.column} at time zone ${NEW_YORK})::date`;
  return `select ${date}::text as date, count(*)::text as rows ${fromWhere(table, range)} group by 1 order by 1`;
}

/** The hours in which a table has rows: how many there are, and a sum of their hashes, which tells a change of any value. */
export function hoursQuery(
  table: ExportTable & { day: NonNullable<ExportTable["day"]> },
  columns: readonly ExportColumn[],
  range: ExportRange,
): string {
  const hour = `date_trunc('hour', t.${table.day.column}, 'UTC')`;
  const end = `${hour} + interval '1 hour'`;
  // A record's hash is that of its values: 1.50 is 1.5, as it is in a file.
  const hash = `hash_record_extended(row(${columns.map(({ sql }) => sql).join(", ")}), 0)`;
  return `select ${instantText("h.begins")} as from, ${instantText("h.ends")} as to, h.rows::text, h.hash::text
    from (select ${hour} as begins, ${end} as ends, count(*) as rows, sum(${hash}) as hash ${fromWhere(table, range)} group by 1, 2) h
    order by 1`;
}

/** How rows are written: COPY's binary format, CSV whose texts no spreadsheet takes for formulas, or CSV as the texts are. */
export type RowFormat = "binary" | "csv" | "raw csv";

export function rowsQuery(
  table: ExportTable,
  columns: readonly ExportColumn[],
  { range, format }: { range: ExportRange; format: RowFormat },
): string {
  const list = columns.map(({ name, kind, sql }) => `${valueSql(kind, sql, format)} as "${name}"`).join(", ");
  const order = table.order.map((column) => `t.${column}`).join(", ");
  const joins = columns.some(({ sql }) => sql === "i.name") ? NAMED_INSTRUMENTS : "";
  return `select ${list} ${fromWhere(table, range, joins)} order by ${order}`;
}

/**
 * The digests of a table's columns: how many values are not NULL, and the sum of (value + 1) times the row's number in the
 * export's order, so that no two rows can change places. Values that are no numbers count as: a time, the microseconds since
 * 1970; a date, the days since then; `true`, 1; a text, the first 32 bits of its MD5. All is exact.
 */
export function digestsQuery(
  table: ExportTable,
  columns: readonly ExportColumn[],
  range: ExportRange,
): string {
  const order = table.order.map((column) => `t.${column}`).join(", ");
  const joins = columns.some(({ sql }) => sql === "i.name") ? NAMED_INSTRUMENTS : "";
  const values = columns.map(({ kind, sql }, place) => `${numberSql(kind, sql)} as v${place}`);
  const sums = columns.map(
    (_, place) => `count(v${place})::text, coalesce(sum((v${place} + 1) * n), 0)::text`,
  );
  const rows = `select row_number() over (order by ${order}) as n, ${values.join(", ")} ${fromWhere(table, range, joins)}`;
  return `select count(*)::text as rows, array[${sums.join(", ")}] as digests from (${rows}) r`;
}

function numberSql(kind: ExportColumn["kind"], sql: string): string {
  switch (kind) {
    case "time":
      return `extract(epoch from ${sql}) * 1000000`;
    case "date":
      return `(${sql} - date '1970-01-01')::bigint`;
    case "boolean":
      return `(${sql})::int::bigint`;
    case "integer":
      return `(${sql})::bigint`;
    case "bigint":
      return `(${sql})::numeric`;
    case "decimal":
      return sql;
    case "text":
      return `('x' || left(md5((${sql})::text), 8))::bit(32)::bigint`;
  }
}

/**
 * Rows without their instrument are rows all the same. Looked up by its key, a name is remembered and not made anew for each row.
 * A join would be as fast, but where the server takes a new day's hundred thousand rows for one, it goes through all instruments for
 * each of them.
 */
const NAMED_INSTRUMENTS = ` left join lateral (select ${INSTRUMENT_NAME} as name from instruments i where i.id = t.instrument_id offset 0) i on true`;

/** CSV is read by people and by everything: ISO 8601 in UTC, `true` and `false`. */
function valueSql(kind: ExportColumn["kind"], sql: string, format: RowFormat): string {
  // Whatever has no kind of its own is read as its text.
  if (format === "binary") return kind === "text" ? `(${sql})::text` : sql;
  if (kind === "text" && format === "csv") return harmlessSql(sql);
  if (kind === "time") return instantText(sql);
  return kind === "boolean" ? `(${sql})::text` : sql;
}

function fromWhere(table: ExportTable, range: ExportRange, joins = ""): string {
  const { day } = table;
  const conditions = [
    ...(day ? bounds(`t.${day.column}`, day.kind, range) : []),
    ...(day && range.within
      ? [
          `t.${day.column} >= ${pg.escapeLiteral(range.within.from)}`,
          `t.${day.column} < ${pg.escapeLiteral(range.within.to)}`,
        ]
      : []),
    ...narrowing(table, range.symbols),
    ...(table.leftOut === undefined ? [] : [`not (${table.leftOut})`]),
  ];
  const where = conditions.length > 0 ? ` where ${conditions.join(" and ")}` : "";
  return `from ${table.from ?? table.name} t${joins}${where}`;
}

function bounds(sql: string, kind: "time" | "date", { from, to }: ExportRange): string[] {
  const quoted = (date: string): string => `date ${pg.escapeLiteral(date)}`;
  const first = (date: string): string => `(${quoted(date)})::timestamp at time zone ${NEW_YORK}`;
  const after = (date: string): string => `(${quoted(date)} + 1)::timestamp at time zone ${NEW_YORK}`;
  return kind === "date"
    ? [...(from ? [`${sql} >= ${quoted(from)}`] : []), ...(to ? [`${sql} <= ${quoted(to)}`] : [])]
    : [...(from ? [`${sql} >= ${first(from)}`] : []), ...(to ? [`${sql} < ${after(to)}`] : [])];
}

/** SQL of a symbol as `inCapitals` writes it, wherever the database stands: imported files keep their letters. */
export const CAPITALS = (symbol: string): string => `upper(${symbol} collate "C")`;

function narrowing({ symbol }: ExportTable, symbols: readonly string[] | null): string[] {
  if (symbols === null) return [];
  const list = `(${symbols.map((one) => pg.escapeLiteral(one)).join(", ")})`;
  switch (symbol) {
    case "instrument_id":
      return [`t.instrument_id in (select id from instruments where ${CAPITALS("symbol")} in ${list})`];
    case "symbol":
      return [`${CAPITALS("t.symbol")} in ${list}`];
    case "name":
      // A downtime's `*` stands for these as well.
      return [
        `(${CAPITALS(`regexp_replace(t.instrument, '(/[A-Z0-9]{2,6})?:.*$', '')`)} in ${list} or t.instrument = '*')`,
      ];
    default:
      return [];
  }
}
