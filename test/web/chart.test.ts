/** What the instrument's chart is made of, without a browser. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Bar, BarsView, MissRow, SessionView } from "../../src/archive/ask/dashboardTypes.ts";
import { INTERVALS, WIDTH_MS, widthFor } from "../../src/archive/ask/widths.ts";
import { barsCsv } from "../../src/web/api/csvFiles.ts";
import { axisFormat, axisTime, pricesOf, volumesOf } from "../../src/web/app/chart/look.ts";
import { candles, closeLine, columnsOf, placed } from "../../src/web/app/chart/data.ts";
import {
  drawingOf,
  holesOf,
  holeText,
  newestPlace,
  readoutOf,
  spoken,
  withGaps,
} from "../../src/web/app/lib/drawing.ts";
import { mergeBars, olderSessions, rangeLabel, rangeOf } from "../../src/web/app/lib/ranges.ts";
import { bar as barAt } from "./contract.ts";

/** A bar of the regular session of Friday 20 November, 09:30 New York being 14:30 UTC. */
const bar = (time: string, fields: Partial<Bar> = {}): Bar => barAt(`2026-11-20T${time}:00Z`, fields);

const SESSION: SessionView = {
  date: "2026-11-20",
  kind: "regular",
  openAt: "2026-11-20T14:30:00Z",
  closeAt: "2026-11-20T21:00:00Z",
};

const view = (bars: Bar[], fields: Partial<BarsView> = {}): BarsView => ({
  ...{ instrument: "AAPL", source: "account", delayed: false, interval: "1m", asked: "1m" },
  ...{ sessions: [], dividends: [], more: false },
  ...fields,
  bars,
});

const miss = (time: string, fields: Partial<MissRow> = {}): MissRow => ({
  ...{ job: "us", reason: "down", count: 1 },
  ...{ firstAt: `2026-11-20T${time}:00Z`, lastAt: `2026-11-20T${time}:00Z` },
  ...fields,
});

const NOW = Date.parse("2026-11-20T14:40:00Z");
const drawingWith = (bars: Bar[]) => drawingOf(view(bars), [], NOW);

test("the width of bars is the narrowest one from the wanted one on whose bars can be drawn", () => {
  const day = { quotes: 390, spanMs: 23_400_000 };
  const year = { withQuotes: Array(252).fill(day), empty: 0 };

  expect(widthFor("1m", { withQuotes: [day], empty: 0 }, 10_000)).toBe("1m");
  // 252 dates of 39 bars and 4 that are cut short are too many; of 26 and 4 they are not.
  expect(widthFor("1m", year, 10_000)).toBe("15m");
  expect(widthFor("1m", year, 1_500)).toBe("1d");
  expect(widthFor("1w", year, 10)).toBe("1w");
  const widths = INTERVALS.map((name) => WIDTH_MS[name]);
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
});

test("the width of bars does not count minutes that nobody polled, and counts sessions that are drawn empty", () => {
  const seldom = { quotes: 7, spanMs: 23_400_000 };

  expect(widthFor("1m", { withQuotes: Array(1_000).fill(seldom), empty: 0 }, 10_000)).toBe("1m");
  expect(widthFor("1m", { withQuotes: [seldom], empty: 100 }, 10_000)).toBe("5m");
});

test("an address names a range of sessions, or of dates, which come first; dates the wrong way round are turned", () => {
  expect(rangeLabel(rangeOf({ range: "5D", from: "", to: "" }))).toBe("5D");
  expect(rangeLabel(rangeOf({ range: "soon", from: "2026-02-30", to: "x" }))).toBe("1D");
  expect(rangeOf({ range: "5D", from: "2026-11-20", to: "2026-11-16" })).toEqual({
    from: "2026-11-16",
    to: "2026-11-20",
  });
  expect(rangeLabel(rangeOf({ range: "", from: "2026-11-16", to: "" }))).toBe("since 2026-11-16");
  expect(rangeLabel(rangeOf({ range: "", from: "", to: "2026-11-16" }))).toBe("until 2026-11-16");
});

test("a chart reads twice as many sessions when one goes on to before its first bar, as long as they can be drawn", () => {
  const of = (bars: number, more = true) => ({ bars: Array<Bar>(bars).fill(bar("14:30")), more });

  expect(olderSessions(of(390), 1)).toBe(2);
  expect(olderSessions(of(6_240), 16)).toBe(25);
  expect(olderSessions(of(9_750), 25)).toBeNull();
  expect(olderSessions(of(390, false), 1)).toBeNull();
});

const DATES = ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19"];
const viewOf = (dates: readonly string[], close: string): BarsView =>
  view(
    dates.flatMap((date) => ["15:00", "15:01"].map((time) => barAt(`${date}T${time}:00Z`, { close }))),
    {
      sessions: dates.map((date) => ({ ...SESSION, date })),
      dividends: dates.map((exDate) => ({ exDate, amount: close, yield: null })),
    },
  );

test("news of bars replace all from their first date on, and older bars, sessions and dividends stay", () => {
  for (const [place] of DATES.entries()) {
    const [before, after] = [DATES.slice(0, place), DATES.slice(place)];
    const known = { ...viewOf(DATES.slice(0, place + 1), "1"), more: true };

    const merged = mergeBars(known, viewOf(after, "2"));

    const [old, news] = [viewOf(before, "1"), viewOf(after, "2")];
    expect(merged).toEqual({
      ...known,
      bars: [...old.bars, ...news.bars],
      sessions: [...old.sessions, ...news.sessions],
      dividends: [...old.dividends, ...news.dividends],
    });
    expect(old.bars.every((one, index) => merged?.bars[index]?.at === one.at)).toBe(true);
  }
});

test("news without a bar change nothing, and of news in another width all has to be read", () => {
  const known = viewOf(DATES, "1");

  expect(mergeBars(known, viewOf([], "2"))).toBe(known);
  expect(mergeBars(known, { ...viewOf(DATES.slice(3), "2"), interval: "5m" })).toBeNull();
});

const options = { interval: "1m", sessions: [SESSION], nowMs: Date.parse("2026-11-20T14:36:00Z") } as const;
const drawn = (bars: Bar[], more = {}): string =>
  withGaps(bars, { ...options, ...more })
    .map((slot) => (slot.bar ? "#" : "."))
    .join("");

test("gaps of a chart are empty places where bars of an open session are missing", () => {
  expect(drawn([bar("14:30"), bar("14:31"), bar("14:34"), bar("14:35")])).toBe("##..##");
});

test("gaps of a chart reach from the open to the first bar, and from the last one until now", () => {
  expect(drawn([bar("14:32"), bar("14:33")], { nowMs: Date.parse("2026-11-20T14:38:30Z") })).toBe("..##...");
});

test("a chart has no gaps where the market was closed, nor in bars of a job that polls every five minutes", () => {
  const night = [barAt("2026-11-19T20:58:00Z"), barAt("2026-11-19T20:59:00Z"), bar("14:30"), bar("14:31")];
  const seldom = [bar("14:30"), bar("14:35"), bar("14:40")];

  expect(drawn(night, { nowMs: Date.parse("2026-11-20T14:32:00Z") })).toBe("####");
  expect(drawn(seldom, { nowMs: Date.parse("2026-11-20T14:41:00Z") })).toBe("###");
});

test("gaps of a chart by days are sessions without a bar, by weeks those without one in all of the week", () => {
  const sessionsOf = (...dates: string[]) => dates.map((date) => ({ ...SESSION, date }));
  const days = sessionsOf("2026-11-18", "2026-11-19", "2026-11-20");
  const weeks = sessionsOf("2026-11-03", "2026-11-12", "2026-11-13", "2026-11-20");
  const from = (date: string) => [barAt(`${date}T15:00:00Z`), barAt("2026-11-20T15:00:00Z")];

  expect(drawn(from("2026-11-18"), { interval: "1d", sessions: days })).toBe("#.#");
  expect(drawn(from("2026-11-03"), { interval: "1w", sessions: weeks })).toBe("#.#");
});

test("gaps of a chart fill all of a session that has no bar, as far as it has come", () => {
  const yesterday = { openAt: "2026-11-19T14:30:00Z", closeAt: "2026-11-19T14:33:00Z" };
  const sessions = [{ ...SESSION, ...yesterday, date: "2026-11-19" }, SESSION];
  const at = (time: string) => ({ sessions, nowMs: Date.parse(`2026-11-20T${time}:00Z`) });

  expect(drawn([bar("14:30"), bar("14:31")], at("14:32"))).toBe("...##");
  expect(drawn([barAt("2026-11-19T14:32:00Z")], at("14:34"))).toBe("..#....");
});

test("gaps of a chart end somewhere, also where nobody closed a hole", () => {
  const long = ["00:00", "00:01", "23:00"].map((time) => bar(time, { session: "closed" }));

  expect(drawn(long, { sessions: [] })).toHaveLength(403);
});

const slots = (...times: (string | Bar)[]) =>
  times.map((one) =>
    typeof one === "string"
      ? { at: bar(one).at, date: "2026-11-20", session: "regular" as const, bar: null }
      : { at: one.at, date: one.date, session: one.session, bar: one },
  );

test("holes are runs of empty places with what the ledger says of them, by job and reason, the most first", () => {
  const places = slots(bar("14:30"), "14:31", "14:32", "14:33", bar("14:34"), "14:35");
  const misses = [miss("14:31"), miss("14:32", { reason: "budget" }), miss("14:33", { reason: "budget" })];

  const [known, unknown] = holesOf(places, misses, "1m");

  const budget = miss("14:32", { reason: "budget", count: 2, lastAt: "2026-11-20T14:33:00Z" });
  expect(known).toEqual({ from: 1, to: 3, empty: true, missed: [budget, miss("14:31")] });
  expect(unknown).toEqual({ from: 5, to: 5, empty: true, missed: [] });
});

test("holes are bars of fewer quotes than were due too, apart from empty places beside them", () => {
  const places = slots(bar("14:30"), bar("14:35"), "14:40", bar("14:45"));
  const misses = [miss("14:36"), miss("14:39"), miss("14:40")];

  const holes = holesOf(places, misses, "5m");

  expect(holes.map(({ from, to, empty, missed }) => [from, to, empty, missed[0]?.count])).toEqual([
    [1, 1, false, 2],
    [2, 2, true, 1],
  ]);
});

test("holes of bars of dates hold what was missed on the exchange's date, at its evening too", () => {
  const date = (of: string) => ({
    ...{ at: `${of}T00:00:00Z`, date: of, session: null },
    bar: bar("14:30", { date: of }),
  });
  // 20:30 on the 19th in New York.
  const late = miss("01:30");

  expect(holesOf([date("2026-11-19"), date("2026-11-20")], [late], "1d")).toMatchObject([{ from: 0, to: 0 }]);
  expect(holesOf([date("2026-11-09"), date("2026-11-16")], [late], "1w")).toMatchObject([{ from: 1, to: 1 }]);
});

test("holes say how many quotes, why, whose and when; without an entry they say that", () => {
  const places = slots("14:30", bar("14:31"), "14:32");

  const [known, unknown] = holesOf(places, [miss("14:30", { count: 3 })], "1m");

  expect(known && holeText(known)).toBe("3 missing: not running (job us, 2026-11-20 09:30)");
  expect(unknown && holeText(unknown)).toContain("the ledger has no entry");
});

const PRICES = { open: "10.00", high: "10.50", low: "9.95", close: "10.00" };
const bars = [
  bar("14:30", { ...PRICES, volume: "1200", meanSpread: "0.0212345" }),
  bar("14:31", { open: "10.00", high: "10.00", low: "9.70", close: "9.75" }),
];

test("a drawing reads out the bar of a place in numbers of one form, with the change from the bar before", () => {
  const drawing = drawingWith(bars);

  const [first, second] = [readoutOf(drawing, 0), readoutOf(drawing, newestPlace(drawing))];

  expect(first.time).toBe("2026-11-20 09:30");
  const values = ["10.00", "10.50", "9.95", "10.00", "–", "1,200", "0.02"];
  expect(first.facts.map(({ value }) => value)).toEqual(values);
  expect(second.facts[4]).toEqual({ name: "Change", value: "\u22120.25 (\u22122.50 %)", tone: "down" });
  expect(spoken(second)).toMatch(/^2026-11-20 09:31, open 10\.00, .*, volume –, spread –$/);
});

test("a drawing is one of single prices where most bars have one: closes are joined by a line then", () => {
  const wide = { high: "2", close: "2" };

  expect(drawingWith([bar("14:30"), bar("14:31"), bar("14:32", wide)]).flat).toBe(true);
  expect(drawingWith([bar("14:30"), bar("14:31", wide)]).flat).toBe(false);
});

test("a drawing as CSV has the misses beside the bar that had begun", () => {
  const misses = [miss("14:29"), miss("14:30", { reason: "budget", count: 2 }), miss("14:31")];

  const lines = barsCsv(view(bars), misses).trim().split("\r\n");

  expect(lines.map((line) => line.split(",").slice(16))).toEqual([
    ["missing", "reasons"],
    ["3", "us down 1; us budget 2"],
    ["1", "us down 1"],
  ]);
});

const COLORS = { up: "up", down: "down", volume: "volume", dim: "dim" };
const placesOf = (bars: Bar[]) => placed(drawingWith(bars).slots, "1m");

test("a line of closes is broken where bars are missing", () => {
  const line = closeLine(placesOf([bar("14:30"), bar("14:31"), bar("14:34"), bar("14:35")]));

  const clear = "transparent";
  expect(line.map((point) => ("value" in point ? (point.color ?? point.value) : null))).toEqual([
    1,
    clear,
    null,
    null,
    1,
    clear,
  ]);
});

test("a candle of one quote has the colour of the way from the bar before, others of their own way", () => {
  const one = (time: string, close: string): Bar =>
    bar(time, { open: close, high: close, low: close, close });
  const tall = (time: string, open: string, close: string): Bar =>
    bar(time, { open, close, high: "9", low: "1" });
  const drawn = placesOf([
    ...[one("14:30", "5"), one("14:31", "4"), one("14:32", "4"), one("14:33", "6")],
    ...[tall("14:34", "6", "3"), one("14:35", "3"), tall("14:36", "1", "2"), one("14:37", "2")],
  ]);

  const colors = candles(drawn, COLORS).map((candle) => "color" in candle && candle.color);

  expect(colors).toEqual(["up", "down", "down", "up", "down", "down", "up", "up"]);
});

test("columns are as tall as their numbers, but one that is far above the usual is cut off and darker", () => {
  const usual = Array.from({ length: 40 }, (_, minute) => bar(`15:${10 + minute}`, { volume: "100" }));
  const columns = columnsOf(placesOf([...usual, bar("15:50", { volume: "9000" })]), "volume", COLORS);

  expect(columns?.most).toBe(200);
  expect(columns?.data.at(-1)).toMatchObject({ value: 200, color: "dim" });
  expect(columns?.data[0]).toMatchObject({ value: 100, color: "volume" });
  expect(columnsOf(placesOf([bar("14:30")]), "volume", COLORS)).toBeNull();
});

test("an axis has its numbers in one form: prices with their decimals, volumes in the unit of the largest", () => {
  expect([1_234.5, -0.1].map(pricesOf(3).format)).toEqual(["1,234.500", "\u22120.100"]);
  expect([0, 2_500, 12_000].map(volumesOf(16_000).format)).toEqual(["0", "2.5K", "12.0K"]);
  expect([0, 250_000].map(volumesOf(460_000).format)).toEqual(["0", "250K"]);
  expect([5, 40].map(volumesOf(60).format)).toEqual(["5", "40"]);
});

test("an axis names no value at its pane's edge, none that the tag of the last price covers, and none that would be rounded", () => {
  // A pane of 100 px whose value is its own distance from the top.
  const series = { priceToCoordinate: (value: number) => value, getPane: () => ({ getHeight: () => 100 }) };

  const format = axisFormat(series as never, pricesOf(2), 60);

  const named =
    "tickmarksFormatter" in format && format.tickmarksFormatter?.([3, 20, 50, 80, 97, 30.125] as never);
  expect(named).toEqual(["", "20.00", "", "80.00", "", ""]);
});

test("an axis of time has dates of one form", () => {
  const time = (Date.parse("2026-11-20T09:31:00Z") / 1_000) as never;

  expect([0, 1, 2, 3].map((kind) => axisTime(time, kind))).toEqual(["2026", "2026-11", "11-20", "09:31"]);
});

test("places of a chart have ascending times, also where clocks are set back", () => {
  const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 2 });
  fc.assert(
    fc.property(minutes, (all) => {
      // Clocks of New York were set back at 06:00 UTC that day.
      const from = Date.parse("2026-11-01T04:00:00Z");
      const bars = all
        .sort((a, b) => a - b)
        .map((minute) => barAt(new Date(from + minute * 60_000).toISOString(), { session: "closed" }));

      const times = placed(drawingWith(bars).slots, "1m").map(({ time }) => time);

      expect(times.every((time, index) => index === 0 || time > (times[index - 1] ?? NaN))).toBe(true);
    }),
  );
});
