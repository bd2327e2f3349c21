/**
 * An export: tables of the archive as files for other engines. All of it is of one snapshot, written aside, and at its
 * place only when everything is on the disk.
 */
import { join } from "node:path";
import type pg from "pg";
import type { ExportRange } from "../../archive/export/exportQueries.ts";
import {
  type ArchiveSnapshot,
  readDays,
  unknownSymbols,
  withSnapshot,
} from "../../archive/export/snapshot.ts";
import { readColumns } from "../../archive/export/exportColumns.ts";
import type { ExportTable } from "../../archive/export/tables.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Processes } from "../../ground/processes.ts";
import { type ExportedTable, type Manifest, MANIFEST, MANIFEST_KIND } from "./manifest.ts";
import { namingWrites, writeSynced } from "../tables/hashedFile.ts";
import { zstandard } from "../tables/parquetFile.ts";
import { type PlannedTable, type WriteOptions, writeTable } from "../tables/writeTable.ts";
import { type Stage, openStage } from "./stage.ts";

export type ExportProgress = {
  table: string;
  /** Exchange date of the file being written; null for a table that is not cut into days. */
  date: string | null;
  rows: number;
  /** Rows of all tables, without those of views, which nobody counts beforehand. */
  expected: number;
};

type ExportOptions = ExportRange &
  Pick<WriteOptions, "format" | "raw" | "signal" | "onWidened"> & {
    pool: pg.Pool;
    out: string;
    tables: readonly ExportTable[];
    replace: boolean;
    /** quotekeeper and its version. */
    program: string;
    writtenAt: string;
    processes: Processes;
    onProgress: (progress: ExportProgress) => void;
  };

/**
 * Writes an export.
 *
 * @throws QuotekeeperError EXPORT_EXISTS, EXPORT_WRITE_FAILED, EXPORT_UNREPRESENTABLE, ARCHIVE_EMPTY, UNKNOWN_SYMBOL;
 *   the database's errors as they are. Then nothing is left in `out` or beside it.
 */
export async function exportArchive(options: ExportOptions): Promise<Manifest> {
  const { pool, out, replace, processes, signal } = options;
  const stage = await openStage(out, { replace, processes }).catch(namingWrites(out));
  try {
    const tables = await withSnapshot(pool, signal, (snapshot) => writeTables(snapshot, stage, options));
    const manifest: Manifest = {
      ...MANIFEST_KIND,
      program: options.program,
      writtenAt: options.writtenAt,
      format: options.format,
      raw: options.raw,
      from: options.from,
      to: options.to,
      symbols: options.symbols && [...options.symbols],
      tables,
    };
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    await writeSynced(join(stage.dir, MANIFEST), text).catch(namingWrites(out));
    await stage.publish().catch(namingWrites(out));
    return manifest;
  } catch (error) {
    await stage.discard().catch(() => undefined);
    throw error;
  }
}

async function writeTables(
  snapshot: ArchiveSnapshot,
  { dir }: Stage,
  options: ExportOptions,
): Promise<ExportedTable[]> {
  const { tables, symbols, format, raw, signal, out, onWidened, onProgress } = options;
  const unknown = symbols ? await unknownSymbols(snapshot, symbols) : [];
  if (unknown.length > 0)
    throw new QuotekeeperError("UNKNOWN_SYMBOL", `the archive has no instrument ${unknown.join(", ")}`);
  const range: ExportRange = { from: options.from, to: options.to, symbols };
  const planned: PlannedTable[] = [];
  for (const table of tables)
    planned.push({
      table,
      columns: await readColumns(snapshot, table.name),
      days: await readDays(snapshot, table, range),
    });
  const expected = planned.flatMap(({ days }) => days).reduce((sum, { rows }) => sum + (rows ?? 0), 0);

  const compress = await zstandard();
  let rows = 0;
  const written: ExportedTable[] = [];
  for (const one of planned) {
    const onRows = (date: string | null, count: number): void => {
      rows += count;
      onProgress({ table: one.table.name, date, rows, expected });
    };
    written.push(
      await writeTable(one, { snapshot, range, dir, format, raw, compress, signal, onRows, onWidened }).catch(
        namingWrites(out),
      ),
    );
  }
  return written;
}
