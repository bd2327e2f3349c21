/** What the dashboard and the metrics tell of a collector that calls two accounts, of which the service refuses one. */
import { afterAll, expect, test } from "@jest/globals";
import type { Account } from "../../src/accounts/account.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { type Collection, startCollection } from "../../src/collector/collection.ts";
import { openWeb } from "../../src/collector/page/openWeb.ts";
import type { Live, NowView } from "../../src/web/api/types.ts";
import { createMeter } from "../../src/web/monitoring/meter.ts";
import { jobOf } from "../collect/jobOf.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { silentLog } from "../support/silentLog.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A service of an account's own, which writes down the status of each answer. */
async function startService(): Promise<{ baseUrl: string; answered: number[] }> {
  const answered: number[] = [];
  const info = (fields: object): void => void answered.push((fields as { status: number }).status);
  const { baseUrl } = await startSimulatedService(systemClock, { logger: { ...silentLog, info } });
  return { baseUrl, answered };
}

/** Values of a metrics text, by name and labels as they stand there. */
function valuesOf(text: string): Map<string, number> {
  return new Map(
    text.split("\n").flatMap((line): [string, number][] => {
      const [, series = "", value = ""] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      return series === "" ? [] : [[series, Number(value)]];
    }),
  );
}

const account = (name: string, { baseUrl }: { baseUrl: string }, secret?: string): Account => ({
  name,
  limit: 60,
  limitGiven: false,
  limitWindowMs: 60_000,
  service: REFERENCE,
  feed: {
    kind: "account",
    baseUrl,
    credentials: { ...TEST_CREDENTIALS, ...(secret !== undefined && { accessTokenSecret: secret }) },
  },
});

/** A collector of two accounts, each with a job of its own, and its dashboard. */
async function collecting(accounts: readonly [Account, Account]) {
  const { url, pool } = await freshDatabase();
  const config = loadConfig(
    {
      DATABASE_URL: url,
      QUOTEKEEPER_DATA_DIR: tempDir(),
      // Without a job file: what is given here stays in force.
      QUOTEKEEPER_JOBS_DIR: tempDir(),
      QUOTEKEEPER_HTTP_PORT: "0",
    },
    tempDir(),
  );
  const jobs = accounts.map(({ name }, place) =>
    jobOf({ name: `of-${name}`, symbols: [["AAPL", "MSFT"][place] ?? ""], account: name }),
  );
  const archive = await openArchive(config, systemClock);
  closers.push(archive.close);
  const reader = archive.openReader();
  closers.push(() => reader.end());
  let collection: Collection | null = null;
  const edges = { config, archive, clock: systemClock, meter: createMeter() };
  const web = await openWeb({ ...edges, reader, collection: () => collection }, silentLog);
  closers.push(web.close);
  collection = await startCollection({
    ...edges,
    bootId: null,
    log: silentLog as never,
    calm: { ...silentLog, flush: () => undefined },
    onChange: () => undefined,
    jobs: { jobs, calendar: [], accounts, others: [] },
  });
  const { close } = collection;
  closers.push(close);
  const ask = async (path: string): Promise<string> => (await fetch(web.address + path)).text();
  /** What is so at the first moment at which this holds and nothing is under way. */
  const live = (holds: (live: Live) => boolean): Promise<Live> =>
    until(async () => {
      const now = (JSON.parse(await ask("/api/now")) as NowView).live;
      return now?.queued === 0 && holds(now) && now;
    }, "what the accounts come to");
  const status = () =>
    until(async () => (JSON.parse(await ask("/api/now")) as NowView).status, "what `status` finds");
  return { pool, live, status, close, metrics: async () => valuesOf(await ask("/metrics")) };
}

const isRefused = ({ state }: Live["accounts"][number]): boolean => state === "refused";

test("one account's refusal is told as its own, each call is counted as its account's, and the sum is the service's", async () => {
  const [main, second] = [await startService(), await startService()];
  const { pool, live, close, metrics } = await collecting([
    account("main", main),
    account("second", second, "another"),
  ]);

  const view = await live(({ accounts, quotesStored }) => accounts.some(isRefused) && quotesStored > 0);
  const early = await metrics();

  expect(view.accounts).toMatchObject([
    { name: "main", state: "active", phase: "open", problem: null },
    { name: "second", state: "refused", problem: { code: "SERVICE_UNAUTHORIZED", person: true } },
  ]);
  expect(view.problems).toMatchObject([{ code: "SERVICE_UNAUTHORIZED", accounts: ["second"] }]);
  expect(view).toMatchObject({ limit: 120, limitSet: 120, phase: "open" });
  expect(view.callsUsed).toBe(view.accounts.reduce((sum, { callsUsed }) => sum + callsUsed, 0));
  for (const [name, refused] of [
    ["main", 0],
    ["second", 1],
  ] as const) {
    expect(early.get(`quotekeeper_account_refused{account="${name}"}`)).toBe(refused);
    expect(early.get(`quotekeeper_account_drained{account="${name}"}`)).toBe(0);
    expect(early.get(`quotekeeper_budget_closed{account="${name}"}`)).toBe(0);
    expect(early.get(`quotekeeper_calls_limit{account="${name}"}`)).toBe(60);
    expect(early.get(`quotekeeper_misses_total{account="${name}",reason="budget"}`)).toBe(0);
  }
  expect([...early.keys()].filter((series) => /quotekeeper_calls_\w+(?:\{outcome|$)/.test(series))).toEqual(
    [],
  );

  await close();
  const values = await metrics();
  const calls = (account: string, outcome: string): number =>
    values.get(`quotekeeper_calls_total{account="${account}",outcome="${outcome}"}`) ?? NaN;
  const stored = await rowsOfQuery(
    pool,
    "select name, outcome, count(*)::int as n from responses join accounts a on a.id = account_id group by 1, 2 order by 1",
  );
  expect(stored).toEqual([
    { name: "main", outcome: "quotes", n: calls("main", "quotes") },
    { name: "second", outcome: "unauthorized", n: calls("second", "unauthorized") },
  ]);
  expect(main.answered).toEqual(Array(calls("main", "quotes")).fill(200));
  expect(second.answered).toEqual(Array(calls("second", "unauthorized")).fill(401));
  expect(values.get('quotekeeper_slot_lateness_seconds_count{account="main"}')).toBe(main.answered.length);
  expect(values.get('quotekeeper_slot_lateness_seconds_count{account="second"}')).toBe(
    second.answered.length,
  );
  expect(values.has('quotekeeper_last_quotes_timestamp_seconds{account="main"}')).toBe(true);
  expect(values.has('quotekeeper_last_quotes_timestamp_seconds{account="second"}')).toBe(false);
  const missed = await rowsOfQuery(
    pool,
    "select a.name, sum(missed)::int as n from slots join accounts a on a.id = account_id group by 1 order by 1",
  );
  expect(missed).toEqual(
    ["main", "second"].map((name) => ({
      name,
      n: [...values]
        .filter(([series]) => series.startsWith(`quotekeeper_misses_total{account="${name}"`))
        .reduce((sum, [, value]) => sum + value, 0),
    })),
  );
});

test("what several accounts have wrong in the same words is told once, of all of them", async () => {
  const service = await startService();
  const { live } = await collecting([
    account("main", service, "wrong"),
    account("second", service, "wrong as well"),
  ]);

  const view = await live(({ accounts }) => accounts.every(isRefused));

  expect(view.problems).toMatchObject([{ code: "SERVICE_UNAUTHORIZED", accounts: ["main", "second"] }]);
});

test("of several collectors the page knows who calls each account, and who is gone", async () => {
  const service = await startService();
  const { pool, status, close } = await collecting([account("main", service), account("second", service)]);
  await close();
  const holder = await joinFleet(pool, { number: 1 });
  await joinFleet(pool, { number: 2, name: "<b>quotes-2</b>", seen: "3 min" });
  await pool.query("insert into accounts (id, name) values (101, 'held'), (102, 'free')");
  await pool.query(
    `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
     select id, 1, $1, 'r', 0, now(), now(), now() + interval '1 day', id = 102 from accounts where id > 100`,
    [holder],
  );

  const found = await status();

  expect(found.fleet).toEqual({
    owners: [
      { account: "free", owner: null },
      { account: "held", owner: "quotes-1" },
    ],
    gone: [{ name: "<b>quotes-2</b>", seenAgoMs: expect.any(Number) }],
  });
  expect(found.unsureSince).toBeNull();
  expect(found.lines).toContainEqual(expect.objectContaining({ subject: "collectors", state: "attention" }));
});
