/**
 * Who is logged in: the tokens of each consumer key, and how long they live.
 *
 * A request token is new, then accepted by a person, then exchanged; after 5 minutes it has expired. An access token is
 * awake; asleep after 2 h without a call, until it is renewed; ended by midnight in New York, by a revocation, or by a
 * later login of its consumer key.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../src/ground/clock.ts";
import type { Credentials } from "../../../src/services/oauth/signature.ts";
import { midnightAfter } from "./times.ts";

/** What one is given with an individual key. */
export type Consumer = { key: string; secret: string };

/** A login that was completed. */
export type Login = { consumerKey: string; at: Date };

/** Clients' comments. */
const REQUEST_TOKEN_MS = 5 * 60_000;

/** apisb.etrade.com, renew_access_token. */
const IDLE_MS = 2 * 3_600_000;

/** Letters and digits that no person takes for others. */
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const VERIFIER_LENGTH = 5;

type RequestToken = { credentials: Credentials; madeAt: Date; verifier: string | null; isUsed: boolean };
type AccessToken = { credentials: Credentials; endsAt: Date; usedAt: Date };

/** expired: its time is over. rejected: it is of no use, and never was or never will be again. */
export type TokenProblem = "token_expired" | "token_rejected" | "verifier_invalid";

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(consumers: readonly Consumer[], clock: Pick<Clock, "now" | "random">) {
  const requestTokens = new Map<string, RequestToken>();
  const accessTokens = new Map<string, AccessToken>();
  const logins: Login[] = [];
  const drawn = () => createHash("sha256").update(clock.random(16)).digest();

  /** Base64 that holds each of its three special characters, as secrets of the service do. */
  function secret(): string {
    const text = drawn().toString("base64url").replaceAll(/[-_]/g, "x");
    return `${text.slice(0, 14)}+${text.slice(14, 27)}/${text.slice(27, 41)}=`;
  }

  function credentialsOf({ key, secret: consumerSecret }: Consumer): Credentials {
    return { consumerKey: key, consumerSecret, accessToken: secret(), accessTokenSecret: secret() };
  }

  function requestProblem(token: RequestToken): TokenProblem | null {
    if (token.isUsed) return "token_rejected";
    return clock.now().getTime() - token.madeAt.getTime() > REQUEST_TOKEN_MS ? "token_expired" : null;
  }

  function isOver({ endsAt }: AccessToken): boolean {
    return clock.now() >= endsAt;
  }

  return {
    logins: logins as readonly Login[],
    consumerOf: (key: string) => consumers.find((consumer) => consumer.key === key),
    credentialsOf: (kind: "request" | "access", token: string): Credentials | undefined =>
      (kind === "request" ? requestTokens : accessTokens).get(token)?.credentials,
    requestToken: (consumer: Consumer): Credentials => {
      const credentials = credentialsOf(consumer);
      requestTokens.set(credentials.accessToken, {
        credentials,
        madeAt: clock.now(),
        verifier: null,
        isUsed: false,
      });
      return credentials;
    },
    /** A person says yes. Assumed: a second time they see the same letters. @returns the verifier; null: unknown or too late */
    accept: (consumerKey: string, token: string): string | null => {
      const known = requestTokens.get(token);
      if (known?.credentials.consumerKey !== consumerKey || requestProblem(known)) return null;
      return (known.verifier ??= [...drawn().subarray(0, VERIFIER_LENGTH)]
        .map((byte) => LETTERS.charAt(byte % LETTERS.length))
        .join(""));
    },
    /** Assumed: a wrong verifier does not use the request token up, and a login ends the earlier one of its consumer key. */
    exchange: (token: string, verifier: string): Credentials | TokenProblem => {
      const known = requestTokens.get(token);
      const consumer = consumers.find(({ key }) => key === known?.credentials.consumerKey);
      if (!known || !consumer) return "token_rejected";
      const problem = requestProblem(known);
      if (problem) return problem;
      if (known.verifier === null || known.verifier !== verifier) return "verifier_invalid";
      known.isUsed = true;
      for (const [earlier, { credentials }] of accessTokens)
        if (credentials.consumerKey === consumer.key) accessTokens.delete(earlier);
      const credentials = credentialsOf(consumer);
      const now = clock.now();
      accessTokens.set(credentials.accessToken, { credentials, endsAt: midnightAfter(now), usedAt: now });
      logins.push({ consumerKey: consumer.key, at: now });
      return credentials;
    },
    /** A call with an access token. Assumed: one that sleeps is told in the same word as one that has ended. */
    use: (token: string): TokenProblem | null => {
      const known = accessTokens.get(token);
      if (!known) return "token_rejected";
      const now = clock.now();
      if (isOver(known) || now.getTime() - known.usedAt.getTime() >= IDLE_MS) return "token_expired";
      known.usedAt = now;
      return null;
    },
    /** Token and secret stay the same. */
    renew: (token: string): TokenProblem | null => {
      const known = accessTokens.get(token);
      if (!known) return "token_rejected";
      if (isOver(known)) return "token_expired";
      known.usedAt = clock.now();
      return null;
    },
    revoke: (token: string): TokenProblem | null => {
      return accessTokens.delete(token) ? null : "token_rejected";
    },
    /** All access tokens end now, as at midnight. */
    end: (): void => {
      for (const known of accessTokens.values()) known.endsAt = clock.now();
    },
  };
}
