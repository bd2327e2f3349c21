/**
 * A canary in each credential and in the database's password, every way to fail driven through the real program, and
 * then everything it wrote searched: standard streams, logs at trace level, journal, tables, pages, errors.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createPool } from "../src/archive/connect/connect.ts";
import { databaseError } from "../src/archive/connect/databaseError.ts";
import { createLogger } from "../src/cli/terminal/logger.ts";
import { runProgram } from "../src/cli/program.ts";
import { openFetchQuotes } from "../src/collect/fetchQuotes.ts";
import { loadConfig } from "../src/config/loadEnvironment.ts";
import { keepSession, loginOf } from "../src/collect/login/keptSession.ts";
import { createObserver, systemClock } from "../src/ground/clock.ts";
import { percentEncode } from "../src/services/percentEncode.ts";
import { capturedEdges, run } from "./cli/edges.ts";
import { compileProgram } from "./support/compileProgram.ts";
import { selfSigned } from "./support/selfSigned.ts";
import { rowsOfQuery } from "./support/archive.ts";
import { createTestClock } from "./support/clock.ts";
import { freshDatabase, poolOn } from "./support/database.ts";
import { symbolsCall } from "./support/journal.ts";
import { closedPort, startStubService, type StubAnswer, type StubService } from "./support/stubService.ts";
import { tempDir } from "./support/tempDir.ts";
import { until } from "./support/until.ts";
import { answerXml, equityXml } from "./support/xml.ts";
import { REFERENCE } from "../src/services/reference/reference.ts";

const PAUSE_MS = 1_000;

// Every command is run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Odd characters, so that a credential is written differently in a URL, in XML and in JSON. */
const CANARIES = {
  consumerKey: "canary/consumer+key&5f1c",
  consumerSecret: 'canary consumer "secret" 7ab2',
  accessToken: "canary<access>token=90de",
  accessTokenSecret: "canary%20access'token'secret!c3f4",
};
const PASSWORD = "canary-database-password-e81a";
const WEB_TOKEN = "canary-dashboard-token-04be-9d17";

/** The ways a page is asked for: without a token, with the right one, with wrong ones. */
const CALLERS: Record<string, string>[] = [
  {},
  { authorization: `Bearer ${WEB_TOKEN}` },
  { authorization: "Bearer wrong" },
  { authorization: `Bearer ${WEB_TOKEN}x`, cookie: `${WEB_TOKEN}=${WEB_TOKEN}`, "content-type": WEB_TOKEN },
];

/** Everything that `start` answers over HTTP. */

const PAGES = [
  ...[
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/now",
    "/api/quotes",
    "/api/chains",
    "/api/quotes?since=wrong",
  ],
  ...[
    "/api/bars?instrument=1",
    "/api/coverage",
    "/api/misses",
    "/api/nothing",
    "/style.css",
    "/api?token=wrong",
  ],
];

const CREDENTIALS = {
  QUOTES_CONSUMER_KEY: CANARIES.consumerKey,
  QUOTES_CONSUMER_SECRET: CANARIES.consumerSecret,
  QUOTES_ACCESS_TOKEN: CANARIES.accessToken,
  QUOTES_ACCESS_TOKEN_SECRET: CANARIES.accessTokenSecret,
};

const database = await freshDatabase();
const databaseUrl = withPassword(database.url);
const dataDirs: string[] = [];
const stubs: StubService[] = [];
/** Everything the program said, by where it said it. */
const said: [where: string, text: string][] = [];
const clock = createTestClock();

/** The canary as password, unless the server really wants one. */
function withPassword(url: string): string {
  const parsed = new URL(url);
  parsed.password ||= PASSWORD;
  return parsed.href;
}

function dataDir(): string {
  const dir = tempDir();
  dataDirs.push(dir);
  return dir;
}

async function stub(answer: StubAnswer): Promise<StubService> {
  const made = await startStubService(answer);
  stubs.push(made);
  return made;
}

function settings(baseUrl: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    QUOTES_BASE_URL: baseUrl,
    QUOTEKEEPER_DATA_DIR: dataDir(),
    QUOTEKEEPER_LOG_LEVEL: "trace",
    ...CREDENTIALS,
    ...more,
  };
}

async function poll(where: string, env: Record<string, string>): Promise<number> {
  clock.advance(1_000);
  const { exitCode, stdout, stderr } = await run(["poll", "--symbols", "AAPL"], env, clock);
  said.push([where, `${stdout}\n${stderr}`]);
  return exitCode;
}

/** All forms of what must not be said: credentials, password, and the signature and nonce of every call made. */
function forbidden(): string[] {
  const headers = stubs.flatMap(({ requests }) =>
    requests.map(({ headers: { authorization } }) => authorization ?? ""),
  );
  const signatures = headers.flatMap((header) => /oauth_signature="([^"]+)"/.exec(header)?.[1] ?? []);
  const nonces = headers.flatMap((header) => /oauth_nonce="([^"]+)"/.exec(header)?.[1] ?? []);
  const plain = [...Object.values(CANARIES), PASSWORD, ...signatures.map(decodeURIComponent)];
  const written = plain.flatMap((secret) => [
    secret,
    percentEncode(secret),
    encodeURIComponent(secret),
    percentEncode(percentEncode(secret)),
    secret.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString("base64"),
  ]);
  const pairs = nonces.map((nonce, index) => `${nonce}&${signatures[index] ?? ""}`);
  return [...new Set([...written, ...pairs, ...headers.filter((header) => header !== "")])];
}

function hits(text: string): string[] {
  const secrets = forbidden();
  return secrets.filter((secret) => text.includes(secret) || text.includes(inspect(secret).slice(1, -1)));
}

/** Every error of a chain, with everything that hangs on it, also what is not enumerable. */
function crashDump(error: unknown): string {
  const depth = { depth: 30, showHidden: true, maxStringLength: null, maxArrayLength: null };
  return [inspect(error), inspect(error, depth), String((error as Error).stack), JSON.stringify(error)].join(
    "\n",
  );
}

async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

/** A service that answers by quoting the whole request, as debugging servers do. */
const ECHO = (status: number): StubAnswer => ({
  status,
  headers: { "Content-Type": "text/html", Date: "Fri, 20 Nov 2026 22:50:00 GMT" },
  body: `<html><error>${Object.values(CANARIES).map(percentEncode).join(" ")} ${Object.values(CANARIES).join(" ")}</error></html>`,
});

const QUOTES = answerXml(equityXml("AAPL"));

const ANSWERS: [string, StubAnswer][] = [
  ["quotes", { body: QUOTES }],
  ["a 401", { status: 401, body: "Not authorized" }],
  ["a 401 that quotes the credentials", ECHO(401)],
  ["a 400 that quotes the credentials", ECHO(400)],
  ["a 403 that quotes the credentials", ECHO(403)],
  ["a 500 that quotes the credentials", ECHO(500)],
  ["a 200 that quotes the credentials", ECHO(200)],
  ["a quota fault", { status: 429, body: "API calls quota exceeded!" }],
  [
    "a redirect",
    {
      status: 302,
      headers: { Location: `https://elsewhere.example/?key=${percentEncode(CANARIES.consumerKey)}` },
    },
  ],
  ["an HTML page", { body: "<html><body>hello</body></html>" }],
  ["an answer cut short", { body: QUOTES.slice(0, 300) }],
  ["an instrument malformed", { body: answerXml(equityXml("AAPL", { quote: { askprice: "x" } })) }],
  ["a gzip nobody asked for", { headers: { "Content-Encoding": "gzip" }, body: "x" }],
];

/** A token in every place of an answer that the program keeps or tells: texts of quotes, faults, words in place of JSON. */
const TOKEN = JSON.stringify(`${CANARIES.accessToken} ${encodeURIComponent(CANARIES.accessToken)}`);
const QUOTE = `{"symbol":"AAPL","type":"stock","description":${TOKEN},"exch":${TOKEN},"last":1.5,"bid":${TOKEN}}`;
const TRADIER_FAULT = `{"fault":{"faultstring":${TOKEN},"detail":{"errorcode":"keymanagement.service.invalid_access_token"}}}`;

const TRADIER_ANSWERS: [string, StubAnswer][] = [
  ["Tradier's quotes that quote the token", { body: `{"quotes":{"quote":${QUOTE}}}` }],
  [
    "Tradier's unknown symbols that quote the token",
    { body: `{"quotes":{"unmatched_symbols":{"symbol":${TOKEN}}}}` },
  ],
  ["Tradier's expirations that quote the token", { body: `{"expirations":{"date":${TOKEN}}}` }],
  ["a fault of Tradier's with 401 that quotes the token", { status: 401, body: TRADIER_FAULT }],
  ["a fault of Tradier's with 500 that quotes the token", { status: 500, body: TRADIER_FAULT }],
  ["Tradier's words with 400 that quote the token", { status: 400, body: `Invalid ${TOKEN}` }],
  ["a page of Tradier's that quotes the token", { body: `<html><body>${TOKEN}</body></html>` }],
];

/** The commands that call a living service. */
const LIVING_COMMANDS = [
  ["poll", "--symbols", "AAPL"],
  ["backfill", "--chain", "AAPL:dates=listed,strikes=all"],
  ["doctor"],
];

async function callTradier(where: string, answer: StubAnswer): Promise<void> {
  const { baseUrl } = await stub(answer);
  for (const argv of LIVING_COMMANDS) {
    clock.advance(1_000);
    const { stdout, stderr } = await run(argv, settings(baseUrl, { QUOTES_SERVICE: "tradier" }), clock);
    said.push([`${argv[0]} of ${where}`, `${stdout}\n${stderr}`]);
  }
}

/** The tokens of a session in every place of an answer, as XML has it. */
const IN_XML = [CANARIES.accessToken, CANARIES.accessTokenSecret, CANARIES.consumerSecret]
  .map(
    (secret) =>
      `${secret.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")} ${percentEncode(secret)}`,
  )
  .join(" ");
/** The same in JSON. */
const IN_JSON = JSON.stringify(
  [CANARIES.accessToken, CANARIES.accessTokenSecret, CANARIES.consumerSecret]
    .map((secret) => `${secret} ${percentEncode(secret)}`)
    .join(" "),
);
const ETRADE_QUOTE = `{"quoteStatus":${IN_JSON},"All":{"symbolDescription":${IN_JSON},"bid":${IN_JSON},"ask":1.5},"Product":{"securityType":"EQ","symbol":"AAPL"}}`;

const ETRADE_ANSWERS: [string, StubAnswer][] = [
  ["E*TRADE's quotes that quote the tokens", { body: `{"QuoteResponse":{"QuoteData":[${ETRADE_QUOTE}]}}` }],
  [
    "E*TRADE's messages that quote the tokens",
    { body: `{"QuoteResponse":{"Messages":{"Message":[{"description":${IN_JSON},"code":10033}]}}}` },
  ],
  ["E*TRADE's quotes in XML that quote the tokens", { body: `<QuoteResponse>${IN_XML}</QuoteResponse>` }],
  [
    "a fault of E*TRADE's that quotes the tokens",
    { status: 400, body: `<Error><code>10033</code><message>${IN_XML}</message></Error>` },
  ],
  [
    "a problem of E*TRADE's that quotes the tokens",
    { status: 401, body: `oauth_problem=token_rejected ${IN_XML}` },
  ],
  [
    "a page of E*TRADE's that quotes the tokens",
    { status: 500, body: `<html><body>${IN_XML}</body></html>` },
  ],
];

/** With a session, whose tokens are canaries as well. */
async function callEtrade(where: string, answer: StubAnswer): Promise<void> {
  const { baseUrl } = await stub(answer);
  for (const argv of LIVING_COMMANDS) {
    clock.advance(1_000);
    const env = settings(baseUrl, { QUOTES_SERVICE: "etrade" });
    const config = loadConfig(env, tempDir());
    const login = loginOf({ ...config, name: "default" });
    if (!login) throw new Error("it wants no login");
    const { accessToken, accessTokenSecret } = CANARIES;
    keepSession(login, { accessToken, accessTokenSecret }, { dataDir: config.dataDir, clock });
    const { stdout, stderr } = await run(argv, env, clock);
    said.push([`${argv[0]} of ${where}`, `${stdout}\n${stderr}`]);
  }
}

beforeAll(async () => {
  for (const [where, answer] of TRADIER_ANSWERS) await callTradier(where, answer);
  for (const [where, answer] of ETRADE_ANSWERS) await callEtrade(where, answer);
  for (const [where, answer] of ANSWERS) await poll(where, settings((await stub(answer)).baseUrl));

  const good = await stub({ body: QUOTES });
  const closed = await closedPort();
  await poll("a refused connection", settings(`http://127.0.0.1:${closed}`));
  const away = `postgresql://keeper:${PASSWORD}@127.0.0.1:${closed}/quotes`;
  await poll("a database that is down", settings(good.baseUrl, { DATABASE_URL: away }));
  const missing = new URL(databaseUrl);
  missing.pathname = "/no_such_database";
  await poll("a database that is not there", settings(good.baseUrl, { DATABASE_URL: missing.href }));
  const unwritable = join(tempDir(), "file");
  writeFileSync(unwritable, "");
  await poll("a journal that cannot be opened", settings(good.baseUrl, { QUOTEKEEPER_DATA_DIR: unwritable }));

  for (const [where, wrong] of BAD_SETTINGS) await poll(where, settings(good.baseUrl, wrong));
});

const BAD_SETTINGS: [string, Record<string, string>][] = [
  ["a limit that is no number", { QUOTES_LIMIT: "many" }],
  ["a database of another kind", { DATABASE_URL: `mysql://u:${PASSWORD}@h/d` }],
  ["a database address that is none", { DATABASE_URL: `postgresql://u:${PASSWORD}%zz@[/d` }],
  ["a service address with a password", { QUOTES_BASE_URL: `https://u:${PASSWORD}@api.example` }],
  [
    "a service address with a key",
    { QUOTES_BASE_URL: `http://api.example/?k=${percentEncode(CANARIES.consumerKey)}` },
  ],
  ["a credential given twice", { QUOTES_CONSUMER_SECRET_FILE: "/nowhere" }],
  [
    "a credential's file that is not there",
    { QUOTES_CONSUMER_SECRET: "", QUOTES_CONSUMER_SECRET_FILE: "/nowhere" },
  ],
  ["a credential that is missing", { QUOTES_ACCESS_TOKEN: "" }],
  [
    "an address whose number is a slip",
    { QUOTES_LIMIT: "0x10", DATABASE_URL: `postgresql://u:${PASSWORD}@h:1e3/d` },
  ],
  [
    "a credential's file that is a device",
    { QUOTES_CONSUMER_SECRET: "", QUOTES_CONSUMER_SECRET_FILE: "/dev/null" },
  ],
];

test("no credential, password, nonce with signature or signature is in what commands write to their standard streams, whatever goes wrong", () => {
  const living = (TRADIER_ANSWERS.length + ETRADE_ANSWERS.length) * LIVING_COMMANDS.length;
  expect(said.map(([where]) => where)).toHaveLength(living + ANSWERS.length + 4 + BAD_SETTINGS.length);
  for (const [where, text] of said) {
    expect(text.trim()).not.toBe("");
    expect([where, hits(text)]).toEqual([where, []]);
  }
});

test("no credential, password, nonce with signature or signature is in any byte of the journals, although the answers are in them", () => {
  const files = dataDirs.flatMap(filesBelow);
  const contents = files.map((file) => {
    const bytes = readFileSync(file);
    return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  });

  expect(
    contents.filter((text) => text.includes("oauth") || text.includes("Not authorized")).length,
  ).toBeGreaterThan(0);
  expect(contents.flatMap(hits)).toEqual([]);
});

test("no credential, password, nonce with signature or signature is in any column of any table, although the answers' rows are", async () => {
  const tables = await rowsOfQuery(
    database.pool,
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')",
  );
  let rows = 0;
  for (const { name } of tables) {
    const lines = await rowsOfQuery(
      database.pool,
      `select to_jsonb(t)::text as line from "${String(name)}" t`,
    );
    rows += lines.length;
    expect([name, lines.flatMap(({ line }) => hits(String(line)))]).toEqual([name, []]);
  }
  expect(rows).toBeGreaterThan(ANSWERS.length);
});

describe("while `start` runs against a service that quotes what it refuses", () => {
  test("nothing is in logs at trace level, streams and pages", async () => {
    const service = await stub(ECHO(401));
    const jobs = tempDir();
    writeFileSync(
      join(jobs, "job.yaml"),
      // Each second: a minute's next slot would be waited for.
      'name: j\nschedule: "* * * * * *"\nsession: always\nsymbols: [AAPL]\n',
    );
    // Wrong tokens are looked at with a pause between: it passes before each page.
    let aheadMs = 0;
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() + aheadMs),
      monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    };
    const {
      edges,
      stdout,
      stderr,
      interrupt,
      said: saidOn,
    } = capturedEdges({
      clock,
      env: settings(service.baseUrl, {
        ...{ QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_HTTP_PORT: "0", QUOTEKEEPER_WEB_TOKEN: WEB_TOKEN },
      }),
    });

    const ended = runProgram(["start"], edges);
    const [, dashboard = ""] = await saidOn(/Dashboard +(\S+)/);
    await until(() => stderr().includes("SERVICE_UNAUTHORIZED"), "the refusal");
    const pages: string[] = [];
    const statuses = new Set<number>();
    for (const path of PAGES) {
      const address = `${dashboard.replace(/\/$/, "")}${path}`;
      for (const headers of CALLERS) {
        aheadMs += PAUSE_MS;
        const response = await fetch(address, { headers });
        statuses.add(response.status);
        pages.push(`${JSON.stringify([...response.headers])}${await response.text()}`);
      }
    }
    interrupt();
    await ended;

    expect(stderr()).toContain("SERVICE_UNAUTHORIZED");
    expect([...statuses]).toEqual(expect.arrayContaining([200, 401]));
    const everything = [stdout(), stderr(), ...pages].join("\n");
    expect(hits(everything)).toEqual([]);
    expect(everything).not.toContain(WEB_TOKEN);
  });
});

test("a file of credentials that is taken for another file leaves nothing of itself, wherever it is read", async () => {
  const dir = tempDir();
  const lines = [...Object.values(CANARIES), PASSWORD];
  const path = join(dir, "secrets.yaml");
  writeFileSync(
    path,
    `${lines.join("\n")}\n${lines.map((line) => `${line}: ${line}, ${line}`).join("\n")}\n`,
  );
  writeFileSync(join(dir, "secrets.sql"), readFileSync(path));
  writeFileSync(join(dir, "token"), WEB_TOKEN, { mode: 0o644 });
  const env = { QUOTEKEEPER_DATA_DIR: dataDir(), DATABASE_URL: databaseUrl, QUOTEKEEPER_LOG_LEVEL: "trace" };
  const exposed = { ...env, QUOTEKEEPER_JOBS_DIR: dir, QUOTEKEEPER_WEB_TOKEN_FILE: join(dir, "token") };

  const outcomes = [
    await run(["jobs", "check"], exposed),
    await run(["backfill", "--symbols-file", path], env),
    await run(["backfill", "--csv", path], env),
    await run(["backfill", "--csv", path, "--map", join(dir, "secrets.sql")], env),
    await run(["serve", "--source", "archive", "--watchlists", path], env),
  ];

  expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2, 2]);
  const told = outcomes.map(({ stdout, stderr }) => `${stdout}${stderr}`).join("\n");
  expect(hits(told)).toEqual([]);
  expect(told).not.toContain(WEB_TOKEN);
});

test("a service that is sent hostile forms and signatures says and logs nothing of its keys", async () => {
  const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = CANARIES;
  const key = [consumerKey, consumerSecret, accessToken, accessTokenSecret].join(":");
  const env = { QUOTEKEEPER_DATA_DIR: dataDir(), QUOTEKEEPER_LOG_LEVEL: "trace" };
  const { edges, stdout, stderr, interrupt, said: saidOn } = capturedEdges({ env });
  const ended = runProgram(["serve", "--source", "simulated", "--port", "0", "--key", key], edges);
  const [address = ""] = await saidOn(/http:\/\/127\.0\.0\.1:\d+/);
  const oauth = (separator: string, quote: string): string =>
    Object.entries({
      consumer_key: consumerKey,
      token: accessToken,
      signature: consumerSecret,
      nonce: accessTokenSecret,
    })
      .map(([name, value]) => `oauth_${name}=${quote}${percentEncode(value)}${quote}`)
      .join(separator);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const asked: RequestInit[] = [
    { headers: { authorization: `OAuth ${oauth(", ", '"')}` } },
    { method: "POST", headers: form, body: oauth("&", "") },
    { method: "POST", headers: form, body: `${oauth("&", "")}&`.repeat(2_000) },
    { method: "POST", headers: { ...form, "content-encoding": "gzip" }, body: oauth("&", "") },
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(CANARIES) },
  ];

  const answers: string[] = [];
  for (const request of asked)
    for (const path of [`/v1/market/quotes.xml?symbols=AAPL`, `/v1/nothing?${oauth("&", "")}`]) {
      const response = await fetch(`${address}${path}`, request);
      answers.push(`${response.status} ${JSON.stringify([...response.headers])}${await response.text()}`);
    }
  interrupt();
  await ended;

  expect(answers.filter((answer) => !/^[45]/.test(answer))).toEqual([]);
  expect(hits([...answers, stdout(), stderr()].join("\n"))).toEqual([]);
});

const opened = (baseUrl: string, deadlineMs = 3_600_000) =>
  openFetchQuotes({
    ...{
      service: REFERENCE,
      baseUrl,
      credentials: () => CANARIES,
      clock,
      observe: createObserver(clock),
      userAgent: "test",
    },
    deadlines: { connectMs: deadlineMs, headersMs: deadlineMs, callMs: deadlineMs },
  });

/** The error of a call to an address. */
async function callError(baseUrl: string, deadlineMs?: number): Promise<unknown> {
  const { fetchQuotes, close } = opened(baseUrl, deadlineMs);
  const error = await errorOf(() => fetchQuotes(symbolsCall("AAPL")));
  await close();
  return error;
}

test("a dumped error of the transport holds no secret: refused, reset, silent, too large, untrusted, not HTTP", async () => {
  const silent = createHttpsServer(selfSigned(), () => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const untrusted = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const large = await stub({ body: Buffer.alloc(9 * 1024 * 1024) });

  const errors = [
    await callError(`http://127.0.0.1:${await closedPort()}`),
    await callError(untrusted),
    await callError(untrusted.replace("https", "http")),
    await callError(large.baseUrl),
    await callError(large.baseUrl, 1),
  ];
  silent.close().closeAllConnections();

  expect(errors.map((error) => (error as { code: string }).code)).toEqual([
    "SERVICE_UNREACHABLE",
    "SERVICE_UNTRUSTED",
    "SERVICE_CUT_SHORT",
    "SERVICE_ANSWER_TOO_LARGE",
    "SERVICE_TIMEOUT",
  ]);
  expect(errors.flatMap((error) => hits(crashDump(error)))).toEqual([]);
});

test("a dumped error of the database holds no secret: down, not there, a statement it refuses, a pool that was ended", async () => {
  const away = createPool(`postgresql://keeper:${PASSWORD}@127.0.0.1:${await closedPort()}/quotes`);
  const here = poolOn(databaseUrl);
  const ended = createPool(databaseUrl);
  await ended.end();

  const causes = [
    await errorOf(() => away.query("select 1")),
    await errorOf(() => here.query("select * from nowhere")),
    await errorOf(() => ended.query("select 1")),
    await errorOf(() => here.query("select pg_terminate_backend(pg_backend_pid())")),
  ];
  await away.end();

  const errors = [...causes, ...causes.map((cause) => databaseError(cause, "127.0.0.1:5432/quotes"))];
  expect(errors.flatMap((error) => hits(crashDump(error)))).toEqual([]);
});

const accepts = (baseUrl: string, more: Record<string, string> = {}): boolean => {
  try {
    loadConfig(settings(baseUrl, more), tempDir());
    return true;
  } catch {
    return false;
  }
};

test.each(["http://127.0.0.1:8090", "http://127.9.9.9", "http://localhost:8090", "http://[::1]:8090/api"])(
  "plain http is allowed to this machine: %s",
  (address) => {
    expect(accepts(address)).toBe(true);
  },
);

test.each([
  "http://api.example",
  "http://10.0.0.7",
  "http://localhost.example",
  "http://127.0.0.1.example",
  "http://0.0.0.0",
])("plain http to another machine is refused, unless it is allowed: %s", async (address) => {
  const error = await errorOf(() => loadConfig(settings(address), tempDir()));

  expect((error as Error).message).toContain(
    `QUOTES_BASE_URL is "${address}": expected https, or QUOTES_ALLOW_HTTP=true to go without encryption`,
  );
  expect(accepts(address, { QUOTES_ALLOW_HTTP: "true" })).toBe(true);
  expect(accepts(address.replace("http:", "https:"))).toBe(true);
});

test.each(["QUOTES_LOGIN_URL", "QUOTES_ALPACA_TRADING_URL"])(
  "plain http to another machine is refused in every address to which calls go: %s",
  async (name) => {
    const to = (address: string, more: Record<string, string> = {}): boolean =>
      accepts("https://api.example", { [name]: address, ...more });
    const error = await errorOf(() =>
      loadConfig(settings("https://api.example", { [name]: "http://api.example" }), tempDir()),
    );

    expect((error as Error).message).toContain(
      `${name} is "http://api.example": expected https, or QUOTES_ALLOW_HTTP=true to go without encryption`,
    );
    expect(to("http://api.example", { QUOTES_ALLOW_HTTP: "true" })).toBe(true);
    expect([to("http://127.0.0.1:8090"), to("https://api.example")]).toEqual([true, true]);
  },
);

test("the setting that allows plain http is true or false, and nothing else", () => {
  expect(accepts("https://api.example", { QUOTES_ALLOW_HTTP: "yes" })).toBe(false);
  expect(accepts("http://api.example", { QUOTES_ALLOW_HTTP: "false" })).toBe(false);
});

test("the logger leaves credentials out at trace level, also when somebody passes the whole configuration", async () => {
  const config = loadConfig(settings("http://127.0.0.1:1"), tempDir());
  let written = "";
  const sink = { isTTY: false, columns: 80, write: (text: string) => void (written += text) };
  const log = await createLogger("trace", sink);

  log.trace({ config, ...config }, "everything");
  log.error(
    {
      err: new Error("no", { cause: new Error("because") }),
      request: { headers: { authorization: PASSWORD } },
    },
    "x",
  );
  log.info(
    { credentials: CANARIES, authorization: PASSWORD, db: { options: { connectionString: databaseUrl } } },
    "y",
  );

  expect(written.trim().split("\n")).toHaveLength(3);
  expect(hits(written)).toEqual([]);
});

test.each([
  ["against a service that quotes what it refuses", ["poll", "--symbols", "AAPL"], {}],
  ["with an option nobody knows", ["poll", "--symbols", "AAPL", "--secret"], {}],
  [
    "with its HTTP client and TLS told to say all they do",
    ["poll", "--symbols", "AAPL"],
    { NODE_DEBUG: "undici,http,net,tls" },
  ],
])("the program in a process of its own says nothing of its secrets %s", async (_how, argv, more) => {
  const { baseUrl } = await stub(ECHO(401));

  const [exitCode, written] = await spawned(argv, settings(baseUrl, more));

  expect(exitCode).toBeGreaterThan(0);
  expect(written).not.toBe("");
  expect(hits(written)).toEqual([]);
});

test("the program verifies certificates even when Node.js is told not to", async () => {
  let asked = 0;
  const server = createHttpsServer(selfSigned(), (_request, response) => {
    asked += 1;
    response.end(QUOTES);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `https://localhost:${(server.address() as AddressInfo).port}`;

  const [exitCode, written] = await spawned(
    ["poll", "--symbols", "AAPL"],
    settings(address, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }),
  );
  server.close().closeAllConnections();

  expect(exitCode).toBe(1);
  expect(written).toContain(
    `SERVICE_UNTRUSTED: ${address}: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)`,
  );
  expect(written).toContain("NODE_EXTRA_CA_CERTS");
  expect(asked).toBe(0);
  expect(hits(written)).toEqual([]);
});

/** Runs the program; gives its exit code and all it wrote. */
async function spawned(argv: readonly string[], env: Record<string, string>): Promise<[number, string]> {
  const child = spawn(process.execPath, [program(), ...argv], {
    cwd: tempDir(),
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let written = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (written += chunk.toString()));
  const [exitCode] = (await once(child, "close")) as [number];
  return [exitCode, written];
}

let built: string | null = null;
function program(): string {
  built ??= compileProgram(tempDir());
  return built;
}

function filesBelow(dir: string): string[] {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile());
}
