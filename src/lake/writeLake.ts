/**
 * Writes to the lake what is over and not there yet, one exchange date after the other: a date's rows are those of one
 * snapshot, and a file counts when what was read back from it is what the database says of its own rows.
 */
import { join } from "node:path";
import type pg from "pg";
import { hasQuotes, readDatesWithRows, readLateDays, readToday } from "../archive/export/lakeRows.ts";
import { type ArchiveSnapshot, type ColumnDigest, withSnapshot } from "../archive/export/snapshot.ts";
import type { ExportColumn, ExportTable } from "../archive/export/tables.ts";
import { QuotekeeperError } from "../errors.ts";
import { zstandard } from "../export/exportArchive.ts";
import type { Compress } from "../export/parquetFile.ts";
import { writeTable } from "../export/writeTable.ts";
import { addDays, exchangeInstant } from "../market/calendar/dates.ts";
import { writtenOf } from "./dropHot.ts";
import { fileDigests } from "./fileDigests.ts";
import {
  type DayManifest,
  HOT_TABLES,
  type LakeFiles,
  type LakeManifest,
  type LakeTable,
  tableOf,
} from "./lakeFiles.ts";
import {
  DAY_TABLES,
  decimalsOf,
  hasDecimals,
  isSame,
  LAKE_GROUP_ROWS,
  TABLES_WITHOUT_DATES,
  writtenDecimals,
} from "./lakeTables.ts";
import { restoreDay } from "./restoreLake.ts";
import type { OpenLake } from "./whichLake.ts";

/** How far it is. */
type LakeProgress = {
  date: string;
  /** Dates that are done, and how many there are. */
  done: number;
  dates: number;
  table: string;
  rows: number;
};

/** What to write. */
type LakeOptions = {
  pool: pg.Pool;
  /** The last exchange date that is written; null: yesterday. */
  through: string | null;
  /** quotekeeper and its version. */
  program: string;
  signal: AbortSignal;
  onProgress: (progress: LakeProgress) => void;
};

/** What came of it. */
type LakeReport = {
  /** Dates written for the first time, and again because rows came late. */
  written: string[];
  rewritten: string[];
  /** Files that were written, and what is in them. */
  files: number;
  rows: number;
  bytes: number;
  /** Dates of which the archive has fewer quotes than the lake: these files stay as they are. */
  kept: string[];
  /** Dates of which quotes were dropped, and which the lake does not have. They are left alone until it has. */
  missing: string[];
  /** Tables of a date, or of none, that hold a value no file can have: the rest of the date is written. */
  leftOut: { date: string | null; table: string; why: string }[];
  /** The last date that the lake has; null: it has none. */
  through: string | null;
};

/**
 * Writes what is not there. What was cut short before goes on where it was.
 *
 * @throws QuotekeeperError LAKE_INVALID, LAKE_MISSING, LAKE_UNPROVEN, LAKE_WRITE_FAILED, ARCHIVE_EMPTY, USAGE;
 *   the database's errors as they are. What is named in a manifest stays as it is.
 */
export async function writeLake(lake: OpenLake, options: LakeOptions): Promise<LakeReport> {
  return new LakeWriter(options, lake).write();
}

class LakeWriter {
  readonly #options: LakeOptions;
  readonly #files: LakeFiles;
  /** What `lake.json` says. */
  #lake: LakeManifest;
  readonly #report: LakeReport;
  #stage = "";
  #compress: Compress = (bytes) => bytes;
  readonly #dropped: OpenLake["dropped"];
  #late: readonly string[] = [];
  #place = { done: 0, dates: 0 };

  constructor(options: LakeOptions, { files, manifest, dropped, lacking }: OpenLake) {
    this.#options = options;
    this.#files = files;
    this.#lake = manifest;
    this.#dropped = dropped;
    this.#report = {
      ...{ written: [], rewritten: [], kept: [], missing: [...lacking], leftOut: [] },
      ...{ files: 0, rows: 0, bytes: 0, through: null },
    };
  }

  async write(): Promise<LakeReport> {
    const { pool, signal } = this.#options;
    const today = await readToday(pool);
    const through = this.#options.through ?? addDays(today, -1);
    if (through >= today)
      throw new QuotekeeperError(
        "USAGE",
        `--through ${through}: that date is not over in New York, where it is ${today}`,
      );
    this.#stage = await this.#files.stage();
    this.#compress = await zstandard();
    await this.#settleWithoutDates();
    const known = new Map<string, DayManifest>();
    for (const date of await this.#files.dates()) {
      const day = await this.#files.readDay(date);
      if (day) known.set(date, await this.#settled(day));
    }
    const dates = await this.#due(known, through);
    if (dates.length > 0 || this.#lake.tables.length === 0) await this.#writeWithoutDates();
    // A type that has become wider has the days before written again.
    for (let due = dates; due.length > 0; due = this.#mistyped(known)) {
      this.#place.dates += due.length;
      for (const date of due) {
        signal.throwIfAborted();
        const day = await this.#writeDay(date, known.get(date) ?? null);
        if (day) known.set(date, day);
        this.#place.done += 1;
      }
    }
    await this.#files.clearStage();
    return { ...this.#report, through: [...known.keys()].sort().at(-1) ?? null };
  }

  /** A manifest that was cut short says what a file was about to be, and the file says what it is. */
  async #settled(day: DayManifest): Promise<DayManifest> {
    const { replacing } = day;
    if (replacing === null) return day;
    const settled = (await this.#files.is(replacing))
      ? withTable(day, replacing)
      : { ...day, replacing: null };
    await this.#files.writeDay(settled);
    return settled;
  }

  /** Dates to look at, ascending: those that no manifest tells of, and those that have changed since. */
  async #due(known: ReadonlyMap<string, DayManifest>, through: string): Promise<string[]> {
    const { pool } = this.#options;
    const last = [...known.keys()].sort().at(-1) ?? null;
    this.#late = await readLateDays(pool, Array.from(known.values(), writtenOf));
    // One of which only some files are named was cut short.
    const cut = [...known.values()].flatMap(({ date, complete }) => (complete ? [] : [date]));
    const due = [...this.#late, ...cut, ...this.#mistyped(known)].filter((date) => date <= through);
    // Of a date whose quotes are not here nothing is written: its manifest would say that it had none.
    return [...new Set([...due, ...(await readDatesWithRows(pool, last, through))])]
      .filter((date) => !this.#report.missing.includes(date))
      .sort();
  }

  /** Dates of which a file has other decimals than the lake. */
  #mistyped(known: ReadonlyMap<string, DayManifest>): string[] {
    const { decimals } = this.#lake;
    const isOther = (file: LakeTable): boolean => !hasDecimals(file, decimals[file.name] ?? {});
    const { kept, missing, leftOut } = this.#report;
    const stays = new Set([...kept, ...missing, ...leftOut.map(({ date }) => date)]);
    return [...known.values()].flatMap(({ date, tables }) =>
      tables.some(isOther) && !stays.has(date) ? [date] : [],
    );
  }

  async #writeWithoutDates(): Promise<void> {
    const { pool, signal, program } = this.#options;
    const { at, written } = await withSnapshot(pool, signal, async (snapshot) => {
      const written: { from: string; file: LakeTable }[] = [];
      for (const table of TABLES_WITHOUT_DATES) {
        const before = this.#lake.tables.find(({ name }) => name === table.name);
        const one = await this.#written(snapshot, table, { date: null, before });
        if (one) written.push(one);
      }
      return { at: (await snapshot.identity()).at, written };
    });
    const files = written.map(({ file }) => file);
    if (files.length > 0) await this.#keep({ replacing: files });
    for (const { from, file } of written) await this.#files.put(from, file);
    await this.#keep({ program, writtenAt: at, tables: withTables(this.#lake.tables, files), replacing: [] });
  }

  /** As `#settled` does it for a date. */
  async #settleWithoutDates(): Promise<void> {
    const there: LakeTable[] = [];
    for (const file of this.#lake.replacing) if (await this.#files.is(file)) there.push(file);
    if (this.#lake.replacing.length > 0)
      await this.#keep({ tables: withTables(this.#lake.tables, there), replacing: [] });
  }

  async #keep(changed: Partial<LakeManifest>): Promise<void> {
    this.#lake = { ...this.#lake, ...changed };
    await this.#files.write(this.#lake);
  }

  /** @returns null for a date without any row */
  async #writeDay(date: string, known: DayManifest | null): Promise<DayManifest | null> {
    const { pool, signal } = this.#options;
    // Rows of it may have come since they were dropped, and only all of them together are the date.
    const isDropped = known !== null && this.#dropped.has(date);
    if (isDropped && ((await hasQuotes(pool, date)) || this.#mistyped(new Map([[date, known]])).length > 0))
      await restoreDay(pool, { files: this.#files, day: known, changed: this.#late.includes(date) });
    const before = this.#report.files;
    const day = await withSnapshot(pool, signal, (snapshot) => this.#writeDayOf(snapshot, date, known));
    if (day && known === null) this.#report.written.push(date);
    else if (day && this.#report.files > before && !this.#report.written.includes(date))
      this.#report.rewritten.push(date);
    return day;
  }

  async #writeDayOf(
    snapshot: ArchiveSnapshot,
    date: string,
    known: DayManifest | null,
  ): Promise<DayManifest | null> {
    const { at, snapshot: seen } = await snapshot.identity();
    const begins = (of: string): string => exchangeInstant(of, "00:00").toISOString();
    const source = { from: begins(date), to: begins(addDays(date, 1)), snapshot: seen };
    const begun: DayManifest = known ?? {
      ...{ kind: "quotekeeper-lake-day", version: 1, date, program: this.#options.program },
      ...{ writtenAt: at, source, complete: false, tables: [], replacing: null },
    };
    let day: DayManifest | null = known && { ...known, complete: false };
    for (const table of DAY_TABLES) {
      this.#options.signal.throwIfAborted();
      const before = day && tableOf(day, table.name);
      const written = await this.#written(snapshot, table, { date, before });
      if (!written) continue;
      const { from, file } = written;
      const base = day ?? begun;
      if (before) await this.#files.writeDay({ ...base, replacing: file });
      await this.#files.put(from, file);
      day = withTable(base, file);
      await this.#files.writeDay(day);
    }
    // A date of which a table was left out is looked at again by the next run.
    const complete = !this.#report.leftOut.some((left) => left.date === date);
    if (!day && complete) return null;
    day = { ...(day ?? begun), program: this.#options.program, writtenAt: at, source, complete };
    await this.#files.writeDay(day);
    return day;
  }

  /** As `#proven`; null for a table with a value that no file can have as well, which is told. */
  async #written(
    snapshot: ArchiveSnapshot,
    table: ExportTable,
    of: { date: string | null; before: LakeTable | null | undefined },
  ): Promise<{ from: string; file: LakeTable } | null> {
    try {
      return await this.#proven(snapshot, table, of);
    } catch (error) {
      if (!(error instanceof QuotekeeperError) || error.code !== "EXPORT_UNREPRESENTABLE") throw error;
      this.#report.leftOut.push({ date: of.date, table: table.name, why: error.detail });
      return null;
    }
  }

  /**
   * Writes a table's file where it is not as it was, and reads it back.
   *
   * @returns null where there is nothing to write
   */
  async #proven(
    snapshot: ArchiveSnapshot,
    table: ExportTable,
    { date, before }: { date: string | null; before: LakeTable | null | undefined },
  ): Promise<{ from: string; file: LakeTable } | null> {
    const { name } = table;
    const range = { from: date, to: date, symbols: null };
    const all = await snapshot.columns(table);
    const columns = table.partitioned ? all.filter((column) => column.name !== "date") : all;
    const truth = await snapshot.digests(table, columns, range);
    if (date !== null && truth.rows === 0 && !before) return null;
    const types = decimalsOf(name, columns, this.#lake.decimals[name]);
    if (before && isSame(before, truth) && hasDecimals(before, types)) return null;
    if (date !== null && before && truth.rows < before.rows && isHot(name)) {
      if (!this.#dropped.has(date) && !this.#report.kept.includes(date)) this.#report.kept.push(date);
      return null;
    }
    const planned = { table, columns: all, days: [{ date, rows: truth.rows }] };
    const written = await writeTable(planned, {
      ...{ snapshot, range, dir: this.#stage, format: "parquet", raw: false, compress: this.#compress },
      ...{ signal: this.#options.signal, types, groupRows: LAKE_GROUP_ROWS, onWidened: () => undefined },
      onRows: (_, rows) => this.#tell(date, name, rows),
    });
    const [made] = written.files;
    if (!made) throw new Error(`${name} has no file`);
    const from = join(this.#stage, made.path);
    const found = await fileDigests(from, made.rows);
    const file: LakeTable = {
      ...{ name, path: made.path, revision: (before?.revision ?? 0) + 1 },
      ...{ rows: made.rows, bytes: made.bytes, sha256: made.sha256 },
      columns: described(columns, written.columns, truth.columns),
    };
    if (!isSame(file, found))
      throw new QuotekeeperError(
        "LAKE_UNPROVEN",
        `${made.path} does not hold what the archive says of its rows`,
      );
    if (!hasDecimals(file, this.#lake.decimals[name] ?? {}) || this.#lake.decimals[name] === undefined)
      await this.#keep({
        decimals: { ...this.#lake.decimals, [name]: { ...types, ...writtenDecimals(file) } },
      });
    this.#report.files += 1;
    this.#report.rows += made.rows;
    this.#report.bytes += made.bytes;
    return { from, file };
  }

  #tell(date: string | null, table: string, rows: number): void {
    this.#options.onProgress({ date: date ?? "", ...this.#place, table, rows: this.#report.rows + rows });
  }
}

function isHot(table: string): boolean {
  return HOT_TABLES.some((name) => name === table);
}

function described(
  columns: readonly ExportColumn[],
  types: readonly { name: string; type: string; nullable: boolean }[],
  digests: readonly ColumnDigest[],
): LakeTable["columns"] {
  const typeOf = new Map(types.map((one) => [one.name, one]));
  const digestOf = new Map(digests.map((one) => [one.name, one]));
  return columns.map(({ name, nullable }) => ({
    ...{ name, nullable, type: typeOf.get(name)?.type ?? "" },
    ...{ values: digestOf.get(name)?.values ?? 0, sum: digestOf.get(name)?.sum ?? "" },
  }));
}

function withTable(day: DayManifest, file: LakeTable): DayManifest {
  return { ...day, tables: withTables(day.tables, [file]), replacing: null };
}

function withTables(tables: readonly LakeTable[], files: readonly LakeTable[]): LakeTable[] {
  return [...tables.filter(({ name }) => !files.some((file) => file.name === name)), ...files];
}
