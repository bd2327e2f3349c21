/** The real commands against a fake of Tradier over HTTP. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { type FakeTradierOptions, TOKENS } from "../fakes/tradier/fake.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type Given, openFakeTradier } from "../support/livingFakes.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";
import { surroundings } from "./oneJob.ts";

// Whole commands run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const IN_SESSION = "2026-11-20T20:00:03.000Z";

async function world(job: string, given: Given<FakeTradierOptions> & { clock: TestClock }) {
  const { fake, settings } = await openFakeTradier(given);
  const { pool, settings: own } = await surroundings(job);
  return { fake, pool, env: { ...own, ...settings }, clock: given.clock };
}

const JOB = `name: us
schedule: "* * * * *"
session: always
symbols: [AAPL, IBM]
options:
${[240, 250, 260].map((strike) => `  - { underlying: AAPL, expiration: 2026-12-18, type: PUT, strike: ${strike} }`).join("\n")}
`;

test("jobs with stocks and contracts are planned as one call, and what Tradier does not have is refused in its name", async () => {
  const { env, clock } = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const wrong = join(env.QUOTEKEEPER_JOBS_DIR, "wrong.yaml");

  const checked = await run(["jobs", "check"], env, clock);
  const planned = JSON.parse((await run(["plan", "--json"], env, clock)).stdout) as { callsPerPass: number };
  writeFileSync(
    wrong,
    'name: wrong\nschedule: "* * * * *"\nsession: always\nwatchlist: DEFAULT\ndelayed: true\n',
  );
  const refused = await run(["jobs", "check"], env, clock);

  expect(checked).toMatchObject({ exitCode: 0 });
  expect(planned.callsPerPass).toBe(1);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stdout + refused.stderr).toContain("watchlist: Tradier has no watchlists, name the symbols");
  expect(refused.stdout + refused.stderr).toContain("Tradier has no delayed quotes at this address");
});

test("status and the start say of Tradier that it is experimental, and of the simulated market nothing like it", async () => {
  const { env, clock } = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const note = "Tradier is experimental: it was tried against recorded answers and a fake only";
  const begun = capturedEdges({ env: { ...env, QUOTEKEEPER_HTTP_PORT: "0" }, clock });
  const ended = runProgram(["start"], begun.edges);

  await begun.said(/Ctrl-C ends it/);
  begun.interrupt();
  await ended;
  const status = await run(["status"], env, clock);
  const {
    QUOTES_SERVICE: _service,
    QUOTES_BASE_URL: _address,
    QUOTES_ACCESS_TOKEN: _token,
    ...simulated
  } = env;
  const other = await run(["status"], simulated, clock);

  expect(begun.stdout()).toContain(`${note}. \`npx --no-install quotekeeper doctor\` says what holds.`);
  expect(status.stdout).toMatch(new RegExp(`^market .*; ${note}`));
  expect(other.stdout).toMatch(/^market +ok +SIMULATED market\n/);
});

test("a poll stores a stock and a contract of one call, and the token stands in nothing that is printed", async () => {
  const { env, clock, pool, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const polled = await run(["poll", "--symbols", "AAPL,AAPL261218P00250000", "--json"], env, clock);

  const { quotes } = JSON.parse(polled.stdout) as { quotes: { instrument: string; source: string }[] };
  expect(polled.exitCode).toBe(0);
  expect(quotes.map(({ instrument, source }) => [instrument, source])).toEqual([
    ["AAPL", "account"],
    ["AAPL:2026-12-18:PUT:250", "account"],
  ]);
  expect(fake.calls).toHaveLength(1);
  expect(await rowsOfQuery(pool, "select name, kind from sources where id >= 100")).toEqual([
    { name: "tradier", kind: "account" },
  ]);
  expect(polled.stdout + polled.stderr).not.toContain(TOKENS.token);
});

test("a poll or sweep of what Tradier does not have is refused before a call", async () => {
  const { env, clock, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const [watchlist, delayed, swept] = [
    await run(["poll", "--watchlist", "DEFAULT"], env, clock),
    await run(["poll", "--symbols", "AAPL", "--delayed"], env, clock),
    await run(["backfill", "--chain", "AAPL:dates=listed", "--delayed"], env, clock),
  ];

  expect([watchlist.exitCode, delayed.exitCode, swept.exitCode]).toEqual([2, 2, 2]);
  expect(watchlist.stderr).toContain("Tradier has no quotes of the form watchlist: name the symbols");
  expect(delayed.stderr).toContain("--delayed: Tradier has no delayed quotes at this address");
  expect(swept.stderr).toContain("--delayed: Tradier has no delayed quotes at this address");
  expect(fake.calls).toEqual([]);
});

test("a sweep asks for stocks and contracts in one call", async () => {
  const { env, clock, pool, fake } = await world(JOB, {
    clock: createTestClock(IN_SESSION),
    mostStrikes: 90,
  });
  const file = join(env.QUOTEKEEPER_JOBS_DIR, "..", "symbols.txt");
  writeFileSync(file, "AAPL, IBM\nAAPL:2026-12-18:PUT:250\nAAPL:2026-12-18:CALL:250\n");

  const swept = await run(["backfill", "--symbols-file", file], env, clock);

  expect(swept).toMatchObject({ exitCode: 0 });
  expect(fake.calls).toHaveLength(1);
  expect(await rowsOfQuery(pool, "select count(*)::int as quotes from quotes")).toEqual([{ quotes: 4 }]);
});

const WHOLE_JOB = `name: us
schedule: "* * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: listed, strikes: all }
`;

test("collect asks for the listed expirations once and for each of them by one call a slot, as the fake's log and the tables count it", async () => {
  const { env, pool, fake } = await world(WHOLE_JOB, {
    clock: systemClock as TestClock,
    calendar: alwaysOpen,
    mostStrikes: 6,
    trading: () => "usual",
    limit: { says: 6_000, holds: 6_000 },
  });
  const settings = { ...env, QUOTES_LIMIT: "6000" };
  const collectSlots = async (count: number): Promise<string> => {
    const { edges, interrupt, stderr } = capturedEdges({ env: settings });
    const collecting = runProgram(["collect"], edges);
    // Not all of a slot: on a slow machine no second is long enough for that.
    const chains = "select from slots where stored > 5";
    const before = (await rowsOfQuery(pool, chains).catch(() => [])).length;
    await until(
      async () => (await rowsOfQuery(pool, chains).catch(() => [])).length >= before + count,
      "slots with whole chains",
    );
    interrupt();
    expect(await collecting).toBe(0);
    return stderr();
  };

  const said = (await collectSlots(2)) + (await collectSlots(1));

  const lists = fake.calls.filter(({ path }) => path.endsWith("/expirations"));
  const chains = fake.calls.filter(({ path, status }) => path.endsWith("/chains") && status === 200);
  const dates = new Set(chains.map(({ expiration }) => expiration));
  // Another day of New York may have begun meanwhile.
  expect(lists.length).toBeLessThanOrEqual(2);
  expect(dates.size).toBeGreaterThan(5);
  expect(said).not.toContain(TOKENS.token);
  const [counted] = await rowsOfQuery(
    pool,
    `with answers as (select * from responses where request ->> 'form' = 'chain' and outcome = 'quotes')
     select (select count(*)::int from answers) as answers,
            (select count(distinct request ->> 'expiration')::int from answers) as dates,
            (select count(*)::int from answers a where not exists (select from quotes where observed_at = a.observed_at)) as empty,
            (select count(*)::int from answers a join quotes q using (observed_at) join instruments i on i.id = q.instrument_id
             where i.expiration::text <> a.request ->> 'expiration') as of_another_date,
            (select bool_and(due = stored + missed) from slots) as adds_up,
            (select bool_and(name in ('AAPL', 'chain of AAPL as listed') or name like 'chain AAPL:20%') from
             (select unnest(instruments) as name from due_sets) d) as named,
            (select count(*)::int from dead_letters) as dead,
            (select count(*)::int from extended_quotes e join instruments i on i.id = e.instrument_id
             where i.option_type is not null and (open_interest is null or e.observed_at is null)) as bare`,
  );
  expect(counted).toEqual({
    answers: chains.length,
    dates: dates.size,
    ...{ empty: 0, of_another_date: 0, adds_up: true, named: true, dead: 0, bare: 0 },
  });
});

test("a plan counts whole expirations as calls: of named dates at once, of listed ones when contracts are stored", async () => {
  const { env, clock } = await world(WHOLE_JOB.replace("* * * * * *", "*/5 * * * *"), {
    clock: createTestClock(IN_SESSION),
  });
  const dates = join(env.QUOTEKEEPER_JOBS_DIR, "dates.yaml");
  writeFileSync(
    dates,
    `name: dates\nschedule: "*/5 * * * *"\nsession: always\nchains:\n  - { underlying: IBM, expirations: { next: 18, kind: weekly }, strikes: all }\n`,
  );
  const planned = async () =>
    JSON.parse((await run(["plan", "--json"], env, clock)).stdout) as {
      callsPerPass: number;
      unlisted: string[];
      batches: string[];
    };

  const before = await planned();
  await run(["poll", "--symbols", "AAPL261218P00250000,AAPL270115C00250000"], env, clock);
  const after = await planned();

  // 18 of IBM, AAPL, and the list of AAPL, in whose place its two dates come.
  expect([before.callsPerPass, before.unlisted, after.callsPerPass, after.unlisted]).toEqual([
    20,
    ["AAPL"],
    21,
    [],
  ]);
  expect(before.batches).toEqual(
    expect.arrayContaining(["expirations of AAPL", "AAPL", "chain IBM:2026-11-27"]),
  );
  expect(after.batches).toEqual(expect.arrayContaining(["chain AAPL:2026-12-18", "chain AAPL:2027-01-15"]));
});

test("the service of the specification has no whole chains and no lists, and jobs, sweeps and init say so in its name", async () => {
  const { env, clock } = await world(WHOLE_JOB, { clock: createTestClock(IN_SESSION) });
  const reference = {
    ...{ DATABASE_URL: env.DATABASE_URL, QUOTEKEEPER_DATA_DIR: env.QUOTEKEEPER_DATA_DIR },
    QUOTEKEEPER_JOBS_DIR: env.QUOTEKEEPER_JOBS_DIR,
  };

  const checked = await run(["jobs", "check"], reference, clock);
  const swept = await run(
    ["backfill", "--chain", "AAPL:dates=listed", "--chain", "IBM:strikes=all", "--dry-run"],
    reference,
    clock,
  );
  const begun = await run(
    ["init", "--symbols", "AAPL", "--chains", "AAPL:listed", "--account", "simulated", "--yes"],
    { QUOTEKEEPER_JOBS_DIR: tempDir() },
    clock,
  );

  expect([checked.exitCode, swept.exitCode, begun.exitCode]).toEqual([2, 2, 2]);
  expect(checked.stderr).toContain(
    "chains: Market Quotes Service has no whole chains: name the strikes of AAPL",
  );
  expect(swept.stderr).toContain("Market Quotes Service lists no expirations: name those of AAPL");
  expect(swept.stderr).toContain("Market Quotes Service has no whole chains: name the strikes of IBM");
  expect(begun.stderr).toContain("Market Quotes Service has no whole chains");
});

test("a sweep asks for the listed expirations, then for each by one call, and stores what they hold", async () => {
  const { env, clock, pool, fake } = await world(JOB, { clock: createTestClock(IN_SESSION), mostStrikes: 4 });

  const swept = await run(["backfill", "--chain", "AAPL:dates=listed,strikes=all"], env, clock);

  const [list, ...chains] = fake.calls;
  expect(swept).toMatchObject({ exitCode: 0 });
  expect(list?.path).toBe("/v1/markets/options/expirations");
  expect(new Set(chains.map(({ path }) => path))).toEqual(new Set(["/v1/markets/options/chains"]));
  expect(new Set(chains.map(({ expiration }) => expiration)).size).toBe(chains.length);
  expect(
    await rowsOfQuery(
      pool,
      "select count(distinct expiration)::int as dates from instruments where expiration is not null",
    ),
  ).toEqual([{ dates: chains.length }]);
});

test("a token that Tradier refuses is told of as unauthorized", async () => {
  const { env, clock } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const polled = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_ACCESS_TOKEN: TOKENS.expired },
    clock,
  );

  expect(polled.exitCode).not.toBe(0);
  expect(polled.stderr).toContain("SERVICE_UNAUTHORIZED");
  expect(polled.stderr).not.toContain(TOKENS.expired);
});

test("without a token the settings say which variable lacks it, and no simulated market is polled in its place", async () => {
  const refused = await run(["status"], { QUOTES_SERVICE: "tradier", QUOTEKEEPER_DATA_DIR: tempDir() });

  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain(
    "QUOTES_ACCESS_TOKEN is not set, and QUOTES_SERVICE is: polling an account needs it",
  );
});

/** Its dates and strikes hang on the day on which the test runs. */
const CHAIN_JOB = `name: us
schedule: "* * * * * *"
session: always
symbols: [AAPL, IBM]
chains:
  - { underlying: AAPL, expirations: { next: 1 }, strikes: { around: last, percent: 3, step: 5 } }
`;

test("collect asks for stocks and a chain's contracts in one call a slot, and stores what was due, as the fake's log and the tables count it", async () => {
  const { env, pool, fake } = await world(CHAIN_JOB, {
    clock: systemClock as TestClock,
    calendar: alwaysOpen,
    mostStrikes: 90,
    trading: () => "usual",
  });
  const { edges, interrupt, stderr } = capturedEdges({ env });
  const collecting = runProgram(["collect"], edges);
  await until(
    async () => (await rowsOfQuery(pool, "select from slots where stored > 5")).length >= 2,
    "two slots with contracts",
  );
  interrupt();
  const exitCode = await collecting;

  const [counted] = await rowsOfQuery(
    pool,
    `select (select count(*)::int from quotes) as quotes,
            (select sum(jsonb_array_length(request -> 'symbols'))::int from responses where outcome = 'quotes') as asked,
            (select sum(stored)::int from slots) <= (select count(*)::int from quotes) as no_more_stored,
            (select bool_and(due = stored + missed) from slots) as adds_up,
            (select count(*)::int from misses where reason = 'unknown_symbol') as unknown,
            (select count(*)::int from quotes join instruments on id = instrument_id
             join extended_quotes using (instrument_id, observed_at, source_id)
             where option_type is not null and open_interest is null) as bare`,
  );
  expect([exitCode, stderr()]).toEqual([0, expect.not.stringContaining(TOKENS.token)]);
  expect(counted).toEqual({
    quotes: counted?.["asked"],
    asked: counted?.["asked"],
    no_more_stored: true,
    adds_up: true,
    unknown: 0,
    bare: 0,
  });
  expect(Math.max(...fake.calls.map(({ symbols }) => symbols?.length ?? 0))).toBeGreaterThan(5);
});
