/** Verification of a signed request on the service's side (RFC 5849 section 3.2). */
import { timingSafeEqual } from "node:crypto";
import type { NonceMemory } from "./nonces.ts";
import { percentEncode } from "../percentEncode.ts";
import { encodeParameters, joinEncoded, type Parameter } from "./parameters.ts";
import { readRequest, type RawRequest } from "./protocol.ts";
import { signatureOf, type Credentials, type SigningSecrets } from "./signature.ts";
import { signedTarget, type SignedTarget } from "./signedTarget.ts";

type Verifier<Key extends Credentials = Credentials> = {
  /** Undefined when there is no such key. */
  keyOf: (consumerKey: string, token: string) => Key | undefined;
  nonces: NonceMemory;
  nowSeconds: number;
  windowSeconds: number;
  /** `signedTarget`, perhaps with a memory. */
  targetOf?: typeof signedTarget;
  /** Default: true; see `readRequest`. */
  needsToken?: boolean;
};

/** A reason never holds a key, a token or a signature. */
export type Verdict<Key extends Credentials = Credentials> =
  { ok: true; key: Key } | { ok: false; status: 400 | 401; reason: string };

/** How far a timestamp may be from the service's clock, seconds, both ways (field notes, "Requests"). */
export const TIMESTAMP_WINDOW_SECONDS = 10;

/** 20 bytes in base64. */
const SIGNATURE_LENGTH = 28;

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
  const target = (verifier.targetOf ?? signedTarget)(request.scheme, request.host, request.target);
  const read = readRequest(request, target, verifier.needsToken);
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
  const baseString = baseStringOf(request.method, target, signed);
  const genuine = isSignature(protocol.oauth_signature, baseString, claimed ?? NOBODY);
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

/** RFC 5849 section 3.4.1.1, for a target that was read before. */
function baseStringOf(
  method: string,
  { uri, query }: SignedTarget,
  signed: readonly Parameter[] | string,
): string {
  const [before, behind] = query?.around ?? ["", ""];
  const parameters =
    typeof signed === "string"
      ? `${before}${signed}${behind}`
      : joinEncoded(encodeParameters(signed), query?.signed ?? []);
  return `${percentEncode(method.toUpperCase())}&${uri}&${parameters}`;
}

// Written over for each call: two new ones took as long as a hash.
const expected = Buffer.alloc(SIGNATURE_LENGTH);
const given = Buffer.alloc(SIGNATURE_LENGTH);

/** Compares the texts, not their decoded bytes: base64 decoders skip characters that do not belong there. */
function isSignature(text: string, baseString: string, secrets: SigningSecrets): boolean {
  expected.write(signatureOf(baseString, secrets));
  // A character outside ASCII takes several bytes, none of them one of base64.
  return (
    text.length === SIGNATURE_LENGTH &&
    given.write(text) === SIGNATURE_LENGTH &&
    timingSafeEqual(given, expected)
  );
}

function refused(reason: string): { ok: false; status: 401; reason: string } {
  return { ok: false, status: 401, reason };
}
