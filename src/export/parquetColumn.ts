/**
 * One column of a row group, made of PostgreSQL's binary values: each value is kept once, with the place of it for each
 * row that has it. Nothing is made of a value in between, no text and no object: this is where an export spends its time.
 *
 * Pages, levels and encodings: the Parquet format, https://parquet.apache.org/docs/file-format/data-pages/. Their headers,
 * runs and differences are hyparquet-writer's.
 */
import type { ColumnChunk, Encoding, Statistics } from "hyparquet";
import { ByteWriter, type SchemaElement, type Writer } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { deltaBinaryPack } from "hyparquet-writer/src/delta.js";
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

/** With so few values nothing is shorter than a dictionary. */
const FEW_VALUES = 2;

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
    const { encoding, dictionary, page } = this.#smallest(numbers, compress);
    const start = writer.offset;
    let uncompressed = 0;
    if (dictionary) uncompressed += writeDictionary(writer, dictionary, this.distinct);
    const data = writer.offset;
    const levels = repetition_type === "OPTIONAL" ? this.#levels.subarray(0, rows) : null;
    const nulls = rows - numbers.length;
    uncompressed += writeData(writer, { page, encoding, levels, rows, nulls });
    const chunk: ColumnChunk = {
      file_offset: BigInt(start),
      meta_data: {
        ...{ type, path_in_schema: [name], codec: "ZSTD", num_values: BigInt(rows) },
        encodings: dictionary ? ["PLAIN", encoding] : [encoding],
        total_compressed_size: BigInt(writer.offset - start),
        total_uncompressed_size: BigInt(uncompressed),
        data_page_offset: BigInt(data),
        ...(dictionary && { dictionary_page_offset: BigInt(start) }),
        statistics: { ...this.bounds(), null_count: BigInt(rows - numbers.length) },
      },
    };
    this.clear();
    return chunk;
  }

  /** The encoding that takes the least room: whole numbers by their differences or by a dictionary, which is tried out. */
  #smallest(numbers: Int32Array, compress: Compress): EncodedColumn {
    const { type } = this.element;
    if (type === "BOOLEAN") return this.#encoded("RLE", numbers, compress);
    if ((type === "INT32" || type === "INT64") && numbers.length > 0) {
      const dictionary = this.#encoded("RLE_DICTIONARY", numbers, compress);
      const integers = this.distinct <= FEW_VALUES ? null : this.integers(numbers);
      if (integers === null) return dictionary;
      const differences = new ByteWriter(Math.max(1_024, numbers.length * 2));
      deltaBinaryPack(differences, integers, type);
      const page = compressed(differences, compress);
      const delta: EncodedColumn = { encoding: "DELTA_BINARY_PACKED", page, dictionary: null };
      return lengthOf(delta) < lengthOf(dictionary) ? delta : dictionary;
    }
    const indexBytes = Math.ceil((numbers.length * bitsOf(this.distinct)) / 8);
    const withDictionary = this.distinctBytes() + indexBytes;
    const gains = LEAST_GAIN * withDictionary <= this.plainBytes(numbers) && numbers.length > 0;
    return this.#encoded(gains ? "RLE_DICTIONARY" : "PLAIN", numbers, compress);
  }

  #encoded(encoding: Encoding, numbers: Int32Array, compress: Compress): EncodedColumn {
    const page = compressed(this.#page(encoding, numbers), compress);
    return {
      ...{ encoding, page },
      dictionary: encoding === "RLE_DICTIONARY" ? compressed(this.#dictionary(), compress) : null,
    };
  }

  /** Forgets all rows. */
  clear(): void {
    this.#table.fill(0);
    this.#rows = this.#present = this.distinct = 0;
  }

  #dictionary(): ByteWriter {
    const plain = new ByteWriter(Math.max(1, this.distinctBytes()));
    for (let number = 0; number < this.distinct; number++) this.write(plain, number);
    return plain;
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

  /** Whole numbers as they are; null where their differences are hardly shorter. */
  protected integers(_numbers: Int32Array): Int32Array | BigInt64Array | null {
    return null;
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

/** Bytes before and after they were compressed. */
type Compressed = { plain: number; bytes: Uint8Array };

/** What becomes of a column. */
type EncodedColumn = { encoding: Encoding; dictionary: Compressed | null; page: Compressed };

function compressed(page: ByteWriter, compress: Compress): Compressed {
  return { plain: page.offset, bytes: compress(page.getBytes()) };
}

function lengthOf({ dictionary, page }: EncodedColumn): number {
  return page.bytes.length + (dictionary?.bytes.length ?? 0);
}

/** @returns its bytes before they were compressed */
function writeDictionary(writer: Writer, { plain, bytes }: Compressed, values: number): number {
  const start = writer.offset;
  writePageHeader(writer, {
    type: "DICTIONARY_PAGE",
    uncompressed_page_size: plain,
    compressed_page_size: bytes.length,
    dictionary_page_header: { num_values: values, encoding: "PLAIN" },
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(bytes);
  return headerBytes + plain;
}

type DataPage = {
  page: Compressed;
  encoding: Encoding;
  /** Null where the column has no NULL by its type. */
  levels: Uint8Array | null;
  rows: number;
  nulls: number;
};

/** @returns its bytes before they were compressed */
function writeData(writer: Writer, { page, encoding, levels, rows, nulls }: DataPage): number {
  const runs = new ByteWriter();
  if (levels) writeRleBitPackedHybrid(runs, levels, 1);
  const start = writer.offset;
  writePageHeader(writer, {
    type: "DATA_PAGE_V2",
    uncompressed_page_size: runs.offset + page.plain,
    compressed_page_size: runs.offset + page.bytes.length,
    data_page_header_v2: {
      ...{ num_values: rows, num_nulls: nulls, num_rows: rows, encoding, is_compressed: true },
      ...{ definition_levels_byte_length: runs.offset, repetition_levels_byte_length: 0 },
    },
  });
  const headerBytes = writer.offset - start;
  writer.appendBytes(runs.getBytes());
  writer.appendBytes(page.bytes);
  return headerBytes + runs.offset + page.plain;
}
