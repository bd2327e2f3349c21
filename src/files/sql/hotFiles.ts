/**
 * The database's rows as Parquet files, written as a lake's are. Files of whole exchange dates, and of the hours of the date that
 * is not over, stay in a cache for later statements:
 *
 *     CACHE/ARCHIVE-DATABASE/quotes/2026-11-20.VERSION.BYTES.parquet
 *     CACHE/ARCHIVE-DATABASE/quotes/2026-11-21_2026-11-22T01.VERSION.BYTES.parquet
 *
 * A file never changes: other rows have another version. The version of a date that is over is what `late_days` says of it, and its
 * number of rows; that of an hour is the hash of its rows. A statement links the files into a directory of its own before DuckDB
 * opens them, so another process may remove them from the cache meanwhile.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, lstat, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readKnownLake, readToday, readVersions } from "../../archive/export/lakeRows.ts";
import type { DuckTable } from "../../archive/export/duckTables.ts";
import { type ArchiveSnapshot, readHours, readIdentity } from "../../archive/export/snapshot.ts";
import { type ExportColumn, readColumns } from "../../archive/export/exportColumns.ts";
import { type Compress, type DecimalTypes, zstandard } from "../tables/parquetFile.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { type DayRows, writeDayFile } from "../lake/dayFile.ts";
import { isHot } from "../lake/lakeFiles.ts";

/** Where a statement's files are. */
export type HotPlaces = {
  /** An empty directory of the statement's own. */
  own: string;
  /** The cache, on the same file system as `own`; null: no file is kept. */
  cache: string | null;
};

export type HotFilesOptions = {
  /** Where files of the database's rows are. */
  places: HotPlaces;
  snapshot: ArchiveSnapshot;
  decimals: Readonly<Record<string, DecimalTypes>>;
  signal: AbortSignal;
  onRows: (table: string, rows: number) => void;
};

type OpenOptions = HotFilesOptions & {
  compress: Compress;
  today: string;
  versions: ReadonlyMap<string, string | null>;
  /** This database's directory in the cache. */
  cache: string | null;
};

/** `kept`: its name in the cache, without the bytes; null: the file is not kept. */
type Part = DayRows & { kept: string | null };

/** Little is saved by more: a file is read a few times. */
const ZSTD_LEVEL = 1;

/** Characters of a date, of an hour, and of a version. */
const [DATE_CHARS, HOUR_CHARS, VERSION_CHARS] = [10, 13, 16];

const KEPT = /^(\d{4}-\d\d-\d\d(?:_[\dT-]{13})?\.\w{16})\.(\d+)\.parquet$/u;

/** The files of one statement. */
export class HotFiles {
  readonly #options: OpenOptions;
  #made = 0;

  private constructor(options: OpenOptions) {
    this.#options = options;
  }

  /** Opens the cache, and removes files of any other database. */
  static async open(options: HotFilesOptions): Promise<HotFiles> {
    const { snapshot, places } = options;
    const { archive } = await readKnownLake(snapshot);
    const name = `${archive}-${(await readIdentity(snapshot)).database}`;
    const others = places.cache === null ? [] : await readdir(places.cache).catch(() => []);
    for (const other of others)
      if (other !== name) await rm(join(places.cache ?? "", other), { recursive: true, force: true });
    return new HotFiles({
      ...options,
      compress: await zstandard(ZSTD_LEVEL),
      today: await readToday(snapshot),
      versions: await readVersions(snapshot),
      cache: places.cache === null ? null : join(places.cache, name),
    });
  }

  /** A file of all rows of a table, or of these columns. */
  async whole(table: Pick<DuckTable, "columns" | "rows">, only?: readonly ExportColumn[]): Promise<string> {
    const columns = only ?? (await this.#columnsOf(table));
    return this.#write({ table: table.rows, columns, date: null, rows: null, kept: null });
  }

  /**
   * Files of a table's rows of exchange dates.
   *
   * @param dates with their numbers of rows; null: not known
   * @param hasGone says of a date that is not among them whether its files leave the cache
   */
  async ofDates(
    table: DuckTable,
    dates: readonly { date: string; rows: number | null }[],
    hasGone: (date: string) => boolean,
  ): Promise<string[]> {
    const { cache, today } = this.#options;
    const dir = cache === null ? null : join(cache, table.name);
    const names = dir === null ? [] : await readdir(dir).catch(() => []);
    const there = new Map(names.map((file) => [KEPT.exec(file)?.[1] ?? file, file]));
    const columns = await this.#columnsOf(table);
    const paths: string[] = [];
    for (const day of dates)
      for (const part of await this.#partsOf(table, columns, day)) {
        const file = there.get(part.kept ?? "");
        there.delete(part.kept ?? "");
        paths.push((file && (await this.#taken(table.name, file))) ?? (await this.#write(part)));
      }
    const asked = new Set(dates.map(({ date }) => date));
    for (const file of there.values()) {
      const date = file.slice(0, DATE_CHARS);
      // The hours of a date that is over have become one file.
      const isPast = file[DATE_CHARS] === "_" && date < today;
      if (asked.has(date) || hasGone(date) || isPast) await rm(join(dir ?? "", file), { force: true });
    }
    return paths;
  }

  /** A table's own columns, without the words that an export adds to its numbers. */
  async #columnsOf({ columns, rows }: Pick<DuckTable, "columns" | "rows">): Promise<ExportColumn[]> {
    const own = new Set(columns.map(({ name }) => name));
    return (await readColumns(this.#options.snapshot, rows.name)).filter(({ name }) => own.has(name));
  }

  /** The hours of quotes of a date that is not over; one part in all other cases. */
  async #partsOf(
    table: DuckTable,
    columns: readonly ExportColumn[],
    { date, rows }: { date: string; rows: number | null },
  ): Promise<Part[]> {
    const one = { table: table.rows, columns, date, rows, kept: null };
    const names = columns.map(({ name }) => name);
    const keptAs = (key: string, ...version: unknown[]): string => {
      const hash = createHash("sha256")
        .update(JSON.stringify([version, names]))
        .digest("hex");
      return `${key}.${hash.slice(0, VERSION_CHARS)}`;
    };
    const { today, versions, snapshot } = this.#options;
    if (date < today) {
      const version = versions.get(date);
      return [{ ...one, kept: version === null ? null : keptAs(date, version, rows) }];
    }
    if (!isHot(table.name)) return [one];
    const range = { from: date, to: date, symbols: null };
    const hours = await readHours(snapshot, { table: table.rows, columns }, range);
    return hours.map(({ from, to, rows, hash }) => ({
      ...one,
      within: { from, to },
      rows,
      kept: keptAs(`${date}_${from.slice(0, HOUR_CHARS)}`, rows, hash),
    }));
  }

  async #write({ kept, ...rows }: Part): Promise<string> {
    const { snapshot, decimals, compress, signal, onRows, cache } = this.#options;
    const { name } = rows.table;
    const { from, bytes } = await writeDayFile(rows, {
      snapshot,
      dir: this.#place(),
      known: decimals[name],
      compress,
      signal,
      onRows: (count) => onRows(name, count),
    });
    if (cache !== null && kept !== null) {
      await makeDirectories(join(cache, name));
      await linked(from, join(cache, name, `${kept}.${bytes}.parquet`));
    }
    return from;
  }

  #place(): string {
    this.#made += 1;
    return join(this.#options.places.own, String(this.#made));
  }

  /** Links a file of the cache into the statement's directory. @returns undefined when it has gone, or is not whole */
  async #taken(table: string, file: string): Promise<string | undefined> {
    const kept = join(this.#options.cache ?? "", table, file);
    const path = join(this.#place(), table, `date=${file.slice(0, DATE_CHARS)}`, `${table}.parquet`);
    await makeDirectories(dirname(path));
    await linked(kept, path);
    const found = await lstat(path).catch(() => null);
    if (found?.isFile() && found.size === Number(KEPT.exec(file)?.[2])) return path;
    await rm(kept, { force: true });
    return undefined;
  }
}

/** A second name for a file; a copy where the file system has no such names. Nothing where there is no such file. */
async function linked(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_EXCL).catch(() => undefined));
}
