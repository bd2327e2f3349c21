import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { keepAccounts } from "../../src/archive/ledger/accountRows.ts";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { runProgram } from "../../src/cli/program.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import type { LedgerSource, MissReason } from "../../src/journal/ledger.ts";
import { SERVICE_LIMITS } from "../../src/serve/limits.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { writeAccounts } from "../support/accounts.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, type TestDatabase } from "../support/database.ts";
import { answerRecord, appendAll, symbolsCall } from "../support/journal.ts";
import { startSimulatedService, accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";

const interrupts: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const interrupt of interrupts) await interrupt();
});

/** Friday 2026-11-20, 10:00:00 in New York. */
const NOW = "2026-11-20T15:00:00Z";

/** A directory with one job, which is due each second or each minute, and what the program is told of it. */
function settings({ url }: TestDatabase, baseUrl: string, schedule = "* * * * *") {
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  const job = `name: us\nschedule: "${schedule}"\nsession: always\nsymbols: [AAPL]\n`;
  writeFileSync(join(dir, "jobs", "us.yaml"), job);
  return {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
    QUOTEKEEPER_HTTP_PORT: "0",
    ...accountAt(baseUrl),
  };
}

/** Settled slots of the job `us`, each with as many instruments as its misses say. */
async function settle(
  pool: pg.Pool,
  source: LedgerSource,
  slots: readonly { at: string; stored: number; missed: number; reason: MissReason }[],
): Promise<void> {
  const client = await pool.connect();
  const names = (count: number, from: string): string[] =>
    Array.from({ length: count }, (_, n) => `${from}${n}`);
  await insertLedger(client, [
    {
      ...{ type: "slots", source },
      entries: slots.map(({ at, stored, missed, reason }) => ({
        ...{ job: "us", slotAt: instantFromDate(new Date(at)) },
        due: [...names(stored, "S"), ...names(missed, "M")],
        misses: names(missed, "M").map((name) => [name, reason]),
      })),
    },
  ]);
  client.release();
}

type Report = {
  healthy: boolean;
  market: string;
  lastDay: object;
  budget: object;
  lines: { text: string }[];
};

test("a service of our own at the account's address hides no miss and no call, and the line of the market says what it is", async () => {
  const database = await freshDatabase();
  const clock = createTestClock(NOW);
  const service = await startSimulatedService(clock);
  const env = settings(database, service.baseUrl);
  await run(["poll", "--symbols", "AAPL"], env, clock);
  clock.advance(1_000);
  await run(["poll", "--symbols", "MSFT"], env, clock);
  await settle(database.pool, "simulated", [
    { at: "2026-11-20T14:58:00Z", stored: 6, missed: 47, reason: "budget" },
    { at: "2026-11-20T14:59:00Z", stored: 6, missed: 47, reason: "budget" },
  ]);

  const text = await run(["status"], env, clock);
  const report = JSON.parse((await run(["status", "--json"], env, clock)).stdout) as Report;

  // The ledger's own rows, counted another way; what the service counts is its own log of arrivals.
  const { rows } = await database.pool.query<{ n: string }>(
    "select count(*) as n from misses where reason = 'budget'",
  );
  expect(rows[0]?.n).toBe("94");
  expect(text.exitCode).toBe(1);
  expect(text.stdout).toMatch(
    /^slots +ATTENTION +106 due in the last day, missed: 94 budget \(going on, last at 2026-11-20 09:59:00 New York\)$/m,
  );
  expect(text.stdout).toMatch(/^budget +ok +2 of 60 calls in the last minute; the service counts 2$/m);
  expect(text.stdout).toContain(
    `${service.baseUrl}; the newest answers call themselves those of a SIMULATED market\n`,
  );
  expect(text.stdout).toMatch(/^answers +ok +.* 2 answers with quotes$/m);
  expect(report).toMatchObject({
    ...{ healthy: false, market: "simulated", budget: { calls: 2 } },
    lastDay: {
      ...{ due: 106, missed: { budget: 94 }, goesOn: ["budget"] },
      lastMissedAt: { budget: "2026-11-20T14:59:00.000Z" },
    },
  });
});

test("an account's own slots count again as soon as they are the newest, and a trial's misses no longer", async () => {
  const database = await freshDatabase();
  const clock = createTestClock(NOW);
  const env = settings(database, "http://127.0.0.1:1");
  await settle(database.pool, "simulated", [
    { at: "2026-11-20T14:57:00Z", stored: 0, missed: 3, reason: "malformed" },
  ]);
  await settle(database.pool, "account", [
    { at: "2026-11-20T14:59:00Z", stored: 2, missed: 1, reason: "transport" },
  ]);

  const { exitCode, stdout } = await run(["status"], env, clock);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^market +ok +http:\/\/127\.0\.0\.1:1$/m);
  expect(stdout).toMatch(/^slots +ok +3 due in the last day, missed: 1 transport$/m);
});

test("a poll by hand of the simulated market hides no miss of the account's ledger", async () => {
  const database = await freshDatabase();
  const clock = createTestClock(NOW);
  const env = settings(database, "http://127.0.0.1:1");
  await settle(database.pool, "account", [
    { at: "2026-11-20T14:59:00Z", stored: 2, missed: 5, reason: "unauthorized" },
  ]);
  const { DATABASE_URL, QUOTEKEEPER_DATA_DIR } = env;
  await run(["poll", "--symbols", "AAPL"], { DATABASE_URL, QUOTEKEEPER_DATA_DIR }, clock);

  const { exitCode, stdout } = await run(["status"], env, clock);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^slots +ATTENTION +7 due in the last day, missed: 5 unauthorized \(going on, /m);
});

test("accounts of a service are polled in market hours and judged as late, also while accounts.yaml is wrong", async () => {
  const database = await freshDatabase();
  const clock = createTestClock("2026-11-22T15:00:00Z");
  const dir = tempDir();
  const accounts = writeAccounts(dir, "https://api.broker.example", ["main", "second"]);
  writeFileSync(join(dir, "us.yaml"), 'name: us\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  const env = { ...accounts, DATABASE_URL: database.url, QUOTEKEEPER_DATA_DIR: join(dir, "data") };
  await settle(database.pool, "account", [
    { at: "2026-11-20T14:59:00Z", stored: 1, missed: 0, reason: "budget" },
  ]);
  await keepAccounts(database.pool, [
    { name: "main", callLimit: 60, windowMs: 60_000, state: "active" },
    { name: "second", callLimit: 30, windowMs: 60_000, state: "active" },
  ]);

  const right = await run(["status"], env, clock);
  writeFileSync(join(dir, "accounts.yaml"), "accounts: [");
  const wrong = await run(["status"], env, clock);

  expect(right.stdout).toMatch(/^market +ok +https:\/\/api\.broker\.example$/m);
  expect(right.stdout).toMatch(/^budget +- +0 of 120 calls/m);
  expect(wrong.stdout).toMatch(/^market +ok +not known, because the accounts cannot be read$/m);
  expect(wrong.stdout).toMatch(/^jobs +ATTENTION /m);
  expect(wrong.stdout).toMatch(/^accounts +ok +main 0 of 60, second 0 of 30 calls$/m);
  for (const { stdout } of [right, wrong]) {
    expect(stdout).toMatch(/^next poll +- .*due: us in .*2026-11-23 09:30:00 New York(?:, by|$)/m);
    expect(stdout).toMatch(/^slots +ATTENTION +us is late since 2026-11-20 10:0/m);
  }
  expect(wrong.stdout).toContain("New York, by the job files that are right\n");
});

test("an account that is refused says nothing of a market, so the others are not taken for those of another one", async () => {
  const database = await freshDatabase();
  const clock = createTestClock(NOW);
  const dir = tempDir();
  const accounts = writeAccounts(dir, "https://api.broker.example", ["main", "second"]);
  const env = { ...accounts, DATABASE_URL: database.url, QUOTEKEEPER_DATA_DIR: join(dir, "data") };
  await keepAccounts(database.pool, [
    { name: "main", callLimit: 60, windowMs: 60_000, state: "active" },
    { name: "second", callLimit: 60, windowMs: 60_000, state: "refused" },
  ]);
  await database.pool.query(
    `with s as (insert into sources (id, name, kind) values (8, 'a', 'account'), (9, 's', 'simulated') returning id, kind)
     insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
       journal_segment, journal_offset, account_id)
     select at, s.id, gen_random_uuid(), at, '{}', 200, outcome, 0, 's', 0, (select id from accounts where name = account)
     from (values ('main', 'simulated', 'quotes'), ('second', 'account', 'unauthorized')) v (account, kind, outcome)
     join s using (kind), (select timestamptz '2026-11-20T14:59:50Z' as at) w`,
  );

  const { stdout } = await run(["status"], env, clock);

  expect(stdout).toMatch(
    /^accounts +ATTENTION +main 1 of 60, second 1 of 60 \(REFUSED by the service: check its credentials\) calls$/m,
  );
});

test("what was imported is no call and no answer, neither in status nor on the page", async () => {
  const database = await freshDatabase();
  const clock = createTestClock(NOW);
  const service = await startSimulatedService(clock);
  const env = settings(database, service.baseUrl);
  const imported = Array.from({ length: 80 }, (_, n) =>
    answerRecord(instantFromDate(new Date(Date.parse(NOW) - 1_000 + n)), "<response></response>", {
      ...{ source: { kind: "import", name: "files" }, request: symbolsCall("AAPL") },
    }),
  );
  await appendAll(join(env.QUOTEKEEPER_DATA_DIR, "journal"), imported, { clock });
  clock.advance(1_000);
  await run(["poll", "--symbols", "AAPL"], env, clock);

  const { stdout } = await run(["status"], env, clock);
  const page = await pageOf(env, "web", createTestClock("2026-11-20T15:00:02Z"));
  const now = await page.now();

  const { rows } = await database.pool.query<{ kind: string; n: number }>(
    "select kind, count(*)::int as n from responses join sources on sources.id = source_id group by 1 order by 1",
  );
  expect(rows).toEqual([
    { kind: "import", n: 80 },
    { kind: "simulated", n: 1 },
  ]);
  expect(stdout).toMatch(/^budget +ok +1 of 60 calls/m);
  expect(stdout).toMatch(/^answers +ok +last under a minute ago; in the last hour 1 answer with quotes$/m);
  expect(now.status?.budget?.calls).toBe(1);
});

test("a limit in force that is lower than the one set is told by status, on the page and in the metrics", async () => {
  const database = await freshDatabase();
  const service = await startSimulatedService(systemClock, { limits: { ...SERVICE_LIMITS, quotes: 40 } });
  const env = settings(database, service.baseUrl, "* * * * * *");
  const page = await pageOf(env, "start", systemClock);

  const metrics = await until(async () => {
    const text = await (await fetch(`${page.address}/metrics`)).text();
    return /^quotekeeper_calls_total\{account="default",outcome="quotes"\} [1-9]/m.test(text) && text;
  }, "the first answer in the metrics");
  expect(metrics).toMatch(/^quotekeeper_calls_limit\{account="default"\} 40$/m);
  const now = await until(async () => {
    const view = await page.now();
    return view.status?.budget?.serviceLimit === 40 && view;
  }, "the service's limit on the page");

  expect(now.live).toMatchObject({ limit: 40, limitSet: 60 });
  expect(now.status?.lines).toContainEqual({
    ...{ subject: "budget", state: "ok" },
    text: expect.stringMatching(/^\d+ of 60 calls in the last minute; the service allows 40 and counts \d+$/),
  });
});

/** The dashboard of a command in this process, ended with the file. */
async function pageOf(env: Record<string, string>, command: "start" | "web", clock: typeof systemClock) {
  const { edges, said, interrupt, stderr } = capturedEdges({ clock, env });
  const ended = runProgram([command], edges);
  interrupts.push(async () => {
    interrupt();
    return ended;
  });
  const failed = ended.then((code) => Promise.reject(new Error(`it ended with ${code}: ${stderr()}`)));
  failed.catch(() => undefined);
  const [, address = ""] = await Promise.race([said(/^Dashboard {2}(\S+)/m), failed]);
  const ask = async () => (await (await fetch(`${address}/api/now`)).json()) as NowView;
  const now = () =>
    until(async () => {
      const view = await ask();
      return view.status !== null && view;
    }, "what the archive says");
  return { address, now };
}
