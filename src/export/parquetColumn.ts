/**
 * One column of a row group, made of PostgreSQL's binary values: each value is kept once, with the place of it for each
 * row that has it. Nothing is made of a value in between, no text and no object: this is where an export spends its time.
 *
 * Pages, levels and encodings: the Parquet format, https://parquet.apache.org/docs/file-format/data-pages/. Their headers
 * and runs are hyparquet-writer's.
 */
import type { ColumnChunk, Encoding, Statistics } from "hyparquet";
import { ByteWriter, type SchemaElement, type Writer } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";

/** Zstandard, as a function from bytes to bytes. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/** Rows of a row group: what is in memory at a time, several times over. Engines read such groups side by side. */
export const ROW_GROUP_ROWS = 32_768;

/** Rows as COPY's binary format has them: PostgreSQL manual, COPY, "Binary Format". */
export type CopiedRows = {
  view: DataView;
  /** Where the value of each column begins, row after row; its length stands in the four bytes before. -1: NULL. */
  places: Int32Array;
  /** Columns of a row. */
  width: number;
  count: number;
};

/** Slots of the table of known values: twice as many as there can be values. */
const SLOTS = 2 * ROW_GROUP_ROWS;

/** A dictionary has to halve a column at least: so hyparquet-writer does it too, and prices that hardly repeat get none. */
const LEAST_GAIN = 2;

/** A column under way. Its values are numbered in the order in which they come. */
export abstract class ParquetColumn {
  readonly element: SchemaElement;
  /** Of each row: 1, or 0 for NULL. */
  readonly #levels = new Uint8Array(ROW_GROUP_ROWS);
  /** Of each row that is not NULL: the number of its value. */
  readonly #numbers = new Int32Array(ROW_GROUP_ROWS);
  /** Numbers of values, and one more, at the slots of their hashes; 0 where there is none. */
  readonly #table = new Int32Array(SLOTS);
  #rows = 0;
  #present = 0;
  /** How many values there are. */
  protected distinct = 0;

  constructor(element: SchemaElement) {
    this.element = element;
  }

  /** Takes its values of rows `from` to before `to`. */
  take({ view, places, width }: CopiedRows, place: number, { from, to }: { from: number; to: number }): void {
    for (let row = from; row < to; row++) {
      const start = places[row * width + place] as number;
      const number = start < 0 ? null : this.numberOf(view, start);
      this.#levels[this.#rows++] = number === null ? 0 : 1;
      if (number !== null) this.#numbers[this.#present++] = number;
    }
  }

  /** The number of the value that begins there; null when it cannot be kept. */
  protected abstract numberOf(view: DataView, start: number): number | null;

  /** Whether the value looked for is the one with this number. */
  protected abstract isAt(number: number): boolean;

  /** Keeps the value looked for as the one with this number. */
  protected abstract keep(number: number): void;

  /** Bytes that all values take, each once, in PLAIN encoding. */
  protected abstract distinctBytes(): number;

  /** Bytes that these values take so. */
  protected abstract plainBytes(numbers: Int32Array): number;

  /** Writes a value in PLAIN encoding. */
  protected abstract write(page: ByteWriter, number: number): void;

  /** The least and the greatest value. */
  protected abstract bounds(): Bounds;

  /** The number of the value looked for, whose hash this is. */
  protected find(hash: number): number {
    for (let slot = hash & (SLOTS - 1); ; slot = (slot + 1) & (SLOTS - 1)) {
      const known = this.#table[slot] as number;
      if (known === 0) {
        this.#table[slot] = ++this.distinct;
        this.keep(this.distinct - 1);
        return this.distinct - 1;
      }
      if (this.isAt(known - 1)) return known - 1;
    }
  }

  /** Writes the column, which is empty afterwards. @returns what the file's end says of it */
  finish(writer: Writer, compress: Compress): ColumnChunk {
    const { type = "BYTE_ARRAY", name, repetition_type } = this.element;
    const numbers = this.#numbers.subarray(0, this.#present);
    const rows = this.#rows;
    const encoding = this.#encoding(numbers);
    const start = writer.offset;
    let uncompressed = 0;
    if (encoding === "RLE_DICTIONARY") uncompressed += this.#writeDictionary(writer, compress);
    const data = writer.offset;
    const levels = repetition_type === "OPTIONAL" ? this.#levels.subarray(0, rows) : null;
    const page = this.#page(encoding, numbers);
    uncompressed += writeData(writer, {
      page,
      encoding,
      levels,
      rows,
      nulls: rows - numbers.length,
      compress,
    });
    const chunk: ColumnChunk = {
      file_offset: BigInt(start),
      meta_data: {
        ...{ type, path_in_schema: [name], codec: "ZSTD", num_values: BigInt(rows) },
        encodings: encoding === "RLE_DICTIONARY" ? ["PLAIN", encoding] : [encoding],
        total_compressed_size: BigInt(writer.offset - start),
        total_uncompressed_size: BigInt(uncompressed),
        data_page_offset: BigInt(data),
        ...(encoding === "RLE_DICTIONARY" && { dictionary_page_offset: BigInt(start) }),
        statistics: { ...this.bounds(), null_count: BigInt(rows - numbers.length) },
      },
    };
    this.clear();
    return chunk;
  }

  /** Forgets all rows. */
  clear(): void {
    this.#table.fill(0);
    this.#rows = this.#present = this.distinct = 0;
  }

  #encoding(numbers: Int32Array): Encoding {
    if (this.element.type === "BOOLEAN") return "RLE";
    const indexBytes = Math.ceil((numbers.length * bitsOf(this.distinct)) / 8);
    const withDictionary = this.distinctBytes() + indexBytes;
    return LEAST_GAIN * withDictionary <= this.plainBytes(numbers) && numbers.length > 0
      ? "RLE_DICTIONARY"
      : "PLAIN";
  }

  #writeDictionary(writer: Writer, compress: Compress): number {
    const plain = new ByteWriter(this.distinctBytes());
    for (let number = 0; number < this.distinct; number++) this.write(plain, number);
    const compressed = compress(plain.getBytes());
    const start = writer.offset;
    writePageHeader(writer, {
      type: "DICTIONARY_PAGE",
      uncompressed_page_size: plain.offset,
      compressed_page_size: compressed.length,
      dictionary_page_header: { num_values: this.distinct, encoding: "PLAIN" },
    });
    const headerBytes = writer.offset - start;
    writer.appendBytes(compressed);
    return headerBytes + plain.offset;
  }

  #page(encoding: Encoding, numbers: Int32Array): ByteWriter {
    const page = new ByteWriter(
      Math.max(1_024, encoding === "PLAIN" ? this.plainBytes(numbers) : numbers.length * 2),
    );
    if (encoding === "PLAIN") {
      for (let n = 0; n < numbers.length; n++) this.write(page, numbers[n] as number);
    } else if (encoding === "RLE") {
      const bits = new ByteWriter();
      writeRleBitPackedHybrid(bits, this.bits(numbers), 1);
      page.appendUint32(bits.offset);
      page.appendBytes(bits.getBytes());
    } else {
      page.appendUint8(bitsOf(this.distinct));
      writeRleBitPackedHybrid(page, numbers, bitsOf(this.distinct));
    }
    return page;
  }

  /** Booleans as 0 and 1. */
  protected bits(numbers: Int32Array): Int32Array {
    return numbers;
  }
}

/** The least and the greatest value of a column; neither where it has none. */
export type Bounds = Pick<Statistics, "min_value" | "max_value">;

/** Bits that numbers below `count` take. */
function bitsOf(count: number): number {
  return Math.ceil(Math.log2(Math.max(1, count)));
}

type DataPage = {
  page: ByteWriter;
  encoding: Encoding;
  /** Null where the column has no NULL by its type. */
  levels: Uint8Array | null;
  rows: number;
  nulls: number;
  compress: Compress;
};

/** @returns its bytes before they were compressed */
function writeData(writer: Writer, { page, encoding, levels, rows, nulls, compress }: DataPage): number {
  const runs = new ByteWriter();
  if (levels) writeRleBitPackedHybrid(runs, levels, 1);
  const compressed = compress(page.getBytes());
  const start = writer.offset;
  writePageHeader(writer, {
    type: "DATA_PAGE_V2",
    uncompressed_page_size: runs.offset + page.offset,
    compressed_page_size: runs.offset + compressed.length,
    data_page_header_v2: {
      ...{ num_values: rows, num_nulls: nulls, num_rows: rows, encoding, is_compressed: true },
      ...{ definition_levels_byte_length: runs.offset, repetition_levels_byte_length: 0 },
    },
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(runs.getBytes());
  writer.appendBytes(compressed);
  return headerBytes + runs.offset + page.offset;
}
