/** The rows of a CSV file, plain or in .gz, read as a stream. */
import { createGunzip } from "node:zlib";
import { type RawRow, RowSplitter } from "../../read/splitRows.ts";
import { QuotekeeperError } from "../../errors.ts";
import { openFile } from "../../plainFiles.ts";
import type { FileStart } from "./readMap.ts";

/** Rows, and how many bytes of the file were read for them. */
export type ReadRows = { rows: RawRow[]; done: number };

/** @throws QuotekeeperError BACKFILL_NOTHING when there is no such file */
export async function sizeOf(file: string): Promise<number> {
  const opened = await opening(file);
  try {
    return (await opened.stat()).size;
  } finally {
    await opened.close();
  }
}

function opening(file: string): ReturnType<typeof openFile> {
  return openFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(file, cause.code ?? cause.message, cause);
  });
}

/**
 * Stretch by stretch; a byte order mark is dropped.
 *
 * @throws QuotekeeperError BACKFILL_NOTHING when it cannot be read, or not to its end
 */
export async function* readRows(file: string, delimiter: string): AsyncGenerator<ReadRows, void> {
  const splitter = new RowSplitter(delimiter);
  const input = (await opening(file)).createReadStream();
  let stream: NodeJS.ReadableStream = input;
  if (/\.gz$/iu.test(file)) {
    const gunzip = createGunzip();
    input.on("error", (error) => gunzip.destroy(error));
    stream = input.pipe(gunzip);
  }
  let first = true;
  try {
    for await (const chunk of stream) {
      const bytes = first ? withoutMark(file, chunk as unknown as Buffer) : (chunk as unknown as Buffer);
      first = false;
      const rows = splitter.push(bytes);
      if (rows.length > 0) yield { rows, done: input.bytesRead };
    }
  } catch (cause) {
    if (cause instanceof QuotekeeperError) throw cause;
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw unreadable(file, code.startsWith("Z_") ? `its gzip is damaged: ${message}` : code, cause);
  } finally {
    input.destroy();
  }
  yield { rows: splitter.finish(), done: input.bytesRead };
}

/** The first two rows. @throws QuotekeeperError BACKFILL_NOTHING for a file without any */
export async function readStart(file: string, delimiter: string): Promise<FileStart> {
  const found: Buffer[] = [];
  for await (const { rows } of readRows(file, delimiter)) {
    found.push(...rows.slice(0, 2).map(({ bytes }) => bytes));
    if (found.length >= 2) break;
  }
  const [header, first = null] = found;
  if (header === undefined) throw unreadable(file, "it is empty", undefined);
  return { header, first };
}

function withoutMark(file: string, bytes: Buffer): Buffer {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    throw new QuotekeeperError("BACKFILL_NOTHING", `${file} is UTF-16: save it as UTF-8`);
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function unreadable(file: string, why: string, cause: unknown): QuotekeeperError {
  return new QuotekeeperError("BACKFILL_NOTHING", `${file} cannot be read (${why})`, { cause });
}
