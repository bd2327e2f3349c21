/** Tokens that a call brings, against a server over HTTP: asked for, kept, renewed ahead of their end, and after a refusal. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { createObserver, instantFromDate, systemClock } from "../../../src/ground/clock.ts";
import type { Account } from "../../../src/accounts/account.ts";
import type { PlannedCall } from "../../../src/collect/callPlan.ts";
import type { Result } from "../../../src/collect/dispatch/callEnds.ts";
import { Dispatcher } from "../../../src/collect/dispatcher.ts";
import { finishLogin } from "../../../src/collect/login/personLogin.ts";
import { loginOf, sessionEnd } from "../../../src/collect/login/keptSession.ts";
import { openFeed, type OpenFeed } from "../../../src/collector/feed.ts";
import { collectCall } from "../../../src/collector/pipeline.ts";
import { uuidv7 } from "../../../src/journal/uuid.ts";
import { openJournal } from "../../../src/journal/writer.ts";
import { APP, SECRET, startTokenServer } from "../../services/token/tokenServer.ts";
import { REFRESH_TOY, SECRET_TOY } from "../../services/token/toys.ts";
import { createTestClock } from "../../support/clock.ts";
import { symbolsCall } from "../../support/journal.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];
const closers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A service that gives tokens for a secret, or for the refresh token of a person's login, with an account of it. */
async function world(toy: "secret" | "refresh", credentials: Record<string, string> = {}) {
  const clock = createTestClock("2026-11-20T14:30:00.000Z");
  const server = await startTokenServer(clock);
  closers.push(server.close);
  const service = toy === "secret" ? SECRET_TOY : REFRESH_TOY;
  const own = toy === "secret" ? { secret: SECRET } : APP;
  const account: Account = {
    ...{ name: "default", service, limit: 60, limitGiven: false, limitWindowMs: MINUTE_MS },
    feed: { kind: "account", baseUrl: server.baseUrl, credentials: { ...own, ...credentials } },
  };
  const dataDir = tempDir();
  const open = async (): Promise<OpenFeed> => {
    const feed = await openFeed(account, { dataDir, clock, observe: createObserver(clock) });
    closers.push(feed.close);
    return feed;
  };
  const logIn = async (): Promise<Date> => {
    const of = loginOf(account);
    if (!of) throw new Error("it wants no login");
    const place = { calls: server.baseUrl, page: server.baseUrl };
    const begun = { place, pending: { token: "", secret: "" } };
    return finishLogin(of, { begun, code: server.state.code }, { dataDir, clock });
  };
  const file = join(dataDir, "logins", "default.json");
  return { clock, server, account, dataDir, open, logIn, file };
}

/** What came of a call: the status of its answer, or the code of its error. */
async function asked({ fetchQuotes }: OpenFeed): Promise<number | string> {
  return fetchQuotes(symbolsCall("AAPL")).then(
    ({ status }) => status,
    ({ code }: { code: string }) => code,
  );
}

/** Calls of a minute's slot as the collector makes them: the governor lets them go, and answers are in a journal before anything reads them. */
async function collecting({ clock, account, open }: Awaited<ReturnType<typeof world>>) {
  const feed = await open();
  const dir = tempDir();
  const journal = await openJournal({ dir, clock, upkeep: false, onProblem: () => undefined });
  closers.push(journal.close);
  const statuses: number[] = [];
  const results: Result[] = [];
  const logged: string[] = [];
  const log = (fields: object, message: string): void =>
    void logged.push(JSON.stringify(fields) + message + String((fields as { err?: Error }).err));
  const path = {
    ...{ account, feed, fetchQuotes: feed.fetchQuotes, sourceOf: feed.sourceOf, journal },
    ...{ calls: { leaves: () => () => undefined }, loader: { notify: () => undefined } },
    requestId: () => uuidv7(clock.now().getTime(), clock.random(16)),
  };
  const dispatcher = new Dispatcher({
    // It waits for answers without moving the time.
    clock: { ...clock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal) },
    ...{ service: account.service, governor: { limit: 60, windowMs: MINUTE_MS }, history: null },
    log: { debug: log, info: log, warn: log, error: log },
    onResult: (_, result) => void results.push(result),
    send: async (planned, signal, onArrived) => {
      const kept = await collectCall(planned, path as never, { signal, onArrived });
      statuses.push(kept.record.status);
      return kept;
    },
  });
  const poll = async (...symbols: string[]): Promise<void> => {
    const slotAt = instantFromDate(clock.now());
    const urgency = { priority: 1, deadlineMs: clock.now().getTime() + MINUTE_MS };
    for (const symbol of symbols) {
      const wants = new Map([[symbol, [{ ...urgency, job: "job", slotAt, closes: false }]]]);
      const call = symbolsCall(symbol);
      const at = { slotAt, unseenSinceMs: 0 };
      dispatcher.add({ ...urgency, ...at, call, wants, account: null, jobs: ["job"] } as PlannedCall);
    }
    await dispatcher.idle();
  };
  const outcomes = (): string[] =>
    results.map((result) => (result.kind === "answered" ? result.answer.outcome : result.reason));
  return { feed, poll, outcomes, statuses, dir, logged };
}

test("a secret sent as JSON brings a token and the account's id, and a call has both and a body of JSON", async () => {
  const { server, open } = await world("secret");

  const status = await asked(await open());

  expect(status).toBe(200);
  const json = { method: "POST", type: "application/json" };
  expect(server.asked).toEqual([
    {
      ...{ kind: "token", path: "/userapiauthservice/personal/access-tokens" },
      ...{ ...json, body: `{"secret":"${SECRET}","validityInMinutes":15}` },
    },
    {
      ...{ kind: "account", method: "GET", path: "/userapigateway/trading/account" },
      ...{ type: undefined, body: "" },
    },
    {
      ...{ kind: "quotes", path: "/userapigateway/marketdata/5OP%2F1/quotes" },
      ...{ ...json, body: '{"instruments":[{"symbol":"AAPL","type":"EQUITY"}]}' },
    },
  ]);
});

test("a token of 15 minutes is renewed 5 minutes ahead of its end and not sooner, for ten calls at once by one call", async () => {
  const { clock, server, open } = await world("secret");
  const feed = await open();
  const ten = async (): Promise<unknown[]> => Promise.all(Array.from({ length: 10 }, () => asked(feed)));

  const counts: number[] = [];
  for (const ms of [0, 10 * MINUTE_MS - SECOND_MS, SECOND_MS, 10 * MINUTE_MS - SECOND_MS, SECOND_MS]) {
    clock.advance(ms);
    expect(await ten()).toEqual(Array(10).fill(200));
    counts.push(server.count("token"));
  }

  expect(counts).toEqual([1, 1, 2, 2, 3]);
  expect(server.count("quotes")).toBe(50);
});

test("a later run goes on with the token that was kept, sealed, and asks for none", async () => {
  const { server, open, file } = await world("secret");
  await asked(await open());

  const later = await asked(await open());

  expect(later).toBe(200);
  expect(server.kinds()).toBe("token account quotes quotes");
  for (const secret of [SECRET, ...server.given]) expect(readFileSync(file, "utf8")).not.toContain(secret);
});

test("a run that was killed between the token and the account's id asks for both again", async () => {
  const { server, open } = await world("secret");
  server.fail("account", 503);

  const outcomes = [await asked(await open()), await asked(await open())];

  expect(outcomes).toEqual(["SERVICE_ERROR", 200]);
  expect(server.kinds()).toBe("token account token account quotes");
});

test("a refresh token sent as a form with HTTP Basic brings a token of 30 minutes, which is renewed 2 minutes ahead of its end", async () => {
  const { clock, server, open, logIn } = await world("refresh");
  const feed = await open();

  const before = await asked(feed);
  await logIn();
  const counts: number[] = [];
  for (const ms of [0, 28 * MINUTE_MS - SECOND_MS, SECOND_MS]) {
    clock.advance(ms);
    expect(await asked(feed)).toBe(200);
    counts.push(server.count("token"));
  }

  expect([before, counts]).toEqual(["LOGIN_NEEDED", [2, 2, 3]]);
  const [login, , renewal] = server.asked.filter(({ kind }) => kind === "token");
  expect(login).toMatchObject({ body: "grant_type=authorization_code&code=code-of-the-page" });
  expect(renewal).toMatchObject({
    ...{ method: "POST", path: "/v1/oauth/token", type: "application/x-www-form-urlencoded" },
    body: "grant_type=refresh_token&refresh_token=refresh-token-3",
  });
});

test("whenever a call with a new access token arrives, the new refresh token is on the disk", async () => {
  const { clock, server, open, logIn } = await world("refresh");
  const feed = await open();
  await logIn();
  const onDisk: [string | undefined, string][] = [];
  server.hooks.onQuotes = async () => {
    const another = await open();
    onDisk.push([another.session?.credentials()["refreshToken"], server.state.refresh]);
  };

  for (let renewal = 1; renewal <= 3; renewal += 1) {
    await asked(feed);
    clock.advance(28 * MINUTE_MS);
  }

  expect(onDisk.map(([kept]) => kept)).toEqual(["refresh-token-3", "refresh-token-5", "refresh-token-7"]);
  expect(onDisk.map(([kept]) => kept)).toEqual(onDisk.map(([, current]) => current));
});

test("a run that was killed behind a renewal is gone on with, and so is the chain of its refresh tokens", async () => {
  const { clock, server, open, logIn } = await world("refresh");
  await logIn();
  const killed = await open();
  await killed.session?.awake();
  const quotes = server.count("quotes");

  const next = await open();
  const atOnce = await asked(next);
  clock.advance(28 * MINUTE_MS);
  const renewed = await asked(next);

  expect([quotes, atOnce, renewed]).toEqual([0, 200, 200]);
  expect(server.kinds()).toBe("token token quotes token quotes");
});

test("where a new refresh token cannot be kept no call leaves; it is not forgotten, and the next call goes on from it", async () => {
  const { server, open, logIn, file } = await world("refresh");
  const feed = await open();
  await logIn();
  mkdirSync(`${file}.new`);

  const before = [await asked(feed), server.count("quotes")];
  rmdirSync(`${file}.new`);
  const after = await asked(feed);

  expect([before, after]).toEqual([["DATA_DIR_UNWRITABLE", 0], 200]);
  expect(server.kinds()).toBe("token token token quotes");
});

/** Holds the answer to the second call for a token back, until it is released. */
function holdRenewal(server: Awaited<ReturnType<typeof world>>["server"]): () => void {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  server.hooks.onToken = () => (server.count("token") === 2 ? held : Promise.resolve());
  return () => release();
}

test("of two sessions that renew one login at once the service refuses one; the login goes on with what the other was given", async () => {
  const { clock, server, account, dataDir, open, logIn } = await world("refresh");
  const [first, second] = [await open(), await open()];
  await logIn();
  const release = holdRenewal(server);

  const early = asked(first);
  await until(() => server.count("token") === 2, "the first renewal");
  const refused = await asked(second);
  release();

  expect([refused, await early]).toEqual(["LOGIN_NEEDED", 200]);
  expect([await asked(first), await asked(second), await asked(await open())]).toEqual([200, 200, 200]);
  clock.advance(28 * MINUTE_MS);
  expect([await asked(second), await asked(first)]).toEqual([200, 200]);
  expect(server.count("token")).toBe(4);
  expect(sessionEnd({ account }, dataDir, clock.now())).not.toBeNull();
});

test("a login that was made while a renewal was under way is gone on with, and not what the renewal brought", async () => {
  const { server, open, logIn } = await world("refresh");
  const feed = await open();
  await logIn();
  const release = holdRenewal(server);

  const early = asked(feed);
  await until(() => server.count("token") === 2, "the renewal");
  await logIn();
  release();
  await early;

  expect([await asked(feed), await asked(await open())]).toEqual([200, 200]);
});

test.each([undefined, "soon", -1e300, -5, 0])(
  "a token that is said to last for %p seconds is kept, serves many calls, and its refresh token brings the next",
  async (lastsSeconds) => {
    const { clock, server, open, logIn } = await world("refresh");
    const feed = await open();
    await logIn();
    server.state.lastsSeconds = lastsSeconds;

    const answers = [await asked(feed), await asked(feed), await asked(await open())];
    const tokens = server.count("token");
    clock.advance(24 * 60 * MINUTE_MS);
    const later = await asked(feed);

    expect([answers, tokens, later]).toEqual([[200, 200, 200], 2, 200]);
    expect(server.count("token")).toBe(3);
  },
);

test("a refresh token that has died needs a person's login, and no call leaves before it", async () => {
  const { clock, server, account, dataDir, open, logIn } = await world("refresh");
  const feed = await open();
  await logIn();
  await asked(feed);
  server.state.refresh = "";
  clock.advance(30 * MINUTE_MS);

  const answers = [await asked(feed), await asked(feed), await asked(await open())];
  const tried = server.count("token");

  expect(answers).toEqual(["LOGIN_NEEDED", "LOGIN_NEEDED", "LOGIN_NEEDED"]);
  expect([tried, feed.session?.isOpen(), sessionEnd({ account }, dataDir, clock.now())]).toEqual([
    ...[3, false, null],
  ]);
  await logIn();
  expect(await asked(feed)).toBe(200);
});

test("a login lasts for the seven days of its refresh tokens, however often they are renewed", async () => {
  const { clock, open, logIn } = await world("refresh");
  const feed = await open();

  const endsAt = await logIn();
  clock.advance(3 * 24 * 60 * MINUTE_MS);
  const within = await asked(feed);
  clock.setTo(endsAt.toISOString());

  expect(endsAt.toISOString()).toBe("2026-11-27T14:30:00.000Z");
  expect([within, await asked(feed)]).toEqual([200, "LOGIN_NEEDED"]);
});

test("a service that is out of order costs no call while the token holds, and is asked twice a minute; behind its end calls say so", async () => {
  const { clock, server, open } = await world("secret");
  const feed = await open();
  await asked(feed);
  clock.advance(10 * MINUTE_MS);
  server.fail("token", ...Array<number>(20).fill(503));

  const ahead = [await asked(feed), await asked(feed), server.count("token")];
  clock.advance(30 * SECOND_MS);
  const later = [await asked(feed), server.count("token")];
  clock.advance(5 * MINUTE_MS);
  const behind = [await asked(feed), await asked(feed)];
  server.fail("token");

  expect(ahead).toEqual([200, 200, 2]);
  expect(later).toEqual([200, 3]);
  // The first one is refused with the token that has ended.
  expect(behind).toEqual([401, "SERVICE_ERROR"]);
  expect(await asked(feed)).toBe(200);
});

test("a call that is refused before the token's end is made once more with a new one, and both answers are kept", async () => {
  const here = await world("secret");
  const { server } = here;
  const { poll, outcomes, statuses, logged } = await collecting(here);
  await poll("AAPL");
  server.state.access = "revoked";

  await poll("IBM");

  expect([statuses, outcomes()]).toEqual([
    [200, 401, 200],
    ["quotes", "quotes"],
  ]);
  expect(server.count("token")).toBe(2);
  expect(logged).toEqual([]);
});

test("where a new token is refused as well the answer stays a refusal, and later calls bring no token after token", async () => {
  const here = await world("secret");
  const { server, clock } = here;
  const { poll, outcomes, statuses } = await collecting(here);
  await poll("AAPL");
  server.fail("quotes", ...Array<number>(100).fill(401));

  for (let slot = 1; slot <= 5; slot += 1) {
    await poll("AAPL", "IBM", "MSFT");
    clock.advance(MINUTE_MS);
  }
  const [tokens, refused] = [server.count("token"), statuses.length];
  server.fail("quotes");
  await poll("AAPL");

  expect(outcomes().slice(1, -1)).toEqual(Array(15).fill("unauthorized"));
  // Of the first slot two attempts at each call, with one new token; of each later one a call that asks whether it is still so.
  expect([tokens, refused]).toEqual([2, 1 + 6 + 4]);
  expect(outcomes().at(-1)).toBe("quotes");
});

test("a wrong secret is told as refused credentials by name, and one call a slot asks again", async () => {
  const here = await world("secret", { secret: "another-secret" });
  const { server, clock, open } = here;
  const failure = (await (
    await open()
  )
    .fetchQuotes(symbolsCall("AAPL"))
    .catch((error: Error) => error)) as Error;
  const { poll, outcomes, logged } = await collecting(here);

  const before = server.count("token");
  for (let slot = 1; slot <= 3; slot += 1) {
    await poll("AAPL", "IBM", "MSFT");
    await poll("GOOG");
    clock.advance(MINUTE_MS);
  }

  expect(failure).toMatchObject({
    code: "SERVICE_UNAUTHORIZED",
    message: expect.stringMatching(
      /^SERVICE_UNAUTHORIZED: Secret Toy gives no token: HTTP 401 .*QUOTES_SECRET\./,
    ),
  });
  expect(outcomes()).toEqual(Array(12).fill("unauthorized"));
  expect(server.count("quotes")).toBe(0);
  expect(server.count("token") - before).toBe(3);
  expect(String(failure) + logged.join("")).not.toContain("another-secret");
});

test("no token and no secret is in the journal or the log, though the service quotes them", async () => {
  const here = await world("refresh");
  const { server, clock, logIn } = here;
  const { feed, poll, dir, logged } = await collecting(here);
  await logIn();
  await poll("AAPL");
  server.state.access = "revoked";
  await poll("IBM");
  clock.advance(28 * MINUTE_MS);
  server.fail("token", 503);
  await poll("MSFT");
  server.state.refresh = "";
  clock.advance(30 * MINUTE_MS);
  const failure = await feed.fetchQuotes(symbolsCall("AAPL")).catch(String);

  const kept = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("");
  expect(kept).toContain("Bearer ******");
  expect(failure).toContain("LOGIN_NEEDED");
  for (const secret of [APP.appSecret, ...server.given])
    expect([secret, kept.includes(secret), (logged.join("") + String(failure)).includes(secret)]).toEqual([
      secret,
      false,
      false,
    ]);
});
