/** Which tables the lake has, and when a file is the same as what the archive has. */
import type { ColumnDigest } from "../../archive/export/snapshot.ts";
import { type DecimalType } from "../tables/parquetDecimal.ts";
import { leavesOut } from "../../archive/export/duckFiles.ts";
import { EXPORT_TABLES, type ExportTable } from "../../archive/export/tables.ts";
import { isHot, type LakeTable } from "./lakeFiles.ts";

/** Left to the database: as many bars as quotes where these come once a minute, and what is made of other tables. */
const LEFT_OUT = new Set(["bars_1m", "coverage_daily"]);

/**
 * Without bars that the archive does not keep, because they take as much room as their quotes: `quotekeeper sql` makes them of the
 * lake's quotes (migrations/duckdb/macros.sql). The session's own bar tells which, also when its quotes were dropped.
 */
const keptOf = (view: string): string => `(
  select t.* from ${view} t
  join session_bars d on d.instrument_id = t.instrument_id and d.date = t.date and d.delayed = t.delayed
  join sources s on s.id = d.source_id and s.kind = t.source and s.name = t.source_name
  where has_kept_bars(t.option_type, d.first_at, d.last_at, d.quote_count)
)`;

/** A file of each exchange date. */
export const DAY_TABLES: readonly ExportTable[] = EXPORT_TABLES.filter(
  ({ name, partitioned }) => partitioned && !LEFT_OUT.has(name),
).map((table) => (leavesOut(table.name) ? { ...table, from: keptOf(table.name) } : table));

/** Those whose rows `--drop-hot` drops. */
export const HOT_EXPORTS = EXPORT_TABLES.filter(({ name }) => isHot(name));

/** One file. */
export const TABLES_WITHOUT_DATES = EXPORT_TABLES.filter(({ partitioned }) => !partitioned);

type WrittenColumns = readonly { name: string; type: string }[];

/** What a manifest says of the decimals of a file's columns. */
export function writtenDecimals(columns: WrittenColumns): Record<string, DecimalType> {
  return Object.fromEntries(
    columns.flatMap(({ name, type }) => {
      const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/u.exec(type) ?? [];
      return scale === undefined ? [] : [[name, { precision: Number(precision), scale: Number(scale) }]];
    }),
  );
}

export function hasDecimals(
  file: Pick<LakeTable, "columns">,
  decimals: Readonly<Record<string, DecimalType>>,
): boolean {
  return Object.entries(writtenDecimals(file.columns)).every(([name, { precision, scale }]) => {
    const wanted = decimals[name];
    return wanted === undefined || (wanted.precision === precision && wanted.scale === scale);
  });
}

/**
 * Whether a file's digests are those, to the last column. A column that the file does not have reads as NULL: files may be older than
 * a column.
 */
export function isSame(
  { rows, columns }: Pick<LakeTable, "rows" | "columns">,
  digests: { rows: number; columns: readonly ColumnDigest[] },
): boolean {
  const names = new Set(columns.map(({ name }) => name));
  const others = digests.columns.filter(({ name, values }) => values > 0 || names.has(name));
  return (
    rows === digests.rows &&
    columns.length === others.length &&
    columns.every(({ name, values, sum }, place) => {
      const other = others[place];
      return other?.name === name && other.values === values && other.sum === sum;
    })
  );
}
