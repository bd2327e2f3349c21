/** One Parquet file of one table's rows, a row group at a time. */
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { ExportColumn } from "../archive/export/columns.ts";
import { copyLines, copyValues } from "./copyText.ts";
import { type Digits, digitsOf, moreDigits } from "./parquetDecimal.ts";
import { createHashedFile, type FileFacts, type HashedFile } from "./hashedFile.ts";
import { type DecimalTypes, parquetSchema, type ParquetValue, valueReader } from "./parquetColumns.ts";

/** Zstandard, as a function from bytes to bytes. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/** Rows of a row group: what is in memory at a time, several times over. Engines read such groups side by side. */
export const ROW_GROUP_ROWS = 32_768;

/** Decimals that do not fit the type of their column: the file has to be written again. */
export class DecimalsTooWide extends Error {
  /** What is needed, by column; null for a value that is no number (`NaN`, `Infinity`). */
  readonly needed: ReadonlyMap<string, Digits | null>;
  constructor(needed: ReadonlyMap<string, Digits | null>) {
    super(`decimals of ${[...needed.keys()].join(", ")} do not fit`);
    this.needed = needed;
  }
}

/** What a file is made of. */
type ParquetFileOptions = {
  path: string;
  columns: readonly ExportColumn[];
  types: DecimalTypes;
  /** COPY's text. */
  bytes: AsyncIterable<Buffer>;
  compress: Compress;
  /** Told of rows as they are read. */
  onRows: (count: number) => void;
};

/**
 * Writes the file and puts it on the disk. All rows are read in any case: the connection they come from goes on.
 *
 * @throws DecimalsTooWide; the file system's errors
 */
export async function writeParquetFile(options: ParquetFileOptions): Promise<FileFacts & { rows: number }> {
  const { path, columns, types, bytes, compress, onRows } = options;
  const file = await createHashedFile(path);
  try {
    const writer = new ParquetWriter({
      writer: new FileBytes(file),
      schema: parquetSchema(columns, types),
      codec: "ZSTD",
      compressors: { ZSTD: compress },
      createdBy: "quotekeeper",
    });
    const rows = new RowGroup(columns, types);
    let count = 0;
    for await (const lines of copyLines(bytes)) {
      for (const line of lines) {
        rows.add(line);
        if (rows.length === ROW_GROUP_ROWS) await writer.write(rows.take());
      }
      count += lines.length;
      onRows(lines.length);
    }
    if (rows.tooWide.size > 0) throw new DecimalsTooWide(rows.tooWide);
    if (rows.length > 0) await writer.write(rows.take());
    await writer.finish();
    return { rows: count, ...(await file.finish()) };
  } finally {
    await file.abandon();
  }
}

/** Rows by column. Once a decimal did not fit, nothing is kept any more, and the rest is only measured. */
class RowGroup {
  readonly #columns: readonly ExportColumn[];
  readonly #read: ReturnType<typeof valueReader>[];
  readonly tooWide = new Map<string, Digits | null>();
  #data: ParquetValue[][];
  length = 0;

  constructor(columns: readonly ExportColumn[], types: DecimalTypes) {
    this.#columns = columns;
    this.#read = columns.map((column) => valueReader(column, types));
    this.#data = columns.map(() => []);
  }

  add(line: string): void {
    const values = copyValues(line);
    for (let index = 0; index < this.#read.length; index++) {
      const text = values[index];
      const value = text === null || text === undefined ? null : this.#read[index]?.(text);
      if (value === undefined) this.#measure(this.#columns[index]?.name ?? "", text ?? "");
      else if (this.tooWide.size === 0) this.#data[index]?.push(value);
    }
    if (this.tooWide.size === 0) this.length += 1;
  }

  #measure(name: string, text: string): void {
    const digits = digitsOf(text);
    const before = this.tooWide.get(name);
    const both = before && digits ? moreDigits(before, digits) : digits;
    this.tooWide.set(name, before === null ? null : both);
    this.#data = this.#columns.map(() => []);
    this.length = 0;
  }

  /** The group, which is empty afterwards. */
  take(): { columnData: { name: string; data: ParquetValue[] }[]; rowGroupSize: number } {
    const columnData = this.#columns.map(({ name }, index) => ({ name, data: this.#data[index] ?? [] }));
    this.#data = this.#columns.map(() => []);
    this.length = 0;
    return { columnData, rowGroupSize: ROW_GROUP_ROWS };
  }
}

/** The writer's buffer, emptied into the file after each row group. */
class FileBytes extends ByteWriter {
  readonly #file: HashedFile;

  constructor(file: HashedFile) {
    super();
    this.#file = file;
  }

  async flush(): Promise<void> {
    await this.#file.write(this.getBytes());
    this.index = 0;
  }

  override async finish(): Promise<void> {
    await this.flush();
  }
}
