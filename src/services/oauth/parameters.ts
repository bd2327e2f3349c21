/**
 * Request parameters as OAuth 1.0 sees them: an ordered list of decoded names and values, in which a
 * name may come twice and a value may be empty.
 */
import { percentEncode } from "../percentEncode.ts";

export type Parameter = readonly [name: string, value: string];

/**
 * Assumed: no honest request has more parameters than this in its query, its form body or its `Authorization` header.
 * More are refused before any is decoded or sorted, for anybody may send them.
 */
export const MAX_PARAMETERS = 200;

/**
 * Reads a raw query or form body (`application/x-www-form-urlencoded`, RFC 5849 section 3.4.1.3.1): `+` is a space, `a`
 * and `a=` are both an empty value, only the first `=` divides, empty pieces are skipped.
 *
 * @param query the text after `?`, still encoded
 * @returns null when a percent-encoding is broken or is no UTF-8, or when there are more than `MAX_PARAMETERS`
 */
export function parseQuery(query: string): Parameter[] | null {
  const parameters: Parameter[] = [];
  const pieces = query.split("&", MAX_PARAMETERS + 1);
  if (pieces.length > MAX_PARAMETERS) return null;
  for (const piece of pieces) {
    if (piece === "") continue;
    const divider = piece.indexOf("=");
    const [name, value] = divider === -1 ? [piece, ""] : [piece.slice(0, divider), piece.slice(divider + 1)];
    const [decodedName, decodedValue] = [decodeForm(name), decodeForm(value)];
    if (decodedName === null || decodedValue === null) return null;
    parameters.push([decodedName, decodedValue]);
  }
  return parameters;
}

/** Normalized parameters, RFC 5849 section 3.4.1.3.2: encoded, sorted by name, then by value, joined. */
export function normalizeParameters(parameters: readonly Parameter[]): string {
  return parameters
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function decodeForm(text: string): string | null {
  return decodePercent(text.includes("+") ? text.replaceAll("+", " ") : text);
}

/** Null when the text is no percent-encoded UTF-8. A `+` is a plus here: this is no form encoding. */
export function decodePercent(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Encoded text is ASCII, so code units are in byte order, which a locale's order is not. */
function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
