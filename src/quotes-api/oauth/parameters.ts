/**
 * Request parameters as OAuth 1.0 sees them: an ordered list of decoded names and values, in which a
 * name may come twice and a value may be empty.
 */
import { percentEncode } from "../percentEncode.ts";

/** A decoded name and value. */
export type Parameter = readonly [name: string, value: string];

/**
 * Reads a raw query or form body (`application/x-www-form-urlencoded`, RFC 5849 section 3.4.1.3.1):
 * `+` is a space, `a` and `a=` are both an empty value, only the first `=` divides, empty pieces are skipped.
 *
 * @param query the text after `?`, still encoded
 * @throws {URIError} when a percent-encoding is broken or is no UTF-8
 */
export function parseQuery(query: string): Parameter[] {
  return query
    .split("&")
    .filter((piece) => piece !== "")
    .map((piece) => {
      const divider = piece.indexOf("=");
      return divider === -1
        ? [decodeForm(piece), ""]
        : [decodeForm(piece.slice(0, divider)), decodeForm(piece.slice(divider + 1))];
    });
}

/** Normalized parameters, RFC 5849 section 3.4.1.3.2: encoded, sorted by name, then by value, joined. */
export function normalizeParameters(parameters: readonly Parameter[]): string {
  // Places, not patterns: taking a pair apart by a pattern walks an iterator, and a service does it for each comparison.
  return parameters
    .map((parameter): Parameter => [percentEncode(parameter[0]), percentEncode(parameter[1])])
    .sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]))
    .map((parameter) => `${parameter[0]}=${parameter[1]}`)
    .join("&");
}

function decodeForm(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** Encoded text is ASCII, so code units are in byte order, which a locale's order is not. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
