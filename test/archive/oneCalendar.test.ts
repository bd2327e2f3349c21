/** The exchange's calendar in the archive: when contracts end, what the operator says of single days, and closes of any minute. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { makeDueBars } from "../../src/archive/schema/makeBars.ts";
import { placeInstruments } from "../../src/archive/load/instruments.ts";
import { keepCalendarDays } from "../../src/archive/schema/sessions.ts";
import type { Instant } from "../../src/ground/clock.ts";
import { backfill, fileOf } from "../backfill/csv/csvFiles.ts";
import { backfillWorld } from "../backfill/world.ts";
import { run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { type Option, valueOf } from "../support/blackScholes.ts";
import { freshDatabase, handOnDatabases } from "../support/database.ts";
import { archive, load, see, type Seen, addStocks } from "../support/observations.ts";
import { runs } from "../support/runs.ts";
import { tempDir } from "../support/tempDir.ts";

handOnDatabases();

/** Adds a stock and calls on it, as a load does. */
async function addCalls(pool: pg.Pool, expirations: readonly string[], strike = "290"): Promise<number[]> {
  const client = await pool.connect();
  const described = { exchange: null, description: null, contractSize: null, assumedType: false };
  const observedAt = "2019-12-27T20:45:00.000000Z" as Instant;
  const stock = { securityType: "CS", symbol: "AAPL", expiration: null, optionType: null, strike: null };
  const call = { ...stock, securityType: "OPT", optionType: "CALL" as const, strike };
  await client.query("begin");
  const { ids } = await placeInstruments(client, [
    { observedAt, instrument: { ...stock, ...described, underlying: null } },
    ...expirations.map((expiration) => ({
      observedAt,
      instrument: { ...call, ...described, expiration, underlying: "AAPL" },
    })),
  ]);
  await client.query("commit");
  client.release();
  return ids;
}

/** An archive of these rows alone: symbol, expiration, type, strike, time, bid, ask. */
async function imported(...lines: string[]): Promise<pg.Pool> {
  const world = await backfillWorld();
  const csv = ["symbol,expiration,option_type,strike,observed_at,bid,ask", ...lines, ""].join("\n");
  expect(await backfill(world, fileOf(csv))).toMatchObject({ report: { stored: lines.length } });
  return world.pool;
}

const DAY_MS = 86_400_000;
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Closes in New York around New Year, where no early one is: the last weekday that is not New Year's Day, or the Monday after it. */
function closeAtNewYear(expiration: string): string {
  for (let ms = Date.parse(expiration); ; ms -= DAY_MS) {
    const [weekday, date] = [new Date(ms).getUTCDay(), dateOf(ms)];
    const isNewYear = date.endsWith("-01-01") || (date.endsWith("-01-02") && weekday === 1);
    if (weekday !== 0 && weekday !== 6 && !isNewYear) return `${date} 21:00:00+00`;
  }
}

test("a contract ends at the close that plain arithmetic gives, over ten New Years and with Saturday expirations, whatever years have quotes", async () => {
  const { pool } = await freshDatabase();
  const dates = Array.from({ length: 10 }, (_, n) => Date.UTC(2010 + n, 11, 28)).flatMap((from) =>
    Array.from({ length: 12 }, (_, day) => dateOf(from + day * DAY_MS)),
  );
  await addCalls(pool, dates);

  const found = await rowsOfQuery(
    pool,
    "select expiration, expires_at(expiration) as at from instruments where expiration is not null order by 1",
  );

  expect(found).toEqual(dates.map((expiration) => ({ expiration, at: closeAtNewYear(expiration) })));
  expect(await rowsOfQuery(pool, "select expires_at('2014-01-18') as at")).toEqual([
    { at: "2014-01-17 21:00:00+00" },
  ]);
});

test("a contract that ends in the next year has the volatility of its seven days, although only this year was imported", async () => {
  const pool = await imported(
    "AAPL,,,,2019-12-27 15:59-05:00,289.79,289.81",
    "AAPL,2020-01-03,CALL,290,2019-12-27 15:59-05:00,2.50,2.60",
  );

  const [row] = await rowsOfQuery(
    pool,
    "select years * 365 as days, iv_mid from surface_at('AAPL', '2019-12-31 16:30 America/New_York')",
  );

  const { days, iv_mid: volatility } = row as { days: number; iv_mid: number };
  expect(days).toBeCloseTo(7 + 1 / 1440, 9);
  const call: Option = { type: "CALL", spot: 289.8, strike: 290, years: days / 365, rate: 0.04 };
  expect(valueOf(call, volatility)).toBeCloseTo(2.55, 8);
});

test("a contract has no known end in a year that the calendar lacks", async () => {
  const { pool } = await freshDatabase();

  expect(
    await rowsOfQuery(pool, "select expires_at('2031-01-03') as a, expires_at('1989-06-16') as b"),
  ).toEqual([{ a: null, b: null }]);
});

test("contracts that ended on the last session of the last year are in neither option_chain_latest nor chain_at after its close", async () => {
  const pool = await imported(
    "AAPL,2019-12-31,CALL,290,2019-12-31 15:00-05:00,2,3",
    "AAPL,2020-01-03,CALL,290,2019-12-31 15:00-05:00,2,3",
  );
  const client = await pool.connect();
  await client.query("set quotekeeper.as_of = '2019-12-31 16:30 America/New_York'");

  const { rows: latest } = await client.query<object>("select expiration from option_chain_latest");
  const { rows: chain } = await client.query<object>(
    "select expiration from chain_at('AAPL', '2019-12-31 16:30 America/New_York')",
  );
  client.release(true);

  expect([latest, chain]).toEqual([[{ expiration: "2020-01-03" }], [{ expiration: "2020-01-03" }]]);
});

const hoursOf = (pool: pg.Pool, date: string): Promise<unknown[]> =>
  rowsOfQuery(
    pool,
    `select kind, to_char(close_at at time zone 'America/New_York', 'HH24:MI') as close, reason from sessions where date = $1`,
    [date],
  );

const barsOf = (
  pool: pg.Pool,
  view: string,
  date: string,
  where = "true",
): Promise<Record<string, unknown>[]> =>
  rowsOfQuery(
    pool,
    `select to_char(bar_at at time zone 'America/New_York', 'HH24:MI') as at, session, quote_count::int as n
     from ${view} where date = $1 and ${where} order by bar_at`,
    [date],
  );

test("jobs/calendar.yaml and its changes reach sessions, bars and expirations with the next command", async () => {
  const { pool, url } = await freshDatabase();
  const jobs = join(tempDir(), "jobs");
  mkdirSync(jobs);
  const env = { DATABASE_URL: url, QUOTEKEEPER_JOBS_DIR: jobs };
  const says = (...lines: string[]): void =>
    writeFileSync(join(jobs, "calendar.yaml"), ["overrides:", ...lines].join("\n"));
  await addStocks(pool, ["AAPL"]);
  const [noon, later] = ["2024-11-20 12:00", "2024-11-20 14:00"];
  await see(pool, { at: noon, last: "1" }, { at: later, last: "2" }, { at: "2024-11-20 12:01", source: 2 });
  const state = async (): Promise<unknown[]> => [
    await hoursOf(pool, "2024-11-20"),
    (await barsOf(pool, "bars_5m", "2024-11-20", "source = 'account'")).map(({ session }) => session),
    (await rowsOfQuery(pool, "select expires_at('2024-11-20') as at"))[0]?.["at"],
    (await rowsOfQuery(pool, "select date from late_days")).length,
  ];

  const before = await state();
  says("  - { date: 2024-11-20, kind: early, close: '13:00', reason: water }");
  await run(["migrate"], env);
  const early = await state();
  says("  - { date: 2024-11-20, kind: closed }");
  await run(["migrate"], env);
  const closed = await state();
  says("  - { date: 2024-11-20, kind: wrong }");
  await run(["migrate"], env);
  const wrong = await state();
  rmSync(join(jobs, "calendar.yaml"));
  await run(["migrate"], { ...env, QUOTEKEEPER_JOBS_DIR: join(jobs, "none") });
  const without = await state();
  await run(["migrate"], env);
  const after = await state();

  const usual = [{ kind: "regular", close: "16:00", reason: null }];
  expect(before).toEqual([usual, ["regular", "regular"], "2024-11-20 21:00:00+00", 1]);
  expect(early).toEqual([
    [{ kind: "early", close: "13:00", reason: "water" }],
    ...[["regular", "post"], "2024-11-20 18:00:00+00", 1],
  ]);
  expect(closed).toEqual([[], ["closed", "closed"], "2024-11-19 21:00:00+00", 1]);
  // A file that is wrong, and a directory that is not there, say nothing: what was said last holds.
  expect([wrong, without]).toEqual([closed, closed]);
  expect(after).toEqual([usual, ["regular", "regular"], "2024-11-20 21:00:00+00", 1]);
});

test("jobs/calendar.yaml reaches bars whose quotes are in the lake alone when they are restored", async () => {
  const { pool, url } = await freshDatabase();
  const dir = tempDir();
  const env = {
    DATABASE_URL: url,
    QUOTEKEEPER_LAKE_DIR: join(dir, "lake"),
    QUOTEKEEPER_LAKE_HOT_DAYS: "1",
  };
  await addStocks(pool, ["AAPL"]);
  await see(pool, { at: "2026-02-18 12:00", last: "1" }, { at: "2026-02-18 14:00", last: "2" });
  await run(["lake", "--through", "2026-03-31", "--drop-hot"], env);
  const bars = async (): Promise<unknown[]> => {
    const [{ quotes } = { quotes: -1 }] = await rowsOfQuery(
      pool,
      "select count(*)::int as quotes from quotes",
    );
    const sessions = await rowsOfQuery(pool, "select session from bars_5m order by bar_at");
    return sessions.map(({ session }) => ({ session, quotes }));
  };

  const before = await bars();
  await keepCalendarDays(pool, [{ date: "2026-02-18", kind: "early" }]);
  const dropped = await bars();
  await run(["lake", "restore", "--from", "2026-02-18", "--to", "2026-02-18"], env);

  const of = (quotes: number, ...sessions: string[]): unknown[] =>
    sessions.map((session) => ({ session, quotes }));
  expect([before, dropped]).toEqual([of(0, "regular", "regular"), of(0, "regular", "regular")]);
  expect(await bars()).toEqual(of(2, "regular", "post"));
});

test("jobs/calendar.yaml holds for years that are loaded later", async () => {
  const { pool } = await freshDatabase();
  await keepCalendarDays(pool, [{ date: "2031-06-04", kind: "early", close: "13:03" }]);

  expect(await hoursOf(pool, "2031-06-04")).toEqual([]);
  await addCalls(pool, ["2031-06-20"]);
  expect(await hoursOf(pool, "2031-06-04")).toEqual([{ kind: "early", close: "13:03", reason: null }]);
});

test("bars are those that the raw times make, whatever the minute of the close and however often it is changed", async () => {
  const pool = await archive("AAPL");
  const close = fc
    .integer({ min: 9 * 60 + 31, max: 16 * 60 })
    .map((minute) => new Date(minute * 60_000).toISOString().slice(11, 16));
  const second = fc.integer({ min: 9 * 3_600, max: 20 * 3_600 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(close, { minLength: 1, maxLength: 3 }),
      fc.uniqueArray(second, { minLength: 2, maxLength: 60 }),
      async (closes, seconds) => {
        await pool.query("truncate quotes, extended_quotes, session_bars, intraday_bars");
        const seen = seconds
          .sort((a, b) => a - b)
          .map((at): Seen => ({
            at: `2026-11-18 ${new Date(at * 1_000).toISOString().slice(11, 19)}`,
            last: "1",
          }));
        const half = Math.ceil(seen.length / 2);
        await see(pool, ...seen.slice(0, half));
        for (const [n, one] of closes.entries()) {
          await keepCalendarDays(pool, [{ date: "2026-11-18", kind: "early", close: one }]);
          if (n === 0 && half < seen.length) await load(pool, seen.slice(half));
        }
        await makeDueBars(pool);

        const found = [
          await barsOf(pool, "bars_5m", "2026-11-18"),
          await barsOf(pool, "bars_1h", "2026-11-18"),
        ];

        const closing = closes.at(-1) ?? "";
        const closesAt = 3_600 * Number(closing.slice(0, 2)) + 60 * Number(closing.slice(3));
        expect(found).toEqual([300, 3_600].map((width) => barsOfTimes(seconds, { closesAt, width })));
      },
    ),
    { numRuns: runs(10) },
  );
});

/** Bars of seconds of a day, counted from 04:00, from 09:30, from the close, and from four hours behind it. */
function barsOfTimes(
  seconds: readonly number[],
  { closesAt, width }: { closesAt: number; width: number },
): unknown[] {
  const parts = [
    { from: 4 * 3_600, session: "pre" },
    { from: 9.5 * 3_600, session: "regular" },
    { from: closesAt, session: "post" },
    { from: closesAt + 4 * 3_600, session: "closed" },
  ];
  const bars = new Map<string, { at: string; session: string; n: number }>();
  for (const second of seconds) {
    const { from, session } = parts.findLast((part) => second >= part.from) ?? { from: 0, session: "" };
    const at = new Date(1_000 * (second - ((second - from) % width))).toISOString().slice(11, 16);
    const bar = bars.get(`${at} ${session}`) ?? { at, session, n: 0 };
    bar.n += 1;
    bars.set(`${at} ${session}`, bar);
  }
  return [...bars.values()];
}
