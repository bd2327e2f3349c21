/** One table of an export: a file for each of its days, decimals as wide as its values need. */
import { join } from "node:path";
import { rm } from "node:fs/promises";
import type { ExportTable } from "../../archive/export/tables.ts";
import type { ExportColumn } from "../../archive/export/exportColumns.ts";
import type { ExportRange } from "../../archive/export/exportQueries.ts";
import { type ArchiveSnapshot, copyRows } from "../../archive/export/snapshot.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { COMMON_DECIMAL, type DecimalType, widerThan } from "./parquetDecimal.ts";
import {
  type Compress,
  type DecimalTypes,
  decimalsOf,
  decimalTypeOf,
  type DecimalsTooWide,
  sqlTypeOf,
  writeParquetFile,
} from "./parquetFile.ts";
import { type ExportedFile, type ExportedTable } from "../export/manifest.ts";
import { writeCsvFile } from "./csvFile.ts";

export type PlannedTable = {
  table: ExportTable;
  columns: readonly ExportColumn[];
  days: readonly { date: string | null; rows: number | null }[];
};

export type WriteOptions = {
  snapshot: ArchiveSnapshot;
  range: ExportRange;
  dir: string;
  format: "parquet" | "csv";
  /** Whether texts of CSV stay as they are, also those that a spreadsheet takes for formulas. */
  raw: boolean;
  compress: Compress;
  /** Types of the table's decimals that other files have already. */
  known?: DecimalTypes | undefined;
  signal: AbortSignal;
  onRows: (date: string | null, count: number) => void;
  /** Hears that a column needs a wider type than usual. */
  onWidened: (table: string, column: string, type: string) => void;
};

/**
 * @throws QuotekeeperError EXPORT_UNREPRESENTABLE when a value fits no DECIMAL; the file system's and the database's
 *   errors
 */
export async function writeTable(planned: PlannedTable, options: WriteOptions): Promise<ExportedTable> {
  const { table, columns } = planned;
  let types: DecimalTypes = decimalsOf(table.name, columns, options.known);
  for (;;) {
    let written = 0;
    const onRows = (date: string | null, count: number): void => {
      written += count;
      options.onRows(date, count);
    };
    const files = await writeDays(planned, types, { ...options, onRows });
    if (!("tooWide" in files))
      return {
        name: table.name,
        rows: files.reduce((sum, { rows }) => sum + rows, 0),
        columns: columns.map((column) => ({
          name: column.name,
          type: options.format === "parquet" ? sqlTypeOf(column, types) : csvTypeOf(column),
          nullable: column.nullable,
        })),
        files,
      };
    // All files of a table have one type: an engine reads them as one.
    const changed = [...files.tooWide].map((name) => [name, widerOf(table.name, name, types)] as const);
    types = { ...types, ...Object.fromEntries(changed) };
    for (const [name, { precision, scale }] of changed)
      if (precision > COMMON_DECIMAL.precision)
        options.onWidened(table.name, name, `DECIMAL(${precision},${scale})`);
    await rm(join(options.dir, table.name), { recursive: true, force: true });
    options.onRows(null, -written);
  }
}

async function writeDays(
  { table, columns, days }: PlannedTable,
  types: DecimalTypes,
  options: WriteOptions,
): Promise<ExportedFile[] | DecimalsTooWide> {
  const files: ExportedFile[] = [];
  // Every engine reads the date from the directory's name.
  const written = table.partitioned ? columns.filter(({ name }) => name !== "date") : columns;
  for (const { date, rows: expected } of days) {
    options.signal.throwIfAborted();
    const parts = [table.name, ...(table.partitioned && date !== null ? [`date=${date}`] : [])];
    await makeDirectories(join(options.dir, ...parts));
    const path = [...parts, `${table.name}.${options.format}`];
    const file = { table, columns: written, types, date, path: join(options.dir, ...path) };
    const facts = await writeFile(file, options);
    if ("tooWide" in facts) return facts;
    if (expected !== null && facts.rows !== expected) throw otherRows(path.join("/"), facts.rows, expected);
    files.push({ path: path.join("/"), date, ...facts });
  }
  return files;
}

type PlannedFile = {
  table: ExportTable;
  columns: readonly ExportColumn[];
  types: DecimalTypes;
  date: string | null;
  path: string;
};

async function writeFile(
  { table, columns, types, date, path }: PlannedFile,
  { snapshot, range, format, raw, compress, signal, onRows }: WriteOptions,
): Promise<Omit<ExportedFile, "path" | "date"> | DecimalsTooWide> {
  const ofDay = date === null ? range : { ...range, from: date, to: date };
  const onWritten = (count: number): void => onRows(date, count);
  const { bytes, count } = copyRows(
    snapshot,
    { table, columns },
    {
      range: ofDay,
      signal,
      format: format === "csv" ? (raw ? "raw csv" : "csv") : "binary",
    },
  );
  const facts =
    format === "csv"
      ? await writeCsvFile(path, bytes, onWritten)
      : await writeParquetFile({ path, columns, types, bytes, compress, onRows: onWritten });
  const sent = await count();
  if (!("tooWide" in facts) && facts.rows !== sent) throw otherRows(path, facts.rows, sent);
  return facts;
}

function otherRows(path: string, rows: number, expected: number): QuotekeeperError {
  return new QuotekeeperError("UNEXPECTED", `${path} has ${rows} rows, and the archive ${expected}`);
}

function widerOf(table: string, column: string, types: DecimalTypes): DecimalType {
  const wider = widerThan(decimalTypeOf(column, types));
  if (wider) return wider;
  const why = "holds a value that is no number, or one of too many digits";
  throw new QuotekeeperError("EXPORT_UNREPRESENTABLE", `${table}.${column} ${why}`);
}

/** The type of a column in a CSV file, whose digits are the database's own. */
function csvTypeOf(column: ExportColumn): string {
  return column.kind === "decimal" ? "DECIMAL" : sqlTypeOf(column, {});
}
