import { expect, test } from "@jest/globals";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { QuotekeeperError } from "../../src/errors.ts";
import { barsCsv } from "../../src/web/api/barsFile.ts";
import { csvName } from "../../src/web/api/csvText.ts";
import type { Bar, SessionView } from "../../src/archive/ask/dashboardTypes.ts";
import type { HealthView } from "../../src/archive/ask/healthTypes.ts";
import {
  atTheMoney,
  instantOfStop,
  passes,
  stopCount,
  stopOfInstant,
  strikeRows,
} from "../../src/web/app/lib/strikes.ts";
import { foundRows, heatLevel, storedShare, sumOf, unpacked } from "../../src/web/app/lib/heat.ts";
import {
  age,
  countdown,
  exchangeMoment,
  exchangeSeconds,
  exchangeTime,
  placeLabel,
} from "../../src/web/app/lib/format.ts";
import { heightsOf, timesOf } from "../../src/web/app/lib/axes.ts";
import { withGaps } from "../../src/web/app/lib/chartGaps.ts";
import { missColumns } from "../../src/web/app/lib/healthColumns.ts";
import { reasonOf } from "../../src/web/app/lib/reasons.ts";
import { problemOf } from "../../src/web/live.ts";
import { marketAt } from "../../src/web/now.ts";
import { bar, contract } from "./contract.ts";

const SESSION: SessionView = {
  date: "2026-11-20",
  kind: "regular",
  openAt: "2026-11-20T14:30:00Z",
  closeAt: "2026-11-20T21:00:00Z",
};

const at = (time: string): Bar => bar(`2026-11-20T${time}:00Z`);

const options = { interval: "1m", sessions: [SESSION], nowMs: Date.parse("2026-11-20T14:36:00Z") } as const;
const drawn = (bars: Bar[], more = {}): string =>
  withGaps(bars, { ...options, ...more })
    .map((slot) => (slot.bar ? "#" : "."))
    .join("");

test("gaps of a chart are empty places where bars of an open session are missing", () => {
  expect(drawn([at("14:30"), at("14:31"), at("14:34"), at("14:35")])).toBe("##..##");
});

test("gaps of a chart reach from the open to the first bar, and from the last one until now", () => {
  expect(drawn([at("14:32"), at("14:33")], { nowMs: Date.parse("2026-11-20T14:38:30Z") })).toBe("..##...");
});

test("a chart has no gaps where the market was closed", () => {
  const bars = [bar("2026-11-19T20:58:00Z"), bar("2026-11-19T20:59:00Z"), at("14:30"), at("14:31")];

  expect(drawn(bars, { nowMs: Date.parse("2026-11-20T14:32:00Z") })).toBe("####");
});

test("a chart has no gaps in bars of a job that polls every five minutes", () => {
  expect(drawn([at("14:30"), at("14:35"), at("14:40")], { nowMs: Date.parse("2026-11-20T14:41:00Z") })).toBe(
    "###",
  );
});

test("gaps of a chart by days are sessions without a bar, and no weekends", () => {
  const sessions = ["2026-11-18", "2026-11-19", "2026-11-20"].map((date) => ({ ...SESSION, date }));
  const bars = [bar("2026-11-18T15:00:00Z"), bar("2026-11-20T15:00:00Z")];

  expect(drawn(bars, { interval: "1d", sessions })).toBe("#.#");
});

test("gaps of a chart by weeks are weeks of sessions without a bar, whichever their first date is", () => {
  const sessions = ["2026-11-03", "2026-11-12", "2026-11-13", "2026-11-20"].map((date) => ({
    ...SESSION,
    date,
  }));
  const bars = [bar("2026-11-03T15:00:00Z"), bar("2026-11-20T15:00:00Z")];

  expect(drawn(bars, { interval: "1w", sessions })).toBe("#.#");
});

test("gaps of a chart fill all of a session that has no bar, as far as it has come", () => {
  const yesterday = { openAt: "2026-11-19T14:30:00Z", closeAt: "2026-11-19T14:33:00Z" };
  const sessions = [{ ...SESSION, ...yesterday, date: "2026-11-19" }, SESSION];

  expect(drawn([at("14:30"), at("14:31")], { sessions, nowMs: Date.parse("2026-11-20T14:32:00Z") })).toBe(
    "...##",
  );
  expect(drawn([bar("2026-11-19T14:32:00Z")], { sessions, nowMs: Date.parse("2026-11-20T14:34:00Z") })).toBe(
    "..#....",
  );
});

test("gaps of a chart end somewhere, also where nobody closed a hole", () => {
  const long = [
    bar("2026-11-20T00:00:00Z", { session: "closed" }),
    bar("2026-11-20T00:01:00Z", { session: "closed" }),
    bar("2026-11-20T23:00:00Z", { session: "closed" }),
  ];

  expect(drawn(long, { sessions: [] })).toHaveLength(403);
});

test.each([
  ["2026-11-20T15:00:05Z", "0 s"],
  ["2026-11-20T14:58:01Z", "119 s"],
  ["2026-11-20T14:50:00Z", "10 min"],
  ["2026-11-20T11:00:00Z", "4 h"],
  ["2026-11-13T15:00:00Z", "7 d"],
])("a quote of %s is %s old at 15:00 on 20 November", (observedAt, shown) => {
  expect(age(observedAt, Date.parse("2026-11-20T15:00:00Z"))).toBe(shown);
});

test("a countdown is in minutes and seconds, then hours, then days", () => {
  expect([0, 42_100, 725_000, 11_400_000, 200_000_000].map(countdown)).toEqual([
    "0:00",
    "0:43",
    "12:05",
    "3 h 10 min",
    "2 d 7 h",
  ]);
});

test("times are New York's, in winter and in summer", () => {
  expect([exchangeTime("2026-11-20T14:30:00Z"), exchangeTime("2026-07-20T13:30:00.5Z")]).toEqual([
    "09:30:00",
    "09:30:00",
  ]);
  expect(new Date(exchangeSeconds("2026-07-20T13:30:05.25Z") * 1_000).toISOString()).toBe(
    "2026-07-20T09:30:05.000Z",
  );
});

test("a time that stands by itself says whose it is, also in the chart; a date needs no zone", () => {
  expect(exchangeMoment("2026-11-20T14:30:00Z")).toBe("2026-11-20 09:30 New York");
  expect(placeLabel(exchangeSeconds("2026-07-20T13:31:00Z"), false)).toBe("2026-07-20 09:31 New York");
  expect(placeLabel(Date.parse("2026-07-20T00:00:00Z") / 1_000, true)).toBe("2026-07-20");
});

test("axes of Health's pictures have round whole heights, of a single miss as well as of thousands of answers", () => {
  expect([1, 3, 60, 2_031].map(heightsOf)).toEqual([
    [0, 1],
    [0, 1, 2, 3],
    [0, 20, 40, 60],
    [0, 500, 1_000, 1_500, 2_000],
  ]);
});

test("axes of Health's pictures name times of the exchange, a date at its midnight, also over the end of summer time", () => {
  const day = timesOf({ from: "2026-11-20T04:30:00Z", to: "2026-11-21T04:30:00Z" }, 4);
  const weeks = timesOf({ from: "2026-10-31T04:00:00Z", to: "2026-11-03T05:00:00Z" }, 4);

  expect(day.map(({ name }) => name)).toEqual(["2026-11-20", "06:00", "12:00", "18:00"]);
  expect(day[0]?.share).toBeCloseTo(0.5 / 24, 9);
  expect(weeks.map(({ name, share }) => [name, Math.round(share * 73)])).toEqual([
    ["2026-10-31", 0],
    ["2026-11-01", 24],
    ["2026-11-02", 49],
    ["2026-11-03", 73],
  ]);
});

test("a chain has calls and puts of a strike side by side, by the number and not by the text", () => {
  const rows = strikeRows([contract("100", "CALL"), contract("95", "PUT"), contract("95", "CALL")]);

  expect(rows.map(({ strike, call, put }) => [strike, call !== null, put !== null])).toEqual([
    ["95", true, true],
    ["100", true, false],
  ]);
  expect(atTheMoney(rows, "97.6")).toBe("100");
  expect(atTheMoney(rows, null)).toBeNull();
});

test("a chain has a slider with a stop for each minute that was observed, the last one being now", () => {
  const spans = [
    { date: "2026-11-19", from: "2026-11-19T15:00:00Z", to: "2026-11-19T15:02:00Z" },
    { date: "2026-11-20", from: "2026-11-20T15:00:00Z", to: "2026-11-20T15:03:00Z" },
  ];

  expect(stopCount(spans)).toBe(5);
  expect([0, 1, 2, 3, 4].map((stop) => instantOfStop(spans, stop))).toEqual([
    "2026-11-19T15:01:00.000Z",
    "2026-11-19T15:02:00.000Z",
    "2026-11-20T15:01:00.000Z",
    "2026-11-20T15:02:00.000Z",
    null,
  ]);
  for (const stop of [0, 1, 2, 3]) expect(stopOfInstant(spans, instantOfStop(spans, stop) ?? "")).toBe(stop);
  expect(
    ["2026-11-01T00:00:00Z", "2026-11-19T23:00:00Z", "2026-12-01T00:00:00Z"].map((each) =>
      stopOfInstant(spans, each),
    ),
  ).toEqual([0, 1, 4]);
});

test("a chain shows the contracts near the money that were traded, and none without a known moneyness", () => {
  const of = (moneyness: number | null, volume: string | null) => ({
    ...contract("100", "CALL"),
    moneyness,
    volume,
  });
  const shown = (filter: { within: number | null; volume: number }): boolean[] =>
    [of(1.05, "9"), of(0.95, "10"), of(1.051, null), of(null, "11")].map((each) => passes(each, filter));

  expect(shown({ within: null, volume: 0 })).toEqual([true, true, true, true]);
  expect(shown({ within: 5, volume: 0 })).toEqual([true, true, false, false]);
  expect(shown({ within: null, volume: 10 })).toEqual([false, true, false, true]);
  expect(shown({ within: 5, volume: 10 })).toEqual([false, true, false, false]);
});

const cell = (expected: number, stored: number) => ({ expected, stored, missed: expected - stored });

test("the heat map unpacks a field: nothing due, all stored, something missed; and sums a row", () => {
  const row = { instrument: "A", source: "account", cells: [null, 390, [390, 42], 0] } as const;

  expect(row.cells.map((each) => unpacked(each as null))).toEqual([
    null,
    cell(390, 390),
    cell(390, 348),
    cell(0, 0),
  ]);
  expect(sumOf({ ...row, cells: [null, 390, [390, 42]] })).toEqual(cell(780, 738));
});

test("the heat map is narrowed by a part of a name, and to what misses something, without a change of the order", () => {
  const row = (instrument: string, ...cells: (null | number | [number, number])[]) => ({
    instrument,
    source: "account" as const,
    cells,
  });
  const rows = [row("TSLA", [5, 5]), row("AAPL", 5), row("AAPL:2026-12-18:CALL:5", null, [5, 1])];
  const names = (search: string, missing: boolean): string[] =>
    foundRows({ rows }, { search, missing }).map(({ instrument }) => instrument);

  expect(names(" aapl ", false)).toEqual(["AAPL", "AAPL:2026-12-18:CALL:5"]);
  expect(names("", true)).toEqual(["TSLA", "AAPL:2026-12-18:CALL:5"]);
  expect(names("aapl", true)).toEqual(["AAPL:2026-12-18:CALL:5"]);
});

test("the heat map tells whole from nearly whole, and little from nothing", () => {
  expect(
    [
      [100, 100],
      [100, 99],
      [100, 50],
      [100, 1],
      [100, 0],
    ].map(([e = 0, s = 0]) => heatLevel(cell(e, s))),
  ).toEqual(["full", "high", "part", "low", "none"]);
  expect([cell(10, 10), cell(100_000, 99_999), cell(3, 1)].map(storedShare)).toEqual([
    "100.0 %",
    "99.9 %",
    "33.3 %",
  ]);
});

test("problems come with their remedy; what heals by itself needs no person, and a full disk does", () => {
  const unauthorized = problemOf(new QuotekeeperError("SERVICE_UNAUTHORIZED", "the service said 401"));
  const away = problemOf(new QuotekeeperError("SERVICE_UNREACHABLE", "no route to 10.0.0.1"));

  expect(unauthorized).toMatchObject({
    person: true,
    hint: expect.stringContaining("credentials"),
  });
  expect(away).toEqual({
    code: "SERVICE_UNREACHABLE",
    detail: "no route to 10.0.0.1",
    hint: "Check the network and QUOTES_BASE_URL.",
    person: false,
  });
  // They are tried again as well, in vain until a person frees space.
  for (const code of ["DISK_FULL", "JOURNAL_WRITE_FAILED", "JOURNAL_FULL"] as const)
    expect([code, problemOf(new QuotekeeperError(code, "no space")).person]).toEqual([code, true]);
  expect(problemOf(new Error("something odd"))).toMatchObject({ code: "ERROR", detail: "something odd" });
});

test("reasons that the ledger may give some day are shown as they are", () => {
  expect(reasonOf("sunspots").title).toBe("sunspots");
});

const view = (misses: HealthView["misses"]): HealthView => ({
  from: "2026-11-20T14:00:00Z",
  to: "2026-11-20T17:00:00Z",
  step: "hour",
  source: "account",
  sources: ["account"],
  calls: [],
  due: [],
  lateness: [],
  takeOvers: [],
  misses,
});
const missed = (time: string, reason: string, count: number): HealthView["misses"][number] => ({
  at: `2026-11-20T${time}:00.000Z`,
  reason,
  missed: count,
});

test("the picture of misses is not drowned by unknown symbols: they are told, counted in the legend, and not drawn", () => {
  const { columns, tones, undrawn } = missColumns(
    view([
      missed("14:00", "unknown_symbol", 60),
      missed("14:00", "transport", 2),
      missed("15:00", "unknown_symbol", 60),
    ]),
  );

  expect(columns.map(({ parts }) => parts.map(({ tone, value }) => `${value} ${tone}`))).toEqual([
    ["2 transport"],
    [],
  ]);
  expect(columns.map(({ title }) => title.replace(/.*: /, ""))).toEqual([
    "60 unknown symbol, 2 no answer",
    "60 unknown symbol",
  ]);
  expect(tones.map(({ name, text }) => `${text} ${name}`)).toEqual(["120 unknown symbol", "2 no answer"]);
  expect(undrawn).toBe(120);
});

const calendar = createCalendar();

test("on a weekend the market's hours name the next opening", () => {
  expect(marketAt(calendar, new Date("2026-11-21T12:00:00Z"))).toEqual({
    phase: "closed",
    closedReason: "weekend",
    closesAt: null,
    opensAt: "2026-11-23T14:30:00.000Z",
  });
});

test("in the regular session the market's hours name its end", () => {
  expect(marketAt(calendar, new Date("2026-11-20T15:00:00Z"))).toEqual({
    phase: "regular",
    closedReason: null,
    opensAt: null,
    closesAt: "2026-11-20T21:00:00.000Z",
  });
});

test("a file's fields with commas and quotes are quoted, and its name holds no other signs", () => {
  const of = { instrument: 'A,"B"/C', source: "account", delayed: false, interval: "1d" } as const;
  const beside = { asked: "1d", sessions: [], dividends: [], compared: [], more: false } as const;

  const csv = barsCsv({ ...of, ...beside, bars: [at("14:30")] } as never, { misses: [], indicators: [] });

  expect(csv.split("\r\n")[1]).toMatch(/^"A,""B""\/C",account,false,1d,/);
  expect(csvName([of.instrument, of.interval], of.source)).toBe("A_B_C-1d.csv");
});
