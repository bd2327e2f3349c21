/** Verification of a signed request on the service's side (RFC 5849 section 3.2). */
import { timingSafeEqual } from "node:crypto";
import { isOAuthHeader, parseAuthorization } from "./authorization.ts";
import type { NonceMemory } from "./nonces.ts";
import { parseQuery, type Parameter } from "./parameters.ts";
import { baseStringUri, signatureBaseString, signatureDigest, type Credentials } from "./signature.ts";

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

/** What a request is verified against. */
export type Verifier = {
  keys: readonly Credentials[];
  nonces: NonceMemory;
  /** The clock, Unix seconds. */
  nowSeconds: number;
  /** See `TIMESTAMP_WINDOW_SECONDS`. */
  windowSeconds: number;
};

/** Who called, or why the call is refused. A reason never holds a key, a token or a signature. */
export type Verdict = { ok: true; token: string } | { ok: false; status: 400 | 401; reason: string };

/** How far a timestamp may be from the service's clock, seconds, both ways (field notes, "Requests"). */
export const TIMESTAMP_WINDOW_SECONDS = 10;

const REQUIRED = [
  "oauth_consumer_key",
  "oauth_token",
  "oauth_nonce",
  "oauth_timestamp",
  "oauth_signature_method",
  "oauth_signature",
] as const;

/** Bytes of an HMAC-SHA1 digest. */
const DIGEST_LENGTH = 20;

/** Stands in for an unknown key, so that refusing it takes as long as refusing a wrong signature. */
const NOBODY = { consumerSecret: "", accessTokenSecret: "" };

/**
 * Verifies a request and uses up its nonce when the signature is right.
 *
 * Assumed: protocol parameters are taken from the header alone. The live service is said to accept them in the
 * query too, but there they would end in logs.
 */
export function verifyRequest(request: RawRequest, verifier: Verifier): Verdict {
  const read = readRequest(request);
  if (!read.ok) return read;
  const { protocol, parameters } = read;
  const claimed = verifier.keys.find(
    (key) => key.consumerKey === protocol.oauth_consumer_key && key.accessToken === protocol.oauth_token,
  );
  const timestamp = Number(protocol.oauth_timestamp);
  const skew = timestamp - verifier.nowSeconds;
  if (Math.abs(skew) > verifier.windowSeconds) {
    return refused(
      `the timestamp is ${Math.abs(skew)} s ${skew < 0 ? "behind" : "ahead of"} the service's clock`,
    );
  }
  const genuine = isSigned(request, parameters, protocol.oauth_signature, claimed ?? NOBODY);
  if (!claimed) return refused("the consumer key or the token is not known");
  if (!genuine) return refused("the signature does not match");
  switch (verifier.nonces.use(claimed.accessToken, timestamp, protocol.oauth_nonce, verifier.nowSeconds)) {
    case "fresh":
      return { ok: true, token: claimed.accessToken };
    case "repeated":
      return refused("the nonce was used before");
    case "stale":
      return refused("the timestamp is older than nonces are remembered");
    case "full":
      return refused("too many calls in a few seconds to tell nonces apart");
  }
}

type Protocol = Record<(typeof REQUIRED)[number], string>;

/** All that is signed, and the protocol parameters by name; or a 400, or a 401 without any OAuth header. */
function readRequest(
  request: RawRequest,
):
  | { ok: true; parameters: Parameter[]; protocol: Protocol }
  | { ok: false; status: 400 | 401; reason: string } {
  const [header, ...more] = request.authorization;
  if (header === undefined) return refused("the Authorization header is missing");
  if (more.length > 0) return bad("the Authorization header is given twice");
  if (!isOAuthHeader(header)) return refused("the Authorization scheme is not OAuth");
  const authorization = parseAuthorization(header);
  if (!authorization.ok) return bad(authorization.problem);
  const elsewhere = parametersBesides(request);
  if (elsewhere === null) return bad("the query or the form body is not percent-encoded UTF-8");
  const stray = elsewhere.find(([name]) => name.startsWith("oauth_"));
  if (stray) return bad("a parameter whose name begins with oauth_ stands outside the Authorization header");
  const byName = new Map(authorization.parameters);
  for (const name of REQUIRED) if (!byName.get(name)) return bad(`${name} is missing`);
  if (byName.get("oauth_signature_method") !== "HMAC-SHA1")
    return bad("oauth_signature_method is not HMAC-SHA1");
  if ((byName.get("oauth_version") ?? "1.0") !== "1.0") return bad("oauth_version is not 1.0");
  if (!/^[1-9]\d{0,14}$/.test(byName.get("oauth_timestamp") ?? ""))
    return bad("oauth_timestamp is no Unix time");
  const signed = authorization.parameters.filter(([name]) => name !== "oauth_signature");
  const protocol = Object.fromEntries(REQUIRED.map((name) => [name, byName.get(name) ?? ""])) as Protocol;
  return { ok: true, parameters: [...signed, ...elsewhere], protocol };
}

/** The parameters of query and form body; null when they cannot be decoded. */
function parametersBesides({ target, formBody }: RawRequest): Parameter[] | null {
  try {
    return [...parseQuery(splitTarget(target).query), ...parseQuery(formBody ?? "")];
  } catch {
    return null;
  }
}

function isSigned(
  request: RawRequest,
  parameters: readonly Parameter[],
  signature: string,
  secrets: Pick<Credentials, "consumerSecret" | "accessTokenSecret">,
): boolean {
  const uri = baseStringUri(request.scheme, request.host, splitTarget(request.target).path);
  const expected = signatureDigest(signatureBaseString(request.method, uri, parameters), secrets);
  const given = Buffer.from(signature, "base64");
  return given.length === DIGEST_LENGTH && timingSafeEqual(given, expected);
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

function refused(reason: string): { ok: false; status: 401; reason: string } {
  return { ok: false, status: 401, reason };
}
