import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { barsCsv } from "../../src/web/api/barsFile.ts";
import { indicatorKey, indicatorsOf, valuesOf } from "../../src/web/api/indicators.ts";
import { INTERVALS, WIDTH_MS, widthFor } from "../../src/archive/ask/widths.ts";
import type { Bar, BarsView, MissRow } from "../../src/archive/ask/dashboardTypes.ts";
import { joinNames, splitNames } from "../../src/web/api/nameList.ts";
import {
  basedOn,
  captionOf,
  drawingOf,
  holeText,
  newestPlace,
  readoutOf,
} from "../../src/web/app/lib/drawing.ts";
import { holesOf } from "../../src/web/app/lib/chartGaps.ts";
import { olderSessions, rangeLabel, rangeOf } from "../../src/web/app/lib/ranges.ts";
import { axisTime, closeLine, placed, priceFormat, scaleOf } from "../../src/web/app/chart/data.ts";
import { bar as barAt } from "./contract.ts";

/** A bar of the regular session of Friday 20 November, 09:30 New York being 14:30 UTC. */
const bar = (time: string, fields: Partial<Bar> = {}): Bar => barAt(`2026-11-20T${time}:00Z`, fields);

function view(bars: Bar[], fields: Partial<BarsView> = {}): BarsView {
  return {
    instrument: "AAPL",
    source: "account",
    delayed: false,
    interval: "1m",
    asked: "1m",
    sessions: [],
    dividends: [],
    compared: [],
    more: false,
    ...fields,
    bars,
  };
}

const NOW = Date.parse("2026-11-20T14:40:00Z");

const price = fc.option(
  fc.integer({ min: 1, max: 90_000 }).map((cents) => (cents / 100).toFixed(2)),
  { nil: null },
);
const anyBar = fc.record({
  date: fc.constantFrom("2026-11-19", "2026-11-20", "2026-11-23"),
  high: price,
  low: price,
  close: price,
  volume: fc.option(fc.nat(1_000).map(String), { nil: null }),
  meanSpread: price,
});
const anyBars = fc
  .array(anyBar, { maxLength: 40 })
  .map((bars) => [...bars].sort((a, b) => a.date.localeCompare(b.date)));

function expectNear(found: readonly (number | null)[], wanted: readonly (number | null)[]): void {
  expect(found.map((value) => value === null)).toEqual(wanted.map((value) => value === null));
  found.forEach((value, index) => {
    if (value !== null) expect(value).toBeCloseTo(wanted[index] ?? NaN, 6);
  });
}

test("VWAP is turnover by volume since the date began; bars without a volume have no part in it", () => {
  fc.assert(
    fc.property(anyBars, (bars) => {
      const naive = bars.map(({ date }, index) => {
        const counted = bars
          .slice(0, index + 1)
          .filter((one) => one.date === date && ![one.high, one.low, one.close, one.volume].includes(null));
        const volume = counted.reduce((sum, one) => sum + Number(one.volume), 0);
        const turnover = counted.reduce(
          (sum, one) =>
            sum + Number(one.volume) * ((Number(one.high) + Number(one.low) + Number(one.close)) / 3),
          0,
        );
        return volume === 0 ? null : turnover / volume;
      });

      expectNear(valuesOf({ name: "vwap" }, bars), naive);
    }),
  );
});

test("a simple average is the mean of the newest closes, as many as its length", () => {
  fc.assert(
    fc.property(anyBars, fc.integer({ min: 1, max: 12 }), (bars, length) => {
      const naive = bars.map(({ close }, index) => {
        const closes = bars
          .slice(0, index + 1)
          .flatMap((one) => (one.close === null ? [] : Number(one.close)));
        if (close === null || closes.length < length) return null;
        return closes.slice(-length).reduce((sum, one) => sum + one, 0) / length;
      });

      expectNear(valuesOf({ name: "sma", length }, bars), naive);
    }),
  );
});

test("an exponential average weighs each close by its age, and the first ones by their mean", () => {
  fc.assert(
    fc.property(anyBars, fc.integer({ min: 1, max: 12 }), (bars, length) => {
      const weight = 2 / (length + 1);
      const naive = bars.map(({ close }, index) => {
        const closes = bars
          .slice(0, index + 1)
          .flatMap((one) => (one.close === null ? [] : Number(one.close)));
        if (close === null || closes.length < length) return null;
        const later = closes.slice(length);
        const first = closes.slice(0, length).reduce((sum, one) => sum + one, 0) / length;
        return later.reduce(
          (sum, one, place) => sum + one * weight * (1 - weight) ** (later.length - 1 - place),
          first * (1 - weight) ** later.length,
        );
      });

      expectNear(valuesOf({ name: "ema", length }, bars), naive);
    }),
  );
});

test("indicators are kept in an address; what is none of them is left out, and so is a fifth average", () => {
  expect(indicatorsOf("vwap,sma20,sma20,ema0,moon,ema5,spread,sma1,sma2,sma3").map(indicatorKey)).toEqual([
    "vwap",
    "sma20",
    "ema5",
    "spread",
    "sma1",
    "sma2",
  ]);
  expect(indicatorsOf("")).toEqual([]);
});

const day = { quotes: 390, spanMs: 23_400_000 };

test("the width of bars is the narrowest one from the wanted one on whose bars can be drawn", () => {
  const year = { withQuotes: Array(252).fill(day), empty: 0 };

  expect(widthFor("1m", { withQuotes: [day], empty: 0 }, 10_000)).toBe("1m");
  expect(widthFor("15m", { withQuotes: [day], empty: 0 }, 10_000)).toBe("15m");
  // 252 dates of 39 bars and 4 that are cut short are too many; of 26 and 4 they are not.
  expect(widthFor("1m", year, 10_000)).toBe("15m");
  expect(widthFor("1m", year, 1_500)).toBe("1d");
  expect(widthFor("1w", year, 10)).toBe("1w");
});

test("the width of bars does not count minutes that nobody polled, and counts sessions that are drawn empty", () => {
  const seldom = { quotes: 7, spanMs: 23_400_000 };

  expect(widthFor("1m", { withQuotes: Array(1_000).fill(seldom), empty: 0 }, 10_000)).toBe("1m");
  expect(widthFor("1m", { withQuotes: [seldom], empty: 100 }, 10_000)).toBe("5m");
});

test("the width of bars rises from name to name", () => {
  const widths = INTERVALS.map((name) => WIDTH_MS[name]);

  expect(widths).toEqual([...widths].sort((a, b) => a - b));
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

const miss = (time: string, fields: Partial<MissRow> = {}): MissRow => ({
  job: "us",
  reason: "down",
  count: 1,
  firstAt: `2026-11-20T${time}:00Z`,
  lastAt: `2026-11-20T${time}:00Z`,
  ...fields,
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

  expect(holesOf(places, misses, "1m")).toEqual([
    {
      from: 1,
      to: 3,
      empty: true,
      missed: [miss("14:32", { reason: "budget", count: 2, lastAt: "2026-11-20T14:33:00Z" }), miss("14:31")],
    },
    { from: 5, to: 5, empty: true, missed: [] },
  ]);
});

test("holes are bars of fewer quotes than were due too, apart from empty places beside them", () => {
  const places = slots(bar("14:30"), bar("14:35"), "14:40", bar("14:45"));
  const misses = [miss("14:36"), miss("14:39"), miss("14:40")];

  expect(
    holesOf(places, misses, "5m").map(({ from, to, empty, missed }) => [from, to, empty, missed[0]?.count]),
  ).toEqual([
    [1, 1, false, 2],
    [2, 2, true, 1],
  ]);
});

test("holes of bars of dates hold what was missed on the exchange's date, at its evening too", () => {
  const date = (of: string) => ({
    at: `${of}T00:00:00Z`,
    date: of,
    session: null,
    bar: bar("14:30", { date: of }),
  });
  // 20:30 on the 19th in New York.
  const late = miss("01:30");

  expect(holesOf([date("2026-11-19"), date("2026-11-20")], [late], "1d")).toMatchObject([{ from: 0, to: 0 }]);
  expect(holesOf([date("2026-11-09"), date("2026-11-16")], [late], "1w")).toMatchObject([{ from: 1, to: 1 }]);
});

test("holes say how many quotes, why, whose and when; without an entry they say that", () => {
  const [known, unknown] = holesOf(
    slots("14:30", bar("14:31"), "14:32"),
    [miss("14:30", { count: 3 })],
    "1m",
  );

  expect(known && holeText(known)).toBe("3 missing: not running (job us, 2026-11-20 09:30 New York)");
  expect(unknown && holeText(unknown)).toContain("the ledger has no entry");
});

const bars = [
  bar("14:30", {
    open: "10.00",
    high: "10.50",
    low: "9.95",
    close: "10.00",
    volume: "1200",
    meanSpread: "0.0212345",
  }),
  bar("14:31", { open: "10.00", high: "10.00", low: "9.70", close: "9.75", volume: null }),
];
const options = { misses: [], indicators: [], nowMs: NOW };

test("a drawing reads out the bar of a place, with the change from the bar before", () => {
  const drawing = drawingOf(view(bars), options);

  const [first, second] = [readoutOf(drawing, 0), readoutOf(drawing, newestPlace(drawing))];

  expect(first.time).toBe("2026-11-20 09:30 New York");
  expect(first.facts.map(({ value }) => value)).toEqual([
    "10.00",
    "10.50",
    "9.95",
    "10.00",
    "–",
    "1,200",
    "0.0212",
  ]);
  expect(second.facts.slice(4)).toEqual([
    { name: "Change", value: "\u22120.25 (\u22122.50 %)", tone: "down" },
    { name: "Volume", value: "–" },
    { name: "Spread", value: "–" },
  ]);
});

test("a drawing compares in percent from the first close of each, by the time of their bars", () => {
  const compared: BarsView["compared"] = [
    { instrument: "KO", closes: { "2026-11-20T14:30:00Z": "50", "2026-11-20T14:31:00Z": "51" } },
    { instrument: "GE", closes: {} },
  ];
  const drawing = drawingOf(view(bars, { compared }), options);

  expect(drawing.base).toBe(10);
  expect(drawing.lines.map(({ label, values }) => [label, values])).toEqual([
    ["KO", [0, expect.closeTo(2, 9)]],
    ["GE", [null, null]],
  ]);
  expect(readoutOf(drawing, 1).lines).toEqual(["+2.00 %", "–"]);
  expect(drawingOf(view(bars), options).base).toBeNull();
});

test("a drawing begins percents anew at another place, each instrument's at its first close from there on", () => {
  const compared: BarsView["compared"] = [
    { instrument: "KO", closes: { "2026-11-20T14:30:00Z": "50", "2026-11-20T14:31:00Z": "40" } },
    { instrument: "GE", closes: { "2026-11-20T14:30:00Z": "8" } },
  ];
  const drawing = drawingOf(view(bars, { compared }), { ...options, indicators: indicatorsOf("sma1") });

  const later = basedOn(drawing, 1);

  expect(later.base).toBe(9.75);
  expect(later.lines.map(({ label, values }) => [label, values])).toEqual([
    ["KO", [25, 0]],
    // It has no close from there on: of its last one.
    ["GE", [0, null]],
    ["SMA 1", [10, 9.75]],
  ]);
  expect(basedOn(later, 0)).toEqual(drawing);
});

test("a list of names in an address is the list again, whatever signs are in them", () => {
  const anyName = fc.string({ minLength: 1 }).filter((name) => name !== "");
  fc.assert(
    fc.property(fc.array(anyName, { minLength: 1 }), (names) => {
      expect(splitNames(joinNames(names))).toEqual(names);
    }),
  );
  expect(joinNames(["KO", "BRK,A", "A\\B"])).toBe("KO,BRK\\,A,A\\\\B");
  expect(splitNames("A,,B")).toEqual(["A", "", "B"]);
  expect(splitNames("")).toEqual([""]);
});

test("a drawing of dates finds closes by date, of weeks by their Monday, and has no VWAP", () => {
  const compared = [{ instrument: "KO", closes: { "2026-11-16": "50", "2026-11-20": "60" } }];
  const values = (interval: "1d" | "1w") =>
    drawingOf(view([bar("14:30", { session: null })], { interval, compared }), {
      ...options,
      indicators: indicatorsOf("vwap,sma1"),
    }).lines.map(({ key, values: of }) => [key, of]);

  expect(values("1d")).toEqual([
    ["KO", [0]],
    ["sma1", [1]],
  ]);
  expect(values("1w")).toEqual(values("1d"));
});

test("a drawing as a picture names symbol, width, time and that it is simulated; the file too", () => {
  const drawing = drawingOf(view(bars, { source: "simulated", delayed: true }), options);

  expect(captionOf(drawing, { from: 0, to: 1 })).toEqual({
    title: "AAPL, delayed  1m  2026-11-20 09:30 to 2026-11-20 09:31 New York",
    simulated: true,
    lines: [],
    file: "AAPL-1m-2026-11-20-SIMULATED.png",
  });
  expect(captionOf(drawingOf(view(bars), options), { from: 0, to: 1 }).file).toBe("AAPL-1m-2026-11-20.png");
});

test("a drawing as CSV has the misses beside the bar that had begun, indicators and the closes of others", () => {
  const compared = [{ instrument: "KO", closes: { "2026-11-20T14:31:00Z": "51" } }];
  const misses = [miss("14:29"), miss("14:30", { reason: "budget", count: 2 }), miss("14:31")];

  const lines = barsCsv(view(bars, { compared }), { misses, indicators: indicatorsOf("sma2,spread,vwap") })
    .trim()
    .split("\r\n")
    .map((line) => line.split(",").slice(16));

  expect(lines).toEqual([
    ["missing", "reasons", "sma2", "vwap", "close_KO"],
    ["3", "us down 1; us budget 2", "", "10.15", ""],
    ["1", "us down 1", "9.875", "10.15", "51"],
  ]);
});

const lineOf = (bars: Bar[]) => {
  const { slots } = drawingOf(view(bars), { misses: [], indicators: [], nowMs: NOW });
  return closeLine(placed(slots, "1m"), scaleOf(null)).map((point) =>
    "value" in point ? point.value : null,
  );
};

test("a chart joins closes by a line where most bars have one price, and is broken where bars are missing", () => {
  const wide = { high: "2", close: "2" };

  expect(lineOf([bar("14:30"), bar("14:31"), bar("14:32", wide)])).toEqual([1, 1, 2]);
  expect(lineOf([bar("14:30"), bar("14:31", wide), bar("14:32", wide)])).toEqual([]);
  expect(lineOf([bar("14:30"), bar("14:31"), bar("14:34"), bar("14:35")])).toEqual([1, 1, null, null, 1, 1]);
});

test("a chart names prices and percents as the tables do, and no value that a tag covers", () => {
  const prices = priceFormat({ places: 3, base: null });
  const percents = priceFormat({ places: 3, base: 10 }, (value) => value === 0);

  expect(
    [prices, percents].map((format) => format.type === "custom" && format.formatter(-1_234.5 as never)),
  ).toEqual(["\u22121,234.500", "\u22121,234.50 %"]);
  expect(percents.type === "custom" && percents.tickmarksFormatter?.([0, 1] as never)).toEqual([
    "",
    "1.00 %",
  ]);
});

test("a chart has dates of one form on its axis", () => {
  const time = (Date.parse("2026-11-20T09:31:00Z") / 1_000) as never;

  expect([0, 1, 2, 3].map((kind) => axisTime(time, kind))).toEqual(["2026", "2026-11", "11-20", "09:31"]);
});

test("a chart reads twice as many sessions when one goes on to before its first bar, as long as they can be drawn", () => {
  const of = (bars: number, fields: Partial<BarsView> = {}) =>
    view(
      Array.from({ length: bars }, () => bar("14:30")),
      { more: true, ...fields },
    );

  expect(olderSessions(of(390), 1)).toBe(2);
  expect(olderSessions(of(6_240), 16)).toBe(25);
  expect(olderSessions(of(9_750), 25)).toBeNull();
  expect(olderSessions(of(5_000, { compared: [{ instrument: "KO", closes: {} }] }), 12)).toBeNull();
  expect(olderSessions(of(390, { more: false }), 1)).toBeNull();
});
