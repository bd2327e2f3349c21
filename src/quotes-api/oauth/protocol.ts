/**
 * The protocol parameters of a request (RFC 5849 sections 3.1 and 3.5) and everything that is signed with them,
 * read strictly: what is missing, duplicated or unsupported is a 400 (section 3.2).
 */
import { isOAuthHeader, parseAuthorization } from "./authorization.ts";
import { parseQuery, type Parameter } from "./parameters.ts";

/** A request as it came over the wire, nothing decoded. */
export type RawRequest = {
  method: string;
  /** `http` or `https`, as the client sees the service. */
  scheme: string;
  /** The `Host` header. */
  host: string;
  /** The request target: raw path and query. */
  target: string;
  /** Every `Authorization` header of the request. */
  authorization: readonly string[];
  /** The body when it is `application/x-www-form-urlencoded`: its parameters are signed as well. */
  formBody?: string;
};

const REQUIRED = [
  "oauth_consumer_key",
  "oauth_token",
  "oauth_nonce",
  "oauth_timestamp",
  "oauth_signature_method",
  "oauth_signature",
] as const;

/** The parameters that every request must have, by name. */
export type Protocol = Record<(typeof REQUIRED)[number], string>;

/** What was read, or a 400; a 401 for a request that is not authenticated at all. */
export type ProtocolRead =
  { ok: true; protocol: Protocol; signed: Parameter[] } | { ok: false; status: 400 | 401; reason: string };

/**
 * Reads a request.
 *
 * Assumed: protocol parameters stand in one place, the header or else the query or a form body, as RFC 5849 section
 * 3.5 asks; the live service accepts header and query (field notes, "Requests"). In two places at once they are
 * refused with 400.
 *
 * @returns `signed`: all parameters but `realm` and `oauth_signature`, decoded
 */
export function readRequest(request: RawRequest): ProtocolRead {
  const header = readHeader(request.authorization);
  if (!header.ok) return bad(header.problem);
  const others = parametersBesides(request);
  if (others === null) return bad("the query or the form body is not percent-encoded UTF-8");
  const elsewhere = others.filter((parameter) => isProtocol(parameter[0]));
  if (header.parameters.some((parameter) => isProtocol(parameter[0]))) {
    if (elsewhere.length > 0) return bad("parameters whose names begin with oauth_ stand in two places");
  } else if (elsewhere.length === 0) {
    // "OAuth" with nothing behind it was meant to be signed; anything else was not.
    return header.isOAuth ? bad(`${REQUIRED[0]} is missing`) : unauthorized(header.problem);
  }
  const protocol = new Map<string, string>();
  for (const [name, value] of [...header.parameters, ...elsewhere]) {
    if (isProtocol(name) && protocol.has(name)) return bad(`${name} is given twice`);
    protocol.set(name, value);
  }
  const problem = problemWith(protocol);
  if (problem !== null) return bad(problem);
  const signed = header.parameters.concat(others).filter((parameter) => parameter[0] !== "oauth_signature");
  return { ok: true, protocol: Object.fromEntries(protocol) as Protocol, signed };
}

/** What is wrong with the protocol parameters; null when they can be verified. */
function problemWith(protocol: ReadonlyMap<string, string>): string | null {
  for (const name of REQUIRED) if (!protocol.get(name)) return `${name} is missing`;
  if (protocol.get("oauth_signature_method") !== "HMAC-SHA1")
    return "oauth_signature_method is not HMAC-SHA1";
  if ((protocol.get("oauth_version") ?? "1.0") !== "1.0") return "oauth_version is not 1.0";
  if (!/^[1-9]\d{0,14}$/.test(protocol.get("oauth_timestamp") ?? ""))
    return "oauth_timestamp is no Unix time";
  return null;
}

type Header = { isOAuth: boolean; parameters: Parameter[]; problem: string };

/** The parameters of the one `Authorization: OAuth` header; none when there is no header, or one of another scheme. */
function readHeader(
  authorization: readonly string[],
): ({ ok: true } & Header) | { ok: false; problem: string } {
  const [header, ...more] = authorization;
  if (header === undefined)
    return { ok: true, isOAuth: false, parameters: [], problem: "the Authorization header is missing" };
  if (more.length > 0) return { ok: false, problem: "the Authorization header is given twice" };
  if (!isOAuthHeader(header))
    return { ok: true, isOAuth: false, parameters: [], problem: "the Authorization scheme is not OAuth" };
  const read = parseAuthorization(header);
  if (!read.ok) return read;
  return { ok: true, isOAuth: true, parameters: read.parameters, problem: "" };
}

/** The parameters of query and form body; null when they cannot be decoded. */
function parametersBesides({ target, formBody }: RawRequest): Parameter[] | null {
  try {
    return [...parseQuery(splitTarget(target).query), ...parseQuery(formBody ?? "")];
  } catch {
    return null;
  }
}

/** Whether a name is OAuth's own: such a parameter says how a request is signed, not what it asks for. */
export function isProtocol(name: string): boolean {
  return name.startsWith("oauth_");
}

/** A request target divided at its first `?`. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

function bad(reason: string): { ok: false; status: 400; reason: string } {
  return { ok: false, status: 400, reason };
}

function unauthorized(reason: string): { ok: false; status: 401; reason: string } {
  return { ok: false, status: 401, reason };
}
