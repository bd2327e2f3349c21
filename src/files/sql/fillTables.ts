/**
 * Fills the tables that a statement reads. A date that is in the lake, and has not changed since, is read from the lake; all other
 * dates are the database's. A date whose quotes were dropped is the lake's: rows that came since are there after its next run. So all
 * tables of a date are of one instant.
 */
import * as sql from "../../archive/export/duckFiles.ts";
import {
  DUCK_TABLES,
  type DuckTable,
  duckTable,
  newestGone,
  NEWEST_GONE_COLUMNS,
} from "../../archive/export/duckTables.ts";
import { readKnownLake, readLateDays } from "../../archive/export/lakeRows.ts";
import { type ArchiveSnapshot, readDays, readIdentity } from "../../archive/export/snapshot.ts";
import { engineOf } from "../../archive/tiers/citus/door.ts";
import type { Instant } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { addDays } from "../../market/calendar/dates.ts";
import { writtenOf } from "../lake/dropHot.ts";
import {
  type DayManifest,
  invalid,
  isHot,
  type LakeFiles,
  type LakeManifest,
  type LakeTable,
  tableOf,
} from "../lake/lakeFiles.ts";
import { lackingDates, requireOwn, withoutFiles } from "../lake/whichLake.ts";
import { type Duck, rowsOf } from "./duckdb.ts";
import { HotFiles, type HotFilesOptions } from "./hotFiles.ts";
import type { DateRange } from "./planDates.ts";

export type FillOptions = Pick<HotFilesOptions, "places" | "signal" | "onRows"> & {
  /** What answers; it is closed in the end. */
  duck: Duck;
  /** The dates that the statement needs of each table that it reads. */
  ranges: ReadonlyMap<string, DateRange>;
  /** The lake; null: there is none. */
  lake: LakeFiles | null;
};

export type FilledTables = {
  paths: string[];
  /** When the database's rows were as they are read; null: none are read. */
  asOf: Instant | null;
  /** Dates that are read as the lake has them, though rows of them came since. */
  behind: string[];
  /** @throws QuotekeeperError SQL_FAILED where the lake has written a date again whose files are read */
  requireUnchanged: () => Promise<void>;
};

const ALL_DATES: DateRange = { from: null, to: null };

/**
 * @param snapshot null: the lake alone is read
 * @throws QuotekeeperError LAKE_INVALID, LAKE_MISSING, EXPORT_UNREPRESENTABLE; the database's errors
 */
export async function fillTables(
  snapshot: ArchiveSnapshot | null,
  options: FillOptions,
): Promise<FilledTables> {
  const lake = await readLake(snapshot, options.lake);
  const decimals = lake.manifest?.decimals ?? {};
  const hot = snapshot && { snapshot, files: await HotFiles.open({ ...options, snapshot, decimals }) };
  const filler = new Filler(options.duck, lake, hot);
  const { ranges } = options;
  const also = ranges.has("latest_quotes")
    ? ["instruments", "sources", ...(snapshot ? [] : ["bars_1d"])]
    : [];
  if ([...ranges.keys()].some(sql.leavesOut)) also.push("instruments", "sources", "sessions");
  for (const table of DUCK_TABLES) {
    // What `latest_quotes` is made of may not be bounded by what is asked of that table itself.
    const range = also.includes(table.name) ? ALL_DATES : ranges.get(table.name);
    if (range === undefined) continue;
    if (table.isDated) await filler.fillDated(table, range);
    else await (table.name === "latest_quotes" ? filler.fillLatest(table) : filler.fillWhole(table));
  }
  return {
    paths: filler.paths,
    asOf: snapshot && (await readIdentity(snapshot)).at,
    behind: [...filler.read.keys()].filter((date) => lake.settled.has(date) && lake.late.has(date)).sort(),
    requireUnchanged: () => filler.requireUnchanged(),
  };
}

/** The lake as the database's one instant sees it. */
type LakeAt = {
  files: LakeFiles | null;
  manifest: LakeManifest | null;
  /** By date, ascending. */
  days: ReadonlyMap<string, DayManifest>;
  /** Dates whose files are true. Of the others rows came, or were changed, since they were written, or they are not whole. */
  settled: ReadonlySet<string>;
  /** Dates of which rows came since they were written, and dates that came late and are not written. */
  late: ReadonlySet<string>;
  /** Dates whose quotes were dropped from the database, and which the lake does not have. */
  lacking: readonly string[];
  /** Dates whose quotes were dropped, and which a run of the lake is writing. */
  cut: readonly string[];
};

function writtenMeanwhile(date: string): QuotekeeperError {
  const detail = `a run of \`quotekeeper lake\` wrote ${date} while the statement read it: ask again`;
  return new QuotekeeperError("SQL_FAILED", detail);
}

async function readLake(snapshot: ArchiveSnapshot | null, files: LakeFiles | null): Promise<LakeAt> {
  const known = snapshot && (await readKnownLake(snapshot));
  const manifest = files && (await files.read());
  if (files && !known && !manifest) throw invalid(`${files.dir} holds no lake`);
  const days = (await files?.days()) ?? new Map<string, DayManifest>();
  if (files && known) requireOwn(files.dir, manifest, known);
  const late = new Set(snapshot ? await readLateDays(snapshot, Array.from(days.values(), writtenOf)) : []);
  const at = snapshot && (await readIdentity(snapshot)).at;
  const isDropped = (date: string): boolean => known?.dropped.has(date) ?? false;
  const isSettled = ({ date, complete, writtenAt }: DayManifest): boolean =>
    at === null || (complete && (isDropped(date) || (!late.has(date) && writtenAt <= at)));
  const settled = new Set([...days.values()].filter(isSettled).map(({ date }) => date));
  return {
    files,
    manifest,
    days,
    settled,
    late,
    lacking: known ? await lackingDates(files, known.dropped, files && days) : [],
    cut: [...days.keys()].filter((date) => isDropped(date) && !settled.has(date)),
  };
}

class Filler {
  readonly #duck: Duck;
  readonly #lake: LakeAt;
  readonly #hot: { snapshot: ArchiveSnapshot; files: HotFiles } | null;
  readonly paths: string[] = [];
  /** The lake's files that are read, by date. */
  readonly read = new Map<string, LakeTable[]>();

  constructor(duck: Duck, lake: LakeAt, hot: { snapshot: ArchiveSnapshot; files: HotFiles } | null) {
    this.#duck = duck;
    this.#lake = lake;
    this.#hot = hot;
  }

  async fillWhole(table: DuckTable): Promise<void> {
    const of = this.#lake.manifest?.tables.filter(({ name }) => name === table.name) ?? [];
    await this.#fill(table, this.#hot ? [await this.#hot.files.whole(table)] : await this.#pathsOf(of));
  }

  async fillDated(table: DuckTable, range: DateRange): Promise<void> {
    const { name } = table;
    const isWithin = (date: string): boolean =>
      (range.from === null || date >= range.from) && (range.to === null || date <= range.to);
    if (isHot(name)) this.#requireFiles(isWithin);
    const dates = [...this.#lake.settled].filter(isWithin);
    const cold = await this.#ofDates(dates, name);
    const hot = await this.#hotOf(table, range, isWithin);
    const more =
      sql.leavesOut(name) && dates.length > 0
        ? [sql.barsLeftOut(name, await this.#views(dates, name, ["quotes", "extended_quotes", name]))]
        : [];
    await this.#fill(table, [...cold, ...hot], more);
  }

  /** Newest quotes: the database's, and of files those that the database has no more. */
  async fillLatest(table: DuckTable): Promise<void> {
    const files = this.#hot ? [await this.#hot.files.whole(table)] : [];
    await this.#duck.run(sql.newestView("newest", await this.#newestGone()));
    const gone = (await rowsOf(this.#duck, sql.datesOfNewest("newest"))).map(String);
    this.#requireFiles((date) => gone.includes(date));
    const dates = [...this.#lake.days.keys()].filter((date) => gone.includes(date));
    const views = await this.#views(dates, table.name, ["quotes", "extended_quotes"]);
    await this.#fill(table, files, gone.length > 0 ? [sql.coldLatest("newest", views)] : []);
  }

  /** A file of when series were quoted last that the database has no quote of then; null: there is no database. */
  async #newestGone(): Promise<string | null> {
    if (!this.#hot) return null;
    const { files, snapshot } = this.#hot;
    const rows = newestGone(await engineOf(snapshot));
    const path = await files.whole({ columns: [], rows }, NEWEST_GONE_COLUMNS);
    this.paths.push(path);
    return path;
  }

  /** The database's files of dates that the lake does not have as they are. */
  async #hotOf(table: DuckTable, range: DateRange, isWithin: (date: string) => boolean): Promise<string[]> {
    if (!this.#hot) return [];
    const { settled, late, days } = this.#lake;
    const last = [...days.keys()].at(-1);
    const next = last === undefined ? null : addDays(last, 1);
    const from = range.from === null || (next !== null && next > range.from) ? next : range.from;
    const changed = new Set([...late, ...days.keys()]);
    const ranges = [...changed]
      .filter((date) => last !== undefined && date <= last && isWithin(date) && !settled.has(date))
      .map((date): DateRange => ({ from: date, to: date }));
    if (from === null || range.to === null || from <= range.to) ranges.push({ from, to: range.to });
    const dates: { date: string; rows: number | null }[] = [];
    for (const one of ranges)
      for (const { date, rows } of await readDays(this.#hot.snapshot, table.rows, { ...one, symbols: null }))
        if (date !== null) dates.push({ date, rows });
    return this.#hot.files.ofDates(table, dates, (date) => settled.has(date) || isWithin(date));
  }

  /** Views of the lake's files of dates, one for each table. @param of whom they serve @returns their names */
  async #views(dates: readonly string[], of: string, tables: readonly string[]): Promise<string[]> {
    const views: string[] = [];
    for (const name of tables) {
      const table = duckTable(name);
      const rows = await this.#rowsOf(table, await this.#ofDates(dates, name));
      await this.#duck.run(sql.viewOf(`${name}_of_${of}`, table, rows));
      views.push(`${name}_of_${of}`);
    }
    return views;
  }

  /** The lake's files of a table, which have to be the same at the end. */
  async #ofDates(dates: readonly string[], name: string): Promise<string[]> {
    const files = dates.flatMap((date) => {
      const day = this.#lake.days.get(date);
      const file = day && tableOf(day, name);
      if (file) this.read.set(date, [...(this.read.get(date) ?? []), file]);
      return file ?? [];
    });
    return this.#pathsOf(files);
  }

  async requireUnchanged(): Promise<void> {
    for (const [date, files] of this.read) {
      const day = await this.#lake.files?.readDay(date);
      if (!day || day.replacing || files.some(({ name, sha256 }) => tableOf(day, name)?.sha256 !== sha256))
        throw writtenMeanwhile(date);
    }
  }

  /** @throws QuotekeeperError LAKE_MISSING when quotes are asked for that neither the database nor the lake has */
  #requireFiles(isAsked: (date: string) => boolean): void {
    const lacking = this.#lake.lacking.filter(isAsked);
    if (lacking.length > 0) throw withoutFiles(this.#lake.files?.dir ?? null, lacking);
    const cut = this.#lake.cut.find(isAsked);
    if (cut !== undefined) throw writtenMeanwhile(cut);
  }

  /** @throws QuotekeeperError LAKE_INVALID when one is no file of the lake: DuckDB would wait for a pipe, and follow a link */
  async #pathsOf(files: readonly LakeTable[]): Promise<string[]> {
    const paths: string[] = [];
    for (const file of files) paths.push((await this.#lake.files?.checkedPathOf(file)) ?? "");
    return paths;
  }

  async #fill(table: DuckTable, paths: readonly string[], more: readonly string[] = []): Promise<void> {
    const statements = sql.filledTable(table, [...(await this.#rowsOf(table, paths)), ...more]);
    if (statements.length > 0) await this.#duck.run(statements.join(";\n"));
  }

  async #rowsOf(table: DuckTable, paths: readonly string[]): Promise<sql.Rows> {
    if (paths.length === 0) return [];
    this.paths.push(...paths);
    const apart = await rowsOf(this.#duck, sql.decimalsApart(paths));
    return sql.rowsOfFiles(table, paths, apart as [string, string][]);
  }
}
