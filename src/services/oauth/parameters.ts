/**
 * Request parameters as OAuth 1.0 sees them: an ordered list of decoded names and values, in which a
 * name may come twice and a value may be empty.
 */
import { isUnreserved, percentEncode } from "../percentEncode.ts";

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
 * @throws {URIError} when a percent-encoding is broken or is no UTF-8, or when there are more than `MAX_PARAMETERS`
 */
export function parseQuery(query: string): Parameter[] {
  const parameters: Parameter[] = [];
  const pieces = query.split("&", MAX_PARAMETERS + 1);
  if (pieces.length > MAX_PARAMETERS) throw new URIError(`there are more than ${MAX_PARAMETERS} parameters`);
  for (const piece of pieces) {
    if (piece === "") continue;
    const divider = piece.indexOf("=");
    parameters.push(
      divider === -1
        ? [decodeForm(piece), ""]
        : [decodeForm(piece.slice(0, divider)), decodeForm(piece.slice(divider + 1))],
    );
  }
  return parameters;
}

/** A parameter of a signature base string (RFC 5849 section 3.4.1.3.2). */
export type EncodedParameter = {
  /** Percent-encoded; the first sort key. */
  name: string;
  /** Percent-encoded; the second sort key. */
  value: string;
  /** `name=value`, percent-encoded once more, as it stands in the base string. */
  text: string;
};

/** Normalized parameters, RFC 5849 section 3.4.1.3.2: encoded, sorted by name, then by value, joined. */
export function normalizeParameters(parameters: readonly Parameter[]): string {
  return encodeParameters(parameters)
    .map(({ name, value }) => `${name}=${value}`)
    .join("&");
}

export function encodeParameters(parameters: readonly Parameter[]): EncodedParameter[] {
  return parameters.map(encodeParameter).sort(compareParameters);
}

/**
 * Equals `percentEncode(normalizeParameters(parameters))`, for parameters that were encoded in two parts: a service
 * meets the same query again and again, each time with another header.
 *
 * @param some sorted, as `encodeParameters` returns them
 * @param others likewise
 */
export function joinEncoded(some: readonly EncodedParameter[], others: readonly EncodedParameter[]): string {
  let joined = "";
  let place = 0;
  for (const parameter of some) {
    for (let other = others[place]; other && compareParameters(other, parameter) < 0; other = others[++place])
      joined = appended(joined, other);
    joined = appended(joined, parameter);
  }
  for (; place < others.length; place++) joined = appended(joined, others[place]);
  return joined;
}

function appended(joined: string, parameter: EncodedParameter | undefined): string {
  const text = parameter?.text ?? "";
  return joined === "" ? text : `${joined}%26${text}`;
}

function encodeParameter(parameter: Parameter): EncodedParameter {
  // By index: destructuring a pair walks an iterator, and a service does it for each call.
  const name = parameter[0];
  const value = parameter[1];
  return isUnreserved(name) && isUnreserved(value)
    ? { name, value, text: `${name}%3D${value}` }
    : encodedTwice(percentEncode(name), percentEncode(value));
}

function encodedTwice(name: string, value: string): EncodedParameter {
  return { name, value, text: `${percentEncode(name)}%3D${percentEncode(value)}` };
}

function decodeForm(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return decodeURIComponent(text.replaceAll("+", " "));
}

function compareParameters(a: EncodedParameter, b: EncodedParameter): number {
  return compare(a.name, b.name) || compare(a.value, b.value);
}

/** Encoded text is ASCII, so code units are in byte order, which a locale's order is not. */
function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
