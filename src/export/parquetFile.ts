/** One Parquet file of one table's rows, a row group at a time. */
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { type ExportColumn, QUOTIENT_PLACES } from "../archive/export/tables.ts";
import { type Digits, digitsOf, moreDigits, COMMON_DECIMAL, type DecimalType } from "./parquetDecimal.ts";
import { type Compress, type CopiedRows, type ParquetColumn, ROW_GROUP_ROWS } from "./parquetColumn.ts";
import { createColumn, DECIMAL_BYTES } from "./parquetValues.ts";
import { createHashedFile, type FileFacts, type HashedFile } from "./manifest.ts";

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
  /** COPY's binary format. */
  bytes: AsyncIterable<Buffer>;
  compress: Compress;
  /** Rows of a row group; default: as many as there may be. */
  groupRows?: number | undefined;
  /** Told of rows as they are read. */
  onRows: (count: number) => void;
};

/**
 * Writes the file and puts it on the disk. All rows are read in any case: the connection they come from goes on.
 *
 * @throws DecimalsTooWide; the file system's errors
 */
export async function writeParquetFile(options: ParquetFileOptions): Promise<FileFacts & { rows: number }> {
  const { path, columns, types, bytes, compress, groupRows = ROW_GROUP_ROWS, onRows } = options;
  const file = await createHashedFile(path);
  try {
    const output = new FileBytes(file);
    const writer = new ParquetWriter({
      ...{ writer: output, codec: "ZSTD", compressors: { ZSTD: compress }, createdBy: "quotekeeper" },
      schema: parquetSchema(columns, types),
    });
    const group = new RowGroup({ columns, types, size: groupRows });
    let count = 0;
    for await (const rows of copiedRows(bytes, columns.length)) {
      for (let from = 0; from < rows.count;) {
        from = group.take(rows, from);
        if (group.rows === groupRows) await group.finish(writer, compress);
      }
      count += rows.count;
      onRows(rows.count);
    }
    if (group.tooWide.size > 0) throw new DecimalsTooWide(group.tooWide);
    if (group.rows > 0) await group.finish(writer, compress);
    await writer.finish();
    return { rows: count, ...(await file.finish()) };
  } finally {
    await file.abandon();
  }
}

/** Rows by column. Once a decimal did not fit, nothing is written any more, and the rest is only measured. */
class RowGroup {
  readonly #columns: readonly ParquetColumn[];
  readonly #size: number;
  readonly tooWide = new Map<string, Digits | null>();
  rows = 0;

  constructor({
    columns,
    types,
    size,
  }: {
    columns: readonly ExportColumn[];
    types: DecimalTypes;
    size: number;
  }) {
    this.#size = size;
    const [, ...elements] = parquetSchema(columns, types);
    this.#columns = elements.map((element, place) => {
      const { name, kind } = columns[place] ?? { name: element.name, kind: "text" };
      return createColumn(kind, element, (text) => this.#measure(name, text));
    });
  }

  /** Takes rows until it is full. @returns the first that it has not taken */
  take(rows: CopiedRows, from: number): number {
    const to = Math.min(rows.count, from + this.#size - this.rows);
    this.#columns.forEach((column, place) => column.take(rows, place, { from, to }));
    this.rows += to - from;
    return to;
  }

  #measure(name: string, text: string): void {
    const digits = digitsOf(text);
    const before = this.tooWide.get(name);
    const both = before && digits ? moreDigits(before, digits) : digits;
    this.tooWide.set(name, before === null ? null : both);
  }

  /** Writes the group, which is empty afterwards. */
  async finish(writer: ParquetWriter, compress: Compress): Promise<void> {
    const { rows } = this;
    this.rows = 0;
    if (this.tooWide.size > 0) return this.#columns.forEach((column) => column.clear());
    const start = writer.writer.offset;
    const columns = this.#columns.map((column) => column.finish(writer.writer, compress));
    const sizes = columns.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n);
    writer.row_groups.push({
      ...{ columns, num_rows: BigInt(rows), total_byte_size: sizes.reduce((sum, size) => sum + size, 0n) },
      total_compressed_size: BigInt(writer.writer.offset - start),
    });
    writer.num_rows += BigInt(rows);
    await writer.writer.flush?.();
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

/** Columns that are quotients, of which PostgreSQL gives those of small numbers many places, and logarithms. */
export const QUOTIENTS: DecimalTypes = {
  mean_spread: { precision: 38, scale: QUOTIENT_PLACES },
  log_return: { precision: 38, scale: 12 },
};

/** Digits that fit into eight bytes; wider decimals take sixteen. */
const INT64_DIGITS = 18;

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

// PostgreSQL's COPY in its binary format: a heading, then rows, each the number of its values and, before each value, how
// many bytes it has (-1: NULL), and a number of values that is -1 at the end. PostgreSQL manual, COPY, "Binary Format".

/** Signature, flags, and the length of an extension, which there is none of. */
const HEADING_BYTES = 19;

/** Whole rows, as they come; none is cut, however the pieces are. What is given holds until the next is asked for. */
export async function* copiedRows(bytes: AsyncIterable<Buffer>, width: number): AsyncGenerator<CopiedRows> {
  let rest: Buffer = Buffer.alloc(0);
  let at = HEADING_BYTES;
  let places = new Int32Array(0);
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const view = new DataView(all.buffer, all.byteOffset, all.length);
    // A row has two bytes, and four for each value, at least.
    const most = width * (Math.ceil(all.length / (2 + 4 * width)) + 1);
    if (places.length < most) places = new Int32Array(most);
    let count = 0;
    for (let end = 0; at < all.length; at = end, count++) {
      end = rowEnd(view, at, { width, places, from: count * width });
      if (end < 0) break;
    }
    rest = all.subarray(Math.min(at, all.length));
    at -= all.length - rest.length;
    if (count > 0) yield { view, places, width, count };
  }
}

/** Finds the values of the row that begins at `at`. @returns where it ends; -1 when not all of it is there */
function rowEnd(
  view: DataView,
  at: number,
  { width, places, from }: { width: number; places: Int32Array; from: number },
): number {
  const length = view.byteLength;
  if (at + 2 > length || view.getInt16(at) < 0) return -1;
  let next = at + 2;
  for (let place = from; place < from + width; place++) {
    next += 4;
    if (next > length) return -1;
    const bytes = view.getInt32(next - 4);
    places[place] = bytes < 0 ? -1 : next;
    if (bytes > 0) next += bytes;
  }
  return next > length ? -1 : next;
}
