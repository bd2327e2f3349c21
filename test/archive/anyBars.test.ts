/** Bars of any width, returns and spreads, beside what is reckoned from the raw rows one by one. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { grouped } from "../../src/collect/asks.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { archive, load, see, type Seen } from "../support/observations.ts";
import { runs } from "../support/runs.ts";

handOnDatabases();

const FROM = "2026-11-17 00:00 America/New_York";
const TO = "2026-11-28 00:00 America/New_York";

/** Minutes of exchange dates: a usual one, the day before a holiday, a half day, a Saturday. */
const DATES = ["2026-11-18", "2026-11-25", "2026-11-27", "2026-11-21"];

/** The simulated market: each of its dates is one session. */
const SIMULATED = 2;

const price = fc.option(fc.integer({ min: 0, max: 500 }), { nil: null });
const observation = fc.record({
  date: fc.constantFrom(...DATES),
  second: fc.integer({ min: 0, max: 24 * 3_600 - 1 }),
  delayed: fc.boolean(),
  source: fc.constantFrom(1, SIMULATED),
  bid: price,
  ask: price,
  last: price,
  volume: fc.option(fc.nat(1_000), { nil: null }),
});

function seenOf({
  date,
  second,
  bid,
  ask,
  last,
  volume,
  delayed,
  source,
}: ReturnType<typeof observation.generate>["value"]): Seen {
  const time = new Date(second * 1_000).toISOString().slice(11, 19);
  const text = (number: number | null): string | null => (number === null ? null : String(number / 4));
  return {
    ...{ at: `${date} ${time}`, delayed, source, bid: text(bid), ask: text(ask), last: text(last) },
    volume: volume === null ? null : String(volume),
  };
}

type Row = {
  at: number;
  date: string;
  delayed: boolean;
  source: number;
  /** When its date begins in New York. */
  midnight: number;
  bid: number | null;
  ask: number | null;
  last: number | null;
  volume: number | null;
  /** Where each part of the exchange's day begins; null on a day without a session. */
  parts: [number, number, number, number] | null;
};

async function rawRows(pool: pg.Pool): Promise<Row[]> {
  const { rows } = await pool.query<{ row: Row }>(
    `select json_build_object('at', extract(epoch from q.observed_at), 'date', d.date, 'delayed', q.delayed, 'source', q.source_id,
       'midnight', extract(epoch from d.date::timestamp at time zone 'America/New_York'), 'bid', q.bid, 'ask', q.ask, 'last', q.last,
       'volume', e.volume, 'parts', (select json_build_array(extract(epoch from pre_at), extract(epoch from open_at), extract(epoch from close_at), extract(epoch from post_at))
                                     from sessions s where s.date = d.date)) as row
     from quotes q join extended_quotes e using (instrument_id, observed_at, source_id)
     cross join lateral (select (q.observed_at at time zone 'America/New_York')::date as date) d
     order by q.delayed, q.source_id, q.observed_at`,
  );
  return rows.map(({ row }) => row);
}

const NAMES = ["closed", "pre", "regular", "post", "closed"];

/** The bars of some rows, one series and date after the other. */
function barsOf(rows: readonly Row[], seconds: number): unknown[] {
  const bars = new Map<
    string,
    { at: number; session: string; date: string; delayed: boolean; source: number; rows: Row[] }
  >();
  for (const row of rows) {
    const part = row.parts ? row.parts.filter((begins) => row.at >= begins).length : 0;
    // Before the first part bars are counted from it as well; without a session from the beginning of 2000.
    const origin =
      row.source === SIMULATED
        ? row.midnight
        : (row.parts?.[Math.max(0, part - 1)] ?? Date.UTC(2000, 0, 1) / 1_000);
    const at = origin + Math.floor((row.at - origin) / seconds) * seconds;
    const session = row.source === SIMULATED ? "regular" : (NAMES[part] ?? "");
    const key = [row.delayed, row.source, row.date, session, at].join();
    const { date, delayed, source } = row;
    const bar = bars.get(key) ?? { at, session, date, delayed, source, rows: [] };
    bar.rows.push(row);
    bars.set(key, bar);
  }
  const shownBefore = new Map<string, number>();
  return [...bars.values()].map(({ at, session, date, delayed, source, rows: own }) => {
    const prices = own.flatMap(({ last }) => (last !== null && last > 0 ? [last] : []));
    const spreads = own.flatMap(({ bid, ask }) =>
      bid !== null && ask !== null && bid > 0 && ask > 0 ? [ask - bid] : [],
    );
    const volumes = own.flatMap(({ volume }) => (volume === null ? [] : [volume]));
    const series = [delayed, source, date].join();
    const [shown, before] = [volumes.at(-1), shownBefore.get(series) ?? volumes[0]];
    if (shown !== undefined) shownBefore.set(series, shown);
    return {
      ...{ at, date, delayed, source, session, n: own.length },
      ...{ open: prices[0] ?? null, close: prices.at(-1) ?? null },
      ...{
        high: prices.length > 0 ? Math.max(...prices) : null,
        low: prices.length > 0 ? Math.min(...prices) : null,
      },
      spread:
        spreads.length > 0
          ? Number((spreads.reduce((sum, one) => sum + one) / spreads.length).toFixed(9))
          : null,
      volume: shown === undefined || before === undefined ? null : shown < before ? shown : shown - before,
    };
  });
}

const barsFrom = (bars: string): string =>
  `select json_build_object('at', extract(epoch from bar_at), 'date', date, 'delayed', delayed, 'source', s.id, 'session', session, 'n', quote_count,
     'open', open, 'close', close, 'high', high, 'low', low, 'spread', round(mean_spread, 9), 'volume', volume) as bar
   from ${bars} b join sources s on s.kind = b.source and s.name = b.source_name
   order by delayed, s.id, bar_at`;

/** The bars of a view, which knows one width. */
async function viewed(pool: pg.Pool, view: string): Promise<unknown[]> {
  const found = await rowsOfQuery(pool, barsFrom(view));
  return found.map(({ bar }) => bar);
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

        const found = await rowsOfQuery(pool, barsFrom("bars('AAPL', make_interval(secs => $1), $2, $3)"), [
          ...[seconds, FROM, TO],
        ]);

        const raw = await rawRows(pool);
        expect(found.map(({ bar }) => bar)).toEqual(barsOf(raw, seconds));
        expect(await viewed(pool, "bars_5m")).toEqual(barsOf(raw, 300));
        expect(await viewed(pool, "bars_1h")).toEqual(barsOf(raw, 3_600));
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
    rowsOfQuery(
      pool,
      `select date, open, high, low, close, trim_scale(mean_spread) as spread, quote_count as n, volume
       from bars('AAPL', $1, '2026-10-01 00:00-04', '2026-12-01 00:00-05') order by date`,
      [width],
    );

  const days = await bars("1 day");
  expect(days.map(({ date, close }) => [date, close])).toEqual([
    ["2026-10-30", "2"],
    ["2026-11-02", "12"],
    ["2026-11-06", "22"],
    ["2026-11-09", "32"],
  ]);
  expect(await bars("7 days")).toEqual([
    days[0],
    {
      date: "2026-11-02",
      open: "11",
      high: "22",
      low: "11",
      close: "22",
      spread: "0.25",
      n: "4",
      volume: "400",
    },
    days[3],
  ]);
  expect((await bars("1 mon")).map(({ date, open, close }) => [date, open, close])).toEqual([
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

type Price = "open" | "high" | "low" | "close";
/** A bar as `barsOf` makes it. */
type Made = Record<Price | "volume", number | null> & {
  at: number;
  date: string;
  delayed: boolean;
  source: number;
  session: string;
  n: number;
};

const known = (values: (number | null)[]): number[] => values.filter((value) => value !== null);

/** Bars in one. */
function joined(bars: readonly Made[]): Record<Price | "n", number | null> {
  const prices = (name: Price): number[] => known(bars.map((bar) => bar[name]));
  const isTraded = prices("close").length > 0;
  return {
    ...{ open: prices("open")[0] ?? null, close: prices("close").at(-1) ?? null },
    ...{
      high: isTraded ? Math.max(...prices("high")) : null,
      low: isTraded ? Math.min(...prices("low")) : null,
    },
    n: bars.reduce((sum, { n }) => sum + n, 0),
  };
}

test("a day's bar is of all hours and says of which session its close is, bars_1d_regular is of regular hours alone, as the raw rows have it", async () => {
  const pool = await archive("AAPL");
  const asked = async (view: string, more = ""): Promise<unknown[]> => {
    const rows = await rowsOfQuery(
      pool,
      `select json_build_object('open', open, 'high', high, 'low', low, 'close', close, 'n', quote_count, 'volume', volume${more}) as bar
       from ${view} b join sources s on s.name = b.source_name order by delayed, s.id, date`,
    );
    return rows.map(({ bar }) => bar);
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(observation, { minLength: 2, maxLength: 40 }),
      fc.boolean(),
      async (seen, isMade) => {
        await pool.query("truncate quotes, extended_quotes, session_bars, intraday_bars");
        await see(pool, ...seen.slice(0, 1).map(seenOf));
        await (isMade ? see(pool, ...seen.slice(1).map(seenOf)) : load(pool, seen.slice(1).map(seenOf)));
        const rows = await rawRows(pool);
        const keyOf = ({ delayed, source, date }: Row | Made): string => [delayed, source, date].join();
        const days = grouped(barsOf(rows, 3_600) as Made[], keyOf);

        expect(await asked("bars_1d", ", 'session', close_session")).toEqual(
          [...days].map(([key, bars]) => ({
            ...joined(bars),
            volume:
              known(rows.filter((row) => keyOf(row) === key).map(({ volume }) => volume)).at(-1) ?? null,
            session: bars.findLast(({ close }) => close !== null)?.session ?? null,
          })),
        );
        expect(await asked("bars_1d_regular")).toEqual(
          [...days.values()].flatMap((bars) => {
            const regular = bars.filter(({ session }) => session === "regular");
            const volumes = known(regular.map(({ volume }) => volume));
            const volume = volumes.length > 0 ? volumes.reduce((sum, one) => sum + one) : null;
            return regular.length > 0 ? [{ ...joined(regular), volume }] : [];
          }),
        );
      },
    ),
    { numRuns: runs(10) },
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

  const rows = await rowsOfQuery(
    pool,
    `select session, quotes, two_sided, crossed, narrowest, median, p95, widest, mean, mean_basis_points
     from spread_stats('AAPL', '2026-11-20 00:00-05', '2026-11-21 00:00-05') order by session`,
  );

  expect(rows).toEqual([
    {
      ...{
        session: "pre",
        quotes: "1",
        two_sided: "1",
        crossed: "0",
        narrowest: "0.50",
        median: "0.50",
        p95: "0.50",
      },
      ...{ widest: "0.50", mean: "0.5", mean_basis_points: "4000.0000" },
    },
    {
      ...{
        session: "regular",
        quotes: "7",
        two_sided: "5",
        crossed: "2",
        narrowest: "-0.01",
        median: "0.02",
        p95: "0.10",
      },
      ...{ widest: "0.10", mean: "0.03", mean_basis_points: "288.4110" },
    },
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
