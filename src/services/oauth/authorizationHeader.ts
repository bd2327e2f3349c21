/** The `Authorization: OAuth` header (RFC 5849 section 3.5.1), read strictly. */
import { inShort } from "../../ground/outsideText.ts";
import { MAX_PARAMETERS, type Parameter } from "./parameters.ts";

/** Most characters of a parameter's name in a problem, however long the caller made it. */
export const NAME_LENGTH = 40;

/** The parameters of a header without `realm`, decoded, in their order; or what is wrong with it. */
type AuthorizationHeader =
  { ok: true; parameters: Parameter[]; realm: string | null } | { ok: false; problem: string };

const SCHEME = /^OAuth(?:[ \t]+|$)/i;
/**
 * Sticky: read from where the one before it ended. In a quoted string a backslash stands before a quotation mark
 * (RFC 9110, section 5.6.4).
 */
const PARAMETER = /([^\s=",\\]+)="([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(,[ \t]*|$)/y;

/** In whatever case (RFC 5849 section 3.5.1). */
export function isOAuthHeader(header: string): boolean {
  return SCHEME.test(header);
}

/**
 * Names and values are percent-decoded, values must be quoted, `realm`, a plain quoted string, is set apart, and a name
 * may come only once (RFC 5849 section 3.1). A backslash in any other value is refused: it should have been
 * percent-encoded (section 3.5.1). Problems name parameters, never their values. There may be no more than
 * `MAX_PARAMETERS`.
 *
 * Assumed: unquoted values, empty list elements and a trailing comma are refused; no known client sends them.
 */
export function parseAuthorization(header: string): AuthorizationHeader {
  const scheme = SCHEME.exec(header);
  if (!scheme) return { ok: false, problem: "the Authorization scheme is not OAuth" };
  const parameters: Parameter[] = [];
  const seen = new Set<string>();
  let realm: string | null = null;
  let at = scheme[0].length;
  let openComma = false;
  while (at < header.length) {
    PARAMETER.lastIndex = at;
    const match = PARAMETER.exec(header);
    if (!match) return { ok: false, problem: 'the Authorization header is not a list of name="value"' };
    // By index: destructuring a match walks an iterator.
    const name = decodePercent(match[1] ?? "");
    if (name === null) return { ok: false, problem: "a parameter's name is not percent-encoded UTF-8" };
    if (seen.has(name)) return { ok: false, problem: `${inShort(name, NAME_LENGTH)} is given twice` };
    seen.add(name);
    if (seen.size > MAX_PARAMETERS)
      return { ok: false, problem: `the Authorization header has more than ${MAX_PARAMETERS} parameters` };
    const rawValue = match[2] ?? "";
    if (isRealm(name)) realm = rawValue.replace(/\\(.)/g, "$1");
    else {
      const value = rawValue.includes("\\") ? null : decodePercent(rawValue);
      if (value === null)
        return { ok: false, problem: `${inShort(name, NAME_LENGTH)} is not percent-encoded UTF-8` };
      parameters.push([name, value]);
    }
    at = PARAMETER.lastIndex;
    openComma = match[3] !== "";
  }
  if (openComma) return { ok: false, problem: "the Authorization header ends with a comma" };
  return { ok: true, parameters, realm };
}

/** In any case; the length comes first, because no other name of OAuth has it. */
function isRealm(name: string): boolean {
  return name.length === 5 && name.toLowerCase() === "realm";
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
