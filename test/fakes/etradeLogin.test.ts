/** The login of E*TRADE's fake over real HTTP, with another signer than ours: each answer is what is public of the service. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { createTestClock } from "../support/clock.ts";
import { type Calling, createClient, type Token, tokenOf } from "./etrade/client.ts";
import { CONSUMER, type FakeEtrade, type FakeEtradeOptions, startFakeEtrade } from "./etrade/fake.ts";

/** A Friday, an hour before the exchange closes. */
const IN_SESSION = "2026-11-20T20:00:03.000Z";
const QUOTE = "/v1/market/quote/AAPL";

const market = createSimulatedMarket({ seed: 1 });
const started: FakeEtrade[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

async function start({ at = IN_SESSION, ...options }: { at?: string } & Partial<FakeEtradeOptions> = {}) {
  const clock = createTestClock(at);
  const fake = await startFakeEtrade({ clock, market, mostStrikes: 10, ...options });
  started.push(fake);
  const client = createClient(fake, clock);
  /** Status and what stands behind `oauth_problem=`. */
  const told = async (target: string, calling: Calling = {}): Promise<[number, string | null]> => {
    const answer = await client.call(target, { accept: "application/json", ...calling });
    return [answer.status, problemOf(await answer.text())];
  };
  const quote = (token: Token) => told(QUOTE, { token });
  return { clock, fake, client, told, quote };
}

function problemOf(body: string): string | null {
  return /oauth_problem=([^"<]+)/.exec(body)?.[1] ?? null;
}

const expired = [401, "token_expired"];
const rejected = [401, "token_rejected"];
const fine = [200, null];

describe("three legs", () => {
  test("a person opens the page, says yes and reads five letters, with which a client gets a token for quotes", async () => {
    const { fake, client, quote } = await start();

    const asked = await client.call("/oauth/request_token", { parameters: { oauth_callback: "oob" } });
    const form = new URLSearchParams(await asked.clone().text());
    const requestToken = await tokenOf(asked);
    const verifier = await fake.authorize(requestToken.key);
    const token = await tokenOf(await client.accessToken(requestToken, verifier));

    expect(form.get("oauth_callback_confirmed")).toBe("true");
    expect(verifier).toMatch(/^[A-Z0-9]{5}$/);
    expect(token.key).not.toBe(requestToken.key);
    for (const text of [requestToken.secret, token.secret]) expect(text).toMatch(/^\w+\+\w+\/\w+=$/);
    expect(await quote(token)).toEqual(fine);
    expect(fake.logins).toEqual([{ consumerKey: CONSUMER.key, at: new Date(IN_SESSION) }]);
    expect(fake.calls.map(({ path, status, consumerKey }) => [path, status, consumerKey])).toEqual([
      ["/oauth/request_token", 200, CONSUMER.key],
      ["/oauth/access_token", 200, CONSUMER.key],
      [QUOTE, 200, CONSUMER.key],
    ]);
    expect(JSON.stringify(fake.calls)).not.toContain(token.key.slice(0, 14));
  });

  test("a request token without a person's yes, or with other letters, gives no access token, and the right letters still do", async () => {
    const { fake, client, told } = await start();
    const token = await client.requestToken();
    const exchange = (verifier: string) =>
      told("/oauth/access_token", { token, parameters: { oauth_verifier: verifier } });

    const before = await exchange("AAAAA");
    const verifier = await fake.authorize(token.key);

    expect(before).toEqual([401, "verifier_invalid"]);
    expect(await exchange("AAAAA")).toEqual([401, "verifier_invalid"]);
    expect(await told("/oauth/access_token", { token })).toEqual([
      401,
      "parameter_absent,oauth_parameters_absent=oauth_verifier",
    ]);
    expect(await exchange(verifier)).toEqual(fine);
  });

  test("a request token serves once", async () => {
    const { fake, client, told } = await start();
    const token = await client.requestToken();
    const calling = { token, parameters: { oauth_verifier: await fake.authorize(token.key) } };

    expect(await told("/oauth/access_token", calling)).toEqual(fine);
    expect(await told("/oauth/access_token", calling)).toEqual(rejected);
  });

  test("a request token lives five minutes, at the page and at the exchange", async () => {
    const { fake, clock, client, told } = await start();
    const token = await client.requestToken();
    const verifier = await fake.authorize(token.key);
    clock.advance(5 * 60_000 + 1);

    await expect(fake.authorize(token.key)).rejects.toThrow("no letters, but 400");
    expect(await told("/oauth/access_token", { token, parameters: { oauth_verifier: verifier } })).toEqual(
      expired,
    );
  });
});

describe("signatures", () => {
  test("a wrong secret, a repeated nonce, an unknown consumer key and an unknown token are refused in words of their own", async () => {
    const { fake, clock, client, told } = await start();
    const token = await client.logIn();
    const stranger = createClient(fake, clock, { key: "stranger", secret: "secret" });

    expect(await told(QUOTE, { token: { ...token, secret: "other" } })).toEqual([401, "signature_invalid"]);
    expect(await told(QUOTE, { token, nonce: "twice" })).toEqual(fine);
    expect(await told(QUOTE, { token, nonce: "twice" })).toEqual([401, "nonce_used"]);
    expect(await told(QUOTE, { token: { ...token, key: "other" } })).toEqual(rejected);
    expect(problemOf(await (await stranger.call(QUOTE, { token })).text())).toBe("consumer_key_rejected");
    expect(await told(QUOTE)).toEqual([401, "parameter_absent,oauth_parameters_absent=oauth_token"]);
  });

  test("a timestamp may be five minutes off, and beyond that the answer names the range", async () => {
    const { clock, client, told } = await start();
    const token = await client.logIn();
    const now = Math.floor(clock.now().getTime() / 1_000);
    const refused = [401, `timestamp_refused,oauth_acceptable_timestamps=${now - 300}-${now + 300}`];

    for (const off of [-300, 300]) expect(await told(QUOTE, { token, timestamp: now + off })).toEqual(fine);
    for (const off of [-301, 301])
      expect(await told(QUOTE, { token, timestamp: now + off })).toEqual(refused);
  });

  test("the path is signed as it is sent: commas and colons bare, or encoded in both places", async () => {
    const { client, told } = await start();
    const token = await client.logIn();
    const bare = "/v1/market/quote/AAPL,IBM:2026:12:18:CALL:200.000000";
    const encoded = bare.replaceAll(",", "%2C").replaceAll(":", "%3A");

    expect(await told(bare, { token })).toEqual(fine);
    expect(await told(encoded, { token })).toEqual(fine);
    expect(await told(bare, { token, signedTarget: encoded })).toEqual([401, "signature_invalid"]);
  });
});

describe("how long a login lasts", () => {
  test("two hours without a call put a token to sleep, and a renewal wakes the same token", async () => {
    const { clock, client, quote, told } = await start({ at: "2026-11-20T14:00:00.000Z" });
    const token = await client.logIn();
    clock.advance(2 * 3_600_000 - 1_000);
    const justAwake = await quote(token);
    clock.advance(2 * 3_600_000);
    const asleep = await quote(token);
    const renewal = await client.call("/oauth/renew_access_token", { token });

    expect([justAwake, asleep]).toEqual([fine, expired]);
    expect([renewal.status, await renewal.text()]).toEqual([200, "Access Token has been renewed"]);
    expect(await quote(token)).toEqual(fine);
    expect(await told("/oauth/renew_access_token", { token: { ...token, secret: "x" } })).toEqual([
      401,
      "signature_invalid",
    ]);
  });

  test.each([
    ["clocks go forward", "2026-03-08T05:30:00.000Z", "2026-03-09T04:00:00.000Z"],
    ["clocks go back", "2026-11-01T04:30:00.000Z", "2026-11-02T05:00:00.000Z"],
    ["clocks stay", "2026-11-20T20:00:00.000Z", "2026-11-21T05:00:00.000Z"],
  ])(
    "a token ends at midnight in New York on a day when %s, and no renewal helps",
    async (_, at, midnight) => {
      const { clock, client, quote, told } = await start({ at });
      const renew = (token: Token) => told("/oauth/renew_access_token", { token });
      const token = await client.logIn();
      clock.setTo(new Date(Date.parse(midnight) - 1_000).toISOString());
      const before = [await renew(token), await quote(token)];
      clock.setTo(midnight);

      expect(before).toEqual([fine, fine]);
      expect([await quote(token), await renew(token)]).toEqual([expired, expired]);
      expect(await quote(await client.logIn())).toEqual(fine);
    },
  );

  test("a login ends the earlier one of its consumer key and none of another", async () => {
    const other = { key: "other-key", secret: "other-secret" };
    const { fake, clock, client, quote } = await start({ consumers: [CONSUMER, other] });
    const otherClient = createClient(fake, clock, other);
    const ofOther = await otherClient.logIn();
    const first = await client.logIn();
    const second = await client.logIn();
    const asOther = async () => (await otherClient.call(QUOTE, { token: ofOther })).status;

    expect([await quote(first), await quote(second), await asOther()]).toEqual([rejected, fine, 200]);
    expect(await quote(ofOther)).toEqual(rejected);
    expect(fake.logins.map(({ consumerKey }) => consumerKey)).toEqual([
      other.key,
      CONSUMER.key,
      CONSUMER.key,
    ]);
  });

  test("a revoked token is of no use, and a login can be ended as if by midnight", async () => {
    const { fake, client, quote } = await start();
    const revoked = await client.logIn();
    const revocation = await client.call("/oauth/revoke_access_token", { token: revoked });

    expect(revocation.status).toBe(200);
    expect(await quote(revoked)).toEqual(rejected);
    const token = await client.logIn();
    fake.endSession();
    expect(await quote(token)).toEqual(expired);
  });
});

const script = fileURLToPath(new URL("etrade/sign.py", import.meta.url));
/** The system's own first: another one may be before it in the path. */
const python = ["/usr/bin/python3", "python3"].find(
  (interpreter) => spawnSync(interpreter, ["-c", "import oauthlib"], { stdio: "ignore" }).status === 0,
);

/** The headers that oauthlib signs. */
function signedByPython(jobs: readonly { url: string; client: Record<string, string> }[]): string[] {
  const { stdout } = spawnSync(python ?? "", [script], { input: JSON.stringify(jobs) });
  return JSON.parse(String(stdout)) as string[];
}

(python === undefined ? test.skip : test)("oauthlib of Python logs in and gets quotes", async () => {
  const { fake, client } = await start();
  const timestamp = String(Date.parse(IN_SESSION)).slice(0, 10);
  let nonces = 0;
  const call = (target: string, credentials: Record<string, string>): Promise<Response> => {
    const keys = { client_key: CONSUMER.key, client_secret: CONSUMER.secret, ...credentials };
    const job = { url: fake.baseUrl + target, client: { ...keys, timestamp, nonce: `n${(nonces += 1)}` } };
    return client.callWith(target, signedByPython([job])[0] ?? "");
  };
  const owner = ({ key, secret }: Token) => ({ resource_owner_key: key, resource_owner_secret: secret });

  const requestToken = await tokenOf(await call("/oauth/request_token", { callback_uri: "oob" }));
  const verifier = await fake.authorize(requestToken.key);
  const token = await tokenOf(await call("/oauth/access_token", { ...owner(requestToken), verifier }));
  const target = "/v1/market/quote/AAPL,AAPL:2026:12:18:CALL:300.000000.json?detailFlag=ALL&a=b%20c";

  expect((await call(target, owner(token))).status).toBe(200);
});
