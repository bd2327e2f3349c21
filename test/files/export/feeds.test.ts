/**
 * A service's feeds and its open interest through every way out of an archive and back: exports, the lake, and the SQL above it, each
 * compared with what PostgreSQL says of the rows that were collected.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import type { QuoteCall } from "../../../src/quotes/call.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { ALPACA } from "../../../src/services/alpaca/alpaca.ts";
import { run } from "../../cli/edges.ts";
import { plain } from "../../cli/sqlWorld.ts";
import { KEYS } from "../../fakes/alpaca/fake.ts";
import { rowsOfQuery, rowsSaidBy } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { type Collecting, collectPages, openCollecting } from "../../support/collecting.ts";
import { openFakeAlpaca } from "../../support/livingFakes.ts";
import { tempDir } from "../../support/tempDir.ts";
import { backfillWorld } from "../../backfill/world.ts";

// Whole archives are exported, taken back and compared, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const DAY_MS = 86_400_000;

/** Before the test begins, in days: of a month that the lake drops, older than the search for open interest, and neither. */
const AGO = { cold: 40, stale: 12, fresh: 3 } as const;

const nowMs = Math.floor(systemClock.now().getTime() / 1_000) * 1_000;
const daysAgo = (days: number): string => new Date(nowMs - days * DAY_MS).toISOString();

/** A contract that no comparison finds expired. */
const LASTS_MS = nowMs + 60 * DAY_MS;

let archive: Collecting;
beforeAll(async () => {
  archive = await collected();
});

/**
 * IBM was polled 40 days ago. Open interest of KO was asked for 12 days ago, and its chain 3 days ago. AAPL was polled 3 days ago, with one
 * set of feeds and then with another.
 */
async function collected(): Promise<Collecting> {
  const clock = createTestClock(daysAgo(AGO.cold));
  const pages = { mostStrikes: 12, mostOfAPage: 6, mostOfAList: 250 };
  const { fake } = await openFakeAlpaca({
    clock,
    plan: "plus",
    calendar: alwaysOpen,
    trading: () => "usual",
    ...pages,
  });
  const options = { tradingUrl: fake.tradingUrl };
  const path = await openCollecting(clock, {
    ...{ service: ALPACA, baseUrl: fake.dataUrl, credentials: { ...KEYS }, source: "own", options },
  });
  const stock = (symbol: string): QuoteCall => ({ form: "symbols", symbols: [symbol], delayed: false });
  const list = async (underlying: string): Promise<string> => {
    const { answer } = await collectPages(path, { form: "expirations", underlying, delayed: false });
    const dates = answer.outcome === "quotes" ? (answer.document.expirations ?? []) : [];
    return dates.find((date) => Date.parse(date) > LASTS_MS) ?? "";
  };
  const chain = async (underlying: string, expiration: string): Promise<void> => {
    await path.collect(stock(underlying));
    await collectPages(path, { form: "chain", underlying, expiration, delayed: false });
  };
  const expiration = await list("IBM");
  await chain("IBM", expiration);
  clock.advance((AGO.cold - AGO.stale) * DAY_MS);
  await list("KO");
  clock.advance((AGO.stale - AGO.fresh) * DAY_MS);
  await chain("KO", expiration);
  await list("AAPL");
  await chain("AAPL", expiration);
  clock.advance(60_000);
  await path.choose({ ...options, stockFeed: "sip", optionFeed: "opra" });
  await chain("AAPL", expiration);
  return path;
}

/** The source of an export's own pieces, which an archive has that took one back. */
const PIECES = "source import quotekeeper export spot interest";

/** Parquet has no zeros at a decimal's end. */
function shortest(line: string): string {
  return line.replace(/(\.\d*?)0+(?=[,}])/g, "$1").replace(/\.(?=[,}])/g, "");
}

const WITHOUT_NUMBERS = "- 'instrument_id' - 'underlying_id' - 'source_id'";

/** The chains of each underlying as they were known a day ago and when each was polled. */
async function chainsIn(pool: pg.Pool): Promise<string[]> {
  const rows = await rowsOfQuery(
    pool,
    `select (to_jsonb(c) ${WITHOUT_NUMBERS})::text as row
     from unnest(array['AAPL', 'IBM', 'KO']) as u (name), unnest($1::timestamptz[]) as t (at), chain_at(u.name, t.at) c order by 1`,
    [[daysAgo(AGO.cold - 1), daysAgo(AGO.fresh - 1), daysAgo(0)]],
  );
  return rows.map(({ row }) => shortest(String(row))).sort();
}

test("the archive has each feed beside its stocks, open interest alone, and chains with both", async () => {
  const { pool } = archive;

  const chains = await rowsOfQuery(
    pool,
    `select underlying, source_name, spot_source, count(*)::int > 6 as some, bool_and(spot > 0) as spot,
            count(open_interest)::int > count(*) / 2 as interest
     from chain_at('AAPL', $1) c group by 1, 2, 3
     union all
     select underlying, source_name, spot_source, count(*)::int > 6, bool_and(spot > 0), count(open_interest)::int > count(*) / 2
     from chain_at('KO', $1) c group by 1, 2, 3 order by 1, 2`,
    [daysAgo(0)],
  );

  const free = { source_name: "alpaca indicative beside delayed_sip", spot_source: "alpaca delayed_sip" };
  const paid = { source_name: "alpaca opra beside sip", spot_source: "alpaca sip" };
  expect(chains).toEqual([
    { underlying: "AAPL", ...free, some: true, spot: true, interest: true },
    { underlying: "AAPL", ...paid, some: true, spot: true, interest: true },
    // What was said twelve days before is not believed.
    { underlying: "KO", ...free, some: true, spot: true, interest: false },
  ]);
});

describe.each([["csv"], ["parquet"]])("an export in %s", (format) => {
  test("an export that is taken back has the feeds, the open interest without quotes and the chains that it was made of", async () => {
    const out = join(tempDir(), "out");
    const world = await backfillWorld();

    const exported = await run(["export", "--format", format, "--out", out], { DATABASE_URL: archive.url });
    const restored = await run(["backfill", `--${format}`, out, "--json"], world.env);
    const again = await run(["backfill", `--${format}`, out, "--json"], world.env);

    expect([exported, restored, again].map(({ exitCode, stderr }) => [exitCode, exitCode && stderr])).toEqual(
      [
        [0, 0],
        [0, 0],
        [0, 0],
      ],
    );
    const isOwn = (line: string): boolean => line !== PIECES;
    expect((await rowsSaidBy(world.pool)).filter(isOwn).map(shortest)).toEqual(
      (await rowsSaidBy(archive.pool)).map(shortest),
    );
    expect(await chainsIn(world.pool)).toEqual(await chainsIn(archive.pool));
  });
});

const CHAIN = `select underlying, expiration, strike, source_name, spot_source, delayed, underlying_last, moneyness, call_bid, call_ask, put_last,
  call_open_interest, put_open_interest, call_implied_volatility, put_delta from option_chain_latest order by underlying, strike, source_name`;

type Rows = Record<string, unknown>[];

const plainRows = (rows: Rows): Rows =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])));

/** The view in PostgreSQL. @param asOf null: now */
async function chainIn(pool: pg.Pool, asOf: string | null): Promise<Rows> {
  const client = await pool.connect();
  try {
    await client.query("select set_config('quotekeeper.as_of', $1, false)", [asOf ?? ""]);
    const { rows } = await client.query<Record<string, unknown>>(
      CHAIN.replace("expiration,", "expiration::text,"),
    );
    return plainRows(rows);
  } finally {
    await client.query("reset quotekeeper.as_of");
    client.release();
  }
}

/** The same by `quotekeeper sql`. */
async function chainBySql(
  env: Record<string, string>,
  asOf: string | null,
  ...more: string[]
): Promise<Rows> {
  const words = [...more, ...(asOf === null ? [] : ["--as-of", asOf])];
  const { exitCode, stdout, stderr } = await run(["sql", "--json", ...words, CHAIN], env);
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return plainRows((JSON.parse(stdout) as { rows: Rows }).rows);
}

const NO_INTEREST = { call_open_interest: null, put_open_interest: null };

/** Of each underlying, how many of its rows have open interest. */
function interestsOf(rows: Rows): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { underlying, call_open_interest: open } of rows)
    counts[String(underlying)] = (counts[String(underlying)] ?? 0) + (open === null ? 0 : 1);
  return counts;
}

test("the lake has open interest without quotes and feeds: it is verified, quotekeeper sql says of chains what PostgreSQL says, and it brings all of it back", async () => {
  const { pool, url } = archive;
  const out = join(tempDir(), "lake");
  const withoutLake = { DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
  const env = { ...withoutLake, QUOTEKEEPER_LAKE_DIR: out, QUOTEKEEPER_LAKE_HOT_DAYS: "1" };
  const instants = [null, daysAgo(0), daysAgo(AGO.fresh - 1), daysAgo(AGO.cold - 1)];
  const rows = await rowsSaidBy(pool);
  const chains = await Promise.all(instants.map((at) => chainIn(pool, at)));
  // Of now `quotekeeper sql` reads the open interest of two weeks: IBM was quoted last before.
  for (const row of chains[0] ?? []) if (row["underlying"] === "IBM") Object.assign(row, NO_INTEREST);
  const ofAll = async (of: Record<string, string>): Promise<Rows[]> => {
    const answers: Rows[] = [];
    for (const at of instants) answers.push(await chainBySql(of, at));
    return answers;
  };

  const before = await ofAll(withoutLake);
  const written = await run(["lake", "--json"], env);
  const verified = await run(["lake", "verify", "--json"], env);
  const beside = await ofAll(env);
  const dropped = await run(["lake", "--drop-hot", "--json"], env);
  const left = await rowsSaidBy(pool);
  const behind = await ofAll(env);
  const alone = await chainBySql(env, daysAgo(0), "--lake-only");
  const restored = await run(
    [
      "lake",
      "restore",
      "--from",
      daysAgo(AGO.cold + 1).slice(0, 10),
      "--to",
      daysAgo(0).slice(0, 10),
      "--json",
    ],
    env,
  );

  expect(
    [written, verified, dropped, restored].map(({ exitCode, stderr }) => [exitCode, exitCode && stderr]),
  ).toEqual(Array(4).fill([0, 0]));
  expect(interestsOf(chains[1] ?? [])).toEqual({
    ...{ AAPL: expect.any(Number), IBM: expect.any(Number), KO: 0 },
  });
  expect(interestsOf(chains[3] ?? [])["IBM"]).toBeGreaterThan(2);
  expect(before).toEqual(chains);
  expect(beside).toEqual(chains);
  expect(left.length).toBeLessThan(rows.length);
  expect(behind).toEqual(chains);
  expect(alone).toEqual(chains[1]);
  expect((await rowsSaidBy(pool)).map(shortest)).toEqual(rows.map(shortest));
  expect(await Promise.all(instants.slice(1).map((at) => chainIn(pool, at)))).toEqual(chains.slice(1));
});
