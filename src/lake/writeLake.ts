/**
 * Writes to the lake what is over and not there yet, one exchange date after the other: a date's rows are those of one
 * snapshot, and a file counts when what was read back from it is what the database says of its own rows.
 */
import { join } from "node:path";
import type pg from "pg";
import {
  hasQuotes,
  readArchiveIdentity,
  readDatesWithRows,
  readDroppedDays,
  readLateDays,
  readToday,
} from "../archive/lake/lakeRows.ts";
import { type ArchiveSnapshot, type ColumnDigest, withSnapshot } from "../archive/export/snapshot.ts";
import type { ExportColumn, ExportTable } from "../archive/export/tables.ts";
import { isRetryable } from "../archive/databaseError.ts";
import { withLakeLock } from "../archive/refill/runs.ts";
import { QuotekeeperError } from "../errors.ts";
import { zstandard } from "../export/exportArchive.ts";
import type { Compress } from "../export/parquetColumn.ts";
import { writeTable } from "../export/writeTable.ts";
import { addDays, exchangeInstant } from "../market/calendar/dates.ts";
import { fileDigests } from "./fileDigests.ts";
import {
  type DayManifest,
  invalid,
  LakeFiles,
  type LakeManifest,
  type LakeTable,
  tableOf,
} from "./lakeFiles.ts";
import {
  DAY_TABLES,
  decimalsOf,
  hasDecimals,
  HOT_TABLES,
  isSame,
  LAKE_GROUP_ROWS,
  TABLES_WITHOUT_DATES,
  writtenDecimals,
} from "./lakeTables.ts";
import { restoreDay } from "./restoreLake.ts";

/** How far it is. */
type LakeProgress = {
  date: string;
  /** Dates that are done, and how many there are. */
  done: number;
  dates: number;
  table: string;
  rows: number;
};

/** What to write, and where to. */
type LakeOptions = {
  pool: pg.Pool;
  /** The lake's directory, absolute. */
  out: string;
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
  /** The last date that the lake has; null: it has none. */
  through: string | null;
};

/**
 * Writes what is not there. What was cut short before goes on where it was.
 *
 * @throws QuotekeeperError LAKE_INVALID, LAKE_UNPROVEN, LAKE_WRITE_FAILED, EXPORT_UNREPRESENTABLE, ARCHIVE_EMPTY, USAGE;
 *   the database's errors as they are. What is named in a manifest stays as it is.
 */
export async function writeLake(options: LakeOptions): Promise<LakeReport> {
  return withLake(options, (lake) => new LakeWriter(options, lake).write());
}

/**
 * Opens the lake of an archive, one program at a time.
 *
 * @throws QuotekeeperError LAKE_INVALID when the directory is another archive's lake, or none; LAKE_BUSY
 */
export async function withLake<T>(
  { pool, out }: Pick<LakeOptions, "pool" | "out">,
  work: (lake: { files: LakeFiles; archive: string; known: LakeManifest | null }) => Promise<T>,
): Promise<T> {
  return withLakeLock(pool, async () => {
    const files = new LakeFiles(out);
    const archive = await readArchiveIdentity(pool);
    const known = await files.read().catch(namingWrites(out));
    if (known !== null && known.archive !== archive)
      throw invalid(`${out} is the lake of another archive (${known.archive}; this one is ${archive})`);
    return work({ files, archive, known }).catch(namingWrites(out));
  });
}

class LakeWriter {
  readonly #options: LakeOptions;
  readonly #files: LakeFiles;
  /** What `lake.json` says, or will. */
  #lake: LakeManifest;
  readonly #report: LakeReport = {
    ...{ written: [], rewritten: [], kept: [], files: 0, rows: 0, bytes: 0, through: null },
  };
  #stage = "";
  #compress: Compress = (bytes) => bytes;
  #dropped: ReadonlySet<string> = new Set();
  #place = { done: 0, dates: 0 };

  constructor(
    options: LakeOptions,
    { files, archive, known }: { files: LakeFiles; archive: string; known: LakeManifest | null },
  ) {
    this.#options = options;
    this.#files = files;
    this.#lake = known ?? {
      ...{
        kind: "quotekeeper-lake",
        version: 1,
        archive,
        program: options.program,
        writtenAt: "",
        tables: [],
        decimals: {},
      },
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
    const known = new Map<string, DayManifest>();
    for (const date of await this.#files.dates()) {
      const day = await this.#files.readDay(date);
      if (day) known.set(date, await this.#settled(day));
    }
    const dates = await this.#due(known, through);
    if (dates.length > 0 || this.#lake.tables.length === 0) await this.#writeWithoutDates();
    this.#dropped = await readDroppedDays(pool);
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
    const written = Array.from(known.values(), ({ date, source: { snapshot }, writtenAt }) => ({
      ...{ date, snapshot, writtenAt },
    }));
    const late = await readLateDays(pool, written);
    // One of which only some files are named was cut short.
    const cut = [...known.values()].flatMap(({ date, complete }) => (complete ? [] : [date]));
    const due = [...late, ...cut, ...this.#mistyped(known)].filter((date) => date <= through);
    return [...new Set([...due, ...(await readDatesWithRows(pool, last, through))])].sort();
  }

  /** Dates of which a file has other decimals than the lake. */
  #mistyped(known: ReadonlyMap<string, DayManifest>): string[] {
    const { decimals } = this.#lake;
    const isOther = (file: LakeTable): boolean => !hasDecimals(file, decimals[file.name] ?? {});
    return [...known.values()].flatMap(({ date, tables }) =>
      tables.some(isOther) && !this.#report.kept.includes(date) ? [date] : [],
    );
  }

  async #writeWithoutDates(): Promise<void> {
    const { pool, signal, program } = this.#options;
    const tables: LakeTable[] = [];
    const at = await withSnapshot(pool, signal, async (snapshot) => {
      for (const table of TABLES_WITHOUT_DATES) {
        const before = this.#lake.tables.find(({ name }) => name === table.name);
        const written = await this.#proven(snapshot, table, { date: null, before });
        if (written) await this.#files.put(written.from, written.file);
        tables.push(...(written ? [written.file] : before ? [before] : []));
      }
      return (await snapshot.identity()).at;
    });
    await this.#keep({ program, writtenAt: at, tables });
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
      await restoreDay(pool, { files: this.#files, day: known });
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
    let day: DayManifest | null = known && { ...known, complete: false };
    for (const table of DAY_TABLES) {
      this.#options.signal.throwIfAborted();
      const before = day && tableOf(day, table.name);
      const written = await this.#proven(snapshot, table, { date, before });
      if (!written) continue;
      const { from, file } = written;
      const base = day ?? {
        ...{
          kind: "quotekeeper-lake-day" as const,
          version: 1 as const,
          date,
          program: this.#options.program,
        },
        ...{ writtenAt: at, source, complete: false, tables: [], replacing: null },
      };
      if (before) await this.#files.writeDay({ ...base, replacing: file });
      await this.#files.put(from, file);
      day = withTable(base, file);
      await this.#files.writeDay(day);
    }
    if (!day) return null;
    day = { ...day, program: this.#options.program, writtenAt: at, source, complete: true };
    await this.#files.writeDay(day);
    return day;
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
    const found = await fileDigests(from);
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
  return { ...day, tables: [...day.tables.filter(({ name }) => name !== file.name), file], replacing: null };
}

/** Errors of the file system carry the operation that failed, as a broken connection's do; the database's do not. */
function namingWrites(out: string): (error: unknown) => never {
  return (error) => {
    const { syscall, code, message } = error as NodeJS.ErrnoException;
    if (error instanceof QuotekeeperError || syscall === undefined || isRetryable(error)) throw error;
    throw new QuotekeeperError("LAKE_WRITE_FAILED", `${out}: ${code ?? message}`, { cause: error });
  };
}
