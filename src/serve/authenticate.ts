/** Authenticates calls: OAuth 1.0 over each request as it came over the wire. */
import type { IncomingMessage } from "node:http";
import type { AbsoluteTarget } from "../ground/httpHead.ts";
import { NonceMemory } from "../services/oauth/nonces.ts";
import { TIMESTAMP_WINDOW_SECONDS, verifyRequest, type Verdict } from "../services/oauth/verifyRequest.ts";
import { keyFinder, type Keys, type ServiceKey } from "./keys/key.ts";

/** Assumed: more nonces than this in twice the timestamp window are an attack or a fault, and are refused. */
const MAX_NONCES = 1_000_000;

/** Assumed: more nonces of one token than this in twice the timestamp window are refused, so that others have room. */
const MAX_NONCES_PER_TOKEN = 250_000;

export type PublicAddress = {
  /** `https` behind a proxy that ends TLS. */
  scheme: "http" | "https";
  /** Host and port, when a proxy replaces those that callers sent; null: those of the request hold. */
  authority: string | null;
};

export type AuthenticateOptions = {
  keys: Keys;
  /** Default: scheme and host of the target, or else the `Host` header over plain http (RFC 9112, section 3.3). */
  address?: PublicAddress | undefined;
  /** Most difference of a timestamp, seconds; default: `TIMESTAMP_WINDOW_SECONDS`. */
  windowSeconds?: number | undefined;
  /** The used nonces; default: a memory that lives as long as the service. */
  nonces?: NonceMemory | undefined;
};

/** A request, what of its target came before the path, and its form body when it has one. */
type SignedCall = { request: IncomingMessage; absolute: AbsoluteTarget | null; form: string | null };

/** @param now the clock that timestamps are compared with */
type Authenticate = (call: SignedCall, now: Date) => Verdict<ServiceKey>;

export function authenticator(options: AuthenticateOptions): Authenticate {
  const { address } = options;
  const windowSeconds = options.windowSeconds ?? TIMESTAMP_WINDOW_SECONDS;
  const nonces = options.nonces ?? newNonceMemory({ windowSeconds });
  const keyOf = keyFinder(options.keys);
  return ({ request, absolute, form }, now) => {
    const { method = "", url: target = "" } = request;
    const { host: named, authorization } = request.headers;
    return verifyRequest(
      {
        method,
        scheme: address?.scheme ?? absolute?.scheme ?? "http",
        host: address?.authority ?? absolute?.authority ?? named ?? "",
        target,
        authorization: authorization === undefined ? [] : [authorization],
        formBody: form ?? undefined,
      },
      { keyOf, nonces, nowSeconds: Math.floor(now.getTime() / 1000), windowSeconds },
    );
  };
}

export function newNonceMemory(
  options: Omit<ConstructorParameters<typeof NonceMemory>[0], "maxNonces" | "maxPerToken">,
): NonceMemory {
  return new NonceMemory({ maxNonces: MAX_NONCES, maxPerToken: MAX_NONCES_PER_TOKEN, ...options });
}
