/** The real commands against a fake of Alpaca over HTTP. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { type FakeAlpaca, type FakeAlpacaOptions, KEYS } from "../fakes/alpaca/fake.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type Given, openFakeAlpaca } from "../support/livingFakes.ts";
import { appendAll } from "../support/journal.ts";
import { settled } from "../support/ledger.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";
import { surroundings } from "./oneJob.ts";

// Whole commands run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** A Tuesday. */
const IN_SESSION = "2026-11-24T15:42:07.000Z";

async function world(job: string, given: Given<FakeAlpacaOptions> & { clock: TestClock }) {
  const { fake, settings } = await openFakeAlpaca(given);
  const { pool, settings: own } = await surroundings(job);
  return { fake, pool, env: { ...own, ...settings }, clock: given.clock };
}

/** The calls that were answered, by host and form. */
function answered({ calls }: FakeAlpaca, path: RegExp) {
  return calls.filter((call) => call.status === 200 && path.test(call.path));
}

const LISTS = /^\/v1beta1\/options\/snapshots$/;
const CHAINS = /^\/v1beta1\/options\/snapshots\//;
const CONTRACTS = /^\/v2\/options\/contracts$/;

const JOB = `name: us
schedule: "* * * * *"
session: always
symbols: [AAPL, IBM]
options:
${[240, 250, 260].map((strike) => `  - { underlying: AAPL, expiration: 2026-12-18, type: PUT, strike: ${strike} }`).join("\n")}
`;

test("a plan has 200 calls a minute, lists of stocks and of contracts by themselves, and the contracts of each underlying once a day", async () => {
  const { env, clock } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const checked = await run(["jobs", "check"], env, clock);
  const planned = JSON.parse((await run(["plan", "--json"], env, clock)).stdout) as {
    limit: number;
    callsPerPass: number;
    batches: string[];
  };

  expect(checked).toMatchObject({ exitCode: 0 });
  expect(planned).toMatchObject({
    limit: 200,
    callsPerPass: 3,
    batches: expect.arrayContaining(["AAPL, IBM", "expirations of AAPL"]),
  });
});

test("a poll asks for stocks and contracts by a call each, with their feeds, which are sources of their own", async () => {
  const { env, clock, pool, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const polled = await run(
    ["poll", "--symbols", "AAPL,AAPL261218P00250000,BRK.B,ZZZZQ", "--json"],
    env,
    clock,
  );

  // What is unknown is told, and needs a person.
  expect(polled.exitCode).toBe(1);
  expect(polled.stdout).toContain("ZZZZQ");
  expect(fake.calls.map(({ path, query }) => [path, query["feed"]])).toEqual(
    expect.arrayContaining([
      ["/v2/stocks/snapshots", "delayed_sip"],
      ["/v1beta1/options/snapshots", "indicative"],
    ]),
  );
  expect(
    await rowsOfQuery(
      pool,
      `select i.symbol, i.option_type, s.name, s.spot, s.interest, q.delayed from quotes q
       join instruments i on i.id = q.instrument_id join sources s on s.id = q.source_id order by 1, 2 nulls first`,
    ),
  ).toEqual([
    {
      symbol: "AAPL",
      option_type: null,
      name: "alpaca delayed_sip",
      spot: null,
      interest: null,
      delayed: true,
    },
    {
      ...{ symbol: "AAPL", option_type: "PUT", name: "alpaca indicative beside delayed_sip" },
      ...{ spot: "alpaca delayed_sip", interest: "alpaca", delayed: true },
    },
    {
      symbol: "BRK.B",
      option_type: null,
      name: "alpaca delayed_sip",
      spot: null,
      interest: null,
      delayed: true,
    },
  ]);
  expect(polled.stdout + polled.stderr).not.toContain(KEYS.secretKey);
});

test("a poll of contracts whose answers come in pages has them all, and misses none", async () => {
  const clock = createTestClock(IN_SESSION);
  const { env } = await world(JOB, { clock, mostOfAPage: 2 });
  const contracts = ["C", "P"].flatMap((type) => [`AAPL261218${type}00250000`, `AAPL261218${type}00200000`]);

  const polled = await run(["poll", "--symbols", contracts.join(","), "--json"], env, clock);

  const { quotes, errors } = JSON.parse(polled.stdout) as { quotes: unknown[]; errors: unknown[] };
  expect([polled.exitCode, quotes.length, errors]).toEqual([0, 4, []]);
});

test("whether quotes are delayed is the feed's to say, and a job that asks for it is told so", async () => {
  const { env, clock, fake } = await world(JOB.replace("session", "delayed: true\nsession"), {
    clock: createTestClock(IN_SESSION),
  });

  const checked = await run(["jobs", "check"], env, clock);
  const polled = await run(["poll", "--symbols", "AAPL", "--delayed"], env, clock);

  expect([checked.exitCode, polled.exitCode]).toEqual([2, 2]);
  for (const { stderr } of [checked, polled])
    expect(stderr).toContain("Alpaca has no calls for delayed quotes, for its feed says whether they are");
  expect(fake.calls).toEqual([]);
});

const WHOLE_JOB = `name: us
schedule: "*/5 * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: listed, strikes: all }
`;

/** Collects until so many further slots have all that they wanted. */
async function collectSlots(
  { env, pool }: Pick<Awaited<ReturnType<typeof world>>, "env" | "pool">,
  count: number,
): Promise<string> {
  const { edges, interrupt, stderr } = capturedEdges({ env });
  const whole = "select from slots where stored > 2 and missed = 0";
  const before = (await rowsOfQuery(pool, whole).catch(() => [])).length;
  const collecting = runProgram(["collect"], edges);
  await until(
    async () => (await rowsOfQuery(pool, whole).catch(() => [])).length >= before + count,
    "slots with whole chains",
  );
  interrupt();
  expect(await collecting).toBe(0);
  return stderr();
}

test("collect asks for the contracts once a day and for each chain page by page, and the chains have spot, volatility and open interest", async () => {
  const { env, pool, fake } = await world(WHOLE_JOB, {
    clock: systemClock as TestClock,
    ...{ calendar: alwaysOpen, mostStrikes: 6, mostOfAPage: 5, trading: () => "usual" },
    limit: { calls: 1_000_000 },
  });

  const said = (await collectSlots({ env, pool }, 2)) + (await collectSlots({ env, pool }, 1));

  const pages = answered(fake, CHAINS);
  const tokens = pages.filter(({ query }) => query["page_token"] !== undefined);
  expect(tokens.length).toBeGreaterThan(pages.length / 3);
  expect(new Set(pages.map(({ query }) => query["limit"]))).toEqual(new Set(["1000"]));
  const firstLists = answered(fake, CONTRACTS).filter(({ query }) => query["page_token"] === undefined);
  // Another day of New York may have begun meanwhile.
  expect(firstLists.length).toBeLessThanOrEqual(2);
  expect(new Set(fake.calls.map(({ status }) => status))).toEqual(new Set([200]));
  expect(said).not.toContain(KEYS.secretKey);
  const [counted] = await rowsOfQuery(
    pool,
    `with pages as (select * from responses where request ->> 'form' = 'chain' and outcome = 'quotes')
     select (select count(*)::int from pages) as pages,
            -- Ctrl-C may come between two pages, and then the slot misses the chain.
            (select count(*)::int from slots s where missed = 0 and (
               select count(*) filter (where has_more) <> count(*) filter (where request ? 'page') from pages
               where requested_at >= s.slot_at and requested_at < s.slot_at + interval '5 s'
             )) as uneven,
            (select count(*)::int from pages where request ? 'page') as further,
            (select bool_and(due = stored + missed) from slots) as adds_up,
            (select count(*)::int from dead_letters) as dead,
            (select count(*)::int from extended_quotes e left join quotes q using (instrument_id, observed_at, source_id)
             where q.observed_at is null and (e.open_interest is null or e.open_interest_date is null)) as bare`,
  );
  expect(counted).toEqual({
    pages: pages.length,
    ...{ uneven: 0, further: tokens.length },
    ...{ adds_up: true, dead: 0, bare: 0 },
  });
  const chain = await rowsOfQuery(
    pool,
    `select spot_source, spot > 0 as has_spot, open_interest_date < current_date as is_before,
            count(*) filter (where open_interest is not null)::int > count(*) / 2 as mostly,
            count(*) filter (where implied_volatility > 0)::int > count(*) / 2 as volatile, bool_and(delayed) as delayed
     from chain_at('AAPL', now()) where open_interest_date is not null group by 1, 2, 3`,
  );
  expect(chain).toEqual([
    {
      ...{ spot_source: "alpaca delayed_sip", has_spot: true, is_before: true, mostly: true },
      ...{ volatile: true, delayed: true },
    },
  ]);
  const [surface] = await rowsOfQuery(
    pool,
    "select count(*)::int > 5 as some from option_surface where iv_mid > 0 and spot_source = 'alpaca delayed_sip'",
  );
  expect(surface).toEqual({ some: true });
});

test("a badly formed name fails its list once: it is dropped and told, and the others are asked for again", async () => {
  const { env, clock, pool, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const polled = await run(["poll", "--symbols", "AAPL,IXAM6,IBM"], env, clock);

  expect(fake.calls.map(({ status, query }) => [status, query["symbols"]])).toEqual([
    [400, "AAPL,IXAM6,IBM"],
    [200, "AAPL,IBM"],
  ]);
  expect(polled.exitCode).toBe(1);
  expect(polled.stdout + polled.stderr).toContain("IXAM6");
  expect(await rowsOfQuery(pool, "select symbol from latest_quotes order by 1")).toEqual([
    { symbol: "AAPL" },
    { symbol: "IBM" },
  ]);
});

test("a feed that the plan does not have is told with its setting, and is no refused key", async () => {
  const { env, clock, pool, fake } = await world(JOB, { clock: createTestClock(IN_SESSION) });

  const refused = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_ALPACA_STOCK_FEED: "sip" },
    clock,
  );
  const wrong = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_ALPACA_SECRET_KEY: "another-secret" },
    clock,
  );
  const unknown = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_ALPACA_STOCK_FEED: "nasdaq" },
    clock,
  );

  expect([refused.exitCode, wrong.exitCode, unknown.exitCode]).toEqual([1, 1, 2]);
  expect(refused.stderr).toContain("FEED_REFUSED");
  expect(refused.stderr).toContain("QUOTES_ALPACA_STOCK_FEED");
  expect(refused.stderr).not.toContain("LOGIN_NEEDED");
  expect(wrong.stderr).toContain("SERVICE_UNAUTHORIZED");
  expect(wrong.stderr).not.toContain("another-secret");
  expect(unknown.stderr).toContain("QUOTES_ALPACA_STOCK_FEED");
  expect(fake.calls.every(({ status }) => status === 403)).toBe(true);
  expect(await rowsOfQuery(pool, "select from quotes")).toEqual([]);
});

const AROUND_JOB = `name: us
schedule: "*/5 * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: IBM, expirations: { next: 1 }, strikes: { around: last, percent: 3, step: 5 } }
`;

test("strikes around the last price go by the account's stock feed, and a host that refuses the key costs its own calls alone", async () => {
  const { env, pool, fake } = await world(AROUND_JOB, {
    clock: systemClock as TestClock,
    ...{ calendar: alwaysOpen, mostStrikes: 90, isLive: true, trading: () => "usual" },
    limit: { calls: 1_000_000 },
  });
  const { edges, interrupt, stderr } = capturedEdges({ env });
  const collecting = runProgram(["collect"], edges);

  await until(
    async () => (await rowsOfQuery(pool, "select from slots where stored > 3").catch(() => [])).length > 1,
    "two slots with contracts",
  );
  interrupt();
  const exitCode = await collecting;

  expect([exitCode, stderr()]).toEqual([0, expect.not.stringContaining(KEYS.secretKey)]);
  expect(answered(fake, LISTS).length).toBeGreaterThan(1);
  expect(answered(fake, CONTRACTS)).toEqual([]);
  // The key of a paper account at a live host: asked for less and less often.
  const lists = fake.calls.filter(({ path }) => CONTRACTS.test(path));
  expect(lists.map(({ status }) => status)).toEqual(lists.map(() => 401));
  expect(lists.length).toBeGreaterThan(0);
  expect(
    await rowsOfQuery(
      pool,
      "select distinct spot_source, spot > 0 as has_spot from chain_at('IBM', now()) order by 1",
    ),
  ).toEqual([{ spot_source: "alpaca delayed_sip", has_spot: true }]);
});

test("rows keep their feed when the settings change, and a replay of the journal gives the same rows", async () => {
  const { env, clock, pool } = await world(JOB, { clock: createTestClock(IN_SESSION), plan: "plus" });
  const poll = async (feeds: Record<string, string>) => {
    const polled = await run(["poll", "--symbols", "AAPL,AAPL261218P00250000"], { ...env, ...feeds }, clock);
    clock.advance(60_000);
    return polled.exitCode;
  };
  const all = `select s.name, s.spot, s.interest, q.delayed, to_jsonb(q)::text || to_jsonb(e)::text || to_jsonb(r)::text as row
    from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)
    join responses r using (observed_at, source_id) join sources s on s.id = q.source_id order by q.observed_at`;

  const exitCodes = [
    await poll({}),
    await poll({ QUOTES_ALPACA_STOCK_FEED: "iex" }),
    await poll({ QUOTES_ALPACA_STOCK_FEED: "sip", QUOTES_ALPACA_OPTION_FEED: "opra" }),
  ];
  const live = await rowsOfQuery(pool, all);
  await pool.query(
    "truncate quotes, extended_quotes, responses, journal_positions, session_bars, dead_letters",
  );
  const later = { ...env, QUOTES_ALPACA_STOCK_FEED: "iex", QUOTES_ALPACA_OPTION_FEED: "opra" };
  const replayed = await run(["backfill", "--journal"], later, clock);

  expect([...exitCodes, replayed.exitCode]).toEqual([0, 0, 0, 0]);
  expect(live.map(({ name, delayed }) => [name, delayed])).toEqual([
    ["alpaca delayed_sip", true],
    ["alpaca indicative beside delayed_sip", true],
    ["alpaca iex", false],
    ["alpaca indicative beside iex", true],
    ["alpaca sip", false],
    ["alpaca opra beside sip", false],
  ]);
  expect(await rowsOfQuery(pool, all)).toEqual(live);
  const journal = join(env.QUOTEKEEPER_DATA_DIR, "journal");
  const kept = readdirSync(journal).map((name) => readFileSync(join(journal, name), "utf8"));
  expect(kept.join("")).not.toContain(KEYS.secretKey);
  expect(kept.join("")).not.toContain(KEYS.keyId);
});

test("what a job missed is filled by the feed's delayed quotes, and at a service that was asked for others it is not", async () => {
  const { env, clock, pool } = await world(JOB, { clock: createTestClock(IN_SESSION) });
  expect(await run(["poll", "--symbols", "AAPL"], env, clock)).toMatchObject({ exitCode: 0 });
  const [answer] = await rowsOfQuery(pool, "select observed_at from quotes");
  const missed = settled(
    "2026-11-24T15:43:00.000000Z",
    "2026-11-24T15:42:00.000000Z",
    ["AAPL"],
    ["AAPL transport"],
    { job: "us" },
  );
  const journal = join(tempDir(), "journal");
  await appendAll(journal, [missed]);
  const { QUOTES_SERVICE: _service, QUOTES_BASE_URL: _address, ...others } = env;
  const ofReference = Object.fromEntries(
    Object.entries(others).filter(([name]) => !name.startsWith("QUOTES_")),
  );
  const fills = "select instrument, fill_source_id > 2 as apart, observed_at from fills";

  expect(await run(["backfill", "--journal", journal], env, clock)).toMatchObject({ exitCode: 0 });
  await run(["backfill", "--gaps"], ofReference, clock);
  const before = await rowsOfQuery(pool, fills);
  await run(["backfill", "--gaps"], env, clock);

  expect(before).toEqual([]);
  expect(await rowsOfQuery(pool, fills)).toEqual([{ instrument: "AAPL", apart: true, ...answer }]);
});

test("without its keys the settings say which variables are missing, and a file of accounts has the options by name", async () => {
  const { env, clock } = await world(JOB, { clock: createTestClock(IN_SESSION) });
  const { QUOTES_ALPACA_SECRET_KEY: secret, QUOTES_ALPACA_TRADING_URL: tradingUrl, ...less } = env;
  const accounts = join(env.QUOTEKEEPER_JOBS_DIR, "accounts.yaml");

  const missing = await run(["status"], less, clock);
  writeFileSync(
    accounts,
    `accounts:\n  - { name: main, service: alpaca, baseUrl: "${env.QUOTES_BASE_URL}", keyIdVariable: QUOTES_ALPACA_KEY_ID, secretKeyVariable: QUOTES_ALPACA_SECRET_KEY, stockFeed: iex, tradingUrl: "${tradingUrl}" }\n`,
  );
  const checked = await run(["jobs", "check"], { ...less, QUOTES_ALPACA_SECRET_KEY: secret }, clock);
  writeFileSync(accounts, readFileSync(accounts, "utf8").replace("stockFeed: iex", "stockFeed: nasdaq"));
  const refused = await run(["jobs", "check"], { ...less, QUOTES_ALPACA_SECRET_KEY: secret }, clock);

  expect(missing.exitCode).toBe(2);
  expect(missing.stderr).toContain("QUOTES_ALPACA_SECRET_KEY is not set");
  expect(checked).toMatchObject({ exitCode: 0 });
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain("stockFeed");
});
