import { expect, test } from "@jest/globals";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Edges } from "../../src/ground/edges.ts";
import { runProgram } from "../../src/cli/program.ts";
import { signRequest, type Credentials } from "../../src/services/oauth/signature.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, run } from "./edges.ts";

type Shown = { consumerKey: string; consumerSecret: string; token: string; tokenSecret: string };

const KEY = "ck:canary-cs:tk:canary-ts";

/** A data directory, and `serve keys` on it. */
function keysOn(env: Record<string, string> = {}) {
  const dataDir = tempDir();
  const settings = { QUOTEKEEPER_DATA_DIR: dataDir, ...env };
  const keys = (...argv: string[]) => run(["serve", "keys", ...argv], settings);
  const added = async (...argv: string[]): Promise<Credentials> => {
    const { stdout } = await keys("add", "--json", ...argv);
    const { consumerKey, consumerSecret, token, tokenSecret } = JSON.parse(stdout) as Shown;
    return { consumerKey, consumerSecret, accessToken: token, accessTokenSecret: tokenSecret };
  };
  return { dataDir, settings, keys, added };
}

/** A running `serve` on a data directory. */
function serving(env: Record<string, string>, clock: TestClock, ...flags: string[]) {
  return servingWith({ env, clock }, ...flags);
}

async function servingWith({ clock, ...edges }: Partial<Edges> & { clock: TestClock }, ...flags: string[]) {
  const captured = capturedEdges({ clock, ...edges });
  const ended = runProgram(["serve", "--source", "simulated", "--port", "0", ...flags], captured.edges);
  const [, baseUrl = ""] = await captured.said(/^It listens on (\S+)\.$|^QUOTES_BASE_URL=(\S+)$/m);
  const address = /http:\/\/127\.0\.0\.1:\d+/.exec(captured.stdout())?.[0] ?? baseUrl;
  let calls = 0;
  const call = async (
    credentials: Credentials,
    { nonce = `n${++calls}`, ageSeconds = 0, url = address, query = "symbols=AAPL&delayed=true" } = {},
  ) => {
    const target = `/v1/market/quotes.xml?${query}`;
    const timestamp = Math.floor(clock.now().getTime() / 1000) - ageSeconds;
    const authorization = signRequest({ method: "GET", url: url + target, credentials, nonce, timestamp });
    const response = await fetch(address + target, { headers: { authorization } });
    return { status: response.status, headers: response.headers, body: await response.text() };
  };
  const end = async (): Promise<number> => {
    captured.interrupt();
    return ended;
  };
  return { ...captured, call, end };
}

test("serve keys add shows a key once, in lines for an environment, and says how it is kept", async () => {
  const { keys, dataDir } = keysOn();

  const { exitCode, stdout, stderr } = await keys("add", "laptop");

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(
    /^QUOTES_CONSUMER_KEY=\S{24}\nQUOTES_CONSUMER_SECRET=\S{24}\nQUOTES_ACCESS_TOKEN=\S{24}\nQUOTES_ACCESS_TOKEN_SECRET=\S{24}\n/,
  );
  expect(stdout).toContain("shown this once");
  expect(stdout).toContain(`${dataDir}/serve/keys.json, which its owner alone may read`);
});

test("serve keys list names keys, access and limits, and never a secret", async () => {
  const { keys, added } = keysOn();
  const credentials = await added("laptop", "--access", "delayed", "--limit", "5");

  const people = await keys("list");
  const json = await keys("list", "--json");

  expect(JSON.parse(json.stdout)).toEqual([
    {
      label: "laptop",
      consumerKey: credentials.consumerKey,
      token: credentials.accessToken,
      access: "delayed",
      quoteLimit: 5,
      addedAt: expect.stringMatching(/Z$/),
    },
  ]);
  const [{ addedAt } = { addedAt: "" }] = JSON.parse(json.stdout) as { addedAt: string }[];
  // Swedish dates are ISO's.
  const inNewYork = new Date(addedAt).toLocaleString("sv-SE", { timeZone: "America/New_York" });
  expect(people.stdout).toMatch(/ Added \(New York\)$/m);
  expect(people.stdout).toContain(inNewYork);
  for (const { stdout } of [people, json]) {
    expect(stdout).toContain("laptop");
    expect(stdout).not.toContain(credentials.consumerSecret);
    expect(stdout).not.toContain(credentials.accessTokenSecret);
  }
});

test("serve keys list without keys says how to make one", async () => {
  expect((await keysOn().keys("list")).stdout).toContain("serve keys add");
  expect((await keysOn().keys("list", "--json")).stdout).toBe("[]\n");
});

test("serve keys add accepts a whole key", async () => {
  const { keys } = keysOn();

  await keys("add", "--key", KEY);

  expect((await keys("list", "--json")).stdout).toContain('"token": "tk"');
});

test("serve keys revoke takes a token or a label, and says which key it was", async () => {
  const { keys, added } = keysOn();
  const { accessToken } = await added("one");
  await added("two");

  const first = await keys("revoke", "two");
  const second = await keys("revoke", accessToken, "--json");

  expect(first.stdout).toMatch(/^Revoked two/);
  expect(JSON.parse(second.stdout)).toMatchObject({ revoked: { label: "one", token: accessToken } });
  expect((await keys("list", "--json")).stdout).toBe("[]\n");
});

test.each<[string, string[], RegExp]>([
  ["no command", [], /Usage: quotekeeper serve keys/],
  ["an access level there is not", ["add", "--access", "some"], /'some' is invalid.*real-time, delayed/],
  ["a limit of 0", ["add", "--limit", "0"], /whole number from 1/],
  ["a token with a colon", ["add", "--token", "a:b"], /without blanks and colons/],
  ["a key of three parts", ["add", "--key", "canary-ck:canary-cs:canary-tk"], /four parts between colons/],
  ["a key and a token", ["add", "--key", KEY, "--token", "x"], /cannot be used with option '--token/],
  ["two labels", ["add", "a", "b"], /too many arguments/],
  ["no token", ["revoke"], /missing required argument 'token'/],
  ["an unknown token", ["revoke", "canary-token"], /no key has that token or label/],
])("serve keys: %s is wrong usage, exit code 2, and no secret is repeated", async (_what, argv, message) => {
  const { exitCode, stdout, stderr } = await keysOn().keys(...argv);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr.replace(KEY, "")).not.toContain("canary");
});

test("a running service knows the added keys, each with its access level and limit, and makes none", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const realTime = await added("desk");
  const delayed = await added("web", "--access", "delayed", "--limit", "1");
  const service = await serving(settings, clock);

  const answers = [
    await service.call(realTime, { query: "symbols=AAPL&delayed=false" }),
    await service.call(delayed, { query: "symbols=AAPL&delayed=false" }),
    await service.call(delayed),
    await service.call(realTime),
  ];
  await service.end();

  expect(service.stdout()).toContain("Keys added with `serve keys`: 2.");
  expect(service.stdout()).not.toContain("QUOTES_CONSUMER_SECRET");
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 429, 200]);
  expect(answers.map(({ headers }) => headers.get("x-ratelimit-limit"))).toEqual(["60", "1", "1", "60"]);
});

test("a running service accepts a key from its addition until its revocation, without a restart", async () => {
  const clock = createTestClock();
  const { settings, keys, added } = keysOn();
  const service = await serving(settings, clock);

  const later = await added("later");
  const before = await service.call(later);
  await keys("revoke", "later");
  const after = await service.call(later);
  await service.end();

  expect([before.status, after.status]).toEqual([200, 401]);
  expect(after.headers.get("www-authenticate")).toBe("OAuth");
});

test("a running service knows the keys of the run and the added ones", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const stored = await added();
  const service = await serving(settings, clock, "--key", KEY, "--key", "ck2:cs2:tk2:ts2");
  const [ofRun, second] = [KEY, "ck2:cs2:tk2:ts2"].map((key): Credentials => {
    const [consumerKey = "", consumerSecret = "", accessToken = "", accessTokenSecret = ""] = key.split(":");
    return { consumerKey, consumerSecret, accessToken, accessTokenSecret };
  }) as [Credentials, Credentials];

  const answers = [await service.call(stored), await service.call(ofRun), await service.call(second)];
  await service.end();

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.map(({ headers }) => headers.get("x-ratelimit-used"))).toEqual(["1", "1", "1"]);
});

test("a restarted service refuses a nonce that was used before, and accepts a new one", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const key = await added();
  const publicUrl = ["--public-url", "https://quotes.example"];
  const url = "https://quotes.example";
  const first = await serving(settings, clock, ...publicUrl);
  const accepted = await first.call(key, { nonce: "once", url });
  await first.end();
  clock.advance(3_000);

  const second = await serving(settings, clock, ...publicUrl, "--timestamp-window", "300");
  const replayed = await second.call(key, { nonce: "once", ageSeconds: 3, url });
  const fresh = await second.call(key, { nonce: "twice", ageSeconds: 3, url });
  await second.end();

  expect([accepted.status, replayed.status, fresh.status]).toEqual([200, 401, 200]);
  expect(replayed.body).toContain("the nonce was used before");
});

test("a service on a machine that has just started accepts no earlier timestamp, because the disk may have lost nonces", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const key = await added();
  const just = await servingWith({ env: settings, clock, uptimeSeconds: () => 2 });

  const before = await just.call(key);
  clock.advance(9_000);
  const since = await just.call(key);
  await just.end();

  expect([before.status, since.status]).toEqual([401, 200]);
});

test("a service accepts timestamps as far off as --timestamp-window says", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const key = await added();
  const narrow = await serving(settings, clock, "--timestamp-window", "2");
  const statuses = [2, 3].map(async (ageSeconds) => (await narrow.call(key, { ageSeconds })).status);

  expect(await Promise.all(statuses)).toEqual([200, 401]);
  await narrow.end();
});

test("callers of a service behind a proxy that ends TLS sign the public address", async () => {
  const clock = createTestClock();
  const { settings, added } = keysOn();
  const key = await added();
  const service = await serving(settings, clock, "--public-url", "https://Quotes.Example:443");

  const throughProxy = await service.call(key, { url: "https://quotes.example" });
  const directly = await service.call(key);
  await service.end();

  expect(service.stdout()).toContain("QUOTES_BASE_URL=https://quotes.example\n");
  expect([throughProxy.status, directly.status]).toEqual([200, 401]);
});

test.each([
  ["a public address with a path", "--public-url", "https://quotes.example/api"],
  ["one without a scheme", "--public-url", "quotes.example"],
  ["a window of no seconds", "--timestamp-window", "0"],
])("serve with %s is wrong usage", async (_what, ...flags) => {
  const { exitCode, stderr } = await run(["serve", "--source", "simulated", ...flags]);

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/Expected (http|a whole number)/);
});

test("serve does not begin when its keys cannot be opened, and says why", async () => {
  const { dataDir, settings, added } = keysOn();
  await added();
  writeFileSync(join(dataDir, "serve", "keys.json"), "{");

  const { exitCode, stderr } = await run(["serve", "--source", "simulated", "--port", "0"], settings);

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^KEYS_UNREADABLE: .*keys\.json is not a file of keys/);
});
