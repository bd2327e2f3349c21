/**
 * An export: tables of the archive as files for other engines. All of it is of one snapshot, written aside, and at its
 * place only when everything is on the disk.
 */
import { join, basename, dirname } from "node:path";
import { Zstd } from "@hpcc-js/wasm-zstd";
import type pg from "pg";
import type { ExportRange } from "../archive/export/exportQueries.ts";
import { type ArchiveSnapshot, withSnapshot } from "../archive/export/snapshot.ts";
import type { ExportTable } from "../archive/export/tables.ts";
import { QuotekeeperError } from "../errors.ts";
import { type Processes, isGone } from "../processes.ts";
import {
  type ExportedTable,
  type Manifest,
  MANIFEST,
  MANIFEST_KIND,
  namingWrites,
  writeManifest,
  isManifest,
} from "./manifest.ts";
import type { Compress } from "./parquetFile.ts";
import { type PlannedTable, type WriteOptions, writeTable } from "./writeTable.ts";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { makeDirectories } from "../journal/makeDirectories.ts";
import { syncDirectory } from "../journal/fs.ts";
import { openFile } from "../plainFiles.ts";

/** How far an export is. */
export type ExportProgress = {
  table: string;
  /** Exchange date of the file being written; null for a table that is not cut into days. */
  date: string | null;
  /** Rows written so far. */
  rows: number;
  /** Rows of all tables, without those of views, which nobody counts beforehand. */
  expected: number;
};

type ExportOptions = ExportRange & {
  pool: pg.Pool;
  /** The export's directory, absolute. */
  out: string;
  format: "parquet" | "csv";
  /** See `WriteOptions.raw`. */
  raw: boolean;
  tables: readonly ExportTable[];
  /** Whether a finished export may be replaced. */
  replace: boolean;
  /** quotekeeper and its version. */
  program: string;
  writtenAt: string;
  processes: Processes;
  signal: AbortSignal;
  onProgress: (progress: ExportProgress) => void;
  onWidened: WriteOptions["onWidened"];
};

/** Zstandard's own default: ten times the rows a second of the highest level, at little more space. */
const ZSTD_LEVEL = 3;

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
    await writeManifest(join(stage.dir, MANIFEST), manifest).catch(namingWrites(out));
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
  const unknown = symbols ? await snapshot.unknownSymbols(symbols) : [];
  if (unknown.length > 0)
    throw new QuotekeeperError("UNKNOWN_SYMBOL", `the archive has no instrument ${unknown.join(", ")}`);
  const range: ExportRange = { from: options.from, to: options.to, symbols };
  const planned: PlannedTable[] = [];
  for (const table of tables)
    planned.push({ table, columns: await snapshot.columns(table), days: await snapshot.days(table, range) });
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

/** Zstandard, at its own default level unless another is given. */
export async function zstandard(level = ZSTD_LEVEL): Promise<Compress> {
  const zstd = await Zstd.load();
  return (bytes) => zstd.compress(bytes, level);
}

// Where an export is written before it is whole: a directory beside its own, renamed when everything is on the disk.
//
// `.OUT.partial-PID` is what a run of that process writes; one whose process has ended is what a killed run left, and is
// removed by the next. With `replace`, the finished export that stood at OUT waits as `.OUT.replaced` for the moment
// between two renames; a run that finds it without an OUT puts it back first.

/** A place for an export that is under way. */
type Stage = {
  /** The directory to write into. */
  dir: string;
  /** Makes it the export: all directories on the disk, then one rename. */
  publish: () => Promise<void>;
  /** Removes it. Does nothing after `publish`. */
  discard: () => Promise<void>;
};

/**
 * Cleans up after killed runs, then makes a stage.
 *
 * @param out where the export shall be, absolute
 * @throws QuotekeeperError EXPORT_EXISTS when something is there that may not be replaced; the file system's errors
 */
export async function openStage(
  out: string,
  { replace, processes }: { replace: boolean; processes: Processes },
): Promise<Stage> {
  const parent = dirname(out);
  const hidden = `.${basename(out)}`;
  const replaced = join(parent, `${hidden}.replaced`);
  await makeDirectories(parent);
  if ((await exists(replaced)) && !(await exists(out))) await rename(replaced, out);
  await refuseUnlessFree(out, replace);
  await removeLeftovers(parent, hidden, processes);
  const dir = join(parent, `${hidden}.partial-${processes.pid}`);
  await makeDirectories(dir);
  return {
    dir,
    publish: async () => {
      await syncDirectories(dir);
      // What came there meanwhile is not overwritten either.
      await refuseUnlessFree(out, replace);
      if (await exists(out)) await rename(out, replaced);
      await rename(dir, out);
      await syncDirectory(parent);
      await rm(replaced, { recursive: true, force: true });
    },
    discard: () => rm(dir, { recursive: true, force: true }),
  };
}

/** An empty directory is as good as none; anything else is only replaced if it is an export and that was asked for. */
async function refuseUnlessFree(out: string, replace: boolean): Promise<void> {
  if (!(await exists(out))) return;
  const names = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOTDIR") return null;
    throw error;
  });
  if (names?.length === 0) return;
  const finished = names !== null && isManifest(await textOf(join(out, MANIFEST)).catch(() => ""));
  if (finished && replace) return;
  const what = finished ? "holds a finished export" : "exists, and is no export of quotekeeper";
  throw new QuotekeeperError("EXPORT_EXISTS", `${out} ${what}`);
}

/** Somebody else may have put anything where the manifest would be. */
async function textOf(path: string): Promise<string> {
  const file = await openFile(path);
  return file.readFile("utf8").finally(() => file.close());
}

async function removeLeftovers(parent: string, hidden: string, processes: Processes): Promise<void> {
  const prefix = `${hidden}.partial-`;
  for (const name of await readdir(parent)) {
    const owner = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (/^\d+$/.test(owner) && isGone(Number(owner), processes))
      await rm(join(parent, name), { recursive: true, force: true });
  }
  await rm(join(parent, `${hidden}.replaced`), { recursive: true, force: true });
}

async function syncDirectories(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isDirectory()) await syncDirectories(join(dir, entry.name));
  await syncDirectory(dir);
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
