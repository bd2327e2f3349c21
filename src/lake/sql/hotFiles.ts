/**
 * The database's rows as Parquet files, written as a lake's are. Files of whole exchange dates, and of the hours of the date that
 * is not over, stay in a cache for later statements:
 *
 *     CACHE/ARCHIVE-DATABASE/quotes/2026-11-20.json             what the file of a date, or of an hour, is
 *     CACHE/ARCHIVE-DATABASE/quotes/2026-11-20-SHA256.parquet   the file, which never changes
 *
 * A date that is over is true until its rows came late, as in a lake, or its number of rows has changed. An hour is true while the
 * hash of its rows is the same. A statement links the files into a directory of its own before DuckDB opens them, so another
 * process may replace or remove them in the cache meanwhile.
 */
import { copyFile, link, lstat, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { DuckTable } from "../../archive/export/duckTables.ts";
import type { ArchiveSnapshot } from "../../archive/export/snapshot.ts";
import type { ExportColumn } from "../../archive/export/exportColumns.ts";
import type { DecimalType } from "../../export/parquetDecimal.ts";
import type { Compress } from "../../export/parquetFile.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { readJson } from "../../plainFiles.ts";
import { type DayRows, writeDayFile } from "../dayFile.ts";
import { isHot } from "../lakeFiles.ts";

/** Where a statement's files are. */
export type HotPlaces = {
  /** An empty directory of the statement's own. */
  own: string;
  /** The cache, on the same file system as `own`; null: no file is kept. */
  cache: string | null;
};

export type HotFile = {
  path: string;
  rows: number;
  bytes: number;
  sha256: string;
  columns: readonly { name: string; type: string }[];
};

const note = z.object({
  file: z.string(),
  rows: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  snapshot: z.string(),
  writtenAt: z.string(),
  hash: z.string().nullable(),
});
type Note = z.infer<typeof note>;

type Part = DayRows & {
  /** Its name in the cache: a date, or a date and an hour in UTC; null: the file is not kept. */
  key: string | null;
  /** Of an hour's rows. */
  hash: string | null;
};

export type HotFilesOptions = {
  /** Where files of the database's rows are. */
  places: HotPlaces;
  snapshot: ArchiveSnapshot;
  decimals: Readonly<Record<string, Readonly<Record<string, DecimalType>>>>;
  compress: Compress;
  signal: AbortSignal;
  onRows: (table: string, rows: number) => void;
};

type Known = Note & { isLate: boolean };

const NOTE = ".json";

/** Characters of a date, of an hour, and of what tells a file from others of its date. */
const [DATE_CHARS, HOUR_CHARS, SHA_CHARS] = [10, 13, 16];

export class HotFiles {
  readonly #options: HotFilesOptions;
  readonly #seen: { snapshot: string; at: string };
  readonly #today: string;
  /** This database's directory in the cache. */
  readonly #kept: string | null;
  #made = 0;

  private constructor(
    options: HotFilesOptions,
    { seen, today, kept }: { seen: { snapshot: string; at: string }; today: string; kept: string | null },
  ) {
    this.#options = options;
    this.#seen = seen;
    this.#today = today;
    this.#kept = kept;
  }

  /** Opens the cache, and removes files of any other database. */
  static async open(options: HotFilesOptions): Promise<HotFiles> {
    const { snapshot, places } = options;
    const seen = await snapshot.identity();
    const { archive } = await snapshot.lake.known();
    const name = `${archive}-${seen.database}`;
    if (places.cache !== null)
      for (const other of await readdir(places.cache).catch(() => []))
        if (other !== name) await rm(join(places.cache, other), { recursive: true, force: true });
    const kept = places.cache === null ? null : join(places.cache, name);
    return new HotFiles(options, { seen, today: await snapshot.lake.today(), kept });
  }

  /** A file of all rows of a table, or of these columns. */
  async whole(table: Pick<DuckTable, "columns" | "rows">, only?: readonly ExportColumn[]): Promise<HotFile> {
    const columns = only ?? (await this.#columnsOf(table));
    return this.#write({ table: table.rows, columns, date: null, rows: null, hash: null, key: null });
  }

  /**
   * A table's rows of exchange dates.
   *
   * @param dates with their numbers of rows; null: not known
   * @param hasGone says of a date that is not among them whether its files leave the cache
   */
  async ofDates(
    table: DuckTable,
    dates: readonly { date: string; rows: number | null }[],
    hasGone: (date: string) => boolean,
  ): Promise<(HotFile & { date: string })[]> {
    const columns = await this.#columnsOf(table);
    const kept = await this.#keptOf(table.name);
    const files: (HotFile & { date: string })[] = [];
    for (const day of dates)
      for (const part of await this.#partsOf(table, columns, day)) {
        const known = part.key === null ? undefined : kept.get(part.key);
        const isTrue = known !== undefined && !known.isLate && isSame(known, part);
        const there = isTrue ? await this.#read(table.name, day.date, known) : null;
        const file = there ?? (await this.#write(part));
        if (!there) await this.#keep(part, file, known);
        if (part.key !== null) kept.delete(part.key);
        if (file.rows > 0) files.push({ ...file, date: day.date });
      }
    for (const [key, known] of kept) {
      const date = key.slice(0, DATE_CHARS);
      // The hours of a date that is over have become one file.
      if (hasGone(date) || (key !== date && date < this.#today)) await this.#remove(table.name, key, known);
    }
    return files;
  }

  /** A table's own columns, without the words that an export adds to its numbers. */
  async #columnsOf({ columns, rows }: Pick<DuckTable, "columns" | "rows">): Promise<ExportColumn[]> {
    const own = new Set(columns.map(({ name }) => name));
    return (await this.#options.snapshot.columns(rows)).filter(({ name }) => own.has(name));
  }

  /** The hours of quotes of a date that is not over; one part in all other cases. */
  async #partsOf(
    table: DuckTable,
    columns: readonly ExportColumn[],
    { date, rows }: { date: string; rows: number | null },
  ): Promise<Part[]> {
    const one = { table: table.rows, columns, date, rows, hash: null };
    if (date < this.#today) return [{ ...one, key: date }];
    if (!isHot(table.name)) return [{ ...one, key: null }];
    const range = { from: date, to: date, symbols: null };
    const hours = await this.#options.snapshot.hours(table.rows, columns, range);
    return hours.map(({ from, to, rows, hash }) => ({
      ...one,
      within: { from, to },
      rows,
      hash,
      key: `${date}-${from.slice(0, HOUR_CHARS)}`,
    }));
  }

  /** What the cache has of a table, by key. */
  async #keptOf(table: string): Promise<Map<string, Known>> {
    const kept = new Map<string, Known>();
    if (this.#kept === null) return kept;
    for (const name of await readdir(join(this.#kept, table)).catch(() => [])) {
      if (!name.endsWith(NOTE)) continue;
      const found = await readJson(join(this.#kept, table, name), note, { links: false });
      if (found) kept.set(name.slice(0, -NOTE.length), { ...found, isLate: false });
    }
    const days = [...kept].flatMap(([date, { snapshot, writtenAt, hash }]) =>
      hash === null ? [{ date, snapshot, writtenAt }] : [],
    );
    if (days.length > 0)
      for (const date of await this.#options.snapshot.lake.lateDays(days)) {
        const known = kept.get(date);
        if (known) known.isLate = true;
      }
    return kept;
  }

  async #write(part: Part): Promise<HotFile> {
    const { snapshot, decimals, compress, signal, onRows } = this.#options;
    const { name } = part.table;
    const made = await writeDayFile(part, {
      snapshot,
      dir: this.#place(),
      known: decimals[name],
      compress,
      signal,
      onRows: (rows) => onRows(name, rows),
    });
    return { ...made, path: made.from };
  }

  #place(): string {
    this.#made += 1;
    return join(this.#options.places.own, String(this.#made));
  }

  /** Links a file of the cache into the statement's directory. @returns null when another statement has removed it */
  async #read(table: string, date: string, { file, ...known }: Known): Promise<HotFile | null> {
    const path = join(this.#place(), table, `date=${date}`, `${table}.parquet`);
    await makeDirectories(dirname(path));
    await linked(join(this.#kept ?? "", table, file), path);
    const found = await lstat(path).catch(() => null);
    return found?.isFile() && found.size === known.bytes ? { ...known, path } : null;
  }

  /** Puts a file that was written into the cache, in place of the one before. */
  async #keep({ table, key, hash }: Part, made: HotFile, before: Known | undefined): Promise<void> {
    if (this.#kept === null || key === null) return;
    const dir = join(this.#kept, table.name);
    await makeDirectories(dir);
    const file = `${key}-${made.sha256.slice(0, SHA_CHARS)}.parquet`;
    await linked(made.path, join(dir, file));
    const { rows, bytes, sha256 } = made;
    const columns = made.columns.map(({ name, type }) => ({ name, type }));
    const { snapshot, at: writtenAt } = this.#seen;
    const draft = `${made.path}${NOTE}`;
    await writeFile(
      draft,
      JSON.stringify({ file, rows, bytes, sha256, columns, snapshot, writtenAt, hash } satisfies Note),
    );
    await rename(draft, join(dir, `${key}${NOTE}`));
    if (before && before.file !== file) await rm(join(dir, before.file), { force: true });
  }

  async #remove(table: string, key: string, { file }: Known): Promise<void> {
    const dir = join(this.#kept ?? "", table);
    for (const name of [`${key}${NOTE}`, file]) await rm(join(dir, name), { force: true });
  }
}

/** A second name for a file; a copy where the file system has no such names. Nothing where there is no such file. */
async function linked(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to).catch(() => undefined));
}

/** Whether a file of the cache has these rows. */
function isSame(known: Note, { rows, hash, columns }: Part): boolean {
  const namesOf = (of: readonly { name: string }[]): string => of.map(({ name }) => name).join();
  const isOfRows = hash === known.hash && (rows === null || rows === known.rows);
  return isOfRows && namesOf(columns) === namesOf(known.columns);
}
