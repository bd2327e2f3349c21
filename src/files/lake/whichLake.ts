/**
 * Which lake is the archive's. An archive has one lake, whose id it knows; a copy of that lake has the same id. Of each date
 * whose quotes were dropped it knows the files that have them. What a directory may be opened for:
 *
 *     it holds                          to read          to write
 *     the lake of that id, or a copy    yes              yes
 *     a lake of an earlier program,     yes              if the archive knows no lake, and all dropped quotes are in it:
 *     without an id                                      it becomes the archive's
 *     a lake of another id              no               as one without an id
 *     nothing                           no               if the archive knows no lake, and no quotes were dropped: one is begun
 *
 * `anew` stands for "the archive knows no lake". Files that its own lake has lost are found as `lacking`.
 */
import type pg from "pg";
import { withLakeLock } from "../../archive/refill/oneAtATime.ts";
import {
  type DroppedDay,
  type DroppedFile,
  type KnownLake,
  newLakeId,
  readKnownLake,
  setLake,
} from "../../archive/export/lakeRows.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { namingWrites } from "../tables/hashedFile.ts";
import { type DayManifest, HOT_TABLES, invalid, LakeFiles, type LakeManifest, tableOf } from "./lakeFiles.ts";

/** A lake while no other program is at work on it. */
export type OpenLake = {
  files: LakeFiles;
  manifest: LakeManifest;
  /** Exchange dates of which quotes were dropped. */
  dropped: ReadonlyMap<string, DroppedDay>;
  /** Those of them whose files this directory does not have, ascending. */
  lacking: readonly string[];
};

type LakeUse = {
  pool: pg.Pool;
  out: string;
  /** Who begins a lake where there is none; null: nobody, for it is only read. */
  begin: { program: string; anew: boolean } | null;
};

/**
 * Opens the lake of an archive, one program at a time.
 *
 * @throws QuotekeeperError LAKE_INVALID when the directory has other files, or another archive's lake; LAKE_MISSING when it is
 *   not the lake that this archive knows; LAKE_BUSY; LAKE_WRITE_FAILED
 */
export async function withLake<T>(use: LakeUse, work: (lake: OpenLake) => Promise<T>): Promise<T> {
  return withLakeLock(use.pool, () => open(use).then(work).catch(namingWrites(use.out, "LAKE_WRITE_FAILED")));
}

async function open({ pool, out, begin }: LakeUse): Promise<OpenLake> {
  const files = new LakeFiles(out);
  const manifest = await files.read();
  const { archive, known, dropped } = await readKnownLake(pool);
  const days = await files.days(dropped.keys());
  const lake = { files, dropped, lacking: await lackingDates(files, dropped, days) };
  if (begin === null || manifest?.id === known)
    return { ...lake, manifest: requireOwn(out, manifest, { archive, known }) };
  if (manifest !== null && manifest.archive !== archive) throw ofAnother(out, manifest, archive);
  if (lake.lacking.length > 0) throw withoutFiles(out, lake.lacking);
  if (known !== null && !begin.anew) throw notKnown(out, manifest, known);
  const id = manifest?.id ?? (await newLakeId(pool));
  const named = { ...(manifest ?? { ...EMPTY, archive, program: begin.program }), id };
  // On the disk first: a lake that the archive knows and that is nowhere would be asked for.
  if (manifest?.id === undefined) await files.write(named);
  const told = Array.from(dropped.values(), ({ date, files: before }) => {
    const day = days.get(date);
    return { date, files: before ?? (day ? hotFilesOf(day) : []) };
  });
  await setLake(pool, id, told);
  return { ...lake, manifest: named };
}

const EMPTY = {
  kind: "quotekeeper-lake" as const,
  version: 1 as const,
  writtenAt: "",
  tables: [],
  replacing: [],
  decimals: {},
};

/**
 * The lake of an archive, to be read.
 *
 * @throws QuotekeeperError LAKE_INVALID, LAKE_MISSING when it is not that, and no copy of it
 */
export function requireOwn(
  out: string,
  manifest: LakeManifest | null,
  { archive, known }: Pick<KnownLake, "archive" | "known">,
): LakeManifest {
  if (manifest === null && known === null) throw invalid(`${out} holds no lake`);
  if (manifest === null) throw notKnown(out, manifest, known);
  if (manifest.archive !== archive) throw ofAnother(out, manifest, archive);
  if (known !== null && manifest.id !== undefined && manifest.id !== known)
    throw notKnown(out, manifest, known);
  return manifest;
}

function ofAnother(out: string, { archive }: LakeManifest, id: string): QuotekeeperError {
  return invalid(`${out} is the lake of another archive (${archive}; this one is ${id})`);
}

function notKnown(out: string, manifest: LakeManifest | null, known: string | null): QuotekeeperError {
  return missing(
    manifest === null
      ? `${out} holds no lake, and this archive has one already, ${known}`
      : `${out} is another lake of this archive (${manifest.id ?? "without an id"}; the archive's is ${known})`,
  );
}

/** What the archive notes of a date's files when it drops quotes behind them. */
export function hotFilesOf(day: Pick<DayManifest, "tables">): DroppedFile[] {
  return HOT_TABLES.flatMap((table) => {
    const file = tableOf(day, table);
    if (!file) return [];
    const { name, path, revision, bytes, sha256 } = file;
    return [{ name, path, revision, bytes, sha256 }];
  });
}

/**
 * Dates whose dropped quotes a lake does not have: a file is not there, or is older than the one that they were dropped behind.
 * A younger one is right: a database that was brought back from a copy of its own does not know it yet.
 *
 * @param files null: there is no lake
 * @param days the dates' manifests; null: they are read only where a file is not as the archive knows it
 * @returns the dates, ascending
 * @throws QuotekeeperError LAKE_INVALID when a manifest cannot be read
 */
export async function lackingDates(
  files: LakeFiles | null,
  dropped: ReadonlyMap<string, DroppedDay>,
  days: ReadonlyMap<string, DayManifest> | null,
): Promise<string[]> {
  const lacking: string[] = [];
  for (const day of dropped.values()) {
    if (days === null && day.files !== null && (await hasAll(files, day.files))) continue;
    const manifest = (days ? days.get(day.date) : await files?.readDay(day.date)) ?? { tables: [] };
    if (!isNamed(day, manifest) || !(await hasAll(files, hotFilesOf(manifest)))) lacking.push(day.date);
  }
  return lacking;
}

async function hasAll(files: LakeFiles | null, all: readonly DroppedFile[]): Promise<boolean> {
  for (const file of all) if (!(await files?.has(file))) return false;
  return true;
}

function isNamed({ files, quotes }: DroppedDay, manifest: Pick<DayManifest, "tables">): boolean {
  if (files === null) return (tableOf(manifest, "quotes")?.rows ?? 0) >= quotes;
  return files.every(({ name, revision, sha256 }) => {
    const named = tableOf(manifest, name);
    return named !== undefined && (named.sha256 === sha256 || named.revision > revision);
  });
}

/** `2026-01-05`, or `3 dates from 2026-01-05 to 2026-01-19`. @param dates ascending, one at least */
export function someOf(dates: readonly string[]): string {
  const [first, last] = [dates[0] ?? "", dates.at(-1) ?? ""];
  return dates.length === 1 ? first : `${dates.length} dates from ${first} to ${last}`;
}

function missing(detail: string): QuotekeeperError {
  return new QuotekeeperError("LAKE_MISSING", detail);
}

/**
 * The error for dropped quotes that are not in a lake.
 *
 * @param out null: no lake is named
 * @param dates ascending, one at least
 */
export function withoutFiles(out: string | null, dates: readonly string[]): QuotekeeperError {
  const where = out === null ? "no lake is named" : `${out} does not have them`;
  return missing(`quotes of ${someOf(dates)} were dropped from the database, and ${where}`);
}

/** A look at a lake for `status`: no file of it is read but its manifests. */
export type LakeSight = {
  /** The last exchange date that the lake has; null: it has none. */
  through: string | null;
  /** What a person has to see to; null: nothing. */
  fault: string | null;
};

/**
 * @param dir the lake's directory
 * @param pool the archive's database; null: it cannot be asked
 */
export async function lookAtLake(dir: string, pool: pg.Pool | null): Promise<LakeSight> {
  const files = new LakeFiles(dir);
  try {
    const manifest = await files.read();
    const through = (await files.dates()).at(-1) ?? null;
    if (pool === null) return { through, fault: null };
    const known = await readKnownLake(pool);
    const lacking = await lackingDates(files, known.dropped, null);
    if (lacking.length > 0) throw withoutFiles(dir, lacking);
    if (manifest !== null || known.known !== null) requireOwn(dir, manifest, known);
    return { through, fault: null };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { through: null, fault: error.message };
  }
}
