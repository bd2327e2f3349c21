/**
 * The protocol parameters of a request (RFC 5849 sections 3.1 and 3.5) and everything that is signed with them,
 * read strictly: what is missing, duplicated or unsupported is a 400 (section 3.2).
 */
import { inShort } from "../../ground/outsideText.ts";
import { decodePercent, MAX_PARAMETERS, type Parameter, parseQuery } from "./parameters.ts";

/** As it came over the wire, nothing decoded. */
export type RawRequest = {
  method: string;
  /** `http` or `https`, as the client sees the service. */
  scheme: string;
  host: string;
  /** Path and query. */
  target: string;
  /** One entry for each such header. */
  authorization: readonly string[];
  /** The body when it is `application/x-www-form-urlencoded`: its parameters are signed as well. */
  formBody?: string | undefined;
};

const REQUIRED = [
  "oauth_consumer_key",
  "oauth_token",
  "oauth_nonce",
  "oauth_timestamp",
  "oauth_signature_method",
  "oauth_signature",
] as const;

/** The version is `1.0` where it is absent, the token empty where none is required; the others are required. */
type Protocol = Record<(typeof REQUIRED)[number] | "oauth_version", string>;

type Refused = { ok: false; status: 400 | 401; reason: string };

/** `signed`: the parameters of query, header and form body, all but `realm` and `oauth_signature`. */
type ProtocolResult = { ok: true; protocol: Protocol; signed: Parameter[] } | Refused;

/**
 * Reads a request. A 400 is a bad request, a 401 one that is not authenticated at all.
 *
 * Assumed: protocol parameters stand in one place, the header or else the query or a form body, as RFC 5849 section
 * 3.5 asks; the live service accepts header and query (field notes, "Requests"). In two places at once they are
 * refused with 400.
 *
 * @param needsToken false: a request for temporary credentials has none (section 2.1)
 */
export function readRequest(
  { target, authorization, formBody = "" }: Pick<RawRequest, "target" | "authorization" | "formBody">,
  needsToken = true,
): ProtocolResult {
  const header = readHeader(authorization);
  if (!header.ok) return bad(header.problem);
  const [query, body] = [parseQuery(splitTarget(target).query), parseQuery(formBody)];
  if (query === null || body === null)
    return bad(
      `the query or the form body is not percent-encoded UTF-8, or has more than ${MAX_PARAMETERS} parameters`,
    );
  const inHeader = header.parameters.filter(([name]) => isProtocol(name));
  const elsewhere = [...query, ...body].filter(([name]) => isProtocol(name));
  if (inHeader.length > 0 && elsewhere.length > 0)
    return bad("parameters whose names begin with oauth_ stand in two places");
  if (inHeader.length === 0 && elsewhere.length === 0) {
    // "OAuth" with nothing behind it was meant to be signed; anything else was not.
    return header.isOAuth
      ? bad(`${REQUIRED[0]} is missing`)
      : { ok: false, status: 401, reason: header.problem };
  }
  const names = elsewhere.map(([name]) => name);
  const twice = names.find((name, place) => names.indexOf(name) < place);
  if (twice !== undefined) return bad(`${inShort(twice, NAME_LENGTH)} is given twice`);
  const protocol = protocolOf([...inHeader, ...elsewhere]);
  const problem = problemOf(protocol, needsToken);
  if (problem !== null) return bad(problem);
  const all = [...query, ...header.parameters, ...body];
  return { ok: true, protocol, signed: all.filter(([name]) => name !== "oauth_signature") };
}

function protocolOf(parameters: readonly Parameter[]): Protocol {
  const values = new Map(parameters);
  const required = REQUIRED.map((name) => [name, values.get(name) ?? ""]);
  return Object.fromEntries([
    ...required,
    ["oauth_version", values.get("oauth_version") ?? "1.0"],
  ]) as Protocol;
}

function problemOf(protocol: Protocol, needsToken: boolean): string | null {
  for (const name of REQUIRED)
    if (protocol[name] === "" && (needsToken || name !== "oauth_token")) return `${name} is missing`;
  if (protocol.oauth_signature_method !== "HMAC-SHA1") return "oauth_signature_method is not HMAC-SHA1";
  if (protocol.oauth_version !== "1.0") return "oauth_version is not 1.0";
  return /^[1-9]\d{0,14}$/.test(protocol.oauth_timestamp) ? null : "oauth_timestamp is no Unix time";
}

type Header = { ok: true; isOAuth: boolean; parameters: Parameter[]; problem: string };

/** Without parameters when there is no header, or one of another scheme. */
function readHeader(authorization: readonly string[]): Header | { ok: false; problem: string } {
  const [header, ...more] = authorization;
  const none = (problem: string): Header => ({ ok: true, isOAuth: false, parameters: [], problem });
  if (header === undefined) return none("the Authorization header is missing");
  if (more.length > 0) return { ok: false, problem: "the Authorization header is given twice" };
  if (!isOAuthHeader(header)) return none("the Authorization scheme is not OAuth");
  const read = parseAuthorization(header);
  return read.ok ? { ok: true, isOAuth: true, parameters: read.parameters, problem: "" } : read;
}

/** Most characters of a parameter's name in a problem, however long the caller made it. */
const NAME_LENGTH = 40;

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

function bad(reason: string): Refused {
  return { ok: false, status: 400, reason };
}

/** A parameter of OAuth's own says how a request is signed, not what it asks for. */
export function isProtocol(name: string): boolean {
  return name.startsWith("oauth_");
}

export function splitTarget(target: string): { path: string; query: string } {
  const [path = "", ...query] = target.split("?");
  return { path, query: query.join("?") };
}
