/**
 * How Tradier writes answers: JSON, and XML with the same names, which is what a client gets that asks for no type
 * (documentation.tradier.com, response format).
 *
 * Assumed: a null is an empty element. No recorded XML quote of Tradier is public.
 */
import { Decimal, type Value } from "../wire.ts";

export const JSON_TYPE = "application/json;charset=UTF-8";
export const XML_TYPE = "application/xml;charset=UTF-8";

/**
 * A number with two decimals, by its text: `1.5` becomes `1.50`. Recorded answers have changes as `0.00` and prices as
 * `200.0`.
 */
export function twoDecimals(text: string): Decimal {
  const match = /^(-?\d+)(?:\.(\d{1,2}))?$/.exec(text);
  if (!match) throw new RangeError(`"${text}" has no two decimals`);
  return new Decimal(`${match[1] ?? ""}.${(match[2] ?? "").padEnd(2, "0")}`);
}

/** What recorded answers do with lists: one element stands by itself, not in an array of one. */
export function list(values: readonly Value[]): Value {
  return values.length === 1 ? (values[0] ?? null) : values;
}
