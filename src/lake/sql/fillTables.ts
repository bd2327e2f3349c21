/**
 * Fills the tables that a statement reads. A date that is in the lake, and has not changed since, is read from the lake; all other
 * dates are the database's. A date whose quotes were dropped is the lake's: rows that came since are there after its next run. So all
 * tables of a date are of one instant.
 */
import { barsLeftOut, leavesOut } from "../../archive/export/duckBars.ts";
import * as sql from "../../archive/export/duckFiles.ts";
import {
  DUCK_TABLES,
  type DuckTable,
  newestGone,
  NEWEST_GONE_COLUMNS,
} from "../../archive/export/duckTables.ts";
import type { ArchiveSnapshot } from "../../archive/export/snapshot.ts";
import type { Instant } from "../../clock.ts";
import type { DecimalType } from "../../export/parquetDecimal.ts";
import { QuotekeeperError } from "../../errors.ts";
import { zstandard } from "../../export/exportArchive.ts";
import { addDays } from "../../market/calendar/dates.ts";
import { writtenOf } from "../dropHot.ts";
import { type DayManifest, invalid, isHot, type LakeFiles, type LakeTable, tableOf } from "../lakeFiles.ts";
import { writtenDecimals } from "../lakeTables.ts";
import { lackingDates, requireOwn, withoutFiles } from "../whichLake.ts";
import { type Duck, rowsOf } from "./duckdb.ts";
import { type HotFile, HotFiles, type HotFilesOptions } from "./hotFiles.ts";
import type { DateRange } from "./planDates.ts";

export type FillOptions = Pick<HotFilesOptions, "places" | "signal" | "onRows"> & {
  /** What answers; it is closed in the end. */
  duck: Duck;
  /** The dates that the statement needs of each table that it reads. */
  ranges: ReadonlyMap<string, DateRange>;
  /** The lake; null: there is none. */
  lake: LakeFiles | null;
};

type Hot = { snapshot: ArchiveSnapshot; files: HotFiles };

export type Filled = {
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
export async function fillTables(snapshot: ArchiveSnapshot | null, options: FillOptions): Promise<Filled> {
  const lake = await readLake(snapshot, options.lake);
  const { places, signal, onRows } = options;
  const hot = snapshot && {
    snapshot,
    files: await HotFiles.open({
      places,
      snapshot,
      decimals: lake.decimals,
      compress: await zstandard(1),
      signal,
      onRows,
    }),
  };
  const filler = new Filler(options, lake, hot);
  const { ranges } = options;
  const also = ranges.has("latest_quotes")
    ? ["instruments", "sources", ...(snapshot ? [] : ["bars_1d"])]
    : [];
  if ([...ranges.keys()].some(leavesOut)) also.push("instruments", "sources", "sessions");
  for (const table of DUCK_TABLES) {
    // What `latest_quotes` is made of may not be bounded by what is asked of that table itself.
    const range = also.includes(table.name) ? ALL_DATES : ranges.get(table.name);
    if (range === undefined || table.name === "latest_quotes") continue;
    await (table.isDated ? filler.fillDated(table, range) : filler.fillWhole(table));
  }
  const latest = DUCK_TABLES.find(({ name }) => name === "latest_quotes");
  if (latest && ranges.has(latest.name)) await filler.fillLatest(latest);
  return {
    paths: filler.paths,
    asOf: snapshot && (await snapshot.identity()).at,
    behind: [...filler.read.keys()].filter((date) => lake.behind.has(date)).sort(),
    requireUnchanged: () => filler.requireUnchanged(),
  };
}

/** The lake as the database's one instant sees it. */
type LakeAt = {
  files: LakeFiles | null;
  tables: readonly LakeTable[];
  decimals: Readonly<Record<string, Readonly<Record<string, DecimalType>>>>;
  /** Dates whose files are true, ascending. */
  settled: readonly DayManifest[];
  /** Dates of which rows came, or were changed, since they were written, or which were not written to their end. */
  changed: readonly DayManifest[];
  /** Dates up to the lake's last one that the database has to be asked for. */
  late: ReadonlySet<string>;
  /** Settled dates of which rows came since they were written. */
  behind: ReadonlySet<string>;
  last: string | null;
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
  const known = snapshot && (await snapshot.lake.known());
  const manifest = files && (await files.read());
  if (files && !known && !manifest) throw invalid(`${files.dir} holds no lake`);
  const byDate = (await files?.days()) ?? null;
  const days = [...(byDate?.values() ?? [])];
  if (files && known) requireOwn(files.dir, manifest, known);
  const late = new Set(await snapshot?.lake.lateDays(days.map(writtenOf)));
  const at = snapshot && (await snapshot.identity()).at;
  const isSettled = ({ date, complete, writtenAt }: DayManifest): boolean =>
    at === null || (complete && (known?.dropped.has(date) || (!late.has(date) && writtenAt <= at)));
  const settled = days.filter(isSettled);
  const own = new Set(settled.map(({ date }) => date));
  const changed = days.filter(({ date }) => !own.has(date));
  const last = days.at(-1)?.date ?? null;
  return {
    files,
    tables: manifest?.tables ?? [],
    decimals: manifest?.decimals ?? {},
    settled,
    changed,
    late: new Set(
      [...late, ...changed.map(({ date }) => date)].filter(
        (date) => last !== null && date <= last && !own.has(date),
      ),
    ),
    behind: new Set([...late].filter((date) => own.has(date))),
    last,
    lacking: known ? await lackingDates(files, known.dropped, byDate) : [],
    cut: changed.flatMap(({ date }) => (known?.dropped.has(date) ? [date] : [])),
  };
}

class Filler {
  readonly #options: FillOptions;
  readonly #lake: LakeAt;
  readonly #hot: Hot | null;
  readonly paths: string[] = [];
  /** The lake's files that are read, by date. */
  readonly read = new Map<string, LakeTable[]>();

  constructor(options: FillOptions, lake: LakeAt, hot: Hot | null) {
    this.#options = options;
    this.#lake = lake;
    this.#hot = hot;
  }

  async fillWhole(table: DuckTable): Promise<void> {
    const of = this.#lake.tables.filter(({ name }) => name === table.name);
    const files = this.#hot ? this.#named([await this.#hot.files.whole(table)]) : await this.#ofLake(of);
    await this.#fill(table, files);
  }

  async fillDated(table: DuckTable, range: DateRange): Promise<void> {
    const isWithin = (date: string): boolean =>
      (range.from === null || date >= range.from) && (range.to === null || date <= range.to);
    if (isHot(table.name)) this.#requireFiles(isWithin);
    const of = (name: string): LakeTable[] =>
      this.#filesOf(
        this.#lake.settled.filter((day) => isWithin(day.date)),
        name,
      );
    const hot = await this.#hotOf(table, range, isWithin);
    const files = [...(await this.#ofLake(of(table.name))), ...this.#named(hot)];
    await this.#fill(table, files, leavesOut(table.name) ? await this.#leftOut(table, of) : []);
  }

  /** The lake's files of a table, which have to be the same at the end. */
  #filesOf(days: readonly DayManifest[], name: string): LakeTable[] {
    return days.flatMap((day) => {
      const file = tableOf(day, name);
      if (file) this.read.set(day.date, [...(this.read.get(day.date) ?? []), file]);
      return file ?? [];
    });
  }

  async requireUnchanged(): Promise<void> {
    for (const [date, files] of this.read) {
      const day = await this.#lake.files?.readDay(date);
      if (!day || day.replacing || files.some(({ name, sha256 }) => tableOf(day, name)?.sha256 !== sha256))
        throw writtenMeanwhile(date);
    }
  }

  /** SQL of bars that the lake's files of a table leave out. */
  async #leftOut(table: DuckTable, of: (name: string) => LakeTable[]): Promise<string[]> {
    if (of("quotes").length === 0) return [];
    const rowsOfLake = async (name: string): Promise<string> => {
      const files = await this.#ofLake(of(name));
      const one = DUCK_TABLES.find((each) => each.name === name) as DuckTable;
      const view = `parts.${name}_of_${table.name}`;
      await this.#run([
        `create view ${view} as from ${sql.rowsIn(one, { files, decimals: decimalsOf(files) })}`,
      ]);
      return view;
    };
    const [quotes, extended] = [await rowsOfLake("quotes"), await rowsOfLake("extended_quotes")];
    return [barsLeftOut(table.name, { quotes, extended, bars: await rowsOfLake(table.name) })];
  }

  /** The database's files of dates that the lake does not have as they are. */
  async #hotOf(
    table: DuckTable,
    range: DateRange,
    isWithin: (date: string) => boolean,
  ): Promise<(HotFile & { date: string })[]> {
    if (!this.#hot) return [];
    const { settled, late, last } = this.#lake;
    const { from, to } = range;
    const next = last === null ? null : addDays(last, 1);
    const after = { from: from === null || (next !== null && next > from) ? next : from, to };
    const dates: { date: string; rows: number | null }[] = [];
    for (const range of [...[...late].filter(isWithin).map((date) => ({ from: date, to: date })), after]) {
      if (range.from !== null && range.to !== null && range.from > range.to) continue;
      const found = await this.#hot.snapshot.days(table.rows, { ...range, symbols: null });
      dates.push(...found.flatMap(({ date, rows }) => (date === null ? [] : [{ date, rows }])));
    }
    const isOfLake = new Set(settled.map(({ date }) => date));
    return this.#hot.files.ofDates(table, dates, (date) => isOfLake.has(date) || isWithin(date));
  }

  /** Newest quotes: the database's, and of files those that the database has no more. */
  async fillLatest(table: DuckTable): Promise<void> {
    const hot = this.#hot ? [await this.#hot.files.whole(table)] : [];
    const gone = await this.#newestGone();
    const dates =
      gone === null ? [] : (await rowsOf(this.#options.duck, sql.datesOfNewest(gone))).map(String);
    this.#requireFiles((date) => dates.includes(date));
    const days = [...this.#lake.settled, ...this.#lake.changed].filter(({ date }) => dates.includes(date));
    const of = (name: string): Promise<Group[]> => this.#ofLake(this.#filesOf(days, name));
    const [quotes, extended] = [await of("quotes"), await of("extended_quotes")];
    const cold =
      gone === null || quotes.length === 0 ? [] : [sql.coldLatest(table, { newest: gone, quotes, extended })];
    const files = this.#named(hot);
    await this.#run(
      sql.filledTable(table, { decimals: decimalsOf([...files, ...quotes, ...extended]), files }, cold),
    );
  }

  /** SQL of the newest quotes that the database does not have; null: it has all. */
  async #newestGone(): Promise<string | null> {
    if (!this.#hot) return sql.NEWEST_OF_LAKE;
    const { files, snapshot } = this.#hot;
    const rows = newestGone(await snapshot.lake.engine());
    const gone = await files.whole({ columns: [], rows }, NEWEST_GONE_COLUMNS);
    if (gone.rows === 0) return null;
    this.paths.push(gone.path);
    return sql.newestOf(gone.path);
  }

  /** @throws QuotekeeperError LAKE_MISSING when quotes are asked for that neither the database nor the lake has */
  #requireFiles(isAsked: (date: string) => boolean): void {
    const lacking = this.#lake.lacking.filter(isAsked);
    if (lacking.length > 0) throw withoutFiles(this.#lake.files?.dir ?? null, lacking);
    const cut = this.#lake.cut.find(isAsked);
    if (cut !== undefined) throw writtenMeanwhile(cut);
  }

  /** @throws QuotekeeperError LAKE_INVALID when one is no file of the lake: DuckDB would wait for a pipe, and follow a link */
  async #ofLake(files: readonly LakeTable[]): Promise<Group[]> {
    const checked: (Pick<LakeTable, "columns"> & { path: string })[] = [];
    for (const file of files)
      checked.push({ path: (await this.#lake.files?.checkedPathOf(file)) ?? "", columns: file.columns });
    return this.#named(checked);
  }

  /** Files by their columns and types: DuckDB takes the first file's for all that it reads together. */
  #named(files: readonly { path: string; columns: Group["types"] }[]): Group[] {
    const groups = new Map<string, Group & { paths: string[] }>();
    for (const { path, columns } of files) {
      const key = JSON.stringify(columns.map(({ name, type }) => [name, type]));
      const group = groups.get(key) ?? {
        paths: [],
        columns: columns.map(({ name }) => name),
        types: columns,
      };
      group.paths.push(path);
      groups.set(key, group);
      this.paths.push(path);
    }
    return [...groups.values()];
  }

  async #fill(table: DuckTable, files: Group[], more: readonly string[] = []): Promise<void> {
    await this.#run(sql.filledTable(table, { files, decimals: decimalsOf(files) }, more));
  }

  async #run(statements: readonly string[]): Promise<void> {
    if (statements.length > 0) await this.#options.duck.run(statements.join(";\n"));
  }
}

/** Files with the same columns of these types. */
type Group = sql.FileGroup & { types: readonly { name: string; type: string }[] };

/** Types that hold the decimals of all files. */
function decimalsOf(groups: readonly Group[]): sql.Decimals {
  const all = new Map<string, DecimalType>();
  for (const { types } of groups)
    for (const [name, type] of Object.entries(writtenDecimals(types))) {
      const before = all.get(name) ?? type;
      const scale = Math.max(before.scale, type.scale);
      const whole = Math.max(before.precision - before.scale, type.precision - type.scale);
      all.set(name, { precision: Math.min(38, whole + scale), scale });
    }
  return Object.fromEntries(all);
}
