/** Authenticates the calls of a service: OAuth 1.0 over each request as it came over the wire. */
import type { IncomingMessage } from "node:http";
import type { AbsoluteTarget } from "../httpHead.ts";
import { NonceMemory } from "../quotes-api/oauth/nonces.ts";
import { signedTarget, type SignedTarget } from "../quotes-api/oauth/signedTarget.ts";
import { TIMESTAMP_WINDOW_SECONDS, verifyRequest, type Verdict } from "../quotes-api/oauth/verifyRequest.ts";
import { keyFinder, type Keys, type ServiceKey } from "./keys/key.ts";

/** Assumed: more nonces than this in twice the timestamp window are an attack or a fault, and are refused. */
const MAX_NONCES = 1_000_000;

/** Assumed: more nonces of one token than this in twice the timestamp window are refused, so that others have room. */
const MAX_NONCES_PER_TOKEN = 250_000;

/** How callers reach the service, part of what they sign. */
export type PublicAddress = {
  /** `https` behind a proxy that ends TLS. */
  scheme: "http" | "https";
  /** Host and port, when a proxy replaces those that callers sent; null: those of the request hold. */
  authority: string | null;
};

/** What calls are authenticated against. */
export type AuthenticateOptions = {
  keys: Keys;
  /** Default: scheme and host of the target, or else the `Host` header over plain http (RFC 9112, section 3.3). */
  address?: PublicAddress | undefined;
  /** How far a timestamp may be off, seconds; default: `TIMESTAMP_WINDOW_SECONDS`. */
  windowSeconds?: number | undefined;
  /** The nonces that were used; default: a memory that lives as long as the service. */
  nonces?: NonceMemory | undefined;
};

/** A request, what of its target came before the path, and its form body when it has one. */
type SignedCall = { request: IncomingMessage; absolute: AbsoluteTarget | null; form: string | null };

/** Who calls, or why the call is refused. @param now the clock that timestamps are held against */
type Authenticate = (call: SignedCall, now: Date) => Verdict<ServiceKey>;

/** Makes the check of a service. */
export function authenticator(options: AuthenticateOptions): Authenticate {
  const { address } = options;
  const windowSeconds = options.windowSeconds ?? TIMESTAMP_WINDOW_SECONDS;
  const nonces = options.nonces ?? newNonceMemory({ windowSeconds });
  const keyOf = keyFinder(options.keys);
  // Of genuine calls alone, or anybody could fill it with what he made up.
  const genuine = createTargetMemory<{ scheme: string; host: string; read: SignedTarget }>();
  return ({ request, absolute, form }, now) => {
    const { method = "", url: target = "" } = request;
    const { host: named, authorization } = request.headers;
    const scheme = address?.scheme ?? absolute?.scheme ?? "http";
    const host = address?.authority ?? absolute?.authority ?? named ?? "";
    const found = genuine.find(target);
    const known = found?.scheme === scheme && found.host === host ? found.read : undefined;
    const read = known ?? signedTarget(scheme, host, target);
    const verdict = verifyRequest(
      {
        method,
        scheme,
        host,
        target,
        authorization: authorization === undefined ? [] : [authorization],
        formBody: form ?? undefined,
      },
      {
        keyOf,
        nonces,
        nowSeconds: Math.floor(now.getTime() / 1000),
        windowSeconds,
        targetOf: () => read,
      },
    );
    if (verdict.ok && known === undefined) genuine.keep(target, { scheme, host, read });
    return verdict;
  };
}

/** A memory with the bounds of the service. */
export function newNonceMemory(
  options: Omit<ConstructorParameters<typeof NonceMemory>[0], "maxNonces" | "maxPerToken">,
): NonceMemory {
  return new NonceMemory({ maxNonces: MAX_NONCES, maxPerToken: MAX_NONCES_PER_TOKEN, ...options });
}

/** Targets of calls that are remembered: those of many callers who each ask the same again and again. */
const MOST_TARGETS = 1_000;

/** A longer target, in characters, is not worth its room. */
const LONGEST_TARGET = 2_048;

/** What follows from targets, of those that were found worth remembering. */
type TargetMemory<Value> = {
  find: (target: string) => Value | undefined;
  /** Keeps it, unless its target comes once: it is long, or the call is signed in its query. */
  keep: (target: string, value: Value) => void;
};

/** A memory of what follows from the target of a call alone. Callers of quotes ask for the same ones each minute. */
export function createTargetMemory<Value>(): TargetMemory<Value> {
  const known = new Map<string, Value>();
  return {
    find: (target) => known.get(target),
    keep: (target, value) => {
      if (target.length > LONGEST_TARGET || target.includes("oauth_")) return;
      if (known.size >= MOST_TARGETS) known.clear();
      known.set(target, value);
    },
  };
}
