/** The rows of a CSV file, plain or in .gz, read as a stream. */
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type RawRow, RowSplitter } from "../../read/splitRows.ts";
import { QuotekeeperError } from "../../errors.ts";
import { openFile } from "../../plainFiles.ts";

/** Rows, and how many bytes of the file were read for them. */
export type ReadRows = { rows: RawRow[]; done: number };

export type RowsForm = { delimiter: string; /** Lines before the header. */ skip: number };

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
 * Stretch by stretch, as UTF-8 where the file is UTF-16. A byte order mark is dropped, and a first line `sep=;`, which
 * spreadsheets read.
 *
 * @throws QuotekeeperError BACKFILL_NOTHING when it cannot be read, or not to its end
 */
export async function* readRows(file: string, { delimiter, skip }: RowsForm): AsyncGenerator<ReadRows, void> {
  const input = (await opening(file)).createReadStream();
  const splitter = new RowSplitter(delimiter, 1 + skip);
  const behind = lineSkipper(skip);
  let isFirst = true;
  const counted = (rows: RawRow[]): ReadRows => {
    const [first] = rows;
    const given = isFirst && first !== undefined && isSeparatorLine(first.bytes) ? rows.slice(1) : rows;
    if (first !== undefined) isFirst = false;
    return { rows: given, done: input.bytesRead };
  };
  try {
    for await (const bytes of inUtf8(uncompressed(file, input))) {
      const rows = splitter.push(behind(bytes));
      if (rows.length > 0) yield counted(rows);
    }
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") throw unreadable(file, "its UTF-16 is damaged", cause);
    throw unreadable(file, code.startsWith("Z_") ? `its gzip is damaged: ${message}` : code, cause);
  } finally {
    input.destroy();
  }
  yield counted(splitter.finish());
}

function uncompressed(file: string, input: Readable): AsyncIterable<Buffer> {
  if (!/\.gz$/iu.test(file)) return input;
  const gunzip = createGunzip();
  input.on("error", (error) => gunzip.destroy(error));
  return input.pipe(gunzip);
}

/** Passes over the first lines of a text. */
function lineSkipper(lines: number): (bytes: Buffer) => Buffer {
  let left = lines;
  return (bytes) => {
    let rest = bytes;
    for (; left > 0; left--) {
      const end = rest.indexOf("\n");
      if (end === -1) return Buffer.alloc(0);
      rest = rest.subarray(end + 1);
    }
    return rest;
  };
}

function isSeparatorLine(row: Buffer): boolean {
  return /^"?sep=.?"?$/iu.test(row.toString("latin1"));
}

/** The header, or the first row, and the next one; and whether the file is UTF-16. */
export type FileStart = { header: Buffer; first: Buffer | null; isUtf16: boolean };

/** @throws QuotekeeperError BACKFILL_NOTHING for a file without any row */
export async function readStart(file: string, form: RowsForm): Promise<FileStart> {
  const found: Buffer[] = [];
  for await (const { rows } of readRows(file, form)) {
    found.push(...rows.slice(0, 2).map(({ bytes }) => bytes));
    if (found.length >= 2) break;
  }
  const [header, first = null] = found;
  if (header === undefined) throw unreadable(file, "it is empty", undefined);
  return { header, first, isUtf16: await isUtf16(file) };
}

async function isUtf16(file: string): Promise<boolean> {
  const input = (await opening(file)).createReadStream();
  try {
    for await (const bytes of uncompressed(file, input)) return utf16Of(bytes) !== null;
    return false;
  } finally {
    input.destroy();
  }
}

/** UTF-16 as UTF-8, any other text as it is; either without its byte order mark. */
async function* inUtf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let decoder: TextDecoder | null = null;
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) {
      const encoding = utf16Of(chunk);
      decoder = encoding === null ? null : new TextDecoder(encoding, { fatal: true });
    }
    if (decoder !== null) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    else yield isFirst && startsWith(chunk, UTF_8_MARK) ? chunk.subarray(UTF_8_MARK.length) : chunk;
    isFirst = false;
  }
  if (decoder !== null) yield Buffer.from(decoder.decode());
}

const UTF_8_MARK = [0xef, 0xbb, 0xbf];

/** Which UTF-16 a file is: by its mark, or by the zeros of its first two characters. */
function utf16Of(bytes: Buffer): "utf-16le" | "utf-16be" | null {
  const [a, b, c, d] = bytes;
  if (startsWith(bytes, [0xff, 0xfe]) || (a !== 0 && b === 0 && c !== 0 && d === 0)) return "utf-16le";
  return startsWith(bytes, [0xfe, 0xff]) || (a === 0 && b !== 0 && c === 0 && d !== 0) ? "utf-16be" : null;
}

function startsWith(bytes: Buffer, mark: readonly number[]): boolean {
  return mark.every((byte, place) => bytes[place] === byte);
}

function unreadable(file: string, why: string, cause: unknown): QuotekeeperError {
  return new QuotekeeperError("BACKFILL_NOTHING", `${file} cannot be read (${why})`, { cause });
}
