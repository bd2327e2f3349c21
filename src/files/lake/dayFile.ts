/** One Parquet file of a table's rows: of an exchange date, of a part of one, or of a table that has no dates. */
import { join } from "node:path";
import type { ExportRange } from "../../archive/export/exportQueries.ts";
import { type ArchiveSnapshot, type ColumnDigest, digestsOf } from "../../archive/export/snapshot.ts";
import type { ExportTable } from "../../archive/export/tables.ts";
import { type ExportColumn, readColumns } from "../../archive/export/exportColumns.ts";
import type { ExportedFile, ExportedTable } from "../export/manifest.ts";
import type { DecimalType } from "../tables/parquetDecimal.ts";
import { decimalsOf } from "../tables/parquetFile.ts";
import { type WriteOptions, writeTable } from "../tables/writeTable.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { fileDigests } from "./fileDigests.ts";
import { isHot, type LakeTable } from "./lakeFiles.ts";
import { hasDecimals, isSame, writtenDecimals } from "./lakeTables.ts";

export type DayRows = {
  table: ExportTable;
  columns: readonly ExportColumn[];
  /** The exchange date; null: all dates. */
  date: string | null;
  /** Only rows of this time. */
  within?: NonNullable<ExportRange["within"]>;
  /** How many there have to be; null: any number. */
  rows: number | null;
};

/** `dir`: the file is below it, in the directories that a lake has. */
type DayFileOptions = Pick<WriteOptions, "snapshot" | "dir" | "compress" | "signal" | "known"> & {
  /** Hears how many rows were written. A negative count revokes rows that are written again. */
  onRows: (count: number) => void;
};

type DayFile = ExportedFile & {
  from: string;
  /** The columns of the table, and of the file. A file in a directory of its date has no column of the date. */
  columns: ExportedTable["columns"];
};

/** @throws as `writeTable` */
export async function writeDayFile(
  { table, columns, date, within, rows }: DayRows,
  { onRows, ...options }: DayFileOptions,
): Promise<DayFile> {
  const written = await writeTable(
    { table, columns, days: [{ date, rows }] },
    {
      ...options,
      range: { from: date, to: date, symbols: null, ...(within && { within }) },
      format: "parquet",
      raw: false,
      onWidened: () => undefined,
      onRows: (_, count) => onRows(count),
    },
  );
  const [made] = written.files;
  if (!made) throw new QuotekeeperError("UNEXPECTED", `${table.name} has no file`);
  return { ...made, from: join(options.dir, made.path), columns: written.columns };
}

/** A file that is on the disk and not at its place yet. */
export type ProvenFile = {
  from: string;
  file: LakeTable;
  decimals: Record<string, DecimalType>;
};

/**
 * Writes a table's file where it is not as it was, and reads it back.
 *
 * @param of.before the file that is there
 * @returns "same": there is nothing to write; "fewer": the archive has fewer quotes than the file; `unrepresentable`: why no file
 *   can have the table's values
 * @throws QuotekeeperError LAKE_UNPROVEN; the database's errors and the file system's
 */
export async function writeProven(
  snapshot: ArchiveSnapshot,
  { table, date, before }: { table: ExportTable; date: string | null; before: LakeTable | null | undefined },
  options: Omit<DayFileOptions, "snapshot">,
): Promise<ProvenFile | "same" | "fewer" | { unrepresentable: string }> {
  const { name } = table;
  const all = await readColumns(snapshot, name);
  const columns = table.partitioned ? all.filter((column) => column.name !== "date") : all;
  const truth = await digestsOf(snapshot, { table, columns }, { from: date, to: date, symbols: null });
  if (date !== null && truth.rows === 0 && !before) return "same";
  const types = decimalsOf(name, columns, options.known);
  if (before && isSame(before, truth) && hasDecimals(before, types)) return "same";
  if (date !== null && before && truth.rows < before.rows && isHot(name)) return "fewer";
  const day = { table, columns: all, date, rows: truth.rows };
  const made = await writeDayFile(day, { ...options, snapshot }).catch((error: unknown) => {
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
  return { from, file, decimals: { ...types, ...writtenDecimals(file.columns) } };
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
