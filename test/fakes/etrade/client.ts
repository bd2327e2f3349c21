/** A client of the fake that shares nothing with the program's own signing: `oauth-1.0a` as it is, and fetch. */
import { createHmac } from "node:crypto";
import OAuth from "oauth-1.0a";
import type { Clock } from "../../../src/ground/clock.ts";
import { CONSUMER, type FakeEtrade } from "./fake.ts";
import type { Consumer } from "./sessions.ts";

export type Token = { key: string; secret: string };

/** What differs from a right call. */
export type Calling = {
  token?: Token;
  /** Protocol parameters besides the usual ones. */
  parameters?: Record<string, string>;
  accept?: string;
  /** Default: another one for each call. */
  nonce?: string;
  /** Unix seconds; default: the clock's. */
  timestamp?: number;
  /** Path and query that are signed; default: those that are sent. */
  signedTarget?: string;
};

export type Client = {
  /** A signed GET. */
  call: (target: string, calling?: Calling) => Promise<Response>;
  /** A GET with the header of another signer. */
  callWith: (target: string, authorization: string) => Promise<Response>;
  requestToken: () => Promise<Token>;
  accessToken: (requestToken: Token, verifier: string) => Promise<Response>;
  /** All three legs, with the fake's own person. */
  logIn: () => Promise<Token>;
};

export function createClient(
  fake: FakeEtrade,
  clock: Pick<Clock, "now">,
  consumer: Consumer = CONSUMER,
): Client {
  let nonces = 0;
  const { baseUrl } = fake;

  function headerOf(target: string, { token, parameters, nonce, timestamp, signedTarget }: Calling): string {
    const oauth = new OAuth({
      consumer,
      signature_method: "HMAC-SHA1",
      hash_function: (baseString, key) => createHmac("sha1", key).update(baseString).digest("base64"),
    });
    oauth.getNonce = () => nonce ?? `nonce${(nonces += 1)}`;
    oauth.getTimeStamp = () => timestamp ?? Math.floor(clock.now().getTime() / 1_000);
    const request = { url: baseUrl + (signedTarget ?? target), method: "GET", data: parameters };
    return oauth.toHeader(oauth.authorize(request, token)).Authorization;
  }

  const send = (target: string, authorization: string, accept = "*/*"): Promise<Response> =>
    fetch(baseUrl + target, { headers: { authorization, accept } });
  const call: Client["call"] = (target, calling = {}) =>
    send(target, headerOf(target, calling), calling.accept);
  const requestToken: Client["requestToken"] = async () =>
    tokenOf(await call("/oauth/request_token", { parameters: { oauth_callback: "oob" } }));
  const accessToken: Client["accessToken"] = (token, verifier) =>
    call("/oauth/access_token", { token, parameters: { oauth_verifier: verifier } });

  return {
    call,
    callWith: (target, authorization) => send(target, authorization),
    requestToken,
    accessToken,
    logIn: async () => {
      const token = await requestToken();
      const verifier = await fake.authorize(token.key);
      return tokenOf(await accessToken(token, verifier));
    },
  };
}

/** @throws Error when the answer is no form with a token */
export async function tokenOf(answer: Response): Promise<Token> {
  const body = await answer.text();
  const form = new URLSearchParams(body);
  const [key, secret] = [form.get("oauth_token"), form.get("oauth_token_secret")];
  if (key === null || secret === null) throw new Error(`no token, but ${answer.status}: ${body}`);
  return { key, secret };
}
