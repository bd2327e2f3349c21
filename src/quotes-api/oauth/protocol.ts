/**
 * The protocol parameters of a request (RFC 5849 sections 3.1 and 3.5) and everything that is signed with them,
 * read strictly: what is missing, duplicated or unsupported is a 400 (section 3.2).
 */
import { inShort } from "../../outsideText.ts";
import { MAX_PARAMETERS, type Parameter } from "./parameters.ts";
import { isProtocol, readParameters, type SignedTarget, unsigned } from "./signedTarget.ts";

export { isProtocol, splitTarget } from "./signedTarget.ts";

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
  formBody?: string | undefined;
};

/** Most characters of a name of a parameter in a problem, however long somebody made it. */
const NAME_LENGTH = 40;

const REQUIRED = [
  "oauth_consumer_key",
  "oauth_token",
  "oauth_nonce",
  "oauth_timestamp",
  "oauth_signature_method",
  "oauth_signature",
] as const;

/** The protocol parameters by name; the version is `1.0` where it is absent, the others must be there. */
type Protocol = Record<(typeof REQUIRED)[number] | "oauth_version", string>;

/** What was read, or a 400; a 401 for a request that is not authenticated at all. */
type ProtocolRead =
  | {
      ok: true;
      protocol: Protocol;
      /**
       * What is signed besides the target: of header and form body all but `realm` and `oauth_signature`, decoded; or as
       * it stands in the base string, between the two parts of the target's query.
       */
      signed: Parameter[] | string;
    }
  | { ok: false; status: 400 | 401; reason: string };

const NO_PARAMETERS: readonly Parameter[] = [];

/**
 * Reads a request.
 *
 * Assumed: protocol parameters stand in one place, the header or else the query or a form body, as RFC 5849 section
 * 3.5 asks; the live service accepts header and query (field notes, "Requests"). In two places at once they are
 * refused with 400.
 *
 * @param target the request's own
 */
export function readRequest(
  { authorization, formBody }: Pick<RawRequest, "authorization" | "formBody">,
  { query }: SignedTarget,
): ProtocolRead {
  const isPlain = authorization.length === 1 && formBody === undefined && query?.protocol.length === 0;
  const ordinary = isPlain ? readOrdinary(authorization[0] ?? "") : null;
  if (ordinary) return ordinary;
  const header = readHeader(authorization);
  if (!header.ok) return bad(header.problem);
  const body = formBody === undefined ? NO_PARAMETERS : readParameters(formBody);
  if (query === null || body === null)
    return bad(
      `the query or the form body is not percent-encoded UTF-8, or has more than ${MAX_PARAMETERS} parameters`,
    );
  const inHeader = header.parameters.some((parameter) => isProtocol(parameter[0]));
  const elsewhere = query.protocol.concat(body.filter((parameter) => isProtocol(parameter[0])));
  if (inHeader) {
    if (elsewhere.length > 0) return bad("parameters whose names begin with oauth_ stand in two places");
  } else if (elsewhere.length === 0) {
    // "OAuth" with nothing behind it was meant to be signed; anything else was not.
    return header.isOAuth ? bad(`${REQUIRED[0]} is missing`) : unauthorized(header.problem);
  }
  const twice = repeatedName(elsewhere);
  if (twice !== null) return bad(`${inShort(twice, NAME_LENGTH)} is given twice`);
  const read = readProtocol(inHeader ? header.parameters : elsewhere);
  if (typeof read === "string") return bad(read);
  return { ok: true, protocol: read, signed: unsigned(header.parameters).concat(unsigned(body)) };
}

/** A value that is neither encoded in a header nor in the base string. */
const PLAIN = "[\\w.~-]+";

/** What a value of each parameter is in a header as nearly all clients write it. */
const USUAL_VALUES: Readonly<Record<string, string>> = {
  consumer_key: `(?<key>${PLAIN})`,
  token: `(?<token>${PLAIN})`,
  nonce: `(?<nonce>${PLAIN})`,
  timestamp: "(?<timestamp>[1-9]\\d{0,14})",
  signature_method: "HMAC-SHA1",
  signature: '(?<signature>[^"\\\\]+)',
  version: "1\\.0",
};

/** In the usual orders: by name, that of oauthlib (Python), and that of the examples of RFC 5849. */
const USUAL_HEADERS = [
  "consumer_key nonce signature signature_method timestamp token version",
  "nonce timestamp version signature_method consumer_key token signature",
  "consumer_key token signature_method timestamp nonce signature version",
].map((order) => {
  const parameters = order.split(" ").map((name) => `oauth_${name}="${USUAL_VALUES[name] ?? ""}"`);
  return new RegExp(`^OAuth ${parameters.join(", ?")}$`);
});

/**
 * Reads a header as nearly all clients write it: the seven parameters, each once, in a usual order, nothing encoded but the
 * signature. Then nothing is to be decoded, sorted and encoded again, which takes a multiple of the hashing.
 *
 * @returns what `readRequest` gives; null for any other header
 */
function readOrdinary(header: string): Extract<ProtocolRead, { ok: true }> | null {
  for (const usual of USUAL_HEADERS) {
    const values = usual.exec(header)?.groups;
    if (values === undefined) continue;
    const { key = "", token = "", nonce = "", timestamp = "" } = values;
    const signature = decode(values["signature"] ?? "");
    if (signature === null) return null;
    const protocol = {
      oauth_consumer_key: key,
      oauth_token: token,
      oauth_nonce: nonce,
      oauth_timestamp: timestamp,
      oauth_signature_method: "HMAC-SHA1",
      oauth_signature: signature,
      oauth_version: "1.0",
    };
    const stamped = `oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D${timestamp}`;
    const signed = `oauth_consumer_key%3D${key}%26oauth_nonce%3D${nonce}%26${stamped}%26oauth_token%3D${token}%26oauth_version%3D1.0`;
    return { ok: true, protocol, signed };
  }
  return null;
}

/** The first name that comes a second time; null when none does. A header that was read has none. */
function repeatedName(parameters: readonly Parameter[]): string | null {
  if (parameters.length < 2) return null;
  const seen = new Set<string>();
  for (const [name] of parameters) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return null;
}

/** The parameters that must be there; or what is wrong, so that they cannot be verified. */
function readProtocol(parameters: readonly Parameter[]): Protocol | string {
  const protocol: Protocol = {
    oauth_consumer_key: valueOf(parameters, "oauth_consumer_key"),
    oauth_token: valueOf(parameters, "oauth_token"),
    oauth_nonce: valueOf(parameters, "oauth_nonce"),
    oauth_timestamp: valueOf(parameters, "oauth_timestamp"),
    oauth_signature_method: valueOf(parameters, "oauth_signature_method"),
    oauth_signature: valueOf(parameters, "oauth_signature"),
    oauth_version: valueOf(parameters, "oauth_version", "1.0"),
  };
  return problemOf(protocol) ?? protocol;
}

/** Why the parameters cannot be verified; null when they can be. */
function problemOf(protocol: Protocol): string | null {
  for (const name of REQUIRED) if (protocol[name] === "") return `${name} is missing`;
  if (protocol.oauth_signature_method !== "HMAC-SHA1") return "oauth_signature_method is not HMAC-SHA1";
  if (protocol.oauth_version !== "1.0") return "oauth_version is not 1.0";
  return /^[1-9]\d{0,14}$/.test(protocol.oauth_timestamp) ? null : "oauth_timestamp is no Unix time";
}

/** The value of a name among a handful: to look at each is faster than a map that is made for one request. */
function valueOf(parameters: readonly Parameter[], name: string, absent = ""): string {
  for (const parameter of parameters) if (parameter[0] === name) return parameter[1];
  return absent;
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

function bad(reason: string): { ok: false; status: 400; reason: string } {
  return { ok: false, status: 400, reason };
}

function unauthorized(reason: string): { ok: false; status: 401; reason: string } {
  return { ok: false, status: 401, reason };
}

// The `Authorization: OAuth` header (RFC 5849 section 3.5.1), read strictly.

/** The parameters of a header without `realm`, decoded, in their order; or what is wrong with it. */
type AuthorizationHeader =
  { ok: true; parameters: Parameter[]; realm: string | null } | { ok: false; problem: string };

const SCHEME = /^OAuth(?:[ \t]+|$)/i;
/**
 * Sticky: read from where the one before it ended. In a quoted string a backslash stands before a quotation mark
 * (RFC 9110, section 5.6.4).
 */
const PARAMETER = /([^\s=",\\]+)="([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(,[ \t]*|$)/y;

/** Whether the header is of the `OAuth` scheme at all; the scheme's case does not matter (RFC 5849 section 3.5.1). */
export function isOAuthHeader(header: string): boolean {
  return SCHEME.test(header);
}

/**
 * Reads the header: names and values are percent-decoded, values must be quoted, `realm`, a plain quoted string, is
 * set apart, and a name may come only once (RFC 5849 section 3.1). A backslash in any other value is refused: it should
 * have been percent-encoded (section 3.5.1). Problems name parameters, never their values. There may be
 * no more than `MAX_PARAMETERS`.
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
    // By its places: taking a match apart by a pattern walks an iterator.
    const name = decode(match[1] ?? "");
    if (name === null) return { ok: false, problem: "a parameter's name is not percent-encoded UTF-8" };
    if (seen.has(name)) return { ok: false, problem: `${inShort(name, NAME_LENGTH)} is given twice` };
    seen.add(name);
    if (seen.size > MAX_PARAMETERS)
      return { ok: false, problem: `the Authorization header has more than ${MAX_PARAMETERS} parameters` };
    const rawValue = match[2] ?? "";
    if (isRealm(name)) realm = rawValue.replace(/\\(.)/g, "$1");
    else {
      const value = rawValue.includes("\\") ? null : decode(rawValue);
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

/** In any case; the length is looked at first, for no other name of OAuth has it. */
function isRealm(name: string): boolean {
  return name.length === 5 && name.toLowerCase() === "realm";
}

/** Null when the text is no percent-encoded UTF-8. A `+` is a plus here: this is no form encoding. */
function decode(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
