/** Authenticates calls: OAuth 1.0 over each request as it came over the wire. */
import type { IncomingMessage } from "node:http";
import type { AbsoluteTarget } from "../ground/httpHead.ts";
import { NonceMemory } from "../services/oauth/nonces.ts";
import { signedTarget, type SignedTarget } from "../services/oauth/signedTarget.ts";
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
  // Only genuine calls are remembered, so that nobody else can fill the memory.
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
    if (verdict.ok && known === undefined) genuine.remember(target, { scheme, host, read });
    return verdict;
  };
}

export function newNonceMemory(
  options: Omit<ConstructorParameters<typeof NonceMemory>[0], "maxNonces" | "maxPerToken">,
): NonceMemory {
  return new NonceMemory({ maxNonces: MAX_NONCES, maxPerToken: MAX_NONCES_PER_TOKEN, ...options });
}

/** Targets that are remembered: many callers repeat their calls. */
const MOST_TARGETS = 1_000;

/** A longer target, in characters, is not remembered. */
const LONGEST_TARGET = 2_048;

type TargetMemory<Value> = {
  find: (target: string) => Value | undefined;
  /** Does nothing for a target that will not come again: a long one, or one signed in its query. */
  remember: (target: string, value: Value) => void;
};

/** Remembers what follows from a call's target alone. Callers ask for the same quotes each minute. */
export function createTargetMemory<Value>(): TargetMemory<Value> {
  const known = new Map<string, Value>();
  return {
    find: (target) => known.get(target),
    remember: (target, value) => {
      if (target.length > LONGEST_TARGET || target.includes("oauth_")) return;
      if (known.size >= MOST_TARGETS) known.clear();
      known.set(target, value);
    },
  };
}
