/**
 * One statement over the lake and the database as one archive: what it reads is found in its plan, the database's rows of that
 * are put into files of a temporary directory, all of one snapshot, and DuckDB reads them beside the lake's.
 */
import { join } from "node:path";
import type pg from "pg";
import { type ArchiveSnapshot, withSnapshot } from "../../archive/export/snapshot.ts";
import type { ExportColumn } from "../../archive/export/tables.ts";
import {
  DUCK_TABLES,
  type DuckTable,
  newestGone,
  NEWEST_GONE_COLUMNS,
} from "../../archive/export/duckTables.ts";
import * as sql from "../../archive/export/duckViews.ts";
import { type Instant, instantOf } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { zstandard } from "../../export/exportArchive.ts";
import type { Compress } from "../../export/parquetFile.ts";
import type { DecimalType } from "../../export/parquetDecimal.ts";
import { writeTable } from "../../export/writeTable.ts";
import { writtenOf } from "../dropHot.ts";
import {
  type DayManifest,
  HOT_TABLES,
  invalid,
  type LakeFiles,
  type LakeManifest,
  type LakeTable,
  tableOf,
} from "../lakeFiles.ts";
import { decimalsOf, writtenDecimals } from "../lakeTables.ts";
import { type Border, borderOf, type LakeDays } from "./border.ts";
import { type Bounds, boundsOf, type PlanNode } from "./bounds.ts";
import { lackingDates, requireOwn, withoutFiles } from "../whichLake.ts";
import { type Duck, duckError, rowsOf } from "./duckdb.ts";
import { readStatement, withoutEnd } from "./statement.ts";
import type { JsonValue, SqlColumn } from "./values.ts";

/** An answer: its columns, and its rows, some at a time; null: there are no more. */
export type SqlAnswer = { columns: readonly SqlColumn[]; next: () => Promise<JsonValue[][] | null> };

/** What is asked, and of what. */
type SqlOptions = {
  /** What answers; it is closed in the end. */
  duck: Duck;
  /** The archive's database; null: only the lake is asked. */
  pool: pg.Pool | null;
  /** null: there is none. */
  lake: LakeFiles | null;
  /** An empty directory of its own, for rows of the database and what DuckDB has no memory for. */
  dir: string;
  /** What `option_chain_latest` takes for now; null: now. */
  asOf: Instant | null;
  signal: AbortSignal;
  /** Told of the database's rows as they are read. */
  onRows: (table: string, rows: number) => void;
  /** A file that the answer is written to, as Parquet; null: it is given. */
  parquet: string | null;
};

/**
 * Asks a statement. It is read and planned in a database that may touch no file at all, and answered in another one, which
 * may touch the files that the plan needs.
 *
 * @param take is given the answer, of which nothing is read before it is asked for; where it goes to a file, the number of rows
 * @throws QuotekeeperError DUCKDB_MISSING, SQL_WRONG, SQL_REFUSED, SQL_FAILED, LAKE_INVALID, LAKE_MISSING,
 *   EXPORT_UNREPRESENTABLE; the database's errors as they are
 */
export async function askSql<T>(
  text: string,
  options: SqlOptions,
  take: (answer: SqlAnswer) => Promise<T>,
): Promise<T> {
  const { duck, dir, asOf, signal, parquet } = options;
  const end = (): void => void duck.close();
  signal.addEventListener("abort", end);
  const tables = [...sql.DUCK_SETUP, ...DUCK_TABLES.map(sql.emptyTable)];
  const views = sql.publicViews(asOf);
  try {
    signal.throwIfAborted();
    await openLocked(duck, [...tables, ...views], dir);
    const { select, explain } = await readStatement(duck, text);
    const bounds = await boundsOfStatement(duck, select);
    const asked =
      parquet === null ? `${explain} ${select}` : sql.copyToParquet(await withoutEnd(duck, select), parquet);
    await duck.open(join(dir, "spilled"));
    await duck.run(tables.join(";\n")).catch(asDefect);
    const files = await fill(duck, bounds, options);
    await duck.run(views.join(";\n")).catch(asDefect);
    signal.throwIfAborted();
    await duck.run(sql.locked([...files, ...(parquet === null ? [] : [parquet])]).join(";\n"));
    return await take({ columns: await duck.begin(asked), next: () => duck.next() });
  } catch (error) {
    throw duckError(error);
  } finally {
    signal.removeEventListener("abort", end);
    await duck.close();
  }
}

/** Statements of our own are never wrong for what somebody asks. */
function asDefect(error: unknown): never {
  if (error instanceof QuotekeeperError) throw error;
  throw new Error(`DuckDB refuses a statement of quotekeeper's own: ${(error as Error).message}`, {
    cause: error,
  });
}

/** A database of empty tables whose plans say what a statement reads, and which touches nothing else. */
async function openLocked(duck: Duck, setup: readonly string[], dir: string): Promise<void> {
  await duck.open(join(dir, "spilled"));
  await duck.run(setup.join(";\n")).catch(asDefect);
  const optimizers = await rowsOf(duck, sql.PLAIN_PLANS);
  await duck.run([sql.withoutOptimizers(String(optimizers[0]?.[0])), ...sql.locked([])].join(";\n"));
}

async function boundsOfStatement(duck: Duck, select: string): Promise<Map<string, Bounds>> {
  const rows = await rowsOf(duck, sql.planOf(select));
  const plan = JSON.parse(String(rows[0]?.[1])) as PlanNode[];
  return boundsOf(plan, (name) => {
    const day = DUCK_TABLES.find((table) => table.name === name)?.rows.day;
    return day?.kind === "time" ? day.column : null;
  });
}

/** Puts the rows there that the statement reads. @returns the files that they are in */
async function fill(duck: Duck, bounds: ReadonlyMap<string, Bounds>, options: SqlOptions): Promise<string[]> {
  if (bounds.size === 0) return [];
  const { pool, signal, lake } = options;
  const filler = new Filler(duck, bounds, options);
  // The database is looked at first: what it has dropped since then is in the manifests that are read after that.
  if (pool) await withSnapshot(pool, signal, (snapshot) => filler.fill(snapshot));
  else if (lake) await filler.fill(null);
  return filler.files;
}

const NO_BOUNDS: Bounds = {
  ...{ dates: { from: null, to: null }, times: { from: null, to: null }, instruments: null, symbols: null },
};

/** Rows of the database in a file, and the types of its decimals. */
type HotFile = { path: string; columns: readonly { name: string; type: string }[] };

class Filler {
  readonly #duck: Duck;
  readonly #bounds: ReadonlyMap<string, Bounds>;
  readonly #options: SqlOptions;
  readonly files: string[] = [];
  #lake: LakeManifest | null = null;
  #days: LakeDays = { days: [], late: new Set(), gone: new Set() };
  /** Dates of which quotes were dropped, and which the lake does not have. */
  #lacking: readonly string[] = [];
  #compress: Compress = (bytes) => bytes;
  #written = 0;

  constructor(duck: Duck, bounds: ReadonlyMap<string, Bounds>, options: SqlOptions) {
    this.#duck = duck;
    this.#bounds = bounds;
    this.#options = options;
  }

  /** @param snapshot null: of the lake alone */
  async fill(snapshot: ArchiveSnapshot | null): Promise<void> {
    this.#compress = await zstandard(1);
    await this.#readLake(snapshot);
    const needed = DUCK_TABLES.filter(({ name }) => this.#bounds.has(name));
    const latest = needed.find(({ name }) => name === "latest_quotes");
    const also = latest ? ["instruments", "sources", ...(snapshot ? [] : ["bars_1d"])] : [];
    for (const table of DUCK_TABLES) {
      if (table === latest) continue;
      // What is made for `latest_quotes` may not be bounded by what is asked of the table itself.
      const bounds = also.includes(table.name) ? NO_BOUNDS : this.#bounds.get(table.name);
      if (bounds) await this.#fillTable(table, bounds, snapshot);
    }
    if (latest) await this.#fillLatest(latest, snapshot);
  }

  async #readLake(snapshot: ArchiveSnapshot | null): Promise<void> {
    const { lake } = this.#options;
    const known = snapshot && (await snapshot.lake.known());
    if (!lake) {
      if (known) this.#lacking = await lackingDates(null, known.dropped, null);
      return;
    }
    this.#lake = await lake.read();
    if (!known && !this.#lake) throw invalid(`${lake.dir} holds no lake`);
    const days: DayManifest[] = [];
    for (const date of await lake.dates()) {
      const day = await lake.readDay(date);
      if (day) days.push(day);
    }
    if (!snapshot || !known) {
      this.#days = { ...this.#days, days: days.map((day) => ({ ...day, complete: true })) };
      return;
    }
    requireOwn(lake.dir, this.#lake, known);
    this.#lacking = await lackingDates(lake, known.dropped, new Map(days.map((day) => [day.date, day])));
    const late = new Set(await snapshot.lake.lateDays(days.map(writtenOf)));
    const gone = new Set(known.dropped.keys());
    for (const day of days)
      if ((late.has(day.date) || !day.complete) && (await this.#hasLost(day, snapshot))) gone.add(day.date);
    this.#days = { days, late, gone };
  }

  /** @throws QuotekeeperError LAKE_MISSING when quotes are asked for that neither the database nor the lake has */
  #requireFiles(isAsked: (date: string) => boolean): void {
    const lacking = this.#lacking.filter(isAsked);
    if (lacking.length > 0) throw withoutFiles(this.#options.lake?.dir ?? null, lacking);
  }

  /** Whether the database has fewer quotes of a date than its files. */
  async #hasLost(day: DayManifest, snapshot: ArchiveSnapshot): Promise<boolean> {
    if (!HOT_TABLES.some((name) => this.#bounds.has(name))) return false;
    for (const name of HOT_TABLES) {
      const rows = DUCK_TABLES.find((table) => table.name === name)?.rows;
      const file = tableOf(day, name);
      if (!rows || !file) continue;
      const [found] = await snapshot.days(rows, { from: day.date, to: day.date, symbols: null });
      if ((found?.rows ?? 0) < file.rows) return true;
    }
    return false;
  }

  async #fillTable(table: DuckTable, bounds: Bounds, snapshot: ArchiveSnapshot | null): Promise<void> {
    const { from, to } = bounds.dates;
    if (HOT_TABLES.some((name) => name === table.name))
      this.#requireFiles((date) => (from === null || date >= from) && (to === null || date <= to));
    const border = this.#borderOf(table, bounds, snapshot);
    const columns = snapshot ? await hotColumns(snapshot, table) : [];
    const hot: HotFile[] = [];
    if (snapshot)
      for (const dates of border.hot)
        hot.push(...(await this.#write(snapshot, { table, columns, bounds: { ...bounds, dates } })));
    const rows: sql.Rows = {
      decimals: decimals([...border.lake, ...border.both], hot),
      lake: await this.#groups(border.lake),
      both: await this.#groups(border.both),
      hot: hot.map(({ path }) => path),
    };
    await this.#run(sql.filledTable(table, rows));
  }

  #borderOf({ name, isDated }: DuckTable, bounds: Bounds, snapshot: ArchiveSnapshot | null): Border {
    if (isDated) return borderOf(name, this.#days, bounds);
    const lake = snapshot ? [] : (this.#lake?.tables ?? []).filter((file) => file.name === name);
    return { lake, both: [], hot: [bounds.dates] };
  }

  /** Newest quotes: the database's, and of files those that it has no more. */
  async #fillLatest(table: DuckTable, snapshot: ArchiveSnapshot | null): Promise<void> {
    const bounds = this.#bounds.get(table.name) ?? NO_BOUNDS;
    const columns = snapshot ? await hotColumns(snapshot, table) : [];
    const hot = snapshot ? await this.#write(snapshot, { table, columns, bounds }) : [];
    const [gone] = snapshot
      ? await this.#write(snapshot, {
          table: { ...table, name: "newest_gone", rows: newestGone(await snapshot.lake.isOnCitus()) },
          columns: NEWEST_GONE_COLUMNS,
          bounds,
        })
      : [];
    const newest = gone ? sql.newestOf(gone.path) : snapshot ? null : sql.NEWEST_OF_LAKE;
    const dates = newest === null ? [] : await this.#datesOf(newest);
    this.#requireFiles((date) => dates.includes(date));
    const days = this.#days.days.filter(({ date }) => dates.includes(date));
    const [quotes, extended] = HOT_TABLES.map((name) => days.flatMap((day) => tableOf(day, name) ?? []));
    const cold =
      newest === null || !quotes || quotes.length === 0
        ? null
        : sql.coldLatest({
            newest,
            quotes: await this.#paths(quotes),
            extended: await this.#paths(extended ?? []),
          });
    const rows: sql.Rows = {
      decimals: decimals([...(quotes ?? []), ...(extended ?? [])], hot),
      ...{ lake: [], both: [], hot: hot.map(({ path }) => path) },
    };
    await this.#run(sql.latestTable(table, rows, cold));
  }

  async #datesOf(newest: string): Promise<string[]> {
    const rows = await rowsOf(this.#duck, sql.datesOfNewest(newest));
    return rows.map(([date]) => String(date));
  }

  /** The database's rows within bounds as a file; none where there are no rows. */
  async #write(
    snapshot: ArchiveSnapshot,
    { table, columns, bounds }: { table: DuckTable; columns: readonly ExportColumn[]; bounds: Bounds },
  ): Promise<HotFile[]> {
    const { dir, signal, onRows } = this.#options;
    const { dates, times, instruments, symbols } = bounds;
    if (dates.from !== null && dates.to !== null && dates.from > dates.to) return [];
    const range = {
      ...{ from: dates.from, to: dates.to, instruments },
      // Other tables than these would be narrowed to the symbols of options as well.
      symbols: table.rows.symbol === "symbol" ? symbols : null,
      ...(times.from === null && times.to === null ? {} : { within: instants(times) }),
    };
    const into = join(dir, String((this.#written += 1)));
    const { files, columns: types } = await writeTable(
      { table: table.rows, columns, days: [{ date: null, rows: null }] },
      {
        ...{ snapshot, range, dir: into, format: "parquet", raw: false, compress: this.#compress, signal },
        types: decimalsOf(table.name, columns, this.#lake?.decimals[table.name]),
        onWidened: () => undefined,
        onRows: (_, count) => onRows(table.name, count),
      },
    );
    return files.flatMap((file) => {
      if (file.rows === 0) return [];
      const path = join(into, file.path);
      this.files.push(path);
      return [{ path, columns: types }];
    });
  }

  /** @throws QuotekeeperError LAKE_INVALID when one is no file of the lake: DuckDB would wait for a pipe, and follow a link */
  async #paths(files: readonly LakeTable[]): Promise<string[]> {
    const lake = this.#options.lake as LakeFiles;
    const paths: string[] = [];
    for (const file of files) paths.push(await lake.checkedPathOf(file));
    this.files.push(...paths);
    return paths;
  }

  /** By what columns they have, and of which types: DuckDB takes the first file's for all that it reads together. */
  async #groups(files: readonly LakeTable[]): Promise<sql.FileGroup[]> {
    const groups = new Map<string, LakeTable[]>();
    for (const file of files) {
      const key = JSON.stringify(file.columns.map(({ name, type }) => [name, type]));
      groups.set(key, [...(groups.get(key) ?? []), file]);
    }
    const all: sql.FileGroup[] = [];
    for (const group of groups.values())
      all.push({
        paths: await this.#paths(group),
        columns: group[0]?.columns.map(({ name }) => name) ?? [],
      });
    return all;
  }

  async #run(statements: readonly string[]): Promise<void> {
    if (statements.length > 0) await this.#duck.run(statements.join(";\n"));
  }
}

/** A table's own columns, without the words that an export adds to its numbers. */
async function hotColumns(snapshot: ArchiveSnapshot, { columns, rows }: DuckTable): Promise<ExportColumn[]> {
  const own = new Set(columns.map(({ name }) => name));
  return (await snapshot.columns(rows)).filter(({ name }) => own.has(name));
}

/** The bounds are in whole ms, and the rows are not. */
function instants({ from, to }: Bounds["times"]): { from: Instant; to: Instant } {
  const micros = (ms: number): Instant => instantOf(BigInt(ms) * 1_000n);
  return { from: from === null ? "-infinity" : micros(from), to: to === null ? "infinity" : micros(to + 1) };
}

/** Types that hold the decimals of all files. */
function decimals(files: readonly LakeTable[], hot: readonly HotFile[]): sql.Decimals {
  const all = new Map<string, DecimalType>();
  const written = new Set<string>();
  const add = (columns: LakeTable["columns"]): void => {
    const key = columns.map(({ type }) => type).join();
    if (written.has(key)) return;
    written.add(key);
    for (const [name, type] of Object.entries(writtenDecimals({ columns }))) {
      const before = all.get(name) ?? type;
      const scale = Math.max(before.scale, type.scale);
      const whole = Math.max(before.precision - before.scale, type.precision - type.scale);
      all.set(name, { precision: Math.min(38, whole + scale), scale });
    }
  };
  for (const { columns } of files) add(columns);
  for (const { columns } of hot) add(columns as LakeTable["columns"]);
  return Object.fromEntries(all);
}
