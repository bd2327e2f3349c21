/** One Parquet file of a table's rows: of an exchange date, of a part of one, or of a table that has no dates. */
import { join } from "node:path";
import type { ExportRange } from "../archive/export/exportQueries.ts";
import type { ArchiveSnapshot } from "../archive/export/snapshot.ts";
import type { ExportTable } from "../archive/export/tables.ts";
import type { ExportColumn } from "../archive/export/exportColumns.ts";
import type { ExportedFile, ExportedTable } from "../export/manifest.ts";
import type { DecimalType } from "../export/parquetDecimal.ts";
import type { Compress } from "../export/parquetFile.ts";
import { writeTable } from "../export/writeTable.ts";

/** Rows of a row group: values of few instruments are near each other, and one instrument is found in few groups. */
const GROUP_ROWS = 8_192;

/** The rows that a file is made of. */
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

export type DayFileOptions = {
  snapshot: ArchiveSnapshot;
  /** The file is below it, in the directories that a lake has. */
  dir: string;
  /** Decimals to begin with. A value that needs more digits widens them. */
  types: Readonly<Record<string, DecimalType>>;
  compress: Compress;
  signal: AbortSignal;
  /** Hears how many rows were written. A negative count revokes rows that are written again. */
  onRows: (count: number) => void;
};

/** A file that is on the disk. */
type DayFile = ExportedFile & {
  /** Where the file is. */
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
      groupRows: GROUP_ROWS,
      onWidened: () => undefined,
      onRows: (_, count) => onRows(count),
    },
  );
  const [made] = written.files;
  if (!made) throw new Error(`${table.name} has no file`);
  return { ...made, from: join(options.dir, made.path), columns: written.columns };
}
