/**
 * The unit of each column of numbers, and how a number is read that bears a sign: of percent, or of what is below
 * zero. All readers read by this table, and docs/columns.md shows it. Pure: digits are moved as text.
 */
import {
  canonicalDecimal,
  isNoValue,
  MAX_DIGITS,
  ORDINARY_COUNT,
  ORDINARY_DECIMAL,
  readDecimal,
  readInteger,
  readWritten,
  type ReadResult,
  unheld,
} from "./decimal.ts";

/**
 * By unit: how its numbers are written down, and what its columns hold; by which power of ten a percent sign multiplies a number
 * (null: the number is refused).
 */
export const UNITS = {
  dollars: { type: "decimal", holds: "dollars", percent: null },
  count: { type: "integer", holds: "a count", percent: null },
  percent: { type: "decimal", holds: "percent", percent: 0 },
  fraction: { type: "decimal", holds: "a fraction", percent: -2 },
  ratio: { type: "decimal", holds: "a ratio", percent: null },
  own: { type: "decimal", holds: "what the service sends", percent: 0 },
} as const;

export type Unit = keyof typeof UNITS;

/** What a number of a column may be. `signed`: it may be below zero. */
export type NumberKind = { readonly unit: Unit; readonly signed?: true };

export const STRIKE: NumberKind = { unit: "dollars" };

export const COUNT: NumberKind = { unit: "count" };

/** Whether a number is stored as it stands, as nearly every one is. */
export function isPlainNumber(text: string, { unit, signed }: NumberKind): boolean {
  if (UNITS[unit].type === "integer") return ORDINARY_COUNT.test(text);
  return (signed === true || !text.startsWith("-")) && ORDINARY_DECIMAL.test(text);
}

/** A number of a column: as `readDecimal` or `readInteger` reads it, once its signs are read. */
export function readNumber(text: string | undefined, kind: NumberKind): ReadResult<string> {
  if (!text) return { ok: true, value: null };
  if (isPlainNumber(text, kind)) return { ok: true, value: text };
  const parts = numberParts(text);
  const bare = parts === null ? text : bareNumber(parts, kind);
  return typeof bare === "string" ? heldNumber(bare, kind) : bare;
}

/** What stands around the digits of a number. */
type NumberParts = { sign: "" | "+" | "-"; digits: string; isPercent: boolean };

const PARTS =
  /^(?:(?<sign>[+\-\u2212])?(?<plain>[\d.,$€£¥][^()%]*?)|\(\s*(?<inner>[\d.,$€£¥][^()%]*?)\s*(?<within>%?)\s*\))\s*(?<behind>%?)$/u;

/**
 * Takes a number apart: `-5`, `−5` with the minus of typography (U+2212) and `(5)` of accounts are the same, and so are
 * `(5%)` and `(5)%`.
 *
 * @returns null for what is no number with signs
 */
export function numberParts(text: string): NumberParts | null {
  const trimmed = text.trim();
  const { sign, plain, inner, within, behind } =
    (trimmed.length <= MAX_DIGITS && PARTS.exec(trimmed)?.groups) || {};
  const digits = plain ?? inner;
  if (digits === undefined || (within && behind)) return null;
  const isBelow = inner !== undefined || (sign !== undefined && sign !== "+");
  return { sign: isBelow ? "-" : sign ? "+" : "", digits, isPercent: Boolean(within || behind) };
}

/** The number in the unit of its column, without a sign but `+` or `-`; a refusal where its percent sign has no meaning. */
function bareNumber(
  { sign, digits, isPercent }: NumberParts,
  { unit }: NumberKind,
): string | Extract<ReadResult<string>, { ok: false }> {
  const number = `${sign}${digits}`;
  if (!isPercent) return number;
  const { percent, holds } = UNITS[unit];
  const read = readWritten(number);
  if (!read.ok) return read;
  if (percent === null)
    return { ok: false, problem: `"${number}%" has a percent sign, and the column holds ${holds}` };
  if (percent === 0 || read.value === null || isNoValue(read.value)) return number;
  const [mantissa = "", exponent = "0"] = read.value.split(/e/iu);
  return canonicalDecimal(`${mantissa}E${Number(exponent) + percent}`);
}

/** Assumed: a price, size, count or volatility below zero, such as -999, stands for no value. */
const BELOW_ZERO = "is below zero";

/** A number without signs but `+` or `-`, as its column holds it; a refusal below zero where nothing is. */
function heldNumber(bare: string, { unit, signed }: NumberKind): ReadResult<string> {
  const read = UNITS[unit].type === "integer" ? readInteger(bare) : readDecimal(bare);
  if (!read.ok || read.value === null || signed === true) return read;
  return canonicalDecimal(read.value).startsWith("-") ? unheld(bare, BELOW_ZERO) : read;
}
