import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { widthOf } from "../../src/cli/terminal/width.ts";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { readSegment } from "../../src/journal/reader.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { credentialsOf, writeAccounts } from "../support/accounts.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { startSimulatedService, accountAt } from "../support/simulatedService.ts";
import { closedPort, startStubService } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { capturedEdges, type Outcome, run } from "./edges.ts";

const { url, pool } = await freshDatabase();

/** The clock stands still during a poll; each poll of this file comes a second after the one before. */
const clock: TestClock = createTestClock();

function poll(env: Record<string, string>, ...flags: string[]): Promise<Outcome> {
  clock.advance(1_000);
  return run(["poll", ...flags], env, clock);
}

function settings(
  more: Record<string, string> = {},
): Record<string, string> & { QUOTEKEEPER_DATA_DIR: string } {
  return { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir(), ...more };
}

type Printed = {
  quotes: { instrument: string; source: string; delayed: boolean; last: string | null; observedAt: string }[];
  errors: { code: string; message: string }[];
};

function printed({ stdout }: Outcome): Printed {
  return JSON.parse(stdout) as Printed;
}

/** The answers in it. */
async function journalOf(dataDir: string): Promise<ResponseRecord[]> {
  const dir = join(dataDir, "journal");
  const records: ResponseRecord[] = [];
  for (const { name } of await listSegments(dir))
    for await (const item of readSegment(dir, name))
      if (item.kind === "record" && item.record.kind === "response") records.push(item.record);
  return records;
}

test("a poll of the simulated market prints the quotes as a table, says on stderr that they are made up, stores them, and leaves no job", async () => {
  const jobs = tempDir();
  const env = settings({ QUOTEKEEPER_JOBS_DIR: jobs });

  const { exitCode, stdout, stderr } = await poll(env, "--symbols", "GE,AAPL");

  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^SIMULATED market: these quotes are made up/);
  expect(stdout).toMatch(/^Instrument +Last +Change +Bid +Ask +Volume +At \(New York\)$/m);
  expect(stdout).toMatch(/^AAPL +[\d.]+ .* 17:50:\d\d$/m);
  expect(stdout).toMatch(/^GE +[\d.]+ .* 17:50:\d\d$/m);
  const { rows } = await pool.query<{ symbol: string; kind: string }>(
    `select symbol, kind from quotes
       join instruments on instruments.id = instrument_id join sources on sources.id = source_id order by symbol`,
  );
  expect(rows).toEqual([
    { symbol: "AAPL", kind: "simulated" },
    { symbol: "GE", kind: "simulated" },
  ]);
  expect([readdirSync(jobs), readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "once"))]).toEqual([[], []]);
});

test("a poll with --delayed prints delayed quotes, which say so", async () => {
  const env = settings();

  const json = printed(await poll(env, "--symbols", "AAPL", "--delayed", "--json"));
  const { stdout } = await poll(env, "--symbols", "AAPL", "--delayed");

  expect(json.quotes).toMatchObject([{ instrument: "AAPL", delayed: true }]);
  expect(stdout).toMatch(/^AAPL .* 17:50:\d\d delayed$/m);
});

test("a poll with a symbol nobody knows names it, exit code 1, and stores the others", async () => {
  const outcome = await poll(settings(), "--symbols", "AAPL,NOSUCH", "--json");

  expect(outcome.exitCode).toBe(1);
  expect(printed(outcome)).toMatchObject({
    quotes: [{ instrument: "AAPL" }],
    errors: [{ code: "UNKNOWN_SYMBOL", message: expect.stringMatching(/NOSUCH.*Check the spelling/) }],
  });
  expect(outcome.stderr).not.toContain("UNKNOWN_SYMBOL");
  const plain = await poll(settings(), "--symbols", "AAPL,NOSUCH");
  expect(plain.stderr).toContain("UNKNOWN_SYMBOL: the service does not know NOSUCH.");
});

test("a poll of contracts keeps within 80 columns, and cuts no number", async () => {
  const { edges, stdout } = capturedEdges({ env: settings(), clock });
  edges.stdout.columns = 80;
  clock.advance(1_000);

  await runProgram(["poll", "--option", "AAPL:2026-12-18:CALL:150"], edges);

  expect(Math.max(...stdout().split("\n").map(widthOf))).toBeLessThanOrEqual(80);
  expect(stdout()).toMatch(/^AAPL:2026-12-18:CALL:150 /m);
});

test.each([
  [["--symbols", "aapl,AAPL"], ["AAPL"]],
  [
    ["--symbols", "AAPL,GE", "--symbols", "GE,KO"],
    ["AAPL", "GE", "KO"],
  ],
  [
    ["--option", "aapl:2026-12-18:call:150", "--option", "MSFT:2026-12-18:PUT:400"],
    ["AAPL:2026-12-18:CALL:150", "MSFT:2026-12-18:PUT:400"],
  ],
])("a poll with %j asks for %j: each name once, in capitals", async (flags, names) => {
  const outcome = await poll(settings(), ...flags, "--json");

  const named = printed(outcome).quotes.map(({ instrument }) => instrument);
  expect(outcome).toMatchObject({ exitCode: 0 });
  // The answer to a contract has its underlying too.
  expect(named.filter((name) => flags[0] === "--symbols" || name.includes(":")).sort()).toEqual(names);
});

test("a poll of any other service stores the rows as an account's, and says nothing of a simulated market", async () => {
  const body = readFileSync(new URL("../recorded/equity/response.xml", import.meta.url));
  const symbol = /<sym>([^<]+)<\/sym>/.exec(body.toString())?.[1] ?? "";
  const service = await startStubService({ body });

  const outcome = await poll(settings(accountAt(service.baseUrl)), "--symbols", symbol, "--json");

  expect(outcome).toMatchObject({ exitCode: 0, stderr: "" });
  expect(printed(outcome).quotes).toMatchObject([{ instrument: symbol, source: "account" }]);
});

test("a poll of an account with a wrong secret ends with exit code 1, names the variables, and the answer is in the journal", async () => {
  // The real clock on both sides: a refusal whose Date differs from ours would be taken for a clock that is off.
  const service = await startSimulatedService(systemClock);
  const env = settings({ ...accountAt(service.baseUrl), QUOTES_ACCESS_TOKEN_SECRET: "canary-wrong" });

  const { exitCode, stdout, stderr } = await run(["poll", "--symbols", "AAPL"], env, systemClock);

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(
    /^SERVICE_UNAUTHORIZED: .*401.*QUOTES_ACCESS_TOKEN_SECRET and the machine's clock\. .*accounts\.yaml/,
  );
  expect(stderr).not.toContain("canary");
  expect(await journalOf(env.QUOTEKEEPER_DATA_DIR)).toMatchObject([{ status: 401 }]);
});

test("a poll whose row the database refuses is no success: the name of the instrument, exit code 1", async () => {
  const body = answerXml(equityXml("GOOD"), equityXml("BAD", { quote: { lastprice: "666" } }));
  const service = await startStubService({ body });
  await pool.query("alter table quotes add constraint poison check (last <> 666)");

  const outcome = await poll(settings(accountAt(service.baseUrl)), "--symbols", "GOOD,BAD", "--json");

  expect(outcome.exitCode).toBe(1);
  expect(printed(outcome).quotes).toMatchObject([{ instrument: "GOOD" }]);
  expect(printed(outcome).errors).toMatchObject([
    { code: "NO_QUOTE", message: expect.stringMatching(/the database refused the quote of BAD/) },
  ]);
});

test("a poll of a quote with a field that cannot be read stores the quote and names the field, exit code 0", async () => {
  const body = answerXml(equityXml("GOOD", { quote: { lastprice: "5", bidprice: "--" } }));
  const service = await startStubService({ body });

  const outcome = await poll(settings(accountAt(service.baseUrl)), "--symbols", "GOOD", "--json");

  expect(printed(outcome).quotes).toMatchObject([{ instrument: "GOOD", last: "5" }]);
  expect(outcome.stderr).toMatch(/GOOD is stored without one field: quote\/bidprice: "--"/);
  expect(outcome.exitCode).toBe(0);
});

test("a poll that is answered under another name, or as another call is, says which names they are", async () => {
  const renamed = await startStubService({ body: answerXml(equityXml("BRK.B")) });
  const other = await startStubService({
    body: "<response><quotes><quote><ask>1.5</ask></quote></quotes></response>",
  });

  const pair = await poll(settings(accountAt(renamed.baseUrl)), "--symbols", "brk-b");
  const call = await poll(settings(accountAt(other.baseUrl)), "--symbols", "A");

  expect(pair.stderr).toContain(
    "the answer holds nothing for BRK-B, but BRK.B, which is likely the same: ask for that name",
  );
  expect(pair.stderr).toContain("it asked for BRK-B, which is likely the same");
  expect(call.stderr).toContain("its quotes hold no <instrumentquote>, but <quote>: it answers another call");
  expect([pair.exitCode, call.exitCode]).toEqual([1, 1]);
});

test("a poll of a watchlist prints the quotes of its symbols; one that holds nothing recognised is no success, exit code 1", async () => {
  const service = await startStubService({ body: answerXml() });

  const whole = await poll(settings(), "--watchlist", "DEFAULT", "--json");
  const { exitCode, stderr } = await poll(settings(accountAt(service.baseUrl)), "--watchlist", "MINE");

  expect(whole.exitCode).toBe(0);
  expect(printed(whole).quotes.length).toBeGreaterThan(1);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^NO_QUOTE: the answer holds nothing for watchlist MINE/);
});

test("a poll that is refused for the limit is not tried again, and the next poll waits until the service is expected to answer", async () => {
  const headers = { "Retry-After": "40" };
  const service = await startStubService({ status: 429, headers, body: "" });
  const env = settings(accountAt(service.baseUrl));

  const pollOnBoot = async (): Promise<Outcome> => {
    const { edges, stdout, stderr } = capturedEdges({ env, clock, bootId: "boot" });
    const exitCode = await runProgram(["poll", "--symbols", "AAPL"], edges);
    return { exitCode, stdout: stdout(), stderr: stderr() };
  };

  clock.advance(1_000);
  const refused = await pollOnBoot();
  const asked = clock.slept.length;
  const next = await pollOnBoot();

  expect([refused, next].map(({ exitCode }) => exitCode)).toEqual([1, 1]);
  expect(refused.stderr).not.toContain("waiting");
  expect(next.stderr).toMatch(/^The calls of this minute are used up; waiting \d+ s\.$/m);
  expect(clock.slept.slice(asked).reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(30_000);
  expect(await journalOf(env.QUOTEKEEPER_DATA_DIR)).toHaveLength(2);
});

test("a poll of several calls says of each that it has to wait for the limit", async () => {
  const contracts = ["150", "160", "170"].flatMap((strike) => ["--option", `AAPL:2026-12-18:CALL:${strike}`]);

  const { stderr } = await poll(settings({ QUOTES_LIMIT: "1" }), ...contracts);

  expect(stderr.match(/^The calls of this minute are used up; waiting \d+ s\.$/gm)).toHaveLength(2);
});

test("while the database is down the quotes are printed from the journal, and the next poll stores them", async () => {
  const { url: own, pool: ownPool } = await freshDatabase();
  const env = settings({ DATABASE_URL: own });
  const away = `postgresql://me:canary-password@127.0.0.1:${await closedPort()}/quotes`;

  const failed = await poll({ ...env, DATABASE_URL: away }, "--symbols", "AAPL");
  const kept = await journalOf(env.QUOTEKEEPER_DATA_DIR);
  const next = await poll(env, "--symbols", "MSFT");

  expect(failed.exitCode).toBe(1);
  expect(failed.stdout).toMatch(/^AAPL +[\d.]+ /m);
  expect(failed.stderr).toMatch(/DATABASE_UNREACHABLE: .*DATABASE_URL\. Answers stay in the journal/);
  expect(failed.stderr).not.toContain("canary");
  expect(kept).toMatchObject([{ kind: "response", status: 200 }]);
  expect(next.exitCode).toBe(0);
  expect(next.stdout).not.toContain("AAPL");
  const { rows } = await ownPool.query<{ symbol: string }>(
    "select symbol from quotes join instruments on instruments.id = instrument_id order by observed_at",
  );
  expect(rows.map(({ symbol }) => symbol)).toEqual(["AAPL", "MSFT"]);
});

test("a data directory that cannot be made is named, with the variable to correct, exit code 1", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");

  const { exitCode, stdout, stderr } = await poll(
    settings({ QUOTEKEEPER_DATA_DIR: join(file, "data") }),
    "--symbols",
    "AAPL",
  );

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(/^DATA_DIR_UNWRITABLE: .*file\/data.*set QUOTEKEEPER_DATA_DIR/);
  expect(existsSync(join(file, "data"))).toBe(false);
});

const NAMES = ["main", "second"];
const askedBy = async (dataDir: string): Promise<(string | undefined)[]> =>
  (await journalOf(dataDir)).map(({ account }) => account);

async function accounts(): Promise<ReturnType<typeof settings>> {
  const { baseUrl } = await startSimulatedService(clock, { keys: NAMES.map(credentialsOf) });
  return settings(writeAccounts(tempDir(), baseUrl, NAMES));
}

test("of several accounts the first that is not drained polls, or the one that is named, drained or not", async () => {
  const env = await accounts();

  const first = await poll(env, "--symbols", "AAPL", "--json");
  const drained = await run(["accounts", "drain", "main"], env, clock);
  const second = await poll(env, "--symbols", "AAPL");
  const named = await poll(env, "--symbols", "AAPL", "--account", "main");

  expect([first, drained, second, named].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
  expect(await askedBy(env.QUOTEKEEPER_DATA_DIR)).toEqual(["main", "second", "main"]);
  const { rows } = await pool.query<{ name: string }>(
    "select name from responses join accounts on accounts.id = account_id where observed_at = $1",
    [printed(first).quotes[0]?.observedAt],
  );
  expect(rows).toEqual([{ name: "main" }]);
  await run(["accounts", "resume", "main"], env, clock);
});

test("poll names an account that is not there, and says when all are drained; nothing is sent", async () => {
  const env = await accounts();
  for (const name of NAMES) await run(["accounts", "drain", name], env, clock);

  const unknown = await poll(env, "--symbols", "AAPL", "--account", "third");
  const none = await poll(env, "--symbols", "AAPL");

  expect(unknown).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/ACCOUNT_UNKNOWN: third is no account of main, second/),
  });
  expect(none).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/ACCOUNTS_DRAINED: all accounts are drained: main, second\..*--account/),
  });
  expect(existsSync(join(env.QUOTEKEEPER_DATA_DIR, "journal"))).toBe(false);
  for (const name of NAMES) await run(["accounts", "resume", name], env, clock);
});
