/** One Parquet file of one table's rows, a row group at a time. */
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import type { ExportColumn } from "../archive/export/tables.ts";
import {
  type Digits,
  digitsOf,
  moreDigits,
  COMMON_DECIMAL,
  type DecimalType,
  scaledDecimal,
} from "./parquetDecimal.ts";
import { createHashedFile, type FileFacts, type HashedFile } from "./manifest.ts";

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

// Columns of an export as Parquet has them: the schema, and each value from PostgreSQL's text.

/** Types of the decimal columns that need more than the common one, by column. */
export type DecimalTypes = Readonly<Record<string, DecimalType>>;

/** Columns that are quotients: PostgreSQL gives those of small numbers up to twenty-four places. */
export const QUOTIENTS: DecimalTypes = { mean_spread: { precision: 38, scale: 24 } };

/** What Parquet's writer takes. */
type ParquetValue = bigint | number | string | boolean | null;

/** Digits that fit into eight bytes; wider decimals take sixteen. */
const INT64_DIGITS = 18;

const DECIMAL_BYTES = 16;

/** The type of a decimal column. */
export function decimalTypeOf(name: string, types: DecimalTypes): DecimalType {
  return types[name] ?? COMMON_DECIMAL;
}

/** The schema of a file, its root first. */
function parquetSchema(columns: readonly ExportColumn[], types: DecimalTypes): SchemaElement[] {
  return [
    { name: "quotekeeper", num_children: columns.length },
    ...columns.map((column): SchemaElement => ({
      name: column.name,
      repetition_type: column.nullable ? "OPTIONAL" : "REQUIRED",
      ...physical(column, types),
    })),
  ];
}

function physical({ name, kind }: ExportColumn, types: DecimalTypes): Partial<SchemaElement> {
  switch (kind) {
    case "time":
      return {
        type: "INT64",
        converted_type: "TIMESTAMP_MICROS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
      };
    case "date":
      return { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } };
    case "boolean":
      return { type: "BOOLEAN" };
    case "integer":
      return { type: "INT32" };
    case "bigint":
      return { type: "INT64" };
    case "text":
      return { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
    case "decimal": {
      const { precision, scale } = decimalTypeOf(name, types);
      const width =
        precision <= INT64_DIGITS
          ? { type: "INT64" as const }
          : { type: "FIXED_LEN_BYTE_ARRAY" as const, type_length: DECIMAL_BYTES };
      return {
        ...width,
        ...{ converted_type: "DECIMAL", precision, scale },
        logical_type: { type: "DECIMAL", precision, scale },
      };
    }
  }
}

/** What people call the type of a column, in SQL's words. */
export function sqlTypeOf({ name, kind }: ExportColumn, types: DecimalTypes): string {
  switch (kind) {
    case "time":
      return "TIMESTAMP WITH TIME ZONE";
    case "integer":
      return "INTEGER";
    case "text":
      return "VARCHAR";
    case "decimal": {
      const { precision, scale } = decimalTypeOf(name, types);
      return `DECIMAL(${precision},${scale})`;
    }
    default:
      return kind.toUpperCase();
  }
}

/**
 * How a column's values are made of PostgreSQL's text.
 *
 * @returns a function that gives undefined for a decimal that does not fit its type
 */
function valueReader(
  { name, kind }: ExportColumn,
  types: DecimalTypes,
): (text: string) => ParquetValue | undefined {
  switch (kind) {
    case "time":
      return createTimeReader();
    case "date":
      return (text) => Date.parse(`${text}T00:00:00Z`) / MS_PER_DAY;
    case "boolean":
      return (text) => text === "t";
    case "integer":
      return Number;
    case "bigint":
      return BigInt;
    case "text":
      return (text) => text;
    case "decimal": {
      const type = decimalTypeOf(name, types);
      return (text) => scaledDecimal(text, type) ?? undefined;
    }
  }
}

const MS_PER_DAY = 86_400_000;

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\+00$/;

/** Microseconds since 1970 of `2026-11-20 22:50:00.123456+00`. Rows of a file are mostly of one date. */
function createTimeReader(): (text: string) => bigint {
  let date = "";
  let dateMs = 0;
  return (text) => {
    const match = TIME.exec(text);
    if (!match) throw new RangeError(`"${text}" is no time of the years 0001 to 9999 in UTC`);
    const [, day = "", hour, minute, second, fraction = ""] = match;
    if (day !== date) [date, dateMs] = [day, Date.parse(`${day}T00:00:00Z`)];
    const seconds = dateMs / 1_000 + Number(hour) * 3_600 + Number(minute) * 60 + Number(second);
    return BigInt(seconds) * 1_000_000n + BigInt(Number(fraction.padEnd(6, "0")));
  };
}

// PostgreSQL's COPY text read back: a row a line, its values between tabs. PostgreSQL manual, COPY, "Text Format".

const LINE_END = 0x0a;

const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** Whole lines, as they come, in blocks; none is cut, however the pieces are. */
export async function* copyLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer[] = [];
  for await (const piece of bytes) {
    const end = piece.lastIndexOf(LINE_END);
    if (end < 0) {
      rest.push(piece);
      continue;
    }
    const whole = Buffer.concat([...rest, piece.subarray(0, end)]);
    rest = end + 1 < piece.length ? [piece.subarray(end + 1)] : [];
    yield whole.toString("utf8").split("\n");
  }
}

/** The values of a line; NULL, which is `\N`, is null. */
export function copyValues(line: string): (string | null)[] {
  const values: (string | null)[] = line.split("\t");
  if (!line.includes("\\")) return values;
  return values.map((value) => (value === "\\N" || value === null ? null : unescaped(value)));
}

function unescaped(value: string): string {
  return value.includes("\\")
    ? value.replace(/\\(.)/gs, (_, letter: string) => ESCAPED[letter] ?? letter)
    : value;
}
