/** A file of the lake, proven: what is read back from it is what the database says of its own rows. */
import type { ArchiveSnapshot, ColumnDigest } from "../archive/export/snapshot.ts";
import type { ExportTable } from "../archive/export/tables.ts";
import type { ExportColumn } from "../archive/export/exportColumns.ts";
import { QuotekeeperError } from "../errors.ts";
import type { DecimalType } from "../export/parquetDecimal.ts";
import { type DayFileOptions, writeDayFile } from "./dayFile.ts";
import { fileDigests } from "./fileDigests.ts";
import { HOT_TABLES, type LakeTable } from "./lakeFiles.ts";
import { decimalsOf, hasDecimals, isSame, writtenDecimals } from "./lakeTables.ts";

/** A file that is on the disk and not at its place yet. */
export type ProvenFile = {
  from: string;
  file: LakeTable;
  /** The types of its table's decimals. */
  decimals: Record<string, DecimalType>;
};

/**
 * Writes a table's file where it is not as it was, and reads it back.
 *
 * @param of.before the file that is there
 * @param options.known the types of the table's decimals in the lake so far
 * @returns "same": there is nothing to write; "fewer": the archive has fewer quotes than the file; `unrepresentable`: why no file
 *   can have the table's values
 * @throws QuotekeeperError LAKE_UNPROVEN; the database's errors and the file system's
 */
export async function writeProven(
  snapshot: ArchiveSnapshot,
  { table, date, before }: { table: ExportTable; date: string | null; before: LakeTable | null | undefined },
  {
    known,
    ...options
  }: Omit<DayFileOptions, "snapshot" | "types"> & { known: Record<string, DecimalType> | undefined },
): Promise<ProvenFile | "same" | "fewer" | { unrepresentable: string }> {
  const { name } = table;
  const all = await snapshot.columns(table);
  const columns = table.partitioned ? all.filter((column) => column.name !== "date") : all;
  const truth = await snapshot.digests(table, columns, { from: date, to: date, symbols: null });
  if (date !== null && truth.rows === 0 && !before) return "same";
  const types = decimalsOf(name, columns, known);
  if (before && isSame(before, truth) && hasDecimals(before, types)) return "same";
  const isHot = HOT_TABLES.some((hot) => hot === name);
  if (date !== null && before && truth.rows < before.rows && isHot) return "fewer";
  const day = { table, columns: all, date, rows: truth.rows };
  const made = await writeDayFile(day, { ...options, snapshot, types }).catch((error: unknown) => {
    if (error instanceof QuotekeeperError && error.code === "EXPORT_UNREPRESENTABLE") return error.detail;
    throw error;
  });
  if (typeof made === "string") return { unrepresentable: made };
  const { from, path, rows, bytes, sha256 } = made;
  const revision = (before?.revision ?? 0) + 1;
  const described = columnsOf(columns, made.columns, truth.columns);
  const file: LakeTable = { name, path, revision, rows, bytes, sha256, columns: described };
  if (!isSame(file, await fileDigests(from, rows)))
    throw new QuotekeeperError("LAKE_UNPROVEN", `${path} does not hold what the archive says of its rows`);
  return { from, file, decimals: { ...types, ...writtenDecimals(file) } };
}

function columnsOf(
  columns: readonly ExportColumn[],
  types: readonly { name: string; type: string }[],
  digests: readonly ColumnDigest[],
): LakeTable["columns"] {
  const typeOf = new Map(types.map(({ name, type }) => [name, type]));
  const digestOf = new Map(digests.map((one) => [one.name, one]));
  return columns.map(({ name, nullable }) => ({
    name,
    type: typeOf.get(name) ?? "",
    nullable,
    values: digestOf.get(name)?.values ?? 0,
    sum: digestOf.get(name)?.sum ?? "",
  }));
}
