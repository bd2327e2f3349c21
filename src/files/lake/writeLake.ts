/**
 * Writes to the lake what is over and not there yet, one exchange date after the other: a date's rows are those of one
 * snapshot, and a file counts when what was read back from it is what the database says of its own rows.
 */
import type pg from "pg";
import {
  hasQuotes,
  readDatesWithRows,
  readDueDates,
  readLateDays,
  readToday,
} from "../../archive/export/lakeRows.ts";
import { type ArchiveSnapshot, readIdentity, withSnapshot } from "../../archive/export/snapshot.ts";
import type { ExportTable } from "../../archive/export/tables.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Compress, zstandard } from "../tables/parquetFile.ts";
import { addDays, exchangeInstant } from "../../market/calendar/dates.ts";
import { writtenOf } from "./dropHot.ts";
import { type DayManifest, type LakeFiles, type LakeManifest, type LakeTable, tableOf } from "./lakeFiles.ts";
import type { LakeReport } from "./lakeReports.ts";
import { DAY_TABLES, hasDecimals, TABLES_WITHOUT_DATES } from "./lakeTables.ts";
import { type ProvenFile, writeProven } from "./dayFile.ts";
import { restoreDay } from "./restoreLake.ts";
import type { OpenLake } from "./whichLake.ts";

type LakeProgress = {
  date: string;
  done: number;
  dates: number;
  table: string;
  rows: number;
};

type LakeOptions = {
  pool: pg.Pool;
  /** The last exchange date that is written; null: yesterday. */
  through: string | null;
  program: string;
  signal: AbortSignal;
  onProgress: (progress: LakeProgress) => void;
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
      written: [],
      rewritten: [],
      files: 0,
      rows: 0,
      bytes: 0,
      kept: [],
      waiting: [],
      missing: [...lacking],
      leftOut: [],
      through: null,
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
    for (const [date, day] of await this.#files.days()) known.set(date, await this.#settled(day));
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
    const { kept, missing, waiting, leftOut } = this.#report;
    const stays = new Set([...kept, ...missing, ...waiting, ...leftOut.map(({ date }) => date)]);
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
      return { at: (await readIdentity(snapshot)).at, written };
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
    const day = await withSnapshot(pool, signal, async (snapshot) => {
      if (!(await readDueDates(snapshot)).includes(date)) return this.#writeDayOf(snapshot, date, known);
      this.#report.waiting.push(date);
      return known;
    });
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
    const { at, snapshot: seen } = await readIdentity(snapshot);
    const begins = (of: string): string => exchangeInstant(of, "00:00").toISOString();
    const source = { from: begins(date), to: begins(addDays(date, 1)), snapshot: seen };
    const begun: DayManifest = known ?? {
      kind: "quotekeeper-lake-day",
      version: 1,
      date,
      program: this.#options.program,
      writtenAt: at,
      source,
      complete: false,
      tables: [],
      replacing: null,
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

  /** A file that is not as it was; null: there is nothing to write, or the report says why. */
  async #written(
    snapshot: ArchiveSnapshot,
    table: ExportTable,
    { date, before }: { date: string | null; before: LakeTable | null | undefined },
  ): Promise<ProvenFile | null> {
    const { name } = table;
    const known = this.#lake.decimals[name];
    const made = await writeProven(
      snapshot,
      { table, date, before },
      {
        known,
        dir: this.#stage,
        compress: this.#compress,
        signal: this.#options.signal,
        onRows: (rows) => this.#tell(date, name, rows),
      },
    );
    if (made === "same") return null;
    if (made === "fewer") {
      if (date !== null && !this.#dropped.has(date) && !this.#report.kept.includes(date))
        this.#report.kept.push(date);
      return null;
    }
    if ("unrepresentable" in made) {
      this.#report.leftOut.push({ date, table: name, why: made.unrepresentable });
      return null;
    }
    const { file, decimals } = made;
    if (known === undefined || !hasDecimals(file, known))
      await this.#keep({ decimals: { ...this.#lake.decimals, [name]: decimals } });
    this.#report.files += 1;
    this.#report.rows += file.rows;
    this.#report.bytes += file.bytes;
    return made;
  }

  #tell(date: string | null, table: string, rows: number): void {
    this.#options.onProgress({ date: date ?? "", ...this.#place, table, rows: this.#report.rows + rows });
  }
}

function withTable(day: DayManifest, file: LakeTable): DayManifest {
  return { ...day, tables: withTables(day.tables, [file]), replacing: null };
}

function withTables(tables: readonly LakeTable[], files: readonly LakeTable[]): LakeTable[] {
  return [...tables.filter(({ name }) => !files.some((file) => file.name === name)), ...files];
}
