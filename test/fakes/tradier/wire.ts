/**
 * How Tradier writes answers: JSON, and XML with the same names, which is what a client gets that asks for no type
 * (documentation.tradier.com, response format).
 */

/** A number by its text, which is written as it stands: no price passes through a float. */
export class Decimal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Value =
  string | Decimal | null | readonly Value[] | { readonly [name: string]: Value | undefined };

/** A whole answer. Members that are undefined are not written. */
export type Document = { readonly [name: string]: Value | undefined };

export const JSON_TYPE = "application/json;charset=UTF-8";
export const XML_TYPE = "application/xml;charset=UTF-8";

/** A price, ratio or count; null stays null. @param value decimal text, or a whole number */
export function number(value: string | number): Decimal;
export function number(value: string | number | null): Decimal | null;
export function number(value: string | number | null): Decimal | null {
  return value === null ? null : new Decimal(String(value));
}

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

export function writeJson(value: Value | undefined): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Decimal) return value.text;
  if (typeof value === "string") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeJson).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join(",")}}`;
}

/**
 * A list is its element once for each value.
 *
 * Assumed: a null is an empty element. No recorded XML quote of Tradier is public.
 */
export function writeXml(value: Document): string {
  return Object.entries(value)
    .flatMap(([name, member]) => {
      if (member === undefined) return [];
      const elements = isList(member) ? member : [member];
      return elements.map((element) => `<${name}>${xmlContent(element)}</${name}>`);
    })
    .join("");
}

function xmlContent(value: Value): string {
  if (value === null) return "";
  if (value instanceof Decimal) return value.text;
  if (typeof value === "string")
    return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  if (isList(value)) throw new TypeError("a list in a list has no name in XML");
  return writeXml(value);
}

/** `Array.isArray` does not know readonly arrays. */
function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
