/** The values of a column: how PostgreSQL's bytes are read and compared, and how Parquet keeps them. */
import type { ByteWriter, SchemaElement } from "hyparquet-writer";
import type { ExportColumn } from "../archive/export/tables.ts";
import { type Bounds, ParquetColumn, ROW_GROUP_ROWS } from "./parquetColumn.ts";
import {
  COMMON_DECIMAL,
  commonDecimal,
  type DecimalType,
  numericText,
  scaledDecimal,
} from "./parquetDecimal.ts";

/** Told of a decimal that does not fit its column, as text. */
type OnTooWide = (text: string) => void;

/** A column of this kind. */
export function createColumn(
  kind: ExportColumn["kind"],
  element: SchemaElement,
  onTooWide: OnTooWide,
): ParquetColumn {
  if (kind === "text") return new TextColumn(element);
  const { type, precision = 0, scale = 0 } = element;
  if (type === "FIXED_LEN_BYTE_ARRAY") return new WideDecimalColumn(element, { precision, scale }, onTooWide);
  return new WordColumn(element, kind, onTooWide);
}

/** Bytes of a decimal of more than eighteen digits. */
export const DECIMAL_BYTES = 16;

const OUT_OF_YEARS = "lies outside of the years 0001 to 9999";

const TWO_TO_32 = 2 ** 32;
const MS_PER_DAY = 86_400_000;

/** PostgreSQL counts from here: as days, and as the halves of microseconds. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const EPOCH_DAYS = EPOCH_MS / MS_PER_DAY;
const EPOCH_HIGH = Math.floor((EPOCH_MS * 1_000) / TWO_TO_32);
const EPOCH_LOW = EPOCH_MS * 1_000 - EPOCH_HIGH * TWO_TO_32;

/** The years that every engine knows, 0001 to 9999. PostgreSQL knows others, and infinity. */
const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const END_MS = Date.parse("9999-12-31T00:00:00Z") + MS_PER_DAY;

/** Values of at most eight bytes, as two halves: a bigint for each would take longer than all the rest. */
class WordColumn extends ParquetColumn {
  readonly #kind: ExportColumn["kind"];
  readonly #onTooWide: OnTooWide;
  /** What the last place of a decimal is, in those of the common type. */
  readonly #unit: number;
  readonly #lows = new Int32Array(ROW_GROUP_ROWS);
  readonly #highs = new Int32Array(ROW_GROUP_ROWS);
  /** The value looked for. */
  #low = 0;
  #high = 0;

  constructor(element: SchemaElement, kind: ExportColumn["kind"], onTooWide: OnTooWide) {
    super(element);
    this.#kind = kind;
    this.#onTooWide = onTooWide;
    this.#unit = 10 ** (COMMON_DECIMAL.scale - (element.scale ?? COMMON_DECIMAL.scale));
  }

  protected override numberOf(view: DataView, start: number): number | null {
    if (!this.#read(view, start)) return null;
    const mixed = Math.imul(this.#low ^ Math.imul(this.#high, 0x9e37_79b1), 0x85eb_ca6b);
    return this.find(mixed >>> 16);
  }

  #read(view: DataView, start: number): boolean {
    switch (this.#kind) {
      case "time":
        return this.#readTime(view, start);
      case "decimal":
        return this.#readDecimal(view, start);
      case "bigint":
        this.#high = view.getInt32(start);
        this.#low = view.getInt32(start + 4);
        return true;
      case "date":
        return this.#readDate(view, start);
      case "boolean":
        return this.#readInteger(view.getInt8(start));
      default:
        // smallint has two bytes, integer four.
        return this.#readInteger(
          view.getInt32(start - 4) === 2 ? view.getInt16(start) : view.getInt32(start),
        );
    }
  }

  #readInteger(value: number): boolean {
    this.#low = value;
    this.#high = value >> 31;
    return true;
  }

  #readTime(view: DataView, start: number): boolean {
    const low = view.getUint32(start + 4) + EPOCH_LOW;
    const high = view.getInt32(start) + EPOCH_HIGH + (low >= TWO_TO_32 ? 1 : 0);
    const ms = (high * TWO_TO_32 + (low % TWO_TO_32)) / 1_000;
    if (ms < FIRST_MS || ms >= END_MS) throw new RangeError(`a ${this.element.name} ${OUT_OF_YEARS}`);
    this.#low = low | 0;
    this.#high = high;
    return true;
  }

  #readDate(view: DataView, start: number): boolean {
    const days = view.getInt32(start) + EPOCH_DAYS;
    if (days * MS_PER_DAY < FIRST_MS || days * MS_PER_DAY >= END_MS)
      throw new RangeError(`a ${this.element.name} ${OUT_OF_YEARS}`);
    return this.#readInteger(days);
  }

  #readDecimal(view: DataView, start: number): boolean {
    const common = commonDecimal(view, start);
    if (common !== null && common % this.#unit === 0) {
      const value = common / this.#unit;
      this.#high = Math.floor(value / TWO_TO_32);
      this.#low = (value - this.#high * TWO_TO_32) | 0;
      return true;
    }
    const text = numericText(view, start);
    const { precision = COMMON_DECIMAL.precision, scale = COMMON_DECIMAL.scale } = this.element;
    const exact = scaledDecimal(text, { precision, scale });
    if (exact === null) {
      this.#onTooWide(text);
      return false;
    }
    this.#high = Number(exact >> 32n);
    this.#low = Number(BigInt.asIntN(32, exact));
    return true;
  }

  protected override isAt(number: number): boolean {
    return this.#lows[number] === this.#low && this.#highs[number] === this.#high;
  }

  protected override keep(number: number): void {
    this.#lows[number] = this.#low;
    this.#highs[number] = this.#high;
  }

  get #width(): number {
    return this.element.type === "INT64" ? 8 : 4;
  }

  protected override distinctBytes(): number {
    return this.distinct * this.#width;
  }

  protected override plainBytes(numbers: Int32Array): number {
    return numbers.length * this.#width;
  }

  protected override write(page: ByteWriter, number: number): void {
    page.appendInt32(this.#lows[number] as number);
    if (this.#width === 8) page.appendInt32(this.#highs[number] as number);
  }

  /** Numbers of more than four bytes take bigints, and so five times as long: of these only times are that much shorter. */
  protected override integers(numbers: Int32Array): Int32Array | BigInt64Array | null {
    if (this.#kind === "time") {
      const values = BigInt64Array.from({ length: this.distinct }, (_, number) => this.#bigintOf(number));
      const all = new BigInt64Array(numbers.length);
      for (let row = 0; row < all.length; row++) all[row] = values[numbers[row] as number] as bigint;
      return all;
    }
    for (let number = 0; number < this.distinct; number++)
      if (this.#highs[number] !== (this.#lows[number] as number) >> 31) return null;
    return this.#lowsOf(numbers);
  }

  #lowsOf(numbers: Int32Array): Int32Array {
    return numbers.map((number) => this.#lows[number] as number);
  }

  #bigintOf(number: number): bigint {
    return (BigInt(this.#highs[number] as number) << 32n) | BigInt((this.#lows[number] as number) >>> 0);
  }

  protected override bits(numbers: Int32Array): Int32Array {
    return this.#lowsOf(numbers);
  }

  protected override bounds(): Bounds {
    if (this.distinct === 0) return {};
    let [least, greatest] = [0, 0];
    for (let number = 1; number < this.distinct; number++) {
      if (this.#isLess(number, least)) least = number;
      if (this.#isLess(greatest, number)) greatest = number;
    }
    return { min_value: this.#valueOf(least), max_value: this.#valueOf(greatest) };
  }

  #isLess(a: number, b: number): boolean {
    const [high, than] = [this.#highs[a] as number, this.#highs[b] as number];
    return high === than ? (this.#lows[a] as number) >>> 0 < (this.#lows[b] as number) >>> 0 : high < than;
  }

  #valueOf(number: number): bigint | number | boolean {
    const low = this.#lows[number] as number;
    if (this.element.type === "BOOLEAN") return low === 1;
    return this.#width === 4 ? low : this.#bigintOf(number);
  }
}

/** Values of any length, as their bytes, one after the other. */
abstract class BytesColumn extends ParquetColumn {
  #bytes = new Uint8Array(ROW_GROUP_ROWS);
  /** Where each value ends; it begins where the one before ends. */
  readonly #ends = new Int32Array(ROW_GROUP_ROWS + 1);
  /** The value looked for, and what was found last. */
  #view: DataView = new DataView(new ArrayBuffer(0));
  #start = 0;
  #length = 0;
  #last = -1;

  /** The number of the value of these bytes. */
  protected numberOfBytes(view: DataView, start: number, length: number): number {
    this.#view = view;
    this.#start = start;
    this.#length = length;
    // Rows are sorted by instrument: its name mostly is the one of the row before.
    if (this.#last >= 0 && this.isAt(this.#last)) return this.#last;
    let hash = length;
    for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x0100_0193);
    return (this.#last = this.find((hash ^ (hash >>> 16)) >>> 0));
  }

  #begin(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number);
  }

  protected lengthOf(number: number): number {
    return (this.#ends[number] as number) - this.#begin(number);
  }

  protected override isAt(number: number): boolean {
    if (this.lengthOf(number) !== this.#length) return false;
    const begin = this.#begin(number);
    for (let n = 0; n < this.#length; n++)
      if (this.#bytes[begin + n] !== this.#view.getUint8(this.#start + n)) return false;
    return true;
  }

  protected override keep(number: number): void {
    const begin = this.#begin(number);
    const end = begin + this.#length;
    if (end > this.#bytes.length) {
      const more = new Uint8Array(2 * end);
      more.set(this.#bytes);
      this.#bytes = more;
    }
    this.#bytes.set(
      new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#start, this.#length),
      begin,
    );
    this.#ends[number] = end;
  }

  /** The bytes of a value, as they are kept. */
  protected bytesOf(number: number): Uint8Array {
    return this.#bytes.subarray(this.#begin(number), this.#ends[number]);
  }

  /** How many bytes all values have. */
  protected get keptBytes(): number {
    return this.#begin(this.distinct);
  }

  protected abstract compare(a: Uint8Array, b: Uint8Array): number;

  protected abstract boundOf(bytes: Uint8Array): bigint | Uint8Array;

  protected override bounds(): Bounds {
    if (this.distinct === 0) return {};
    let [least, greatest] = [this.bytesOf(0), this.bytesOf(0)];
    for (let number = 1; number < this.distinct; number++) {
      const bytes = this.bytesOf(number);
      if (this.compare(bytes, least) < 0) least = bytes;
      if (this.compare(bytes, greatest) > 0) greatest = bytes;
    }
    return { min_value: this.boundOf(least), max_value: this.boundOf(greatest) };
  }

  override clear(): void {
    super.clear();
    this.#last = -1;
  }
}

/** Bytes before each text that say how long it is. */
const LENGTH_BYTES = 4;

/** Texts, in UTF-8 as PostgreSQL sends them. */
class TextColumn extends BytesColumn {
  protected override numberOf(view: DataView, start: number): number {
    return this.numberOfBytes(view, start, view.getInt32(start - LENGTH_BYTES));
  }

  protected override distinctBytes(): number {
    return this.keptBytes + LENGTH_BYTES * this.distinct;
  }

  protected override plainBytes(numbers: Int32Array): number {
    let bytes = 0;
    for (const number of numbers) bytes += LENGTH_BYTES + this.lengthOf(number);
    return bytes;
  }

  protected override write(page: ByteWriter, number: number): void {
    const bytes = this.bytesOf(number);
    page.appendUint32(bytes.length);
    page.appendBytes(bytes);
  }

  protected override compare(a: Uint8Array, b: Uint8Array): number {
    return Buffer.compare(a, b);
  }

  protected override boundOf(bytes: Uint8Array): Uint8Array {
    return bytes.slice();
  }
}

/** Decimals that eight bytes do not hold: sixteen, the highest first. */
class WideDecimalColumn extends BytesColumn {
  readonly #type: DecimalType;
  readonly #onTooWide: OnTooWide;
  readonly #value = new DataView(new ArrayBuffer(DECIMAL_BYTES));

  constructor(element: SchemaElement, type: DecimalType, onTooWide: OnTooWide) {
    super(element);
    this.#type = type;
    this.#onTooWide = onTooWide;
  }

  protected override numberOf(view: DataView, start: number): number | null {
    const text = numericText(view, start);
    const value = scaledDecimal(text, this.#type);
    if (value === null) {
      this.#onTooWide(text);
      return null;
    }
    this.#value.setBigInt64(0, value >> 64n);
    this.#value.setBigInt64(8, BigInt.asIntN(64, value));
    return this.numberOfBytes(this.#value, 0, DECIMAL_BYTES);
  }

  protected override distinctBytes(): number {
    return DECIMAL_BYTES * this.distinct;
  }

  protected override plainBytes(numbers: Int32Array): number {
    return DECIMAL_BYTES * numbers.length;
  }

  protected override write(page: ByteWriter, number: number): void {
    page.appendBytes(this.bytesOf(number));
  }

  protected override compare(a: Uint8Array, b: Uint8Array): number {
    const [left, right] = [this.boundOf(a), this.boundOf(b)];
    return left < right ? -1 : Number(left > right);
  }

  protected override boundOf(bytes: Uint8Array): bigint {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return (view.getBigInt64(0) << 64n) | view.getBigUint64(8);
  }
}
