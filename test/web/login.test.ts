/** A person's login through the dashboard's API, at a fake of E*TRADE over HTTP. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import type { Log } from "../../src/ground/log.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { openWeb } from "../../src/collector/page/openWeb.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import type { BeginLogin } from "../../src/web/api/loginRoutes.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { createMeter } from "../../src/web/monitoring/meter.ts";
import { CONSUMER, startFakeEtrade } from "../fakes/etrade/fake.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { openDashboard } from "./dashboard.ts";

const TOKEN = "a-token-of-the-test-0123456789";
const MIDNIGHT = "2026-11-21T05:00:00.000Z";
const [MINUTE_MS, FIVE_MINUTES_MS] = [60_000, 300_000];
const LOGIN = "/api/accounts/default/login";

const { url } = await freshDatabase();
const market = createSimulatedMarket({ seed: 1 });
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

type Options = { token?: string | null; collects?: boolean; secret?: string };

/** A dashboard of a collector whose account is one of E*TRADE. */
async function world({ token = TOKEN, collects = true, secret = CONSUMER.secret }: Options = {}) {
  const clock = createTestClock("2026-11-20T13:50:00.000Z");
  const fake = await startFakeEtrade({ clock, market, mostStrikes: 4 });
  closers.push(fake.close);
  const dataDir = tempDir();
  const config = loadConfig(
    {
      DATABASE_URL: url,
      QUOTEKEEPER_DATA_DIR: dataDir,
      QUOTEKEEPER_JOBS_DIR: tempDir(),
      QUOTEKEEPER_HTTP_PORT: "0",
      QUOTES_SERVICE: "etrade",
      QUOTES_BASE_URL: fake.baseUrl,
      QUOTES_CONSUMER_KEY: CONSUMER.key,
      QUOTES_CONSUMER_SECRET: secret,
      ...(token !== null && { QUOTEKEEPER_WEB_TOKEN: token }),
    },
    tempDir(),
  );
  const archive = await openArchive(config, clock);
  closers.push(archive.close);
  const reader = archive.openReader();
  closers.push(() => reader.end());
  const logged: unknown[] = [];
  const at = (...said: unknown[]): void => void logged.push(said);
  const log: Log = { debug: at, info: at, warn: at, error: at };
  const meter = collects ? createMeter() : null;
  const web = await openWeb({ config, archive, reader, clock, collection: () => null, meter }, log);
  closers.push(web.close);
  /** Everything that was answered, to look for secrets in. */
  const answers: string[] = [];
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { ...(token !== null && { authorization: `Bearer ${token}` }), ...init.headers };
    const response = await fetch(web.address + path, { ...init, headers });
    const text = await response.text();
    answers.push(text, JSON.stringify([...response.headers]));
    return { status: response.status, body: JSON.parse(text) as Record<string, never> };
  };
  const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
    ask(path, {
      method: "POST",
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const begin = async (headers: Record<string, string> = {}): Promise<string> =>
    (await post(LOGIN, undefined, headers)).body["url"] ?? "";
  const finish = (code: string, headers: Record<string, string> = {}) =>
    post(`${LOGIN}/code`, { code }, headers);
  /** What Now says of the accounts' logins, once it says so: what `status` finds may come after an answer. */
  const logins = (ends: string | null) =>
    until(async () => {
      const { status } = (await ask("/api/now")).body as unknown as NowView;
      return status?.logins?.every((login) => login.until === ends) ? status.logins : null;
    }, `logins that end at ${ends}`);
  return {
    ...{ address: web.address, clock, fake, dataDir, logged, answers, ask },
    post,
    begin,
    finish,
    logins,
  };
}

const refusedWith = (status: number, code: string, words = "") => ({
  status,
  body: { error: { code, detail: expect.stringContaining(words), hint: expect.any(String), person: true } },
});

test("a login through the dashboard is a session until midnight in New York, which its Now view shows", async () => {
  const { clock, fake, dataDir, post, finish, logins } = await world();
  const before = await logins(null);

  const begun = await post(LOGIN);
  const done = await finish(` ${await fake.authorize(begun.body["url"] ?? "")} `);
  clock.advance(5_000);

  expect(before).toEqual([{ account: "default", until: null, needed: false }]);
  expect(begun).toEqual({
    status: 200,
    body: { url: expect.stringMatching(/^http:\/\/127[^ ]+\/authorize\?key=/) },
  });
  expect(done).toEqual({ status: 200, body: { until: MIDNIGHT } });
  expect(readdirSync(join(dataDir, "logins"))).toEqual(["default.json"]);
  expect(await logins(MIDNIGHT)).toEqual([{ account: "default", until: MIDNIGHT, needed: false }]);
});

test("a code that is refused makes no login, in words, and the right one still does", async () => {
  const { fake, dataDir, begin, finish, post } = await world();
  const code = await fake.authorize(await begin());

  expect(await finish(`${code}X`)).toEqual(refusedWith(422, "LOGIN_CODE_WRONG", "verifier_invalid"));
  expect(await finish(" ")).toEqual(refusedWith(422, "LOGIN_CODE_WRONG", "no code was given"));
  expect(await post(`${LOGIN}/code`, { code: 7 })).toEqual(refusedWith(400, "QUERY_INVALID"));
  expect(await post(`${LOGIN}/code`, { code: "A".repeat(5_000) })).toMatchObject({ status: 413 });
  expect(() => readdirSync(join(dataDir, "logins"))).toThrow("ENOENT");
  expect(await finish(code)).toMatchObject({ status: 200 });
  expect(await finish(code)).toEqual(refusedWith(409, "LOGIN_NOT_BEGUN"));
});

test("a service that does not know the account's keys, or is away, lets no login begin, in words", async () => {
  const { fake, post } = await world({ secret: "another" });

  expect(await post(LOGIN)).toEqual(refusedWith(422, "LOGIN_FAILED", "signature_invalid"));
  await fake.close();
  expect(await post(LOGIN)).toMatchObject({
    status: 503,
    body: { error: { code: "SERVICE_UNREACHABLE", person: false } },
  });
});

test("only an account that is there, and a login that was begun in the last five minutes, can be logged in to", async () => {
  const { clock, fake, post, begin, finish } = await world();

  expect(await post("/api/accounts/other/login")).toEqual(refusedWith(404, "ACCOUNT_UNKNOWN", "other"));
  expect(await finish("ABCDE")).toEqual(refusedWith(409, "LOGIN_NOT_BEGUN", "default"));
  const code = await fake.authorize(await begin());
  expect(await post("/api/accounts/other/login/code", { code })).toMatchObject({ status: 409 });
  clock.advance(FIVE_MINUTES_MS);
  expect(await finish(code)).toEqual(refusedWith(409, "LOGIN_NOT_BEGUN"));
});

test("a login that is begun again takes the place of the first", async () => {
  const { fake, begin, finish } = await world();
  const first = await fake.authorize(await begin());
  const second = await fake.authorize(await begin());

  expect(await finish(first)).toEqual(refusedWith(422, "LOGIN_CODE_WRONG"));
  expect(await finish(second)).toMatchObject({ status: 200 });
});

test("a login is finished by the browser that began it, and by no other", async () => {
  const { address, fake, begin, finish } = await world();
  const browser = async (): Promise<Record<string, string>> => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ token: TOKEN });
    const login = await fetch(`${address}/api/login`, { method: "POST", headers, body });
    return { authorization: "", cookie: login.headers.get("set-cookie")?.split(";")[0] ?? "" };
  };
  const [one, other] = [await browser(), await browser()];
  const code = await fake.authorize(await begin(one));

  expect(await finish(code, other)).toEqual(refusedWith(409, "LOGIN_NOT_BEGUN"));
  expect(await finish(code)).toEqual(refusedWith(409, "LOGIN_NOT_BEGUN"));
  expect(await finish(code, one)).toEqual({ status: 200, body: { until: MIDNIGHT } });
});

test("without a dashboard's token nobody logs in through it, and the answer says what to set", async () => {
  const { fake, begin, post, finish } = await world({ token: null });

  expect(await post(LOGIN)).toEqual({
    status: 403,
    body: {
      error: expect.objectContaining({
        code: "LOGIN_UNGUARDED",
        hint: expect.stringContaining("QUOTEKEEPER_WEB_TOKEN"),
      }),
    },
  });
  expect(await begin()).toBe("");
  expect(await finish("ABCDE")).toMatchObject({ status: 403 });
  expect(fake.calls).toEqual([]);
});

test("a dashboard that does not collect logs nobody in", async () => {
  const { fake, post, finish } = await world({ collects: false });

  expect([(await post(LOGIN)).status, (await finish("ABCDE")).status]).toEqual([404, 404]);
  expect(fake.calls).toEqual([]);
});

test("a login through the dashboard wants the token, and no other site's page can begin one", async () => {
  const { fake, post, finish } = await world();
  const wrong = { authorization: "Bearer wrong" };
  const foreign = { origin: "https://evil.example" };

  for (const path of [LOGIN, `${LOGIN}/code`])
    expect([(await post(path, {}, wrong)).status, (await post(path, {}, foreign)).status]).toEqual([
      401, 403,
    ]);
  expect((await finish("ABCDE", foreign)).status).toBe(403);
  expect(fake.calls).toEqual([]);
});

test("a dashboard that ends gives up a login whose service does not answer", async () => {
  let onAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  let given: AbortSignal | null = null;
  const beginLogin: BeginLogin = (_, signal) => {
    given = signal;
    onAsked();
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  const pool = poolOn(url, { readOnly: true, max: 1 });
  const { get, close } = await openDashboard({ pool, token: TOKEN, beginLogin });

  const answer = get(LOGIN, { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } });
  const ended = answer.catch(() => "cut");
  await asked;
  await close();

  expect(given).toMatchObject({ aborted: true });
  expect(await ended).not.toMatchObject({ status: 200 });
});

/** As the fake's tokens and their secrets are written; in an address they are percent-encoded. */
const SECRET = /\w{14}(\+|%2B)\w{13}(\/|%2F)\w{14}(=|%3D)/g;

test("no answer of the dashboard and no line of its log tells a secret of a login", async () => {
  const { clock, fake, dataDir, logged, answers, begin, finish, logins } = await world();
  const first = await begin();
  const lost = await fake.authorize(first);
  const failed = await finish("WRONG");
  fake.failNext("closedConnection");
  const broken = await finish(lost);
  const second = await begin();
  const code = await fake.authorize(second);
  const done = await finish(code);
  clock.advance(MINUTE_MS);
  await logins(MIDNIGHT);

  expect([failed.status, broken.status, done.status]).toEqual([422, 503, 200]);
  const told = answers.join("\n") + JSON.stringify(logged);
  const { tokens } = JSON.parse(readFileSync(join(dataDir, "logins", "default.json"), "utf8")) as {
    tokens: string;
  };
  for (const secret of [CONSUMER.secret, TOKEN, lost, code, tokens])
    expect([secret, told.includes(secret)]).toEqual([expect.any(String), false]);
  // An address alone names a token: the one that the person's page asks about.
  const shown = `${first} ${second}`.match(SECRET);
  expect([shown?.length, told.match(SECRET)]).toEqual([2, shown]);
  expect(JSON.stringify(logged)).toContain(`"until":"${MIDNIGHT}"`);
});
