/** The rows of a file of an export, Parquet or CSV, every digit of them: text as PostgreSQL reads it. */
import type { FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { parse } from "csv-parse";
import { type FileMetaData, parquetMetadataAsync, parquetRead, type SchemaElement } from "hyparquet";
import type { PieceRow } from "../../read/exportRows.ts";
import { exact } from "../../read/cell.ts";
import type { ExportedTable } from "../../export/manifest.ts";
import { instantOf } from "../../clock.ts";
import { openFile } from "../../plainFiles.ts";

/** What the reader gives once it converts nothing. */
type Raw = bigint | number | boolean | string | Uint8Array | null | undefined;

/**
 * The rows of a Parquet file, a row group at a time, in its order.
 *
 * @throws the file system's errors; the reader's for a file that is no Parquet
 */
export async function* parquetRows(path: string): AsyncGenerator<PieceRow[], void> {
  const handle = await openFile(path, { links: false });
  try {
    const { size } = await handle.stat();
    const file = { byteLength: size, slice: (from: number, to = size) => readSlice(handle, from, to) };
    const metadata = await parquetMetadataAsync(file);
    const columns = metadata.schema.slice(1);
    const zstd = await Zstd.load();
    const texts = columns.map(textOf);
    let rowStart = 0;
    for (const { num_rows } of metadata.row_groups) {
      const rowEnd = rowStart + Number(num_rows);
      let rows: Raw[][] = [];
      await parquetRead({
        ...{ file, metadata: unconverted(metadata), rowStart, rowEnd, utf8: true },
        compressors: { ZSTD: (bytes) => zstd.decompress(bytes) },
        // The reader's own drops a byte order mark.
        parsers: { stringFromBytes: (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8") } as never,
        onComplete: (data) => (rows = data as Raw[][]),
      });
      yield rows.map((row) =>
        Object.fromEntries(columns.map(({ name }, place) => [name, texts[place]?.(row[place]) ?? null])),
      );
      rowStart = rowEnd;
    }
  } finally {
    await handle.close();
  }
}

async function readSlice(handle: FileHandle, from: number, to: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(to - from);
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, from + done);
    if (bytesRead === 0) throw new RangeError(`the file ends at byte ${from + done}`);
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

/** How a column's values become text. */
function textOf({ type, converted_type, scale = 0 }: SchemaElement): (value: Raw) => string | null {
  const text = ((): ((value: Raw) => string) => {
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
function wholeOf(value: Raw): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as bigint | number);
  const bits = BigInt(`0x${Buffer.from(value).toString("hex") || "0"}`);
  return BigInt.asIntN(value.length * 8, bits);
}

/** A decimal without the zeros that its column's type adds. */
function decimalText(whole: bigint, scale: number): string {
  const digits = (whole < 0n ? -whole : whole).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/u, "");
  return `${whole < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Rows of CSV that are given together. */
const CSV_ROWS = 1_000;

/** How an export writes CSV: NULL is nothing, an empty text is `""` (docs/export.md, CSV). */
const CSV_FORM = {
  record_delimiter: "\r\n",
  cast: (value: string, { quoting }: { quoting: boolean }): string | null =>
    value === "" && !quoting ? null : value,
};

/**
 * The rows of a CSV file, in its order.
 *
 * @param raw whether texts are exact; otherwise some have an apostrophe before them (spreadsheet.ts)
 * @throws the file system's errors; the reader's for a file that is no CSV
 */
export async function* exportedCsvRows(
  path: string,
  { columns }: Pick<ExportedTable, "columns">,
  raw: boolean,
): AsyncGenerator<PieceRow[], void> {
  const texts = new Set(raw ? [] : columns.flatMap(({ name, type }) => (type === "VARCHAR" ? [name] : [])));
  const input = (await openFile(path, { links: false })).createReadStream();
  // An error of either ends both, and comes out of the parser.
  const parser = pipeline(input, parse(CSV_FORM), () => undefined);
  let names: string[] | null = null;
  let rows: PieceRow[] = [];
  for await (const record of parser) {
    const values = record as (string | null)[];
    if (names === null) {
      names = values.map(String);
      continue;
    }
    const entries = names.map((name, place): [string, string | null] => {
      const value = values[place] ?? null;
      return [name, value !== null && texts.has(name) ? exact(value) : value];
    });
    rows.push(Object.fromEntries(entries));
    if (rows.length < CSV_ROWS) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}
