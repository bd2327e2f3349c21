/** Whether a call is signed as it must be, by the program's own verifying side. */
import type { NonceMemory } from "../../../src/services/oauth/nonces.ts";
import { type RawRequest, readRequest } from "../../../src/services/oauth/protocol.ts";
import type { Credentials } from "../../../src/services/oauth/signature.ts";
import { verifyRequest } from "../../../src/services/oauth/verifyRequest.ts";
import { parameterAbsent, TIMESTAMP_WINDOW_SECONDS, timestampRefused } from "./faults.ts";
import type { Sessions } from "./sessions.ts";

/** Which token signs a call: none asks for a request token. */
export type TokenKind = "none" | "request" | "access";

export type Signed = {
  consumerKey: string;
  /** Empty where the kind is none. */
  token: string;
  /** A protocol parameter of the header besides the usual ones; null: absent. */
  parameter: (name: "oauth_callback" | "oauth_verifier") => string | null;
};

type Verifying = { kind: TokenKind; sessions: Sessions; nonces: NonceMemory; nowSeconds: number };

/**
 * Assumed: the order of the checks, and the words but for those of `faults.ts`, which are the OAuth Problem Reporting
 * extension's.
 *
 * @returns a problem as it stands behind `oauth_problem=`, or who calls
 */
export function verified(request: RawRequest, verifying: Verifying): Signed | string {
  const { kind, sessions, nonces, nowSeconds } = verifying;
  const needsToken = kind !== "none";
  const read = readRequest(request, needsToken);
  if (!read.ok) return problemOf(read.reason);
  const { oauth_consumer_key: consumerKey, oauth_token: token, oauth_timestamp: timestamp } = read.protocol;
  const consumer = sessions.consumerOf(consumerKey);
  if (!consumer) return "consumer_key_rejected";
  if (Math.abs(Number(timestamp) - nowSeconds) > TIMESTAMP_WINDOW_SECONDS)
    return timestampRefused(nowSeconds);
  const credentials: Credentials | undefined =
    kind === "none"
      ? // Nonces are remembered by token: where there is none, the consumer key keeps callers apart.
        { consumerKey, consumerSecret: consumer.secret, accessToken: consumerKey, accessTokenSecret: "" }
      : sessions.credentialsOf(kind, token);
  if (credentials?.consumerKey !== consumerKey) return "token_rejected";
  const verdict = verifyRequest(request, {
    keyOf: () => credentials,
    nonces,
    nowSeconds,
    windowSeconds: TIMESTAMP_WINDOW_SECONDS,
    needsToken,
  });
  if (!verdict.ok) return verdict.reason.includes("nonce") ? "nonce_used" : "signature_invalid";
  return {
    consumerKey,
    token,
    parameter: (name) => read.signed.find(([other]) => other === name)?.[1] ?? null,
  };
}

/** @param reason `readRequest`'s */
function problemOf(reason: string): string {
  const missing = /^(oauth_\w+) is missing$/.exec(reason)?.[1];
  if (missing !== undefined) return parameterAbsent(missing);
  if (reason.startsWith("oauth_signature_method")) return "signature_method_rejected";
  if (reason.startsWith("oauth_version")) return "version_rejected";
  return reason.startsWith("the Authorization")
    ? parameterAbsent("oauth_consumer_key")
    : "parameter_rejected";
}
