/** Bars counted again from the rows of the tables, in TypeScript, after rows came in any order, were lost and came again. */
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { makeDueBars, makeManyDueBars } from "../../src/archive/schema/makeBars.ts";
import { grouped } from "../../src/collect/asks.ts";
import { listsOfQuery, rowsOfQuery } from "../support/archive.ts";
import {
  barOf,
  beginningOf,
  countBars,
  type CountedBar,
  lastShown,
  readBars,
  readRows,
  SIMULATED,
} from "../support/countedBars.ts";
import { addContracts, addStocks, archive, load, see, type Seen } from "../support/observations.ts";

// Bars are recounted for many orders of loading, which takes as long as the machine is slow.
jest.setTimeout(300_000);

// Contracts are on the first stock.
const pool = await archive("AAPL");

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Instruments whose quotes are the simulated market's; the account's are all others. */
const simulated = new Set<number>();
const contracts = new Set<number>();

/** Every second is quoted by the simulated market, every third is a stock, and the others are contracts. */
async function addInstrument(id: number): Promise<void> {
  if (id % 2 === 0) simulated.add(id);
  if (id % 3 === 0) return addStocks(pool, [`S${id}`], id);
  contracts.add(id);
  return addContracts(pool, [["2027-01-15", "CALL", String(id)]], id);
}

/** Of contracts: how many dates had bars that are kept, and how many had none. */
const datesSeen = { kept: 0, none: 0 };

/**
 * What is kept are the bars that are over, the last date's up to five minutes, as often as they are in the views: of a stock all of
 * them, of a contract those of dates with a quote each two and a half minutes, a dozen aside.
 */
async function expectKept(id: number): Promise<void> {
  const rows = await readRows(pool, id);
  const last = rows.at(-1);
  if (last === undefined) return;
  const dense = new Set<string>();
  for (const [date, own] of grouped(rows, (row) => row.date)) {
    const isDense = (own.at(-1)?.at ?? 0) - (own[0]?.at ?? 0) < 150 * (own.length - 12);
    if (isDense || !contracts.has(id)) dense.add(date);
    if (contracts.has(id)) datesSeen[isDense ? "kept" : "none"] += 1;
  }
  const to = last.at - (last.at % (5 * MINUTE));
  const over = ({ date, at }: CountedBar, width: number) =>
    date < last.date || (width === HOUR ? beginningOf(to, last, width) > at : at < to);
  const kept = await listsOfQuery(
    pool,
    `select minutes::int, extract(epoch from bar_at)::float8, quote_count::int from intraday_bars
     where instrument_id = $1 order by 1, 2`,
    [id],
  );
  expect(kept).toEqual(
    [5 * MINUTE, HOUR].flatMap((width) =>
      countBars(rows, width)
        .filter((bar) => dense.has(bar.date) && over(bar, width))
        .map(({ at, n }) => [width / MINUTE, at, n]),
    ),
  );
}

/** All bars of an instrument against a count of its rows; `areMade`: also those that session_bars has. */
async function expectCounted(id: number, areMade = true): Promise<void> {
  const rows = await readRows(pool, id);
  const days = [...grouped(rows, ({ date }) => date)];
  const shown = await rowsOfQuery(
    pool,
    `select json_build_object('date', date, 'open', 100 * open, 'high', 100 * high, 'low', 100 * low, 'close', 100 * close,
       'spread', round(100 * mean_spread, 6), 'n', quote_count, 'volume', volume,
       'from', extract(epoch from first_at), 'to', extract(epoch from last_at)) as day
     from bars_1d where instrument_id = $1 order by date`,
    [id],
  );
  expect(shown.map(({ day }) => day)).toEqual(
    days.map(([date, own]) => ({
      ...barOf(own),
      date,
      volume: lastShown(own),
      from: own[0]?.at,
      to: own.at(-1)?.at,
    })),
  );
  if (areMade)
    expect(
      await listsOfQuery(
        pool,
        `select date, quote_count::int, (100 * spread_sum)::int, spread_count::int from session_bars
         where instrument_id = $1 order by date`,
        [id],
      ),
    ).toEqual(
      days.map(([date, own]) => {
        const spreads = own.flatMap(({ bid, ask }) => (bid && ask ? [ask - bid] : []));
        return [date, own.length, spreads.reduce((sum, one) => sum + one, 0), spreads.length];
      }),
    );
  for (const [width, seconds] of [
    ["1m", MINUTE],
    ["5m", 5 * MINUTE],
    ["1h", HOUR],
  ] as const)
    expect(await readBars(pool, `(select * from bars_${width} where instrument_id = $1)`, [id])).toEqual(
      countBars(rows, seconds),
    );
  await expectReturns(id, countBars(rows, 5 * MINUTE));
}

/** A return is that of a close against the one before it, if both are of one session of a date. */
async function expectReturns(id: number, bars: readonly CountedBar[]): Promise<void> {
  const found = await listsOfQuery(
    pool,
    "select round(log_return, 9)::float8 from bars_5m where instrument_id = $1 order by bar_at",
    [id],
  );
  expect(found.flat().map((one) => (one === null ? null : (Number(one) + 0).toFixed(9)))).toEqual(
    bars.map(({ date, session, close }, place) => {
      const before = bars.slice(0, place).findLast((bar) => bar.date === date && bar.close !== null);
      if (close === null || typeof before?.close !== "number" || before.session !== session) return null;
      return (Math.log(close) - Math.log(before.close)).toFixed(9);
    }),
  );
}

const price = fc.constantFrom(null, "0", "0.00", "9.90", "10", "10.05", "11.5");
const observation = fc.record({
  // A Friday, a Saturday, a Monday.
  date: fc.constantFrom("2026-11-20", "2026-11-28", "2026-11-30"),
  minute: fc.integer({ min: 0, max: 24 * 60 - 1 }),
  ...{ bid: price, ask: price, last: price, traded: fc.option(fc.nat(50)) },
});
type Drawn = typeof observation extends fc.Arbitrary<infer T> ? T : never;

/** What becomes of some: they are loaded, and their bars made then or later; or they are lost, and somebody recomputes their dates. */
const step = fc.record({
  way: fc.constantFrom("loaded", "loaded", "made", "lost"),
  places: fc.array(fc.nat(49), { minLength: 1, maxLength: 40 }),
});

/** The same observations one minute after the other, most of them on one date. */
function within(drawn: readonly Drawn[]): Drawn[] {
  return drawn.map((one, n) => ({
    ...one,
    date: n % 7 === 0 ? one.date : "2026-11-20",
    minute: 570 + n,
  }));
}

/** Observations of an instrument, each at a time of its own; the volume of a date only grows. */
function observationsOf(id: number, drawn: readonly Drawn[]): Seen[] {
  const volumes = new Map<string, number>();
  return [...new Map(drawn.map((one) => [`${one.date} ${one.minute}`, one])).values()]
    .sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : a.minute - b.minute))
    .map(({ date, minute, bid, ask, last, traded }, n) => {
      volumes.set(date, (volumes.get(date) ?? 1_000) + (traded ?? 0));
      const time = new Date(60_000 * minute + n).toISOString().slice(11, 23);
      return {
        at: `${date} ${time}`,
        id,
        ...(simulated.has(id) && { source: SIMULATED }),
        bid,
        ask,
        last,
        volume: traded === null ? null : String(volumes.get(date)),
      };
    });
}

async function lose(seen: readonly Seen[]): Promise<void> {
  for (const table of ["quotes", "extended_quotes"])
    await pool.query(
      `delete from ${table} where observed_at = any ($1::timestamptz[]) and instrument_id = $2`,
      [seen.map(({ at }) => `${at} America/New_York`), seen[0]?.id],
    );
  for (const date of new Set(seen.map(({ at }) => at.slice(0, 10))))
    await pool.query("select recompute_session_bars($1, $1)", [date]);
}

test("whatever is loaded in whatever order, lost and loaded again, bars of every width equal a recount of the rows", async () => {
  let id = 1;
  await fc.assert(
    fc.asyncProperty(
      fc.array(observation, { minLength: 5, maxLength: 50 }),
      fc.array(step, { minLength: 2, maxLength: 6 }),
      fc.boolean(),
      async (drawn, steps, isNarrow) => {
        id += 1;
        await addInstrument(id);
        const all = observationsOf(id, isNarrow ? within(drawn) : drawn);
        for (const { way, places } of steps) {
          const some = [...new Set(places.map((place) => place % all.length))].flatMap((at) => all[at] ?? []);
          if (way === "loaded") await load(pool, some);
          else await (way === "lost" ? lose(some) : see(pool, ...some));
          if (way === "made") await expectCounted(id);
        }
        await see(pool, ...all);
        await expectCounted(id);
        await expectKept(id);
      },
    ),
    { numRuns: 12, seed: 16 },
  );
});

test("rows behind all others are in bars of every width at once, and bars that are made bit by bit equal those of all rows", async () => {
  let id = 2_000;
  await fc.assert(
    fc.asyncProperty(
      // Some minutes apart: of some five minutes there are several.
      fc.array(observation, { minLength: 30, maxLength: 40 }),
      fc.array(fc.record({ length: fc.integer({ min: 1, max: 9 }), isMade: fc.boolean() }), {
        minLength: 40,
        maxLength: 40,
      }),
      fc.boolean(),
      async (drawn, pieces, isNarrow) => {
        id += 1;
        await addInstrument(id);
        const all = observationsOf(id, isNarrow ? within(drawn) : drawn);
        let from = 0;
        for (const { length, isMade } of pieces) {
          if (from >= all.length) break;
          await (isMade
            ? see(pool, ...all.slice(from, from + length))
            : load(pool, all.slice(from, from + length)));
          from += length;
          await expectCounted(id, isMade);
        }
        await makeDueBars(pool);
        await expectCounted(id);
        await expectKept(id);
        const kept = () =>
          rowsOfQuery(
            pool,
            `select s::text, (select array_agg(i::text order by minutes, bar_at) from intraday_bars i
               where i.instrument_id = s.instrument_id and i.date = s.date) as bars
             from session_bars s where instrument_id = $1 order by date`,
            [id],
          );
        const before = await kept();
        await pool.query("select recompute_session_bars('1990-01-01', '2099-01-01')");
        expect(await kept()).toEqual(before);
      },
    ),
    { numRuns: 20, seed: 18 },
  );
  expect(datesSeen.kept).toBeGreaterThan(5);
  expect(datesSeen.none).toBeGreaterThan(5);
});

test("a contract that is quoted each five minutes keeps no bars until its quotes go, and none when they are back", async () => {
  const id = 3_000;
  contracts.add(id);
  await addContracts(pool, [["2027-01-15", "PUT", "3000"]], id);
  const quotes = Array.from({ length: 40 }, (_, n): Seen => {
    const at = new Date(5 * 60_000 * n).toISOString().slice(11, 19);
    return { at: `2026-03-17 ${at}`, id, last: String(7 + (n % 3)), volume: String(n) };
  });
  await see(pool, ...quotes);
  await see(pool, { at: "2026-03-18 09:31", id, last: "7" });
  await expectCounted(id);
  await expectKept(id);
  const widths = ["5m", "1h"] as const;
  const seen = () =>
    Promise.all(
      widths.map((width) => readBars(pool, `(select * from bars_${width} where instrument_id = $1)`, [id])),
    );
  const before = await seen();

  await pool.query(
    "select keep_bars_of_dropped('2026-03-17 America/New_York', '2026-03-18 America/New_York')",
  );
  await pool.query(
    "delete from quotes where instrument_id = $1 and observed_at < '2026-03-18 America/New_York'",
    [id],
  );
  await pool.query("delete from extended_quotes where instrument_id = $1", [id]);
  expect(await seen()).toEqual(before);

  await see(pool, ...quotes);
  await expectCounted(id);
  await expectKept(id);
});

test("bars that two connections make at once are those of their rows, each made by one of them", async () => {
  const first = 500_000;
  const ids = Array.from({ length: 2_500 }, (_, n) => first + n);
  await addStocks(
    pool,
    ids.map((id) => `M${id}`),
    first,
  );
  const kept = () =>
    rowsOfQuery(
      pool,
      `select s::text, (select array_agg(b::text order by minutes, bar_at) from intraday_bars b
         where b.instrument_id = s.instrument_id and b.date = s.date) as bars
       from session_bars s where instrument_id >= $1 order by instrument_id, date`,
      [first],
    );
  const quotes = ids.flatMap((id) =>
    ["2026-11-18 09:31", "2026-11-18 10:02", "2026-11-19 09:31"].map((at) => ({ at, id, last: String(id) })),
  );
  await load(pool, quotes);

  await makeManyDueBars(pool);

  const made = await kept();
  expect(made).toHaveLength(2 * ids.length);
  await pool.query("select recompute_session_bars('2026-11-18', '2026-11-19')");
  expect(await kept()).toEqual(made);
});

test("a load that goes on over midnight in New York, in summer, in winter and before 1970, gives each date its bars", async () => {
  for (const [n, [before, after]] of [
    ["2026-11-20", "2026-11-21"],
    ["2026-07-15", "2026-07-16"],
    ["1965-01-14", "1965-01-15"],
    ["1965-07-15", "1965-07-16"],
  ].entries()) {
    const id = 4_000 + n;
    await addStocks(pool, [`S${id}`], id);
    const times = ["20:00", "22:30", "23:05", "23:58"].map((time) => `${before} ${time}`);
    times.push(...["00:01", "00:30", "01:02", "03:30"].map((time) => `${after} ${time}`));
    const seen = times.map((at, place): Seen => ({ at, id, last: String(9 + place), volume: String(place) }));
    await see(pool, ...seen);
    await expectCounted(id);
  }
});
