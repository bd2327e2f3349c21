/** What a cell of a row may turn out to be. Pure. */
import { canonicalDecimal } from "../quotes/decimal.ts";
import { quotedText } from "../outsideText.ts";

/**
 * A value, or what is wrong: the column, what it holds, and why that will not do. `cut` counts what the text says beyond
 * the value: digits of a time beyond microseconds, the fraction of a count.
 */
export type Cell<T> = { ok: true; value: T; cut?: number } | { ok: false; problem: string };

/** Longest value that a problem shows, in characters. */
const SHOWN_LENGTH = 60;

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
