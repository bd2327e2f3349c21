/**
 * The protocol parameters of a request (RFC 5849 sections 3.1 and 3.5) and everything that is signed with them,
 * read strictly: what is missing, duplicated or unsupported is a 400 (section 3.2).
 */
import { inShort } from "../../ground/outsideText.ts";
import { decodePercent, isOAuthHeader, NAME_LENGTH, parseAuthorization } from "./authorizationHeader.ts";
import { MAX_PARAMETERS, type Parameter } from "./parameters.ts";
import { isProtocol, readParameters, type SignedTarget, unsigned } from "./signedTarget.ts";

export { isProtocol, splitTarget } from "./signedTarget.ts";

/** As it came over the wire, nothing decoded. */
export type RawRequest = {
  method: string;
  /** `http` or `https`, as the client sees the service. */
  scheme: string;
  host: string;
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

/** A 400 is a bad request, a 401 one that is not authenticated at all. */
type ProtocolResult =
  | {
      ok: true;
      protocol: Protocol;
      /**
       * What is signed besides the target: of header and form body all but `realm` and `oauth_signature`, decoded; or
       * as it stands in the base string, between the two parts of the target's query.
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
 * @param needsToken false: a request for temporary credentials has none (section 2.1)
 */
export function readRequest(
  { authorization, formBody }: Pick<RawRequest, "authorization" | "formBody">,
  { query }: SignedTarget,
  needsToken = true,
): ProtocolResult {
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
  const read = readProtocol(inHeader ? header.parameters : elsewhere, needsToken);
  if (typeof read === "string") return bad(read);
  return { ok: true, protocol: read, signed: unsigned(header.parameters).concat(unsigned(body)) };
}

/** A value that neither a header nor the base string encodes. */
const PLAIN = "[\\w.~-]+";

/** The form of each parameter's value in the headers of nearly all clients. */
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
 * Reads a header as nearly all clients write it: the seven parameters, each once, in a usual order, nothing encoded but
 * the signature. Decoding, sorting and encoding it again would take several times as long as the hashing.
 *
 * @returns what `readRequest` returns; null for any other header
 */
function readOrdinary(header: string): Extract<ProtocolResult, { ok: true }> | null {
  for (const usual of USUAL_HEADERS) {
    const values = usual.exec(header)?.groups;
    if (values === undefined) continue;
    const { key = "", token = "", nonce = "", timestamp = "" } = values;
    const signature = decodePercent(values["signature"] ?? "");
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

/** The first name that comes a second time. */
function repeatedName(parameters: readonly Parameter[]): string | null {
  if (parameters.length < 2) return null;
  const seen = new Set<string>();
  for (const [name] of parameters) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return null;
}

function readProtocol(parameters: readonly Parameter[], needsToken: boolean): Protocol | string {
  const protocol: Protocol = {
    oauth_consumer_key: valueOf(parameters, "oauth_consumer_key"),
    oauth_token: valueOf(parameters, "oauth_token"),
    oauth_nonce: valueOf(parameters, "oauth_nonce"),
    oauth_timestamp: valueOf(parameters, "oauth_timestamp"),
    oauth_signature_method: valueOf(parameters, "oauth_signature_method"),
    oauth_signature: valueOf(parameters, "oauth_signature"),
    oauth_version: valueOf(parameters, "oauth_version", "1.0"),
  };
  return problemOf(protocol, needsToken) ?? protocol;
}

function problemOf(protocol: Protocol, needsToken: boolean): string | null {
  for (const name of REQUIRED)
    if (protocol[name] === "" && (needsToken || name !== "oauth_token")) return `${name} is missing`;
  if (protocol.oauth_signature_method !== "HMAC-SHA1") return "oauth_signature_method is not HMAC-SHA1";
  if (protocol.oauth_version !== "1.0") return "oauth_version is not 1.0";
  return /^[1-9]\d{0,14}$/.test(protocol.oauth_timestamp) ? null : "oauth_timestamp is no Unix time";
}

/** With so few names a loop is faster than a map that is made for one request. */
function valueOf(parameters: readonly Parameter[], name: string, absent = ""): string {
  for (const parameter of parameters) if (parameter[0] === name) return parameter[1];
  return absent;
}

type Header = { isOAuth: boolean; parameters: Parameter[]; problem: string };

/** None when there is no header, or one of another scheme. */
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
