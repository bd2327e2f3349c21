/** What the instrument's chart is drawn from, over a real database. */
import { beforeAll, expect, test } from "@jest/globals";
import { readBars } from "../../src/archive/ask/bars.ts";
import type { BarsView, MissedBars } from "../../src/archive/ask/dashboardTypes.ts";
import { mergeBars } from "../../src/web/app/lib/ranges.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { openDashboard, askOn } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

/** Sessions of the exchange: the Friday before, and Monday to Wednesday. */
const DATES = ["2026-11-13", "2026-11-16", "2026-11-17", "2026-11-18"];

/** 09:30 to 16:00 in New York is 14:30 to 21:00 UTC: the price of each minute, of two instruments. */
const priceAt = (id: number, date: string, minute: number): string =>
  (100 * id + DATES.indexOf(date) + ((minute * 37 * id) % 100) / 100).toFixed(2);

const minutesOf = (date: string): string[] =>
  Array.from({ length: 390 }, (_, minute) =>
    new Date(Date.parse(`${date}T14:30:07Z`) + minute * 60_000).toISOString(),
  );

beforeAll(async () => {
  await pool.query(`
    insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
    values (1, 'CS', 'AAPL', now(), now()), (2, 'CS', 'MSFT', now(), now()), (3, 'CS', 'LONG', now(), now())`);
  for (const id of [1, 2])
    for (const date of DATES) {
      const at = minutesOf(date);
      const last = at.map((_, minute) => priceAt(id, date, minute));
      await pool.query(
        `insert into quotes (observed_at, instrument_id, source_id, delayed, last, bid, ask)
         select at, $1, 1, false, last, last - 0.01, last + 0.01 from unnest($2::timestamptz[], $3::numeric[]) as q (at, last)`,
        [id, at, last],
      );
    }
  // Thirty sessions of one that is quoted each minute.
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
     select open_at + minute * interval '1 minute', 3, 1, false, 5
     from (select open_at from sessions where date > '2026-11-30' and kind = 'regular' order by date limit 30) s
     cross join generate_series(0, 389) as minute`,
  );
  await followOwnRows(pool);
  await pool.query(
    "insert into due_sets (id, digest, instruments) values (1, 'a', '{AAPL,MSFT}'), (2, 'b', '{MSFT}'), (3, 'c', '{LONG}')",
  );
  await pool.query(`
    insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
    values ('us', '2026-11-17 15:00:10Z', 1, 2, 1, 1, 1), ('us', '2026-11-17 15:00:40Z', 1, 2, 0, 2, 1),
           ('us', '2026-11-17 15:07Z', 1, 2, 0, 2, 1), ('ms', '2026-11-17 15:07Z', 1, 1, 0, 1, 2),
           ('us', '2026-11-17 15:08Z', 2, 2, 0, 2, 1), ('us', '2026-11-18 15:00Z', 1, 2, 1, 1, 1),
           ('long', '2026-12-01 15:00:10Z', 1, 1, 0, 1, 3), ('long', '2026-12-01 15:01:10Z', 1, 1, 0, 1, 3);
    insert into misses (job, slot_at, source_id, instrument, reason)
    values ('us', '2026-11-17 15:00:10Z', 1, 'AAPL', 'budget'), ('us', '2026-11-17 15:00:40Z', 1, 'AAPL', 'budget'),
           ('us', '2026-11-17 15:07Z', 1, '*', 'down'), ('ms', '2026-11-17 15:07Z', 1, '*', 'down'),
           ('us', '2026-11-17 15:08Z', 2, '*', 'down'), ('us', '2026-11-18 15:00Z', 1, 'AAPL', 'refused'),
           ('long', '2026-12-01 15:00:10Z', 1, 'LONG', 'budget'), ('long', '2026-12-01 15:01:10Z', 1, 'LONG', 'budget')`);
});

const ask = askOn(reader);

const bars = (query: string): Promise<BarsView> => ask(`/api/bars?instrument=1&source=1&${query}`);

test.each([
  ["3m", 3],
  ["10m", 10],
  ["30m", 30],
  ["2h", 120],
  ["4h", 240],
])(
  "bars of %s begin with the session and hold its quotes, and the bid and ask at their ends",
  async (interval, width) => {
    const view = await bars(`interval=${interval}&from=2026-11-17&to=2026-11-17`);

    const minutes = Array.from({ length: 390 }, (_, minute) => minute);
    const beginnings = [...new Set(minutes.map((minute) => startOf("2026-11-17", minute, width)))];
    expect(view.bars.map(({ at }) => at)).toEqual(beginnings);
    for (const { at, open, close, high, low, bid, ask, quoteCount } of view.bars) {
      const own = minutes
        .filter((minute) => startOf("2026-11-17", minute, width) === at)
        .map((minute) => priceAt(1, "2026-11-17", minute));
      expect([open, close, quoteCount]).toEqual([own[0], own.at(-1), String(own.length)]);
      expect([Number(high), Number(low)]).toEqual([
        Math.max(...own.map(Number)),
        Math.min(...own.map(Number)),
      ]);
      expect(Number(ask) - Number(own.at(-1))).toBeCloseTo(0.01, 6);
      expect(Number(own.at(-1)) - Number(bid)).toBeCloseTo(0.01, 6);
    }
  },
);

test("bars by weeks are of whole weeks, also where the dates that were asked for are not", async () => {
  const view = await bars("interval=1w&from=2026-11-17&to=2026-11-17");

  expect(view.bars).toMatchObject([
    {
      date: "2026-11-16",
      session: null,
      quoteCount: "1170",
      open: priceAt(1, "2026-11-16", 0),
      close: priceAt(1, "2026-11-18", 389),
    },
  ]);
});

test("bars are those of the dates from one to another, of which one end of which may be open", async () => {
  const dates = async (query: string): Promise<string[]> =>
    (await bars(`interval=1d&${query}`)).bars.map(({ date }) => date);

  expect(await dates("from=2026-11-14&to=2026-11-17")).toEqual(["2026-11-16", "2026-11-17"]);
  expect(await dates("from=2026-11-17")).toEqual(["2026-11-17", "2026-11-18"]);
  expect(await dates("to=2026-11-14")).toEqual(["2026-11-13"]);
  expect(await dates("from=2026-11-14&to=2026-11-15")).toEqual([]);
});

const SERIES = { instrumentId: 1, sourceId: 1, delayed: false };

test("bars since a date are put to those that are known, in every width and from every date on, and all is as it was", async () => {
  await pool.query(
    "insert into dividends (observed_at, instrument_id, source_id, ex_date, amount) select d - interval '9 days', 1, 1, d, 0.26 from unnest($1::date[]) as d",
    [DATES],
  );
  for (const interval of ["30m", "1d", "1w"] as const)
    for (const since of DATES) {
      const query = { interval, sessions: 10 };
      const { view: all } = await readBars(reader, SERIES, query);

      const { view: news, whole } = await readBars(reader, SERIES, { ...query, since });

      const isFirst = since === DATES[0];
      expect([interval, since, whole]).toEqual([interval, since, isFirst]);
      expect(news.bars.length < all.bars.length).toBe(
        !isFirst && !(interval === "1w" && since === "2026-11-13"),
      );
      expect(mergeBars(all, news)).toEqual(all);
    }
});

test("bars since a date are as wide as those of the whole range, and none of a range that ends before", async () => {
  const long = { interval: "1m", sessions: 30, since: "2027-01-01" } as const;
  const { view: wide } = await readBars(reader, { ...SERIES, instrumentId: 3 }, long);
  const over = { interval: "1m", sessions: 1, dates: { from: DATES[0] ?? "", to: DATES[1] ?? "" } } as const;
  const { view: all } = await readBars(reader, SERIES, over);

  const { view: none } = await readBars(reader, SERIES, { ...over, since: "2026-11-18" });

  expect([wide.interval, wide.bars[0]?.date]).toEqual(["2m", "2027-01-04"]);
  expect(mergeBars(all, none)).toBe(all);
});

test("bars that would be too many come in a wider width, which is told beside the one that was asked for", async () => {
  const of = (sessions: number): Promise<BarsView> =>
    ask(`/api/bars?instrument=3&source=1&interval=1m&sessions=${sessions}`);

  const [short, long] = await Promise.all([of(5), of(30)]);

  const told = [short, long].map(({ asked, interval, bars: { length } }) => [asked, interval, length]);
  expect(told).toEqual([
    ["1m", "1m", 5 * 390],
    ["1m", "2m", 30 * 195],
  ]);
  expect(long.bars.at(-1)).toMatchObject({ quoteCount: "2" });
});

/** When the bar of a minute of the session begins: bars are counted from the open. */
function startOf(date: string, minute: number, width: number): string {
  const at = Date.parse(`${date}T14:30:00Z`) + (minute - (minute % width)) * 60_000;
  return new Date(at).toISOString().replace(".000", "");
}

const path = "/api/bars/misses?instrument=1&source=1&from=2026-11-17&to=2026-11-17";
const row = (reason: string, count: number, [firstAt, lastAt]: [string, string]) => ({
  job: "us",
  reason,
  count,
  firstAt: `2026-11-17T${firstAt}Z`,
  lastAt: `2026-11-17T${lastAt}Z`,
});

test("what is missing in a chart is told bar by bar: what was missed of the instrument and of all that was due, from one source", async () => {
  expect(await ask<MissedBars>(`${path}&interval=1m`)).toEqual({
    misses: [row("budget", 2, ["15:00:10", "15:00:40"]), row("down", 1, ["15:07:00", "15:07:00"])],
    more: false,
  });
});

test("what is missing in a chart by dates is told date by date", async () => {
  const { misses } = await ask<MissedBars>(
    "/api/bars/misses?instrument=1&source=1&from=2026-11-16&to=2026-11-18&interval=1d",
  );

  expect(misses.map(({ reason, count, firstAt }) => [firstAt.slice(0, 10), reason, count])).toEqual([
    ["2026-11-17", "budget", 2],
    ["2026-11-17", "down", 1],
    ["2026-11-18", "refused", 1],
  ]);
});

test("what is missing in a chart stands in the file beside the bar that had begun", async () => {
  const { get } = await openDashboard({ pool: reader });
  const linesOf = async (query: string): Promise<string[]> =>
    (await (await get(`/api/bars.csv?source=1&${query}`)).text()).trim().split("\r\n");
  const missing = (lines: readonly string[]): string[][] =>
    lines
      .filter((line) => /,[1-9]\d*,(us|long) /.test(line))
      .map((line) => line.split(",").slice(6, 7).concat(line.split(",").slice(16, 18)));
  const ofDay = "instrument=1&from=2026-11-17&to=2026-11-17";

  const lines = await linesOf(`${ofDay}&interval=5m`);
  const minutes = await linesOf(`${ofDay}&interval=1m`);
  // More than there may be: they come two minutes wide.
  const wider = await linesOf("instrument=3&sessions=30&interval=1m");

  expect(lines[0]).toMatch(/,missing,reasons$/);
  expect(missing(lines)).toEqual([
    ["2026-11-17T15:00:00Z", "2", "us budget 2"],
    ["2026-11-17T15:05:00Z", "1", "us down 1"],
  ]);
  expect(missing(minutes)).toEqual([
    ["2026-11-17T15:00:00Z", "2", "us budget 2"],
    ["2026-11-17T15:07:00Z", "1", "us down 1"],
  ]);
  expect(missing(wider)).toEqual([["2026-12-01T15:00:00Z", "2", "long budget 2"]]);
});
