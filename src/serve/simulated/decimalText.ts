/**
 * Numbers as the service writes them: the text of a Java double (`-4.0`, `30.7`, `3.0E-6`), seen in all samples.
 */

/** An amount of whole cents as dollars: 31900 becomes `319.0`, -5 becomes `-0.05`. */
export function centsText(cents: number): string {
  return decimalText(cents / 100, 2);
}

/** A number rounded to `places` decimals, in the form of Java's `Double.toString`. */
export function decimalText(value: number, places: number): string {
  const rounded = Number(value.toFixed(places));
  if (rounded === 0) return "0.0";
  const size = Math.abs(rounded);
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(rounded) ? `${rounded}.0` : String(rounded);
  const [digits = "", exponent = ""] = rounded.toExponential().split("e");
  return `${digits.includes(".") ? digits : `${digits}.0`}E${Number(exponent)}`;
}
