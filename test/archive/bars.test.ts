/** Bars counted again from the rows of the tables, in TypeScript, after rows came in any order, were lost and came again. */
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import { makeDueBars } from "../../src/archive/schema/makeBars.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { archive, load, see, type Seen } from "../support/observations.ts";

// Bars are recounted for many orders of loading, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const pool = await archive();

/** A row as the tables have it: `at` in ms of New York's clock, as if that were UTC; prices in cents. */
type Row = { at: number; bid: bigint | null; ask: bigint | null; last: bigint | null; volume: bigint | null };

const MINUTE = 60_000;
const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
const midnight = (at: number): number => Date.parse(dateOf(at));
const clock = (hours: number, minutes = 0): number => (60 * hours + minutes) * MINUTE;

async function rowsOf(id: number): Promise<Row[]> {
  const found = await rowsOfQuery(
    pool,
    `select extract(epoch from q.observed_at at time zone 'America/New_York') as at, (100 * bid)::bigint as bid,
            (100 * ask)::bigint as ask, (100 * last)::bigint as last, volume
     from quotes q left join extended_quotes e using (instrument_id, observed_at, source_id)
     where instrument_id = $1`,
    [id],
  );
  const whole = (value: unknown): bigint | null => (value === null ? null : BigInt(String(value)));
  return found
    .map(({ at, bid, ask, last, volume }) => ({
      at: Math.round(1_000 * Number(at)),
      ...{ bid: whole(bid), ask: whole(ask), last: whole(last), volume: whole(volume) },
    }))
    .sort((a, b) => a.at - b.at);
}

/** Rows in groups of the same text, in the order of their first. */
function grouped(rows: readonly Row[], nameOf: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  return [...groups];
}

/** What is the same in a bar of any width. */
function barOf(rows: readonly Row[]) {
  const trades = rows.flatMap(({ last }) => (last !== null && last > 0n ? [last] : []));
  const spreads = rows.flatMap(({ bid, ask }) => (bid && ask ? [ask - bid] : []));
  const [high, low] = trades
    .toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0))
    .filter((_, n, all) => n === 0 || n === all.length - 1);
  return {
    open: trades[0] ?? null,
    high: high ?? null,
    low: low ?? high ?? null,
    close: trades.at(-1) ?? null,
    spreads:
      spreads.length === 0 ? null : [spreads.reduce((sum, one) => sum + one, 0n), BigInt(spreads.length)],
    count: BigInt(rows.length),
  };
}

const lastShown = (rows: readonly Row[]): bigint | null =>
  rows.reduce<bigint | null>((shown, { volume }) => volume ?? shown, null);

function daysCounted(rows: readonly Row[]) {
  return grouped(rows, ({ at }) => dateOf(at)).map(([date, ofDate]) => ({
    ...{ date, ...barOf(ofDate), volume: lastShown(ofDate) },
    ...{ from: ofDate[0]?.at, to: ofDate.at(-1)?.at },
  }));
}

/** Instruments whose quotes are the simulated market's; the account's are all others. */
const simulated = new Set<number>();
const SIMULATED = 2;

/** Whether the exchange has a session, holidays apart: the simulated market has none of it, but its own. */
const isWeekend = (at: number): boolean => [0, 6].includes(new Date(at).getUTCDay());

/** Where a bar begins: bars are counted anew from 04:00, the open, the close and 20:00; the simulated market's from midnight. */
function beginning(at: number, width: number, id: number): number {
  const anew = simulated.has(id) || isWeekend(at) ? [] : [clock(20), clock(16), clock(9, 30), clock(4)];
  const base = anew.find((one) => at - midnight(at) >= one) ?? clock(0);
  return midnight(at) + base + Math.floor((at - midnight(at) - base) / width) * width;
}

function sessionOf(at: number, id: number): string {
  if (simulated.has(id)) return "regular";
  const time = at - midnight(at);
  if (isWeekend(at) || time < clock(4) || time >= clock(20)) return "closed";
  return time < clock(9, 30) ? "pre" : time < clock(16) ? "regular" : "post";
}

function barsCounted(rows: readonly Row[], width: number, id: number) {
  return grouped(rows, ({ at }) => dateOf(at)).flatMap(([, ofDate]) => {
    let before: bigint | null = null;
    let closed: { session: string; close: bigint } | null = null;
    return grouped(ofDate, ({ at }) => String(beginning(at, width, id))).map(([at, ofBar]) => {
      const shown = lastShown(ofBar);
      const first = ofBar.find(({ volume }) => volume !== null)?.volume ?? 0n;
      const volume: bigint | null = shown === null ? null : shown - (before ?? first);
      before = shown ?? before;
      const bar = barOf(ofBar);
      const session = sessionOf(Number(at), id);
      const logReturn =
        bar.close !== null && closed?.session === session
          ? (Math.log(Number(bar.close)) - Math.log(Number(closed.close))).toFixed(9)
          : null;
      if (bar.close !== null) closed = { session, close: bar.close };
      return { at: Number(at), session, ...bar, volume, logReturn };
    });
  });
}

const whole = (value: unknown): bigint | null => (value === null ? null : BigInt(String(value)));
const cents =
  "(100 * open)::bigint as open, (100 * high)::bigint as high, (100 * low)::bigint as low, (100 * close)::bigint as close";
const ms = (column: string): string =>
  `round(1000 * extract(epoch from ${column} at time zone 'America/New_York')) as`;

async function daysKept(id: number) {
  const found = await rowsOfQuery(
    pool,
    `select b.date, ${cents}, (100 * s.spread_sum)::bigint as spread_sum, s.spread_count, b.quote_count as count, b.volume,
            ${ms("b.first_at")} "from", ${ms("b.last_at")} "to"
     from (select date, open, high, low, close, quote_count, volume, first_at, last_at from bars_1d where instrument_id = $1) b
     join (select date, spread_sum, spread_count from session_bars where instrument_id = $1) s using (date) order by date`,
    [id],
  );
  return found.map(({ date, spread_sum, spread_count, from, to, ...rest }) => ({
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, whole(value)])),
    ...{ date, from: Number(from), to: Number(to) },
    spreads: spread_count === "0" ? null : [whole(spread_sum), whole(spread_count)],
  }));
}

const meanOf = (spreads: readonly (bigint | undefined)[] | null): string | null =>
  spreads === null ? null : (Number(spreads[0]) / Number(spreads[1])).toFixed(6);

async function daysShown(id: number) {
  const found = await rowsOfQuery(
    pool,
    `select date, ${cents}, quote_count as count, volume, 100 * mean_spread as spread, ${ms("first_at")} "from", ${ms("last_at")} "to"
     from bars_1d where instrument_id = $1 order by date`,
    [id],
  );
  return found.map(({ date, spread, from, to, ...rest }) => ({
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, whole(value)])),
    ...{ date, from: Number(from), to: Number(to) },
    spread: spread === null ? null : Number(spread).toFixed(6),
  }));
}

async function barsKept(id: number, width: string) {
  const found = await rowsOfQuery(
    pool,
    `select ${ms("bar_at")} at, session, ${cents}, 100 * mean_spread as spread, quote_count as count, volume,
            ${width === "5m" ? "log_return" : "null::float8"} as "logReturn"
     from bars_${width} where instrument_id = $1 order by bar_at`,
    [id],
  );
  return found.map(({ at, session, spread, logReturn, ...rest }) => ({
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, whole(value)])),
    ...{ at: Number(at), session, spread: spread === null ? null : Number(spread).toFixed(6) },
    logReturn: logReturn === null ? null : (Number(logReturn) + 0).toFixed(9),
  }));
}

const HOUR = 60 * MINUTE;
const LONGEST_UNKEPT = 5 * MINUTE;

/** What is kept are the bars that are over, the last date's up to five minutes, as often as they are in the views. */
async function expectKept(id: number, rows: readonly Row[]): Promise<void> {
  const last = rows.at(-1);
  if (last === undefined) return;
  const to = last.at - (last.at % LONGEST_UNKEPT);
  const over = (at: number, width: number) =>
    dateOf(at) < dateOf(last.at) || (width === HOUR ? beginning(to, width, id) > at : at < to);
  const kept = await rowsOfQuery(
    pool,
    `select minutes, ${ms("bar_at")} at, quote_count as count from intraday_bars where instrument_id = $1 order by 1, 2`,
    [id],
  );
  expect(kept.map(({ minutes, at, count }) => [Number(minutes), Number(at), BigInt(String(count))])).toEqual(
    [5 * MINUTE, HOUR].flatMap((width) =>
      barsCounted(rows, width, id)
        .filter(({ at }) => over(at, width))
        .map(({ at, count }) => [width / MINUTE, at, count]),
    ),
  );
}

/** All bars of an instrument against a count of its rows; `areMade`: also those that session_bars has. */
async function expectCounted(id: number, areMade = true): Promise<void> {
  const rows = await rowsOf(id);
  if (areMade) expect(await daysKept(id)).toEqual(daysCounted(rows));
  expect(await daysShown(id)).toEqual(
    daysCounted(rows).map(({ spreads, ...day }) => ({ ...day, spread: meanOf(spreads) })),
  );
  for (const [width, length] of [
    ["1m", MINUTE],
    ["5m", 5 * MINUTE],
    ["1h", HOUR],
  ] as const)
    expect(await barsKept(id, width)).toEqual(
      barsCounted(rows, length, id).map(({ spreads, logReturn, ...bar }) => ({
        ...{ ...bar, logReturn: width === "5m" ? logReturn : null },
        spread: meanOf(spreads),
      })),
    );
}

const price = fc.constantFrom(null, "0", "0.00", "9.90", "10", "10.05", "11.5");
const observation = fc.record({
  // A Friday, a Saturday, a Monday.
  date: fc.constantFrom("2026-11-20", "2026-11-28", "2026-11-30"),
  minute: fc.integer({ min: 0, max: 24 * 60 - 1 }),
  ...{ bid: price, ask: price, last: price, traded: fc.option(fc.nat(50)) },
});
/** What becomes of some: they are loaded, and their bars made then or later; or they are lost, and somebody recomputes their dates. */
const step = fc.record({
  way: fc.constantFrom("loaded", "loaded", "made", "lost"),
  places: fc.array(fc.nat(39), { minLength: 1, maxLength: 25 }),
});

/** Observations of an instrument, each at a time of its own; the volume of a date only grows. */
function observationsOf(
  id: number,
  drawn: readonly (typeof observation extends fc.Arbitrary<infer T> ? T : never)[],
): Seen[] {
  const volumes = new Map<string, number>();
  return [...new Map(drawn.map((one) => [`${one.date} ${one.minute}`, one])).values()]
    .sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : a.minute - b.minute))
    .map(({ date, minute, bid, ask, last, traded }, n) => {
      volumes.set(date, (volumes.get(date) ?? 1_000) + (traded ?? 0));
      const time = new Date(minute * MINUTE + n).toISOString().slice(11, 23);
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
  let id = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(observation, { minLength: 5, maxLength: 40 }),
      fc.array(step, { minLength: 2, maxLength: 6 }),
      async (drawn, steps) => {
        id += 1;
        await add(pool, id);
        if (id % 2 === 0) simulated.add(id);
        const all = observationsOf(id, drawn);
        for (const { way, places } of steps) {
          const some = [...new Set(places.map((place) => place % all.length))].flatMap((at) => all[at] ?? []);
          if (way === "loaded") await load(pool, some);
          else await (way === "lost" ? lose(some) : see(pool, ...some));
          if (way === "made") await expectCounted(id);
        }
        await see(pool, ...all);
        await expectCounted(id);
        await expectKept(id, await rowsOf(id));
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
        await add(pool, id);
        if (id % 2 === 0) simulated.add(id);
        const all = observationsOf(
          id,
          drawn.map((one) => ({ ...one, minute: isNarrow ? 570 + (one.minute % 70) : one.minute })),
        );
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
        await expectKept(id, await rowsOf(id));
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
    { numRuns: 12, seed: 18 },
  );
});

test("a load that goes on over midnight in New York, in summer, in winter and before 1970, gives each date its bars", async () => {
  for (const [n, [before, after]] of [
    ["2026-11-20", "2026-11-21"],
    ["2026-07-15", "2026-07-16"],
    ["1965-01-14", "1965-01-15"],
    ["1965-07-15", "1965-07-16"],
  ].entries()) {
    const id = 4_000 + n;
    await add(pool, id);
    const times = ["20:00", "22:30", "23:05", "23:58"].map((time) => `${before} ${time}`);
    times.push(...["00:01", "00:30", "01:02", "03:30"].map((time) => `${after} ${time}`));
    const seen = times.map((at, place): Seen => ({ at, id, last: String(9 + place), volume: String(place) }));
    await see(pool, ...seen);
    await expectCounted(id);
  }
});

async function add(to: pg.Pool, id: number): Promise<void> {
  await to.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values ($1, 'CS', $2, now(), now())",
    [id, `S${id}`],
  );
}
