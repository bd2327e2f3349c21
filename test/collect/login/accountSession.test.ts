/** The session of an account with a login, against a fake of E*TRADE over HTTP: made, kept, woken, over. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createObserver } from "../../../src/ground/clock.ts";
import type { Account } from "../../../src/accounts/account.ts";
import { openFeed, type OpenFeed } from "../../../src/collector/feed.ts";
import { beginLogin, finishLogin } from "../../../src/collect/login/personLogin.ts";
import { loginOf, sessionEnd } from "../../../src/collect/login/keptSession.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { ETRADE } from "../../../src/services/etrade/etrade.ts";
import {
  CONSUMER,
  type FakeEtrade,
  type FakeEtradeOptions,
  startFakeEtrade,
} from "../../fakes/etrade/fake.ts";
import { createTestClock } from "../../support/clock.ts";
import { symbolsCall } from "../../support/journal.ts";
import { tempDir } from "../../support/tempDir.ts";

const MORNING = "2026-11-20T13:50:00.000Z";
const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
const market = createSimulatedMarket({ seed: 1 });
const closers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

function accountAt(baseUrl: string, name = "default", consumer = CONSUMER): Account {
  const credentials = { consumerKey: consumer.key, consumerSecret: consumer.secret };
  return {
    ...{ name, service: ETRADE, limit: 4, limitGiven: false, limitWindowMs: 1_000 },
    feed: { kind: "account", baseUrl, credentials },
  };
}

async function world({ at = MORNING, ...options }: { at?: string } & Partial<FakeEtradeOptions> = {}) {
  const clock = createTestClock(at);
  const fake: FakeEtrade = await startFakeEtrade({ clock, market, mostStrikes: 4, ...options });
  closers.push(fake.close);
  const account = accountAt(fake.baseUrl);
  const dataDir = tempDir();
  const renewed: Date[] = [];
  const open = async (one: Account = account): Promise<OpenFeed> => {
    const observe = createObserver(clock);
    const feed = await openFeed(one, { dataDir, clock, observe, onRenewed: () => renewed.push(clock.now()) });
    closers.push(feed.close);
    return feed;
  };
  const logIn = async (one: Account = account): Promise<Date> => {
    const of = loginOf(one);
    if (!of) throw new Error("it wants no login");
    const { url, begun } = await beginLogin(of, clock);
    return finishLogin(of, { begun, code: await fake.authorize(url) }, { dataDir, clock });
  };
  const file = join(dataDir, "logins", "default.json");
  return { clock, fake, account, dataDir, renewed, open, logIn, file };
}

/** What came of a call: the status of its answer, or the code of its error. */
async function asked({ fetchQuotes }: OpenFeed): Promise<number | string> {
  return fetchQuotes({ form: "symbols", symbols: ["AAPL"], delayed: false }).then(
    ({ status }) => status,
    ({ code }: { code: string }) => code,
  );
}

const paths = ({ calls }: FakeEtrade): string[] =>
  calls.map(({ path }) => path.replace(/^\/v1\/market\/(\w+).*/, "$1"));

test("without a login no call leaves; with one calls are answered at once, by a feed that was open before", async () => {
  const { fake, open, logIn } = await world();
  const feed = await open();

  const before = [feed.session?.isOpen(), await asked(feed), fake.calls.length];
  await logIn();

  expect(before).toEqual([false, "LOGIN_NEEDED", 0]);
  expect([feed.session?.isOpen(), await asked(feed)]).toEqual([true, 200]);
  expect(paths(fake)).toEqual(["/oauth/request_token", "/oauth/access_token", "quote"]);
});

test("the session is kept for its owner alone and sealed, so that a later run goes on with it", async () => {
  const { fake, open, logIn, file, dataDir } = await world();
  await logIn();
  const text = readFileSync(file, "utf8");

  const feed = await open();

  expect(await asked(feed)).toBe(200);
  expect([statSync(file).mode & 0o777, statSync(join(dataDir, "logins")).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
  expect(readdirSync(join(dataDir, "logins"))).toEqual(["default.json"]);
  const { accessToken, accessTokenSecret, consumerSecret } = feed.session?.credentials() ?? {};
  for (const secret of [accessToken, accessTokenSecret, consumerSecret])
    expect([secret?.length ?? 0, text.includes(secret ?? "")]).toEqual([expect.any(Number), false]);
  expect(fake.logins).toHaveLength(1);
});

test.each([
  ["is open to others", (file: string) => chmodSync(file, 0o640)],
  ["is half of one", (file: string) => writeFileSync(file, readFileSync(file, "utf8").slice(0, 200))],
  [
    "has tokens of which a letter was changed",
    (file: string) => {
      const kept = JSON.parse(readFileSync(file, "utf8")) as { tokens: string };
      writeFileSync(
        file,
        JSON.stringify({
          ...kept,
          tokens: kept.tokens.replace(
            /^(1\..{4})(.)/,
            (_all, start: string, one: string) => start + (one === "A" ? "B" : "A"),
          ),
        }),
      );
    },
  ],
])("a file that %s is no session", async (_, change) => {
  const { open, logIn, file } = await world();
  await logIn();
  change(file);

  const feed = await open();

  expect([feed.session?.isOpen(), await asked(feed)]).toEqual([false, "LOGIN_NEEDED"]);
});

test("the session of another account is none, and one with another secret does not open it", async () => {
  const other = { key: "another-key", secret: "another-secret" };
  const { open, logIn, fake, file, dataDir } = await world({ consumers: [CONSUMER, other] });
  await logIn(accountAt(fake.baseUrl, "second", other));
  mkdirSync(join(dataDir, "logins"), { recursive: true });
  renameSync(join(dataDir, "logins", "second.json"), file);

  const [anothers, changed] = [
    await open(),
    await open(accountAt(fake.baseUrl, "default", { ...other, secret: "changed" })),
  ];

  expect([anothers.session?.isOpen(), changed.session?.isOpen()]).toEqual([false, false]);
});

describe.each([
  ["a day in winter", "2026-11-20T13:50:00Z", "2026-11-21T05:00:00.000Z"],
  ["the day before clocks go forward", "2026-03-07T13:50:00Z", "2026-03-08T05:00:00.000Z"],
  ["the day on which clocks go forward", "2026-03-08T13:50:00Z", "2026-03-09T04:00:00.000Z"],
  ["the day before clocks go back", "2026-10-31T12:50:00Z", "2026-11-01T04:00:00.000Z"],
  ["the day on which clocks go back", "2026-11-01T13:50:00Z", "2026-11-02T05:00:00.000Z"],
])("on %s", (_, at, midnight) => {
  test("a session holds until midnight in New York, as the service has it, and no call leaves after it", async () => {
    const { clock, fake, account, open, logIn, dataDir } = await world({ at });
    const feed = await open();

    const endsAt = await logIn();
    clock.setTo(new Date(endsAt.getTime() - MINUTE_MS).toISOString());
    const before = await asked(feed);
    clock.setTo(midnight);
    const calls = fake.calls.length;

    expect(endsAt.toISOString()).toBe(midnight);
    expect(before).toBe(200);
    expect([await asked(feed), fake.calls.length]).toEqual(["LOGIN_NEEDED", calls]);
    expect(sessionEnd({ account }, dataDir, clock.now())).toBeNull();
    await logIn();
    expect(await asked(feed)).toBe(200);
  });
});

test("a session is woken by one call after long idleness, and by none while it is used", async () => {
  const { clock, fake, open, logIn, renewed } = await world();
  const feed = await open();
  await logIn();

  for (let hour = 0; hour < 3; hour += 1) {
    clock.advance(HOUR_MS);
    expect(await asked(feed)).toBe(200);
  }
  const whileUsed = renewed.length;
  clock.advance(3 * HOUR_MS);
  const woken = await Promise.all([asked(feed), asked(feed)]);

  expect(whileUsed).toBe(0);
  expect(woken).toEqual([200, 200]);
  expect(renewed).toEqual([clock.now()]);
  expect(paths(fake).filter((path) => path === "/oauth/renew_access_token")).toHaveLength(1);
});

test("a run that begins after long idleness wakes the session first", async () => {
  const { clock, fake, open, logIn } = await world();
  await logIn();
  clock.advance(3 * HOUR_MS);

  const status = await asked(await open());

  expect(status).toBe(200);
  expect(paths(fake).slice(2)).toEqual(["/oauth/renew_access_token", "quote"]);
});

test("a session that the service says is over is woken once, and is over when that does not help; the next login counts", async () => {
  const { fake, open, logIn, account, dataDir, clock } = await world();
  const feed = await open();
  await logIn();
  await asked(feed);
  fake.endSession();

  const answers = [await asked(feed), await asked(feed), await asked(feed)];

  expect(answers).toEqual([401, "LOGIN_NEEDED", "LOGIN_NEEDED"]);
  expect(paths(fake).slice(2)).toEqual(["quote", "quote", "/oauth/renew_access_token"]);
  // Another run, and `status`, know it too.
  expect([(await open()).session?.isOpen(), sessionEnd({ account }, dataDir, clock.now())]).toEqual([
    false,
    null,
  ]);
  await logIn();
  expect(await asked(feed)).toBe(200);
});

test("a token that is refused although it was just woken ends the session", async () => {
  const { fake, open, logIn } = await world();
  const feed = await open();
  await logIn();
  fake.failNext("tokenRejected");
  const refused = await asked(feed);
  await asked(feed);
  const woken = paths(fake).filter((path) => path === "/oauth/renew_access_token").length;
  fake.failNext("tokenRejected");
  await asked(feed);

  expect([refused, woken]).toEqual([401, 1]);
  // An answer came in between: this one is woken as well.
  expect(await asked(feed)).toBe(200);
});

test("a call that is refused after a person has logged in again ends the session that it was made with, and not the new one", async () => {
  const { clock, account, dataDir, open, logIn } = await world();
  const feed = await open();
  await logIn();
  clock.advance(3 * HOUR_MS);
  await feed.session?.awake();
  clock.advance(MINUTE_MS);
  await logIn();

  feed.session?.answered(true);

  expect(sessionEnd({ account }, dataDir, clock.now())).not.toBeNull();
  expect(await asked(feed)).toBe(200);
});

test("a service that cannot be reached for the waking ends no session", async () => {
  const { clock, fake, open, logIn } = await world();
  const feed = await open();
  await logIn();
  clock.advance(3 * HOUR_MS);
  fake.failNext("closedConnection");

  const [first, second] = [await asked(feed), await asked(feed)];

  expect(first).toMatch(/^SERVICE_/);
  expect(second).toBe(200);
});

test.each([
  ["another code", (code: string) => `${code}X`, "verifier_invalid"],
  ["no code", () => "", "no code was given"],
])(
  "%s than the page's is refused in words without a secret, and nothing is kept",
  async (_, change, words) => {
    const { clock, fake, account, dataDir } = await world();
    const of = loginOf(account);
    if (!of) throw new Error("it wants no login");
    const { url, begun } = await beginLogin(of, clock);
    const code = change(await fake.authorize(url));

    const failure = await finishLogin(of, { begun, code }, { dataDir, clock }).catch((error: Error) => error);

    expect(failure).toMatchObject({ code: "LOGIN_CODE_WRONG", message: expect.stringContaining(words) });
    for (const secret of [begun.pending.secret, CONSUMER.secret])
      expect(String(failure)).not.toContain(secret);
    expect(sessionEnd(of, dataDir, clock.now())).toBeNull();
  },
);

test("a wrong consumer key is refused by the first step", async () => {
  const { clock, fake } = await world();
  const of = loginOf(accountAt(fake.baseUrl, "default", { key: "wrong", secret: "wrong" }));
  if (!of) throw new Error("it wants no login");

  await expect(beginLogin(of, clock)).rejects.toMatchObject({ code: "LOGIN_FAILED" });
});

test("a machine whose clock is ten minutes slow logs in by the service's time, in both steps", async () => {
  const ahead = createTestClock("2026-11-20T14:00:00.000Z");
  const { fake, dataDir, account, logIn, clock } = await world({ clock: ahead });
  const of = loginOf(account);
  if (!of) throw new Error("it wants no login");

  await logIn();

  expect(sessionEnd(of, dataDir, clock.now())).not.toBeNull();
  expect(paths(fake)).toEqual([
    ...["/oauth/request_token", "/oauth/request_token", "/oauth/access_token", "/oauth/access_token"],
  ]);
});

test("a login is begun at the second place where the first refuses the key, and a refusal of both names both", async () => {
  const { fake, account, clock, dataDir } = await world();
  const { fake: other } = await world({ consumers: [{ key: "another", secret: "another" }] });
  const of = loginOf(account);
  if (!of) throw new Error("it wants no login");
  const placeAt = ({ baseUrl }: FakeEtrade) => ({ calls: baseUrl, page: `${baseUrl}/e/t/etws/authorize` });
  const at = (...fakes: FakeEtrade[]) => ({
    ...of,
    login: { ...of.login, places: () => fakes.map(placeAt) },
  });

  const { url, begun } = await beginLogin(at(other, fake), clock);
  await finishLogin(of, { begun, code: await fake.authorize(url) }, { dataDir, clock });
  const refused = await beginLogin(at(other, other), clock).catch((error: Error) => error);

  expect(sessionEnd(of, dataDir, clock.now())).not.toBeNull();
  expect(refused).toMatchObject({
    code: "LOGIN_FAILED",
    message: expect.stringMatching(
      /consumer_key_rejected from http\S+, HTTP 401, oauth_problem=consumer_key_rejected from http\S+; QUOTES_LOGIN_URL names another address/,
    ),
  });
});

test("a key of E*TRADE's sandbox may log in at two addresses, one of production at one, and a named address is the only one", () => {
  const called = (baseUrl: string, loginUrl?: string): string[] | undefined =>
    ETRADE.login?.places(baseUrl, loginUrl).map(({ calls }) => calls);

  expect(called("https://apisb.etrade.com")).toEqual(["https://apisb.etrade.com", "https://api.etrade.com"]);
  expect(called("https://api.etrade.com")).toEqual(["https://api.etrade.com"]);
  expect(called("https://apisb.etrade.com", "https://login.example")).toEqual(["https://login.example"]);
});

test("a service that fails while a login begins is told as its own fault", async () => {
  const { fake, account, clock } = await world();
  const of = loginOf(account);
  if (!of) throw new Error("it wants no login");
  fake.failNext("maintenance500");

  await expect(beginLogin(of, clock)).rejects.toMatchObject({ code: "SERVICE_ERROR" });
});

test("a service that fails while a session is woken ends no session", async () => {
  const { clock, fake, open, logIn } = await world();
  const feed = await open();
  await logIn();
  clock.advance(3 * HOUR_MS);
  fake.failNext("tomcat500");

  const [first, second] = [await asked(feed), await asked(feed)];

  expect([first, second]).toEqual(["SERVICE_ERROR", 200]);
});

test("answers of E*TRADE's sandbox are stored ones, and their rows never those of an account", async () => {
  const { open } = await world();

  const { sourceOf } = await open(accountAt("https://apisb.etrade.com"));

  expect(sourceOf({ status: 200, headers: {}, request: symbolsCall("AAPL") })).toEqual({
    kind: "simulated",
    name: "etrade sandbox",
  });
  expect(
    (await open(accountAt("https://api.etrade.com"))).sourceOf({
      status: 200,
      headers: {},
      request: symbolsCall("AAPL"),
    }),
  ).toEqual({
    ...{ kind: "account", name: "etrade" },
  });
});
