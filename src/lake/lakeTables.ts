/** Which tables the lake has, and when a file is the same as what the archive has. */
import type { ColumnDigest } from "../archive/export/snapshot.ts";
import { EXPORT_TABLES } from "../archive/export/tables.ts";
import type { LakeTable } from "./lakeFiles.ts";

/** Left to the database: as many bars as quotes where these come once a minute, and what is made of other tables. */
const LEFT_OUT = new Set(["bars_1m", "coverage_daily"]);

/** A file of each exchange date. */
export const DAY_TABLES = EXPORT_TABLES.filter(({ name, partitioned }) => partitioned && !LEFT_OUT.has(name));

/** One file. */
export const TABLES_WITHOUT_DATES = EXPORT_TABLES.filter(({ partitioned }) => !partitioned);

/** Tables whose rows `--drop-hot` drops. */
export const HOT_TABLES = ["quotes", "extended_quotes"] as const;

/** Whether a file's digests are those, to the last column. */
export function isSame(
  { rows, columns }: Pick<LakeTable, "rows" | "columns">,
  digests: { rows: number; columns: readonly ColumnDigest[] },
): boolean {
  return (
    rows === digests.rows &&
    columns.length === digests.columns.length &&
    columns.every(({ name, values, sum }, place) => {
      const other = digests.columns[place];
      return other?.name === name && other.values === values && other.sum === sum;
    })
  );
}
