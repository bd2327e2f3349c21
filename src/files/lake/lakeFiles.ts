/**
 * A lake on the disk: Parquet files of whole exchange dates, and for each date a manifest that says what its files are.
 *
 *     DIR/lake.json                               which archive it is of, and the tables that have no date
 *     DIR/instruments/instruments.parquet         such a table, as it was last
 *     DIR/quotes/date=2026-11-20/quotes.parquet   a table's rows of a date
 *     DIR/days/2026-11-20.json                    the date's manifest: what is not named there does not count
 *
 * A file is named when it is on the disk and proven. One that takes another's place is named beside it first, then put there,
 * then named alone: wherever that was cut short, the file is one of both.
 *
 * A lake has an id, which the archive knows (whichLake.ts). A copy of a lake has the same id.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../ground/errors.ts";
import { syncDirectory } from "../../journal/fs.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { writeSynced } from "../tables/hashedFile.ts";
import { parsedJson } from "../../ground/outsideText.ts";
import { openFile, readTextFile, refuseLinks } from "../../ground/plainFiles.ts";

const LAKE = "lake.json";
const DAYS = "days";

/** Where files are written before they are whole. */
const STAGE = ".writing";

const table = z.object({
  name: z.string(),
  path: z.string().describe("below the lake's directory, with /"),
  revision: z.int().min(1).describe("counts how often the table of this date was written"),
  rows: z.int(),
  bytes: z.int(),
  sha256: z.string().length(64),
  columns: z.array(
    z.object({
      name: z.string(),
      type: z.string().describe("in SQL's words"),
      nullable: z.boolean(),
      values: z.int().describe("how many are not NULL"),
      sum: z.string().describe("see docs/lake.md, Digests"),
    }),
  ),
});

export type LakeTable = z.infer<typeof table>;

const dayManifest = z.object({
  kind: z.literal("quotekeeper-lake-day"),
  version: z.literal(1),
  date: z.iso.date(),
  program: z.string(),
  writtenAt: z.string().describe("UTC, by the database's clock, when its rows were looked at"),
  source: z.object({
    from: z.string().describe("where the exchange date begins, UTC"),
    to: z.string().describe("where it ends, UTC"),
    snapshot: z.string().describe("the database's transactions that are in the files"),
  }),
  complete: z.boolean().describe("false: a run was cut short before all tables of the date were written"),
  tables: z.array(table),
  replacing: table.nullable().describe("a file that is about to take the place of one above"),
});

export type DayManifest = z.infer<typeof dayManifest>;

const lakeManifest = z.object({
  kind: z.literal("quotekeeper-lake"),
  version: z.literal(1),
  id: z
    .uuid()
    .optional()
    .describe("the lake's own, see the table archive_lake; absent: of an earlier program"),
  archive: z.uuid().describe("the archive's name, see the table archive_identity"),
  program: z.string(),
  writtenAt: z.string(),
  tables: z.array(table).describe("tables that have no date"),
  replacing: z.array(table).default([]).describe("files that are about to take the place of some above"),
  decimals: z
    .record(z.string(), z.record(z.string(), z.object({ precision: z.int(), scale: z.int() })))
    .describe(
      "by table and column: all files of a table have the same types, so that every engine reads them as one",
    ),
});

/** What a lake is, and the tables of it that have no date. */
export type LakeManifest = z.infer<typeof lakeManifest>;

/** Where a lake puts a file: what else a manifest may say is not followed. */
const OWN_PATH = /^([a-z_0-9]+)\/(?:date=\d{4}-\d\d-\d\d\/)?\1\.parquet$/u;

export class LakeFiles {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** What the lake is; null: there is none, and the directory is empty or missing. @throws QuotekeeperError LAKE_INVALID */
  async read(): Promise<LakeManifest | null> {
    const text = await this.#text(LAKE);
    if (text !== null) return parsed(lakeManifest, text, join(this.dir, LAKE));
    const names = await readdir(this.dir).catch(() => []);
    if (names.some((name) => name !== STAGE)) throw invalid(`${this.dir} has files in it, and is no lake`);
    return null;
  }

  async write(manifest: Omit<LakeManifest, "kind" | "version">): Promise<void> {
    await this.#replace(LAKE, { kind: "quotekeeper-lake", version: 1, ...manifest });
  }

  async dates(): Promise<string[]> {
    const names = await readdir(join(this.dir, DAYS)).catch(() => []);
    return names.flatMap((name) => /^(\d{4}-\d\d-\d\d)\.json$/u.exec(name)?.[1] ?? []).sort();
  }

  /** A date's manifest; null: it has none. @throws QuotekeeperError LAKE_INVALID */
  async readDay(date: string): Promise<DayManifest | null> {
    const path = `${DAYS}/${date}.json`;
    const text = await this.#text(path);
    return text === null ? null : parsed(dayManifest, text, join(this.dir, path));
  }

  /** The manifests of the dates that have one, in the dates' order. Default: all. @throws QuotekeeperError LAKE_INVALID */
  async days(dates?: Iterable<string>): Promise<Map<string, DayManifest>> {
    const days = new Map<string, DayManifest>();
    for (const date of dates ?? (await this.dates())) {
      const day = await this.readDay(date);
      if (day) days.set(date, day);
    }
    return days;
  }

  async writeDay(day: Omit<DayManifest, "kind" | "version">): Promise<void> {
    await this.#replace(`${DAYS}/${day.date}.json`, { kind: "quotekeeper-lake-day", version: 1, ...day });
  }

  pathOf({ path }: Pick<LakeTable, "path">): string {
    if (!OWN_PATH.test(path)) throw invalid(`${this.dir} names ${path}, which is no file of a lake`);
    return join(this.dir, path);
  }

  /** The same, where a file of the lake stands: no pipe, and nothing behind a link. @throws QuotekeeperError LAKE_INVALID */
  async checkedPathOf(file: Pick<LakeTable, "path">): Promise<string> {
    const path = this.pathOf(file);
    const handle = await openFile(path, { below: this.dir }).catch(unreadable(path));
    await handle.close();
    return path;
  }

  async stage(): Promise<string> {
    const dir = join(this.dir, STAGE);
    await rm(dir, { recursive: true, force: true });
    await makeDirectories(dir);
    return dir;
  }

  async clearStage(): Promise<void> {
    await rm(join(this.dir, STAGE), { recursive: true, force: true });
  }

  /** Puts a file that is on the disk at its place. */
  async put(from: string, file: Pick<LakeTable, "path">): Promise<void> {
    const path = this.pathOf(file);
    await this.#makeDirectory(dirname(path));
    await rename(from, path);
    await syncDirectory(dirname(path));
  }

  async has({ path, bytes }: Pick<LakeTable, "path" | "bytes">): Promise<boolean> {
    const found = await lstat(this.pathOf({ path })).catch(() => null);
    return found?.isFile() === true && found.size === bytes;
  }

  /** Whether the file that is there is this one. */
  async is(file: Pick<LakeTable, "path" | "bytes" | "sha256">): Promise<boolean> {
    const hash = createHash("sha256");
    try {
      const handle = await openFile(this.pathOf(file), { below: this.dir });
      const { size } = await handle.stat();
      if (size !== file.bytes) return await handle.close().then(() => false);
      for await (const chunk of handle.createReadStream()) hash.update(chunk as Buffer);
    } catch (error) {
      if (error instanceof QuotekeeperError) throw error;
      return false;
    }
    return hash.digest("hex") === file.sha256;
  }

  async #text(path: string): Promise<string | null> {
    const whole = join(this.dir, path);
    return readTextFile(whole, { below: this.dir }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
      return unreadable(whole)(error);
    });
  }

  /** @throws the file system's errors; QuotekeeperError LAKE_INVALID where it lies behind a link */
  async #makeDirectory(path: string): Promise<void> {
    await makeDirectories(path);
    await refuseLinks(path, this.dir).catch((error: NodeJS.ErrnoException) => {
      throw invalid(`${path} cannot be written (${error.code ?? error.message})`);
    });
  }

  async #replace(path: string, manifest: object): Promise<void> {
    const whole = join(this.dir, path);
    await this.#makeDirectory(dirname(whole));
    const beside = `${whole}.tmp`;
    await rm(beside, { force: true });
    await writeSynced(beside, `${JSON.stringify(manifest, null, 1)}\n`);
    await rename(beside, whole);
    await syncDirectory(dirname(whole));
  }
}

/** Tables whose rows `--drop-hot` drops. */
export const HOT_TABLES = ["quotes", "extended_quotes"] as const;

export function isHot(table: string): boolean {
  return HOT_TABLES.some((name) => name === table);
}

/** The table of a date; undefined: it has no rows there. */
export function tableOf({ tables }: Pick<DayManifest, "tables">, name: string): LakeTable | undefined {
  return tables.find((one) => one.name === name);
}

function parsed<T>(schema: z.ZodType<T>, text: string, path: string): T {
  const read = schema.safeParse(parsedJson(text));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalid(`${path} is no manifest of a lake: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
}

function unreadable(path: string): (error: NodeJS.ErrnoException) => never {
  return ({ code, message }) => {
    throw invalid(`${path} cannot be read (${code ?? message})`);
  };
}

/** The error for a lake that is not as the program writes it. */
export function invalid(detail: string): QuotekeeperError {
  return new QuotekeeperError("LAKE_INVALID", detail);
}
