/** Products of decimals, exact. Pure. */
import { canonicalDecimal } from "../quotes-api/decimal.ts";

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
