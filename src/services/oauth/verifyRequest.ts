/** Verification of a signed request on the service's side (RFC 5849 section 3.2). */
import { timingSafeEqual } from "node:crypto";
import type { NonceMemory } from "./nonces.ts";
import { percentEncode } from "../percentEncode.ts";
import { normalizeParameters, type Parameter } from "./parameters.ts";
import { readRequest, type RawRequest, splitTarget } from "./protocol.ts";
import { baseStringUri, signatureOf, type Credentials } from "./signature.ts";

type Verifier<Key extends Credentials = Credentials> = {
  keyOf: (consumerKey: string, token: string) => Key | undefined;
  nonces: NonceMemory;
  nowSeconds: number;
  windowSeconds: number;
  /** Default: true; see `readRequest`. */
  needsToken?: boolean;
};

/** A reason never holds a key, a token or a signature. */
export type Verdict<Key extends Credentials = Credentials> =
  { ok: true; key: Key } | { ok: false; status: 400 | 401; reason: string };

/** How far a timestamp may be from the service's clock, seconds, both ways (field notes, "Requests"). */
export const TIMESTAMP_WINDOW_SECONDS = 10;

/** Replaces an unknown key, so that refusing it takes as long as refusing a wrong signature. */
const NOBODY = { consumerSecret: "", accessTokenSecret: "" };

/**
 * Verifies a request and uses up its nonce when the signature is right.
 *
 * @throws what the memory of nonces throws when it cannot keep one
 */
export function verifyRequest<Key extends Credentials>(
  request: RawRequest,
  verifier: Verifier<Key>,
): Verdict<Key> {
  const read = readRequest(request, verifier.needsToken);
  if (!read.ok) return read;
  const { protocol, signed } = read;
  const claimed = verifier.keyOf(protocol.oauth_consumer_key, protocol.oauth_token);
  const timestamp = Number(protocol.oauth_timestamp);
  const skew = timestamp - verifier.nowSeconds;
  if (Math.abs(skew) > verifier.windowSeconds) {
    return refused(
      `the timestamp is ${Math.abs(skew)} s ${skew < 0 ? "behind" : "ahead of"} the service's clock`,
    );
  }
  const expected = signatureOf(baseStringOf(request, signed), claimed ?? NOBODY);
  const genuine = isSame(protocol.oauth_signature, expected);
  if (!claimed) return refused("the consumer key or the token is not known");
  if (!genuine) return refused("the signature does not match");
  switch (verifier.nonces.use(claimed.accessToken, timestamp, protocol.oauth_nonce, verifier.nowSeconds)) {
    case "fresh":
      return { ok: true, key: claimed };
    case "repeated":
      return refused("the nonce was used before");
    case "stale":
      return refused("the timestamp is older than nonces are remembered");
    case "full":
      return refused("too many calls in a few seconds to tell nonces apart");
  }
}

/** RFC 5849 section 3.4.1.1. */
function baseStringOf({ method, scheme, host, target }: RawRequest, signed: readonly Parameter[]): string {
  const uri = baseStringUri(scheme, host, splitTarget(target).path);
  return [method.toUpperCase(), uri, normalizeParameters(signed)].map(percentEncode).join("&");
}

/** Compares the texts, not their decoded bytes: base64 decoders skip characters that do not belong there. */
function isSame(signature: string, expected: string): boolean {
  const [one, other] = [Buffer.from(signature), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function refused(reason: string): { ok: false; status: 401; reason: string } {
  return { ok: false, status: 401, reason };
}
