/** What a cell of a row may turn out to be. Pure. */
import { canonicalDecimal } from "../quotes-api/decimal.ts";
import { quotedText } from "../outsideText.ts";

/**
 * A value, or what is wrong: the column, what it holds, and why that will not do. `cut` counts what the text says beyond
 * the value: digits of a time beyond microseconds, the fraction of a count.
 */
export type Cell<T> = { ok: true; value: T; cut?: number } | { ok: false; problem: string };

/** Longest value that a problem shows, in characters. */
const SHOWN_LENGTH = 60;

/** A value as a problem shows it. */
export function shown(text: string): string {
  return quotedText(text, SHOWN_LENGTH);
}

/** The product of two decimals, without a float between: `270000` by `0.001` is `270`. */
export function scaledBy(text: string, factor: string): string {
  const [a, b] = [wholeAndScale(text), wholeAndScale(factor)];
  const product = a.whole * b.whole;
  const scale = a.scale + b.scale;
  const digits = (product < 0n ? -product : product).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return canonicalDecimal(`${product < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`);
}

function wholeAndScale(text: string): { whole: bigint; scale: number } {
  const [whole = "", fraction = ""] = canonicalDecimal(text).split(".");
  return { whole: BigInt(whole + fraction), scale: fraction.length };
}

// Text that a spreadsheet would take for a formula: it begins with = + - @, a tab or a carriage return. An apostrophe
// before it makes it text there. Text that has apostrophes before such a beginning gets one more, so that taking one
// away always gives back what was there. Pure.

const FORMULA = "[=+@\\t\\r-]";
const FORMULA_TEXT = new RegExp(`^'*${FORMULA}`);
const HARMLESS_TEXT = new RegExp(`^'+${FORMULA}`);

/** A text as CSV has it for spreadsheets; most are the same. */
export function harmless(text: string): string {
  return FORMULA_TEXT.test(text) ? `'${text}` : text;
}

/** The text again that `harmless` was given. */
export function exact(text: string): string {
  return HARMLESS_TEXT.test(text) ? text.slice(1) : text;
}

/** SQL of the same as `harmless`. @param sql of the value */
export function harmlessSql(sql: string): string {
  return `regexp_replace((${sql})::text, '^(''*${FORMULA})', '''\\1')`;
}
