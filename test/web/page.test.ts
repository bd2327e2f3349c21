import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { barsCsv } from "../../src/web/api/csvFiles.ts";
import { csvName } from "../../src/web/api/csvText.ts";
import { joinNames, splitNames } from "../../src/web/api/quoteTable.ts";
import {
  age,
  countdown,
  exchangeMoment,
  exchangeSeconds,
  exchangeTime,
  placeLabel,
} from "../../src/web/app/lib/format.ts";
import { reasonOf } from "../../src/web/app/lib/reasons.ts";
import { problemOf } from "../../src/web/live.ts";
import { marketAt } from "../../src/web/now.ts";
import { bar } from "./contract.ts";

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

test("a time that stands by itself says whose it is; beside a name of the zone, in the chart, it does not", () => {
  expect(exchangeMoment("2026-11-20T14:30:00Z")).toBe("2026-11-20 09:30 New York");
  expect(placeLabel(exchangeSeconds("2026-07-20T13:31:00Z"), false)).toBe("2026-07-20 09:31");
  expect(placeLabel(Date.parse("2026-07-20T00:00:00Z") / 1_000, true)).toBe("2026-07-20");
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
  const beside = { asked: "1d", sessions: [], dividends: [], more: false } as const;

  const csv = barsCsv({ ...of, ...beside, bars: [bar("2026-11-20T14:30:00Z")] } as never, []);

  expect(csv.split("\r\n")[1]).toMatch(/^"A,""B""\/C",account,false,1d,/);
  expect(csvName([of.instrument, of.interval], of.source)).toBe("A_B_C-1d.csv");
});

test("a list of names in an address is the list again, whatever signs are in them", () => {
  const anyName = fc.string({ minLength: 1 });
  fc.assert(
    fc.property(fc.array(anyName, { minLength: 1 }), (names) => {
      expect(splitNames(joinNames(names))).toEqual(names);
    }),
  );
  expect(joinNames(["KO", "BRK,A", "A\\B"])).toBe("KO,BRK\\,A,A\\\\B");
  expect(splitNames("A,,B")).toEqual(["A", "", "B"]);
  expect(splitNames("")).toEqual([""]);
});
