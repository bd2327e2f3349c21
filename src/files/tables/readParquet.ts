/** Parquet files of ours read back, a row group at a time: the values as they are stored, and as text with every digit. */
import type { FileHandle } from "node:fs/promises";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { type FileMetaData, parquetMetadataAsync, parquetRead, type SchemaElement } from "hyparquet";
import { instantOf } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { openFile } from "../../ground/plainFiles.ts";
import { decimalText } from "./parquetDecimal.ts";
import { invalidParquet, requireFrame, requirePages, requireRows, type Slice } from "./parquetBounds.ts";

/** A value as hyparquet reads it without converting it. */
export type RawValue = bigint | number | boolean | string | Uint8Array | null | undefined;

/** The columns of a row group, in the file's order. */
export type RawColumns = { rows: number; columns: { element: SchemaElement; values: RawValue[] }[] };

/**
 * The row groups of a file, in their order. A file without row groups has one without rows.
 *
 * @param expected the rows that its manifest names: a file with more rows, or with larger row groups than ours, is refused
 *   before it is read
 * @throws the file system's errors; QuotekeeperError PARQUET_INVALID
 */
export async function* rawColumns(path: string, expected: number): AsyncGenerator<RawColumns, void> {
  const handle = await openFile(path, { links: false });
  try {
    const { metadata, file } = await bounded(handle, expected);
    const zstd = await Zstd.load();
    let rowStart = 0;
    if (metadata.row_groups.length === 0)
      yield { rows: 0, columns: metadata.schema.slice(1).map((element) => ({ element, values: [] })) };
    for (const group of metadata.row_groups) {
      await requirePages(group, file.slice);
      const rows = Number(group.num_rows);
      const columns = metadata.schema.slice(1).map((element) => ({ element, values: [] as RawValue[] }));
      const byName = new Map(columns.map((column) => [column.element.name, column]));
      await parquetRead({
        file,
        metadata: unconverted(metadata),
        rowStart,
        rowEnd: rowStart + rows,
        utf8: true,
        compressors: { ZSTD: (bytes, size) => zstd.decompress(requireFrame(bytes, size)) },
        // The reader's own drops a byte order mark.
        parsers: { stringFromBytes: (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8") } as never,
        onChunk: ({ columnName, columnData }) => {
          const column = byName.get(columnName);
          if (!column) return;
          const values = columnData as ArrayLike<RawValue>;
          if (column.values.length === 0)
            column.values = Array.isArray(values) ? (values as RawValue[]) : Array.from(values);
          else for (let place = 0; place < values.length; place++) column.values.push(values[place]);
        },
      });
      const short = columns.find(({ values }) => values.length !== rows);
      if (short)
        throw invalidParquet(`${short.element.name} has ${short.values.length} values in ${rows} rows`);
      yield { rows, columns };
      rowStart += rows;
    }
  } catch (error) {
    throw asInvalid(path, error);
  } finally {
    await handle.close();
  }
}

/**
 * Refuses a file with more rows than `rawColumns` reads, as far as the file's end says so.
 *
 * @throws as `rawColumns`
 */
export async function requireParquet(path: string, expected: number): Promise<void> {
  const handle = await openFile(path, { links: false });
  try {
    await bounded(handle, expected);
  } catch (error) {
    throw asInvalid(path, error);
  } finally {
    await handle.close();
  }
}

async function bounded(
  handle: FileHandle,
  expected: number,
): Promise<{ metadata: FileMetaData; file: { byteLength: number; slice: Slice } }> {
  const { size } = await handle.stat();
  const slice = (from: number, to = size): Promise<ArrayBuffer> =>
    readSlice(handle, from, Math.min(to, size));
  const file = { byteLength: size, slice };
  const metadata = await parquetMetadataAsync(file);
  requireRows(metadata, expected);
  return { metadata, file };
}

/** hyparquet has no error class of its own; errors of the file system name a call. */
function asInvalid(path: string, error: unknown): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return error;
  const detail = error instanceof QuotekeeperError ? error.detail : message;
  return new QuotekeeperError("PARQUET_INVALID", `${path}: ${detail}`, { cause: error });
}

/**
 * The rows of a file, a row group at a time, in its order: text as PostgreSQL reads it.
 *
 * @throws as `rawColumns`
 */
export async function* parquetRows(
  path: string,
  expected: number,
): AsyncGenerator<Record<string, string | null>[], void> {
  for await (const { rows, columns } of rawColumns(path, expected)) {
    const texts = columns.map(({ element }) => textOf(element));
    yield Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(
        columns.map(({ element, values }, place) => [element.name, texts[place]?.(values[row]) ?? null]),
      ),
    );
  }
}

async function readSlice(handle: FileHandle, from: number, to: number): Promise<ArrayBuffer> {
  if (!(from >= 0 && to >= from)) throw invalidParquet(`bytes ${from} to ${to} are none of the file`);
  const bytes = new Uint8Array(to - from);
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, from + done);
    if (bytesRead === 0) throw invalidParquet(`the file ends at byte ${from + done}`);
    done += bytesRead;
  }
  return bytes.buffer;
}

/** The same file without what columns mean: the reader would make floats of decimals, and milliseconds of microseconds. */
function unconverted(metadata: FileMetaData): FileMetaData {
  const plain = ({ converted_type: _converted, logical_type: _logical, ...element }: SchemaElement) =>
    element;
  return { ...metadata, schema: metadata.schema.map(plain) };
}

/** Writes the values of a column as text. */
export function textOf(element: SchemaElement): (value: RawValue) => string | null {
  const { type, converted_type, scale = 0 } = element;
  const text = ((): ((value: RawValue) => string) => {
    if (converted_type === "DECIMAL") return (value) => decimalText(wholeOf(value), scale);
    if (converted_type === "TIMESTAMP_MICROS") return (value) => instantOf(wholeOf(value));
    if (converted_type === "DATE")
      return (value) => new Date(Number(value) * MS_PER_DAY).toISOString().slice(0, 10);
    return type === "INT64" ? (value) => wholeOf(value).toString() : String;
  })();
  return (value) => (value === null || value === undefined ? null : text(value));
}

const MS_PER_DAY = 86_400_000;

/** A whole number: eight bytes come as a bigint, wider ones as bytes, the highest first, in two's complement. */
export function wholeOf(value: RawValue): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as bigint | number);
  const bits = BigInt(`0x${Buffer.from(value).toString("hex") || "0"}`);
  return BigInt.asIntN(value.length * 8, bits);
}
