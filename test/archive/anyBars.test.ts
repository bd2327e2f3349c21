/** Bars of any width, returns and spreads, beside what is reckoned from the raw rows one by one. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { grouped } from "../../src/collect/asks.ts";
import { listsOfQuery, rowsOfQuery } from "../support/archive.ts";
import {
  barOf,
  countBars,
  type CountedRow,
  lastShown,
  readBars,
  readRows,
  SIMULATED,
} from "../support/countedBars.ts";
import { handOnDatabases } from "../support/database.ts";
import { archive, load, see, type Seen } from "../support/observations.ts";
import { runs } from "../support/runs.ts";

handOnDatabases();

const FROM = "2026-11-17 00:00 America/New_York";
const TO = "2026-11-28 00:00 America/New_York";

/** Minutes of exchange dates: a usual one, the day before a holiday, a half day, a Saturday. */
const DAYS: Record<string, string> = {
  "2026-11-18": "regular",
  "2026-11-25": "regular",
  "2026-11-27": "early",
  "2026-11-21": "closed",
};

const price = fc.option(fc.integer({ min: 0, max: 500 }), { nil: null });
const observation = fc.record({
  date: fc.constantFrom(...Object.keys(DAYS)),
  second: fc.integer({ min: 0, max: 24 * 3_600 - 1 }),
  delayed: fc.boolean(),
  source: fc.constantFrom(1, SIMULATED),
  bid: price,
  ask: price,
  last: price,
  volume: fc.option(fc.nat(1_000), { nil: null }),
});

type Observation = ReturnType<typeof observation.generate>["value"];

const AT_MIDNIGHT: Observation = {
  ...{ date: "2026-11-25", second: 0, delayed: false, source: SIMULATED },
  ...{ bid: null, ask: null, last: null, volume: null },
};

function seenOf({ date, second, bid, ask, last, volume, delayed, source }: Observation): Seen {
  const time = new Date(second * 1_000).toISOString().slice(11, 19);
  const text = (number: number | null): string | null => (number === null ? null : String(number / 4));
  return {
    ...{ at: `${date} ${time}`, delayed, source, bid: text(bid), ask: text(ask), last: text(last) },
    volume: volume === null ? null : String(volume),
  };
}

test("bars of any width are those that the raw rows make, made before or not", async () => {
  const pool = await archive("AAPL");
  await fc.assert(
    fc.asyncProperty(
      fc.array(observation, { minLength: 1, maxLength: 30 }),
      fc.array(observation, { minLength: 1, maxLength: 10 }),
      fc.constantFrom(13, 60, 7 * 60, 600, 900, 3_600, 4 * 3_600),
      async (first, later, seconds) => {
        await pool.query("truncate quotes, extended_quotes, session_bars, intraday_bars");
        await see(pool, ...first.map(seenOf));
        await see(pool, ...later.map(seenOf));

        const width = "bars('AAPL', make_interval(secs => $1), $2, $3)";
        const found = await readBars(pool, width, [seconds, FROM, TO]);

        const rows = await readRows(pool);
        expect(found).toEqual(countBars(rows, seconds));
        expect(await readBars(pool, "bars_5m")).toEqual(countBars(rows, 300));
        expect(await readBars(pool, "bars_1h")).toEqual(countBars(rows, 3_600));
      },
    ),
    { numRuns: runs(10) },
  );
});

test.each(["1 mon 15 days", "1 mon 1 hour", "30 hours", "36 hours", "1 year 1 day"])(
  "bars of %s are refused, and the error says which widths there are",
  async (width) => {
    const pool = await archive("AAPL");

    const failure: unknown = await pool
      .query("select from bars('AAPL', $1, $2, $3)", [width, FROM, TO])
      .catch((error: unknown) => error);

    expect(failure).toMatchObject({
      code: "22023",
      message: expect.stringMatching(/^bars cannot be .* wide$/) as unknown,
      hint: "From a day on a width is whole days, such as 7 days, or whole months, such as 3 mons.",
    });
    await expect(pool.query("select from returns('AAPL', $1, $2, $3)", [width, FROM, TO])).rejects.toThrow();
  },
);

test.each(["24 hours", "48 hours", "3 mons", "1 year", "2 weeks", "23:59"])(
  "bars can be %s wide",
  async (width) => {
    const pool = await archive("AAPL");

    await expect(
      pool.query("select from bars('AAPL', $1, $2, $3)", [width, FROM, TO]),
    ).resolves.toMatchObject({ rowCount: 0 });
  },
);

test("bars of days and more are kept apart by source and kind of feed", async () => {
  const pool = await archive("AAPL");
  await see(
    pool,
    ...["2026-11-18", "2026-11-19"].flatMap((date) => [
      { at: `${date} 10:00:01`, last: "1", volume: "10" },
      { at: `${date} 10:00:02`, delayed: true, last: "2", volume: "20" },
      { at: `${date} 10:00:03`, source: 2, last: "3", volume: "30" },
    ]),
  );

  for (const [width, days] of [
    ["1 day", ["2026-11-18", "2026-11-19"]],
    ["7 days", ["2026-11-18"]],
  ] as const) {
    const n = days.length;
    const found = await rowsOfQuery(
      pool,
      `select date, source_name, delayed, close, quote_count as n, volume
       from bars('AAPL', $1, '2026-11-01 00:00-04', '2026-12-01 00:00-05') order by date, close`,
      [width],
    );
    const each = { n: String(3 - n), source_name: expect.any(String) as unknown };
    expect(found).toEqual(
      days.flatMap((date) => [
        { ...each, date, delayed: false, close: "1", volume: String(10 * (3 - n)) },
        { ...each, date, delayed: true, close: "2", volume: String(20 * (3 - n)) },
        { ...each, date, delayed: false, close: "3", volume: String(30 * (3 - n)) },
      ]),
    );
    expect(new Set(found.map(({ source_name }) => source_name)).size).toBe(2);
  }
});

test("bars of days and more hold whole sessions, and weeks begin on Monday", async () => {
  const pool = await archive("AAPL", "MSFT");
  await see(
    pool,
    ...["2026-10-30", "2026-11-02", "2026-11-06", "2026-11-09"].flatMap((date, nth) =>
      ["10:00", "15:00"].map((time, place) => ({
        ...{ at: `${date} ${time}`, bid: "1.00", ask: `1.${nth + 1}0`, last: `${10 * nth + place + 1}` },
        volume: String(100 * (place + 1)),
      })),
    ),
    { at: "2026-11-09 10:00", id: 2, last: "1" },
  );

  const bars = (width: string) =>
    listsOfQuery(
      pool,
      `select date, open, high, low, close, trim_scale(mean_spread), quote_count, volume
       from bars('AAPL', $1, '2026-10-01 00:00-04', '2026-12-01 00:00-05') order by date`,
      [width],
    );

  const days = await bars("1 day");
  expect(days.map(([date, , , , close]) => [date, close])).toEqual([
    ["2026-10-30", "2"],
    ["2026-11-02", "12"],
    ["2026-11-06", "22"],
    ["2026-11-09", "32"],
  ]);
  expect(await bars("7 days")).toEqual([
    days[0],
    ["2026-11-02", "11", "22", "11", "22", "0.25", "4", "400"],
    days[3],
  ]);
  expect((await bars("1 mon")).map(([date, open, , , close]) => [date, open, close])).toEqual([
    ["2026-10-30", "1", "2"],
    ["2026-11-02", "11", "32"],
  ]);
  expect(
    await rowsOfQuery(
      pool,
      "select date, percent::float8 from returns('AAPL', '1 day', '2026-11-01 00:00-04', '2026-12-01 00:00-05') order by date",
    ),
  ).toEqual([
    { date: "2026-11-02", percent: null },
    { date: "2026-11-06", percent: 83.333333 },
    { date: "2026-11-09", percent: 45.454545 },
  ]);
});

test("returns of five minutes are those of bars_5m", async () => {
  const pool = await archive("AAPL");
  await see(
    pool,
    ...Array.from({ length: 40 }, (_, n) => ({
      at: `2026-11-20 ${String(9 + Math.floor(n / 6)).padStart(2, "0")}:${String((n % 6) * 10).padStart(2, "0")}`,
      last: n % 7 === 3 ? "0" : String(100 + ((n * 37) % 11)),
    })),
  );

  const kept = await rowsOfQuery(
    pool,
    "select bar_at, close, log_return from bars_5m where date = '2026-11-20' and close is not null order by bar_at",
  );
  const found = await rowsOfQuery(
    pool,
    `select bar_at, close, log_return from returns('AAPL', '5 minutes', '2026-11-20 00:00-05', '2026-11-21 00:00-05') order by bar_at`,
  );

  expect(found).toEqual(kept);
  expect(found.filter(({ log_return }) => log_return !== null).length).toBeGreaterThan(20);
});

test("a day's bar is of all hours and says of which session its close is, bars_1d_regular is of regular hours alone, as the raw rows have it", async () => {
  const pool = await archive("AAPL");
  const asked = async (view: string, more = ""): Promise<unknown[]> => {
    const rows = await rowsOfQuery(
      pool,
      `select json_build_object('open', 100 * open, 'high', 100 * high, 'low', 100 * low, 'close', 100 * close,
         'n', quote_count, 'volume', volume${more}) as bar
       from ${view} b order by delayed, source = 'simulated', date`,
    );
    return rows.map(({ bar }) => bar);
  };
  const withoutSpread = (rows: readonly CountedRow[]): object => ({ ...barOf(rows), spread: undefined });
  const seriesOf = ({ delayed, source, date }: CountedRow): string => [delayed, source, date].join();
  await fc.assert(
    fc.asyncProperty(
      fc.array(observation, { minLength: 2, maxLength: 40 }),
      fc.boolean(),
      async (seen, isMade) => {
        await pool.query("truncate quotes, extended_quotes, session_bars, intraday_bars");
        await see(pool, ...seen.slice(0, 1).map(seenOf));
        await (isMade ? see(pool, ...seen.slice(1).map(seenOf)) : load(pool, seen.slice(1).map(seenOf)));
        const days = [...grouped(await readRows(pool), seriesOf).values()];

        expect(await asked("bars_1d", ", 'session', close_session, 'day', b.session")).toEqual(
          days.map((rows) => ({
            ...withoutSpread(rows),
            volume: lastShown(rows),
            session: countBars(rows, 3_600).findLast(({ close }) => close !== null)?.session ?? null,
            day: rows[0]?.source === SIMULATED ? "regular" : DAYS[rows[0]?.date ?? ""],
          })),
        );
        expect(await asked("bars_1d_regular")).toEqual(
          days.flatMap((rows) => {
            const bars = countBars(rows, 3_600).filter(({ session }) => session === "regular");
            const volumes = bars.flatMap(({ volume }) => volume ?? []);
            const volume = volumes.length > 0 ? volumes.reduce((sum, one) => sum + one) : null;
            const regular = rows.filter((row) => countBars([row], 3_600)[0]?.session === "regular");
            return regular.length > 0 ? [{ ...withoutSpread(regular), volume }] : [];
          }),
        );
      },
    ),
    {
      numRuns: runs(10),
      // Of two quotes of one instant the second is passed over, whatever its kind of feed.
      examples: [
        [[AT_MIDNIGHT, { ...AT_MIDNIGHT, delayed: true }, { ...AT_MIDNIGHT, second: 1 }], false],
        [
          [
            { ...AT_MIDNIGHT, delayed: true },
            { ...AT_MIDNIGHT, second: 9, volume: 7 },
            { ...AT_MIDNIGHT, second: 9, delayed: true },
          ],
          false,
        ],
      ],
    },
  );
});

test("spread_stats counts what has two sides, and passes over what has not", async () => {
  const pool = await archive("AAPL");
  await see(
    pool,
    { at: "2026-11-20 09:00", bid: "1.00", ask: "1.50" },
    ...["1.02", "1.04", "1.10", "1.00", "0.99"].map((ask, n) => ({
      at: `2026-11-20 10:0${n}`,
      bid: "1.00",
      ask,
    })),
    { at: "2026-11-20 10:30", bid: "0", ask: "1.00" },
    { at: "2026-11-20 10:31", bid: "1.00", ask: null },
    { at: "2026-11-21 10:31", bid: "1.00", ask: "9.00" },
  );

  const rows = await listsOfQuery(
    pool,
    `select session, quotes, two_sided, crossed, narrowest, median, p95, widest, mean, mean_basis_points
     from spread_stats('AAPL', '2026-11-20 00:00-05', '2026-11-21 00:00-05') order by session`,
  );

  expect(rows).toEqual([
    ["pre", "1", "1", "0", "0.50", "0.50", "0.50", "0.50", "0.5", "4000.0000"],
    ["regular", "7", "5", "2", "-0.01", "0.02", "0.10", "0.10", "0.03", "288.4110"],
  ]);
});

test("the simulated market's spreads are those of one session at any hour, also of a weekend", async () => {
  const pool = await archive("AAPL");
  await see(
    pool,
    ...["2026-11-20 03:00", "2026-11-20 10:00", "2026-11-21 12:00"].map((at, n) => ({
      ...{ at, source: SIMULATED, bid: "1.00", ask: `1.0${n + 1}` },
    })),
  );

  const rows = await rowsOfQuery(
    pool,
    "select source, session, quotes, narrowest, widest from spread_stats('AAPL', '2026-11-20 00:00-05', '2026-11-22 00:00-05')",
  );

  expect(rows).toEqual([
    { source: "simulated", session: "regular", quotes: "3", narrowest: "0.01", widest: "0.03" },
  ]);
});
