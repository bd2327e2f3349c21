/** Who may call the service, and what for. */
import type { Credentials } from "../../services/oauth/signature.ts";

/** Whether a token's account may see real-time quotes, or delayed ones alone (specification, "Endpoints"). */
export type AccessLevel = "real-time" | "delayed";

/** The credentials of one access token and what its account may do. */
export type ServiceKey = Credentials & {
  /** Default: `real-time`. */
  access?: AccessLevel;
  /** Quote calls this token may make per window; default: the service's own limit. */
  quoteLimit?: number;
};

/** Fixed keys, or a function that returns the current keys at each call. */
export type Keys = readonly ServiceKey[] | (() => readonly ServiceKey[]);

/** Finds a key by consumer key and token; undefined: no key has both. */
export function keyFinder(keys: Keys): (consumerKey: string, token: string) => ServiceKey | undefined {
  const current = typeof keys === "function" ? keys : () => keys;
  return (consumerKey, token) =>
    current().findLast((key) => key.consumerKey === consumerKey && key.accessToken === token);
}
