/** Authenticates the calls of a service: OAuth 1.0 over each request as it came over the wire. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../clock.ts";
import { NonceMemory } from "../quotes-api/oauth/nonces.ts";
import { TIMESTAMP_WINDOW_SECONDS, verifyRequest, type Verdict } from "../quotes-api/oauth/verify.ts";
import { keyFinder, type Keys, type ServiceKey } from "./keys/key.ts";

/** Assumed: more nonces than this in twice the timestamp window are an attack or a fault, and are refused. */
export const MAX_NONCES = 1_000_000;

/** Assumed: more nonces of one token than this in twice the timestamp window are refused, so that others have room. */
export const MAX_NONCES_PER_TOKEN = 250_000;

/** How callers reach the service, part of what they sign. */
export type PublicAddress = {
  /** `https` behind a proxy that ends TLS. */
  scheme: "http" | "https";
  /** Host and port, when a proxy replaces the `Host` header that callers sent; null: the header holds. */
  authority: string | null;
};

/** What calls are authenticated against. */
export type AuthenticateOptions = {
  keys: Keys;
  clock: Clock;
  /** Default: the `Host` header over plain http. */
  address?: PublicAddress | undefined;
  /** How far a timestamp may be off, seconds; default: `TIMESTAMP_WINDOW_SECONDS`. */
  windowSeconds?: number | undefined;
  /** The nonces that were used; default: a memory that lives as long as the service. */
  nonces?: NonceMemory | undefined;
};

/** A request, and its body when that was read as text. */
export type Call = { raw: IncomingMessage; body: unknown };

/** Who calls, or why the call is refused. */
export type Authenticate = (call: Call) => Verdict<ServiceKey>;

/** Makes the check of a service. */
export function authenticator(options: AuthenticateOptions): Authenticate {
  const { clock, address = { scheme: "http", authority: null } } = options;
  const windowSeconds = options.windowSeconds ?? TIMESTAMP_WINDOW_SECONDS;
  const nonces = options.nonces ?? newNonceMemory({ windowSeconds });
  const keyOf = keyFinder(options.keys);
  return ({ raw, body }) =>
    verifyRequest(
      {
        method: raw.method ?? "",
        scheme: address.scheme,
        host: address.authority ?? raw.headers.host ?? "",
        target: raw.url ?? "",
        authorization: raw.headersDistinct["authorization"] ?? [],
        ...(isForm(raw.headers["content-type"]) && typeof body === "string" && { formBody: body }),
      },
      { keyOf, nonces, nowSeconds: Math.floor(clock.now().getTime() / 1000), windowSeconds },
    );
}

/** A memory with the bounds of the service. */
export function newNonceMemory(
  options: Omit<ConstructorParameters<typeof NonceMemory>[0], "maxNonces" | "maxPerToken">,
): NonceMemory {
  return new NonceMemory({ maxNonces: MAX_NONCES, maxPerToken: MAX_NONCES_PER_TOKEN, ...options });
}

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? "");
}
