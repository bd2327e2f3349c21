/** The rows of a CSV file, plain or in .gz, read as a stream. */
import { QuotekeeperError } from "../../ground/errors.ts";
import { unpacked } from "../../ground/unpacked.ts";
import { openFile } from "../../ground/plainFiles.ts";
import { type RawRow, RowSplitter } from "../../read/splitRows.ts";

/** Rows below a header, and how many bytes of the file were read for them. Where the header is another one a table begins. */
export type TableRows = { header: Buffer; rows: RawRow[]; done: number };

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
 * Stretch by stretch. A byte order mark is dropped.
 *
 * @throws QuotekeeperError BACKFILL_NOTHING when it cannot be read, or not to its end, or has no row at all
 */
export async function* readRows(file: string): AsyncGenerator<TableRows, void> {
  const input = (await opening(file)).createReadStream();
  const splitter = new RowSplitter();
  let header: Buffer | null = null;
  const below = (rows: RawRow[]): TableRows[] => {
    const [first] = rows;
    if (header !== null) return [{ header, rows, done: input.bytesRead }];
    if (first === undefined) return [];
    header = withoutMark(first.bytes);
    return [{ header, rows: rows.slice(1), done: input.bytesRead }];
  };
  try {
    for await (const bytes of unpacked(file, input)) yield* below(splitter.push(bytes));
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    throw unreadable(file, code.startsWith("Z_") ? `its gzip is damaged: ${message}` : code, cause);
  } finally {
    input.destroy();
  }
  yield* below(splitter.finish());
  if (header === null) throw unreadable(file, "it is empty", undefined);
}

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

function withoutMark(bytes: Buffer): Buffer {
  const marked = bytes.subarray(0, UTF_8_MARK.length).equals(UTF_8_MARK);
  return marked ? bytes.subarray(UTF_8_MARK.length) : bytes;
}

function unreadable(file: string, why: string, cause: unknown): QuotekeeperError {
  return new QuotekeeperError("BACKFILL_NOTHING", `${file} cannot be read (${why})`, { cause });
}
