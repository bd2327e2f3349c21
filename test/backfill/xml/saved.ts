/** Saved answers on disk, plain and packed. */
import { once } from "node:events";
import { createWriteStream, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, Header } from "tar";
import yazl from "yazl";
import type pg from "pg";
import { writeDocument } from "../../../src/services/reference/writeDocument.ts";
import { contentOf } from "../../support/archive.ts";
import { tempDir } from "../../support/tempDir.ts";
import { equity } from "../world.ts";

/** A file's name and content. */
export type SavedFile = [name: string, content: string | Buffer];

/** An answer that says a last price of each symbol. */
export function saved(prices: Record<string, string>, id = "1"): string {
  return writeDocument({
    id,
    instruments: Object.entries(prices).map(([symbol, last]) => equity(symbol, last)),
  });
}

/** Three minutes of AAPL and MSFT, the time in the names. */
export const MINUTES: readonly SavedFile[] = [
  ["20261118T143000Z.xml", saved({ AAPL: "150.10", MSFT: "300.10" })],
  ["20261118T143100Z.xml", saved({ AAPL: "150.20", MSFT: "300.20" })],
  ["20261118T143200Z.xml", saved({ AAPL: "150.30", MSFT: "300.30" })],
];

/** A directory with files; names may have directories. */
export function directoryOf(files: readonly SavedFile[], dir = tempDir()): string {
  for (const [name, content] of files) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

/** When a file was written, as its file system has it. */
export function touch(path: string, at: string): void {
  utimesSync(path, new Date(at), new Date(at));
}

/** Each file compressed by itself. */
export function gzipped(files: readonly SavedFile[]): SavedFile[] {
  return files.map(([name, content]) => [`${name}.gz`, gzipSync(content)]);
}

/** A zip file; `mtime` of all entries. */
export async function zipOf(
  files: readonly SavedFile[],
  { mtime = new Date(0), forceDosTimestamp = false } = {},
): Promise<string> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of files)
    zip.addBuffer(Buffer.from(content), name, { mtime, forceDosTimestamp });
  zip.end();
  const path = join(tempDir(), "saved.zip");
  const out = createWriteStream(path);
  zip.outputStream.pipe(out);
  await once(out, "close");
  return path;
}

/** A tar file, compressed when its name says so. */
export async function tarOf(files: readonly SavedFile[], name = "saved.tar.gz"): Promise<string> {
  const dir = directoryOf(files);
  const file = join(tempDir(), name);
  await create(
    { file, cwd: dir, gzip: !name.endsWith(".tar") },
    files.map(([entry]) => entry),
  );
  return file;
}

/** The archive without where in which journal each answer is, and without what is remembered of backfills. */
export async function rowsOf(pool: pg.Pool): Promise<{ responses: unknown[]; [table: string]: unknown }> {
  const { backfills, backfill_positions, journal_positions, responses, ...content } = await contentOf(pool);
  const { rows } = await pool.query(
    "select observed_at, source_id, request_id, request ->> 'form' as form, outcome, response_id from responses order by 1, 2, 3",
  );
  return {
    ...content,
    responses: rows,
    counted: [backfills, backfill_positions, journal_positions, responses].length,
  };
}

/** Time, symbol and last price of all quotes, by time. */
export async function lasts(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select to_char(q.observed_at at time zone 'UTC', 'MM-DD HH24:MI:SS.US') || ' ' || i.symbol || ' ' || q.last as line
     from quotes q join instruments i on i.id = q.instrument_id order by q.observed_at, i.symbol, q.last desc`,
  );
  return rows.map(({ line }) => line);
}

/** An entry of a tar file as nobody's tar would write it. */
export type RawEntry = {
  path: string;
  type?: "File" | "SymbolicLink" | "Link" | "CharacterDevice" | "FIFO";
  linkpath?: string;
  content?: string;
};

/** A tar file of such entries. */
export function rawTar(entries: readonly RawEntry[]): string {
  const blocks = entries.map(({ path, type = "File", linkpath = "", content = "" }) => {
    const size = Buffer.byteLength(content);
    const header = new Header({
      path,
      type,
      linkpath,
      size,
      mode: 0o644,
      mtime: new Date(1_795_012_200_000),
    });
    header.encode();
    return [
      header.block ?? Buffer.alloc(512),
      Buffer.from(content),
      Buffer.alloc((512 - (size % 512)) % 512),
    ];
  });
  const path = join(tempDir(), "raw.tar");
  writeFileSync(path, Buffer.concat([...blocks.flat(), Buffer.alloc(1_024)]));
  return path;
}

/** A zip file whose names become others of the same length, which no writer of zip files would take. */
export async function rawZip(
  files: readonly [name: string, becomes: string, content: string][],
): Promise<string> {
  const path = await zipOf(files.map(([name, , content]) => [name, content]));
  const bytes = readFileSync(path).toString("latin1");
  const renamed = files.reduce((text, [name, becomes]) => text.replaceAll(name, becomes), bytes);
  writeFileSync(path, Buffer.from(renamed, "latin1"));
  return path;
}
