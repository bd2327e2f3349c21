/** A document of names and values, written as JSON or as XML with the same names. */

/** A number by its text, which is written as it stands: no price passes through a float. */
export class Decimal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Value =
  string | boolean | Decimal | null | readonly Value[] | { readonly [name: string]: Value | undefined };

/** A whole answer. Members that are undefined are not written. */
export type Document = { readonly [name: string]: Value | undefined };

/** A price, ratio or count; null stays null. @param value decimal text, or a whole number */
export function number(value: string | number): Decimal;
export function number(value: string | number | null): Decimal | null;
export function number(value: string | number | null): Decimal | null {
  return value === null ? null : new Decimal(String(value));
}

export function writeJson(value: Value | undefined): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Decimal) return value.text;
  if (typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeJson).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join(",")}}`;
}

/** A list is its element once for each value; a null is an empty element. */
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
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return escaped(value);
  if (isList(value)) throw new TypeError("a list in a list has no name in XML");
  return writeXml(value);
}

/** A text as it stands in XML, and in HTML between tags. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** `Array.isArray` does not know readonly arrays. */
function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
