/**
 * The digests of a Parquet file's columns, read back from the disk: the same numbers that PostgreSQL makes of its own rows
 * (`digestsQuery`), by another way.
 */
import { createHash } from "node:crypto";
import type { SchemaElement } from "hyparquet";
import type { ColumnDigest } from "../../archive/export/snapshot.ts";
import { decimalText } from "../tables/parquetDecimal.ts";
import { type RawColumns, type RawValue, rawColumns, wholeOf } from "../tables/readParquet.ts";

/** Rows that are added up as doubles before a bigint takes the sum: so nothing is ever rounded. */
const BLOCK_ROWS = 1_024;

/** Where a number is cut in two. */
const CUT = 2 ** 24;

/** Texts whose numbers are remembered; beyond it all are forgotten. */
const MAX_TEXTS = 100_000;

/**
 * Reads all of a file.
 *
 * @param expected how many rows its manifest says it has
 * @param within only rows whose time in this column, in µs since 1970, lies in it; numbered anew
 * @throws as `rawColumns`
 */
export async function fileDigests(
  path: string,
  expected: number,
  within?: { column: string; from: bigint; to: bigint },
): Promise<{ rows: number; columns: ColumnDigest[] }> {
  let digests: Digest[] = [];
  let rows = 0;
  for await (const group of rawColumns(path, expected)) {
    if (digests.length === 0) digests = group.columns.map(({ element }) => new Digest(element));
    const places = within ? placesWithin(group, within) : null;
    const count = places ? places.length : group.rows;
    group.columns.forEach(({ values }, place) => digests[place]?.add(values, rows, places));
    rows += count;
  }
  return { rows, columns: digests.map((digest) => digest.finish()) };
}

function placesWithin(
  { columns, rows }: RawColumns,
  within: { column: string; from: bigint; to: bigint },
): number[] {
  const times = columns.find(({ element }) => element.name === within.column)?.values ?? [];
  return Array.from({ length: rows }, (_, place) => place).filter((place) => {
    const time = times[place];
    return typeof time === "bigint" && time >= within.from && time < within.to;
  });
}

class Digest {
  readonly #element: SchemaElement;
  readonly #one: number;
  readonly #scale: number;
  readonly #texts = new Map<string, number>();
  #values = 0;
  #sum = 0n;

  constructor(element: SchemaElement) {
    this.#element = element;
    this.#scale = element.converted_type === "DECIMAL" ? (element.scale ?? 0) : 0;
    this.#one = 10 ** this.#scale;
  }

  /** Values of rows that are numbered from `before` + 1 on. */
  add(values: readonly RawValue[], before: number, places: readonly number[] | null): void {
    const count = places ? places.length : values.length;
    for (let from = 0; from < count; from += BLOCK_ROWS) {
      const to = Math.min(count, from + BLOCK_ROWS);
      let [high, low, highs, lows] = [0, 0, 0, 0];
      for (let place = from; place < to; place++) {
        const value = values[places ? (places[place] as number) : place];
        if (value === null || value === undefined) continue;
        this.#values += 1;
        const number = this.#numberOf(value);
        const nth = place - from + 1;
        if (typeof number === "bigint") {
          this.#sum += number * BigInt(before + from + nth);
          continue;
        }
        const upper = Math.floor(number / CUT);
        const lower = number - upper * CUT;
        high += upper;
        low += lower;
        highs += upper * nth;
        lows += lower * nth;
      }
      const sum = BigInt(high) * BigInt(CUT) + BigInt(low);
      this.#sum += sum * BigInt(before + from) + BigInt(highs) * BigInt(CUT) + BigInt(lows);
    }
  }

  finish(): ColumnDigest {
    return { name: this.#element.name, values: this.#values, sum: decimalText(this.#sum, this.#scale) };
  }

  /** The value and 1, in units of the last digit; a bigint where a double would not hold it. */
  #numberOf(value: RawValue): number | bigint {
    if (typeof value === "number") return value + 1;
    if (typeof value === "boolean") return Number(value) + 1;
    if (typeof value === "string") return this.#textNumber(value) + 1;
    const whole = typeof value === "bigint" ? value : wholeOf(value);
    const double = Number(whole);
    const number = double + this.#one;
    // Of a value of about -1 the sum is small, though neither of its parts is exact.
    return Number.isSafeInteger(double) && Number.isSafeInteger(number)
      ? number
      : whole + 10n ** BigInt(this.#scale);
  }

  #textNumber(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const number = createHash("md5").update(text).digest().readUInt32BE(0);
    if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
    this.#texts.set(text, number);
    return number;
  }
}
