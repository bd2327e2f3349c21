/** Writes the rows of a table into a Parquet file, one row group at a time. */
import { Zstd } from "@hpcc-js/wasm-zstd";
import type { Encoding } from "hyparquet";
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { type ExportColumn, QUOTIENT_PLACES } from "../../archive/export/exportColumns.ts";
import { COMMON_DECIMAL, type DecimalType, NARROW_DECIMAL } from "./parquetDecimal.ts";
import { type CopiedRows, copiedRows, type CopiedValue, type ReadValue, valueReader } from "./copiedRows.ts";
import { createHashedFile, type FileFacts, type HashedFile } from "./hashedFile.ts";

/** Zstandard, as a function from bytes to bytes. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/** @param level default: Zstandard's own, which has ten times the rows a second of the highest level, at little more space */
export async function zstandard(level = 3): Promise<Compress> {
  const zstd = await Zstd.load();
  return (bytes) => zstd.compress(bytes, level);
}

/** Rows of a row group: values of few instruments are near each other, and one instrument is found in few groups. */
export const ROW_GROUP_ROWS = 8_192;

/** Bytes of a decimal of more than eighteen digits. */
const DECIMAL_BYTES = 16;

/** Columns whose decimals do not fit their types: the file is incomplete, and has to be written again. */
export type DecimalsTooWide = { tooWide: ReadonlySet<string> };

type ParquetFileOptions = {
  path: string;
  columns: readonly ExportColumn[];
  types: DecimalTypes;
  /** COPY's binary format. */
  bytes: AsyncIterable<Buffer>;
  compress: Compress;
  /** Hears how many rows were read. */
  onRows: (count: number) => void;
};

/**
 * Writes the file and puts it on the disk. Reads all rows in any case, so that their connection can be used again.
 *
 * @throws the file system's errors
 */
export async function writeParquetFile(
  options: ParquetFileOptions,
): Promise<(FileFacts & { rows: number }) | DecimalsTooWide> {
  const { path, columns, types, bytes, compress, onRows } = options;
  const file = await createHashedFile(path);
  try {
    const output = new FileBytes(file);
    const writer = new ParquetWriter({
      writer: output,
      codec: "ZSTD",
      compressors: { ZSTD: compress },
      createdBy: "quotekeeper",
      schema: parquetSchema(columns, types),
    });
    const group = new RowGroup(columns, types);
    let count = 0;
    for await (const rows of copiedRows(bytes, columns.length)) {
      for (let from = 0; from < rows.count;) {
        const to = Math.min(rows.count, from + ROW_GROUP_ROWS - group.rows);
        group.add(rows, from, to);
        from = to;
        if (group.rows === ROW_GROUP_ROWS) await group.finish(writer);
      }
      count += rows.count;
      onRows(rows.count);
    }
    if (group.tooWide.size > 0) return { tooWide: group.tooWide };
    if (group.rows > 0) await group.finish(writer);
    await writer.finish();
    return { rows: count, ...(await file.finish()) };
  } finally {
    await file.abandon();
  }
}

/** Rows by column. Once a decimal did not fit, nothing is written any more. */
class RowGroup {
  readonly #columns: readonly Column[];
  readonly tooWide = new Set<string>();
  rows = 0;

  constructor(columns: readonly ExportColumn[], types: DecimalTypes) {
    this.#columns = columns.map((column) => {
      const type = decimalTypeOf(column.name, types);
      const read = valueReader(column, type, () => this.tooWide.add(column.name));
      return isLong(column, type) ? new LongColumn(column, read) : new Column(column, read);
    });
  }

  add(rows: CopiedRows, from: number, to: number): void {
    this.#columns.forEach((column, place) => {
      for (let row = from; row < to; row++)
        column.add(rows, rows.places[row * this.#columns.length + place] ?? -1);
    });
    this.rows += to - from;
  }

  async finish(writer: ParquetWriter): Promise<void> {
    const columnData = [...this.#columns];
    if (this.tooWide.size === 0)
      await writer.write({ columnData, rowGroupSize: this.rows, pageSize: ONE_PAGE });
    for (const column of this.#columns) column.clear();
    this.rows = 0;
  }
}

/** A column of a row group. The writer takes `data` of one column after the other. */
class Column implements ColumnSource {
  readonly name: string;
  // Times of one instrument ascend: their differences are shorter than a dictionary.
  readonly encoding: Encoding | undefined;
  protected readonly read: ReadValue;
  #values: CopiedValue[] = [];

  constructor({ name, kind }: ExportColumn, read: ReadValue) {
    this.name = name;
    this.encoding = kind === "time" ? "DELTA_BINARY_PACKED" : undefined;
    this.read = read;
  }

  /** Adds the value that begins at `start`; -1: NULL. */
  add(rows: CopiedRows, start: number): void {
    this.#values.push(start < 0 ? null : this.read(rows, start));
  }

  get data(): CopiedValue[] | BigInt64Array {
    return this.#values;
  }

  clear(): void {
    this.#values = [];
  }
}

/** Whole numbers of eight bytes wait packed: as objects, those of all columns would take four times as much memory. */
class LongColumn extends Column {
  readonly #numbers = new BigInt64Array(ROW_GROUP_ROWS);
  readonly #isNull = new Uint8Array(ROW_GROUP_ROWS);
  #nulls = 0;
  #count = 0;

  override add(rows: CopiedRows, start: number): void {
    const value = start < 0 ? null : this.read(rows, start);
    const place = this.#count++;
    this.#isNull[place] = value === null ? 1 : 0;
    if (value === null) this.#nulls += 1;
    else this.#numbers[place] = value as bigint;
  }

  override get data(): CopiedValue[] | BigInt64Array {
    const numbers = this.#numbers.subarray(0, this.#count);
    if (this.#nulls === 0) return numbers;
    return Array.from(numbers, (value, place) => (this.#isNull[place] === 1 ? null : value));
  }

  override clear(): void {
    this.#nulls = this.#count = 0;
  }
}

function isLong({ kind }: ExportColumn, { precision }: DecimalType): boolean {
  return kind === "time" || kind === "bigint" || (kind === "decimal" && precision <= INT64_DIGITS);
}

/** All values of a column in a row group stand in one page. */
const ONE_PAGE = 0;

/** The writer's buffer. Each row group is written to the file and leaves it. */
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

/** The types of decimal columns, by column. */
export type DecimalTypes = Readonly<Record<string, DecimalType>>;

/** Quotients and logarithms: PostgreSQL computes them with many places. */
const QUOTIENTS: DecimalTypes = {
  mean_spread: { precision: 38, scale: QUOTIENT_PLACES },
  log_return: { precision: 38, scale: 12 },
};

/** Columns of quotes whose numbers are reckoned, and have more places as a rule. */
const RECKONED = new Set("delta gamma theta vega rho implied_volatility bid_iv ask_iv".split(" "));

/** The decimals that a table's files begin with. @param known those of earlier files, which stay */
export function decimalsOf(
  table: string,
  columns: readonly ExportColumn[],
  known: DecimalTypes = {},
): Record<string, DecimalType> {
  const isOfQuotes = table === "quotes" || table === "extended_quotes";
  return Object.fromEntries(
    columns.flatMap(({ name, kind }) => {
      const first = QUOTIENTS[name] ?? (isOfQuotes && !RECKONED.has(name) ? NARROW_DECIMAL : COMMON_DECIMAL);
      return kind === "decimal" ? [[name, known[name] ?? first]] : [];
    }),
  );
}

/** Digits that fit into eight bytes; wider decimals take sixteen. */
const INT64_DIGITS = 18;

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
      ...typeOf(column, types).stored,
    })),
  ];
}

/** The type of a column in SQL's words, and as it is stored. */
type ColumnType = { sql: string; stored: Partial<SchemaElement> };

/** By kind. Those of decimals depend on their digits. */
const TYPES: Readonly<Record<Exclude<ExportColumn["kind"], "decimal">, ColumnType>> = {
  time: {
    sql: "TIMESTAMP WITH TIME ZONE",
    stored: {
      type: "INT64",
      converted_type: "TIMESTAMP_MICROS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
  },
  date: { sql: "DATE", stored: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } } },
  boolean: { sql: "BOOLEAN", stored: { type: "BOOLEAN" } },
  integer: { sql: "INTEGER", stored: { type: "INT32" } },
  bigint: { sql: "BIGINT", stored: { type: "INT64" } },
  text: {
    sql: "VARCHAR",
    stored: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  },
};

function typeOf({ name, kind }: ExportColumn, types: DecimalTypes): ColumnType {
  if (kind !== "decimal") return TYPES[kind];
  const { precision, scale } = decimalTypeOf(name, types);
  const width =
    precision <= INT64_DIGITS
      ? { type: "INT64" as const }
      : { type: "FIXED_LEN_BYTE_ARRAY" as const, type_length: DECIMAL_BYTES };
  const logical_type = { type: "DECIMAL" as const, precision, scale };
  const stored = { ...width, converted_type: "DECIMAL" as const, precision, scale, logical_type };
  return { sql: `DECIMAL(${precision},${scale})`, stored };
}

/** The type of a column in SQL's words. */
export function sqlTypeOf(column: ExportColumn, types: DecimalTypes): string {
  return typeOf(column, types).sql;
}
