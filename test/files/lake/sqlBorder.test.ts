/** Rows of chance on both sides of the border: each view says what PostgreSQL says that has all of them. */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { run } from "../../cli/edges.ts";
import { late, plain } from "../../cli/sqlWorld.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { freshDatabase, type TestDatabase } from "../../support/database.ts";
import { see, type Seen } from "../../support/observations.ts";
import { runs } from "../../support/runs.ts";
import { tempDir } from "../../support/tempDir.ts";
import { dayOf } from "./lakeWorld.ts";

// One test compares every view on both sides, which takes as long as the machine is slow: minutes on Citus beside another file.
jest.setTimeout(900_000);

/** January is dropped behind the lake, February is in both as far as the 15th, March is in the database alone. */
const DATES = [
  "2026-01-05",
  "2026-01-30",
  "2026-01-31",
  "2026-02-02",
  "2026-02-13",
  "2026-02-20",
  "2026-03-06",
];
const [THROUGH, LATE_AND_DROPPED, LATE] = ["2026-02-15", "2026-01-30", "2026-02-13"];

const price = fc.integer({ min: 0, max: 20_000_000 }).map((n) => String(n / 10_000));
const observation: fc.Arbitrary<Seen> = fc.record({
  at: fc
    .tuple(
      fc.constantFrom(...DATES),
      fc.integer({ min: 4 * 3600, max: 23 * 3600 }),
      fc.integer({ min: 0, max: 999_999 }),
    )
    .map(([date, second, micros]) => {
      const at = new Date(second * 1_000).toISOString().slice(11, 19);
      return `${date} ${at}.${String(micros).padStart(6, "0")}`;
    }),
  id: fc.integer({ min: 1, max: 3 }),
  delayed: fc.constant(false),
  bid: fc.option(price),
  ask: fc.option(price),
  last: fc.option(price),
  volume: fc.option(fc.integer({ min: 0, max: 1_000_000 }).map(String)),
  delta: fc.option(fc.integer({ min: -1_000_000, max: 1_000_000 }).map((n) => String(n / 1_000_000))),
});

const WITHOUT = `date = '${LATE_AND_DROPPED}'`;
const WITHOUT_TIME =
  "(observed_at >= '2026-01-30 05:00:00+00'::timestamptz and observed_at < '2026-01-31 05:00:00+00'::timestamptz)";

const VIEWS: readonly { view: string; order: string; without?: string }[] = [
  // A date that was dropped is as the lake has it: late rows follow with its next run.
  { view: "quotes", order: "instrument_id, observed_at", without: WITHOUT_TIME },
  { view: "extended_quotes", order: "instrument_id, observed_at", without: WITHOUT_TIME },
  { view: "bars_1m", order: "instrument_id, delayed, bar_at", without: WITHOUT },
  { view: "bars_5m", order: "instrument_id, delayed, bar_at", without: WITHOUT },
  { view: "bars_1h", order: "instrument_id, delayed, bar_at", without: WITHOUT },
  { view: "bars_1d", order: "instrument_id, delayed, date", without: WITHOUT },
  { view: "bars_1d_regular", order: "instrument_id, delayed, date", without: WITHOUT },
  { view: "latest_quotes", order: "instrument_id, delayed" },
];

test("views across the border have PostgreSQL's rows, whole and bounded", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { minLength: 20, maxLength: 60 }), async (seen) => {
      const first = DATES.map((date, nth): Seen => ({
        at: `${date} 12:00`,
        id: 1 + (nth % 3),
        bid: "1",
        ask: "2",
        last: "1.5",
      }));
      const after: Seen[] = [LATE_AND_DROPPED, LATE].map((date) => ({
        ...{ at: `${date} 04:00:30`, id: 1, bid: "7", ask: "8", last: "7.5", volume: "5" },
      }));
      const { pool: alone } = await archive();
      const { pool: split, url } = await archive();
      const all = [...first, ...seen];
      await see(alone, ...all, ...after);
      await see(split, ...all);
      const env = {
        DATABASE_URL: url,
        QUOTEKEEPER_DATA_DIR: tempDir(),
        QUOTEKEEPER_LAKE_DIR: join(tempDir(), "lake"),
        QUOTEKEEPER_LAKE_HOT_DAYS: "1",
      };
      const ofStocks = await rowsOfQuery(
        split,
        "select date::text, count(*)::int as bars from bars_5m where option_type is null and date <= $1 group by 1 order by 1",
        [THROUGH],
      );
      const written = await run(["lake", "--through", THROUGH, "--drop-hot", "--json"], env);
      expect(written.stderr).toBe("");
      expect(await barsInFiles(env.QUOTEKEEPER_LAKE_DIR)).toEqual(ofStocks);
      // Months on plain PostgreSQL, chunks of 28 days on hypertables: January is gone on both.
      const kept = await rowsOfQuery(split, "select from quotes where observed_at < '2026-01-31 00:00+00'");
      expect(kept).toEqual([]);
      await see(split, ...after);
      await late(split, LATE_AND_DROPPED, LATE);

      for (const { view, order, without } of VIEWS)
        for (const where of [
          "true",
          "instrument_id = 1",
          "instrument_id = 3",
          BOUNDED[view] ?? "symbol = 'B'",
        ]) {
          const sql = `select * from ${view} where ${where}${without ? ` and not ${without}` : ""} order by ${order}`;
          const ours = await run(["sql", "--json", sql], env);
          expect([sql, ours.stderr]).toEqual([sql, expect.stringMatching(AS_OF)]);
          const { rows } = JSON.parse(ours.stdout) as { rows: Record<string, unknown>[] };
          const theirs = await alone.query<Record<string, unknown>>(sql);
          expect([sql, rows.map(plainRow)]).toEqual([sql, theirs.rows.map(plainRow)]);
        }
    }),
    { numRuns: runs(1), endOnFailure: true },
  );
});

/** How many bars of five minutes the lake's files have of each date. */
async function barsInFiles(dir: string): Promise<{ date: string; bars: number }[]> {
  const days = (await readdir(join(dir, "days"))).sort().map((file) => dayOf(dir, basename(file, ".json")));
  return days.flatMap(({ date, tables }) =>
    tables.flatMap(({ name, rows }) => (name === "bars_5m" ? [{ date, bars: rows }] : [])),
  );
}

/** Rows of the database are read, and kept for the next statement. */
const AS_OF =
  /^The database's rows are those of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.\n(2026-01-30: read as the lake has them.*\n)?$/u;

/** Two stocks and a contract on one of them, whose bars of five minutes no file of the lake has; and nothing of them. */
async function archive(): Promise<TestDatabase> {
  const database = await freshDatabase();
  await database.pool.query(
    `insert into instruments (id, security_type, symbol, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at)
     values (1, 'CS', 'A', null, null, null, null, now(), now()), (2, 'CS', 'B', null, null, null, null, now(), now()),
       (3, 'OPT', 'A', 1, '2026-06-19', 'CALL', 20, now(), now())`,
  );
  return database;
}

const BOUNDED: Readonly<Record<string, string>> = {
  quotes:
    "observed_at >= timestamptz '2026-01-31 17:00:00 America/New_York' and observed_at <= timestamptz '2026-02-20 12:00:00 America/New_York'",
  extended_quotes: "observed_at < timestamptz '2026-02-02 00:00:00 America/New_York'",
  bars_1m: "date in ('2026-01-30', '2026-02-13')",
  bars_5m: "date between '2026-02-01' and '2026-03-01'",
};

function plainRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
}
