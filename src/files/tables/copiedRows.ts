/**
 * PostgreSQL's COPY in its binary format: a heading, then rows. A row is the number of its values and, before each value,
 * how many bytes it has (-1: NULL). A number of values that is -1 ends the table. PostgreSQL manual, COPY, "Binary Format".
 */
import type { ExportColumn } from "../../archive/export/exportColumns.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { DecimalType } from "./parquetDecimal.ts";

export type CopiedRows = {
  bytes: Buffer;
  view: DataView;
  /** Where the value of each column begins, row after row; its length stands in the four bytes before. -1: NULL. */
  places: Int32Array;
  count: number;
};

/** Signature, flags, and the length of an extension, which is 0. */
const HEADING_BYTES = 19;

/** Whole rows out of pieces of any length. They hold until the next are asked for. */
export async function* copiedRows(bytes: AsyncIterable<Buffer>, width: number): AsyncGenerator<CopiedRows> {
  let rest: Buffer = Buffer.alloc(0);
  let at = HEADING_BYTES;
  let places = new Int32Array(0);
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const view = new DataView(all.buffer, all.byteOffset, all.length);
    // A row has at least two bytes, and four for each value.
    const most = width * (Math.ceil(all.length / (2 + 4 * width)) + 1);
    if (places.length < most) places = new Int32Array(most);
    let count = 0;
    for (let end = 0; at < all.length; at = end, count++) {
      end = rowEnd(view, at, { width, places, from: count * width });
      if (end < 0) break;
    }
    rest = all.subarray(Math.min(at, all.length));
    at -= all.length - rest.length;
    if (count > 0) yield { bytes: all, view, places, count };
  }
}

/** Finds the values of the row that begins at `at`. @returns where the row ends; -1 when it is not whole */
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

/** A value as hyparquet-writer takes it: times are microseconds, dates days since 1970, decimals whole numbers. */
export type CopiedValue = bigint | number | boolean | string | null;

export type ReadValue = (rows: CopiedRows, start: number) => CopiedValue;

const MS_PER_DAY = 86_400_000;

/** PostgreSQL counts times and dates from here. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const EPOCH_DAYS = EPOCH_MS / MS_PER_DAY;
const EPOCH_MICROS = BigInt(EPOCH_MS) * 1_000n;

/** The years that every engine knows, 0001 to 9999. PostgreSQL knows others, and infinity. */
const FIRST_DAY = Date.parse("0001-01-01T00:00:00Z") / MS_PER_DAY;
const END_DAY = Date.parse("9999-12-31T00:00:00Z") / MS_PER_DAY + 1;
const [FIRST_MICROS, END_MICROS] = [FIRST_DAY, END_DAY].map((day) => BigInt(day) * 86_400_000_000n) as [
  bigint,
  bigint,
];

/**
 * How values of a column are read.
 *
 * @param type of decimals
 * @param onTooWide hears that a decimal does not fit `type`; the value is null then
 */
export function valueReader(
  { name, kind }: Pick<ExportColumn, "name" | "kind">,
  type: DecimalType,
  onTooWide: () => unknown,
): ReadValue {
  const dated = <T>(value: T, isKnown: boolean): T => {
    if (!isKnown)
      throw new QuotekeeperError("UNEXPECTED", `a ${name} lies outside of the years 0001 to 9999`);
    return value;
  };
  switch (kind) {
    case "time":
      return ({ view }, start) => {
        const micros = view.getBigInt64(start) + EPOCH_MICROS;
        return dated(micros, micros >= FIRST_MICROS && micros < END_MICROS);
      };
    case "date":
      return ({ view }, start) => {
        const days = view.getInt32(start) + EPOCH_DAYS;
        return dated(days, days >= FIRST_DAY && days < END_DAY);
      };
    case "decimal":
      return decimalReader(type, onTooWide);
    case "bigint":
      return ({ view }, start) => view.getBigInt64(start);
    case "boolean":
      return ({ view }, start) => view.getInt8(start) !== 0;
    case "integer":
      // smallint has two bytes, integer four.
      return ({ view }, start) =>
        view.getInt32(start - 4) === 2 ? view.getInt16(start) : view.getInt32(start);
    case "text":
      return ({ bytes, view }, start) => bytes.toString("utf8", start, start + view.getInt32(start - 4));
  }
}

function decimalReader(type: DecimalType, onTooWide: () => unknown): ReadValue {
  return ({ view }, start) => {
    const quick = quickDecimal(view, start, type.scale);
    if (quick !== null) return BigInt(quick);
    const value = wholeDecimal(view, start, type);
    if (value === null) onTooWide();
    return value;
  };
}

/**
 * A binary `numeric` is: how many groups of four digits, the place of the first group (0: just before the point), the
 * sign, how many digits behind the point are shown, and the groups (numeric_send in PostgreSQL's numeric.c).
 */
const GROUPS_AT = 8;
const GROUP = 10_000;
/** Powers of ten that are exact in a double. */
const POWERS = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
const PLUS = 0;
const MINUS = 0x40_00;

/** A `numeric` times 10^scale; null where that is not exact in a double. Every type has room for a double's 16 digits. */
function quickDecimal(view: DataView, start: number, scale: number): number | null {
  const groups = view.getInt16(start);
  const sign = view.getUint16(start + 4);
  if (sign !== PLUS && sign !== MINUS) return null;
  let value = 0;
  for (let at = start + GROUPS_AT; at < start + GROUPS_AT + 2 * groups; at += 2)
    value = value * GROUP + view.getInt16(at);
  const missing = scale - 4 * (groups - view.getInt16(start + 2) - 1);
  const power = POWERS[Math.abs(missing)] ?? NaN;
  // A step that was not exact has made the value too large: it does not shrink before the division.
  if (missing < 0 && !(value <= Number.MAX_SAFE_INTEGER && value % power === 0)) return null;
  value = missing < 0 ? value / power : value * power;
  if (!(value <= Number.MAX_SAFE_INTEGER)) return null;
  return sign === MINUS ? -value : value;
}

/** A `numeric` times 10^scale; null where it has more digits than the type, or is `NaN` or infinite. */
function wholeDecimal(view: DataView, start: number, { precision, scale }: DecimalType): bigint | null {
  const groups = view.getInt16(start);
  const sign = view.getUint16(start + 4);
  let value = 0n;
  for (let at = start + GROUPS_AT; at < start + GROUPS_AT + 2 * groups; at += 2)
    value = value * BigInt(GROUP) + BigInt(view.getInt16(at));
  const missing = scale - 4 * (groups - view.getInt16(start + 2) - 1);
  const power = 10n ** BigInt(Math.abs(missing));
  const isExact = missing >= 0 || value % power === 0n;
  value = missing < 0 ? value / power : value * power;
  if ((sign !== PLUS && sign !== MINUS) || !isExact || value >= 10n ** BigInt(precision)) return null;
  return sign === MINUS ? -value : value;
}
