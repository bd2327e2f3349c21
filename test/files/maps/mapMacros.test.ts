/** The macros of maps: what they give, and that what they cannot convert is never silently NULL. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { MAP_MACROS } from "../../../src/files/maps/mapMacros.ts";
import { fileOf, mapped, valuesOf } from "./maps.ts";

test("each macro gives what its comment says, and docs/backfill-csv.md has it", async () => {
  const page = readFileSync(new URL("../../../docs/backfill-csv.md", import.meta.url), "utf8");
  const examples = [...MAP_MACROS.matchAll(/(\w+\([^()]*\)) is ([^\s,;]+(?: \d\d:\d\d:\d\d)?)/gu)];
  const given = await valuesOf(examples.map(([, expression = ""]) => expression));
  const names = [...MAP_MACROS.matchAll(/create macro ([a-z]\w*)/gu)].map(([, name = ""]) => name);

  expect(examples.length).toBeGreaterThan(15);
  expect(given).toEqual(examples.map(([, , value]) => value));
  expect(names.filter((name) => !new RegExp(`^\\| .*\\b${name}\\(`, "mu").test(page))).toEqual([]);
});

/** By topic: expressions, and what they give; null is NULL. */
const GIVEN: Record<string, Record<string, string | null>> = {
  "local times of New York are read, and the hour that spring skips is refused": {
    "new_york('2026-07-01 09:30')": "2026-07-01T13:30:00.000000Z",
    "new_york('2026-11-18T09:30:00.123456789')": "2026-11-18T14:30:00.123456Z",
    "new_york('2026-11-18')": "2026-11-18T05:00:00.000000Z",
    "new_york('2026-11-18T09:30:00-08:00')": "2026-11-18T17:30:00.000000Z",
    "new_york('2026-03-08 01:59:59')": "2026-03-08T06:59:59.000000Z",
    "new_york('2026-03-08 02:00:00')": "2026-03-08 02:00:00: clocks of New York never showed it",
    "new_york('2026-03-08 02:59:59')": "2026-03-08 02:59:59: clocks of New York never showed it",
    "new_york('2026-03-08 03:00:00')": "2026-03-08T07:00:00.000000Z",
    "new_york('3/8/26 2:30 AM', '%-m/%-d/%y %I:%M %p')": "3/8/26 2:30 AM: clocks of New York never showed it",
    "new_york('11/18/2026 02:15 PM', '%m/%d/%Y %I:%M %p')": "2026-11-18T19:15:00.000000Z",
  },
  "of a time that autumn shows twice, the earlier one is meant": {
    "new_york('2026-11-01 00:59:59')": "2026-11-01T04:59:59.000000Z",
    "new_york('2026-11-01 01:00:00')": "2026-11-01T05:00:00.000000Z",
    "new_york('2026-11-01 01:59:59')": "2026-11-01T05:59:59.000000Z",
    "new_york('2026-11-01 02:00:00')": "2026-11-01T07:00:00.000000Z",
    "new_york('2026-11-01 01:30:00-05:00')": "2026-11-01T06:30:00.000000Z",
  },
  "times that are none are given back": {
    "utc('2026-02-30T00:00:00Z')": "2026-02-30T00:00:00Z",
    "utc('2026-11-18T24:00:00Z')": "2026-11-18T24:00:00Z",
    "utc('2026-11-18T23:59:60Z')": "2026-11-18T23:59:60Z",
    "utc('2026-11-18T09:30:00+99:00')": "2026-11-18T09:30:00+99:00",
    "utc('infinity')": "infinity",
    "utc('epoch')": "epoch",
    "utc('2026-11-18 09:30:00 America/New_York')": "2026-11-18 09:30:00 America/New_York",
    "utc('18.11.2026', '%m/%d/%Y')": "18.11.2026",
    "new_york('2026-11-18 09:30 x')": "2026-11-18 09:30 x",
    "new_york('', '%Y')": "",
    "new_york(null)": null,
    "excel('46344x')": "46344x",
    "excel('5')": "5",
  },
  "numbers since 1970 are cut to microseconds, and never rounded": {
    "epoch('1795012200.9999999', 's')": "2026-11-18T14:30:00.999999Z",
    "epoch('1795012200123.4569', 'ms')": "2026-11-18T14:30:00.123456Z",
    "epoch('1795012200123456', 'us')": "2026-11-18T14:30:00.123456Z",
    "epoch('9223372036854775808', 'ns')": "9223372036854775808",
    "epoch('99999999999999999999', 's')": "99999999999999999999",
    "epoch('1795012200000', 's')": "1795012200000",
    "epoch('-1', 's')": "-1",
    "epoch('1e9', 's')": "1e9",
    "epoch('1795012200', 'minutes')": "1795012200",
  },
  "dates become the last instant of their session, or say why there is none": {
    "session_close('2026-11-18')": "2026-11-18T20:59:59.999999Z",
    "session_close('2026-07-01T00:00:00.000Z')": "2026-07-01T19:59:59.999999Z",
    "session_close('2026-11-26')": "the exchange was closed on 2026-11-26 (Thanksgiving Day)",
    "session_close('2026-11-28')": "the exchange was closed on 2026-11-28 (weekend)",
    "session_close('1985-03-04')": "1985-03-04T20:59:59.999999Z",
    "session_close('2099-01-05')": "2099-01-05 is no date of the calendar",
    "session_close('2026-02-30')": "2026-02-30 is no date of the calendar",
    "session_close('11/18/2026')": "11/18/2026",
    "session_close(null)": null,
    "at_close('2026-11-18', 15)": "2026-11-18T21:15:00.000000Z",
    "at_close('2026-11-26', -15)": "the exchange was closed on 2026-11-26 (Thanksgiving Day)",
    "iso_date('11/18/2026', '%m/%d/%Y')": "2026-11-18",
    "iso_date('11/31/2026', '%m/%d/%Y')": "11/31/2026",
    "exchange_date('2026-11-18T04:59:59Z')": "2026-11-17",
  },
  "a bar is known at its end, or with the session": {
    "bar_end_by_close('2026-11-18T14:30:00Z', interval 1 hour)": "2026-11-18T15:29:59.999999Z",
    "bar_end_by_close('2026-11-27T17:30:00Z', interval 1 hour)": "2026-11-27T17:59:59.999999Z",
    "bar_end_by_close('2026-11-18T21:00:00Z', interval 1 hour)": "2026-11-18T21:59:59.999999Z",
    "bar_end_by_close('2026-11-28T15:00:00Z', interval 1 hour)": "2026-11-28T15:59:59.999999Z",
    "bar_end('yesterday', interval 1 minute)": "yesterday",
  },
  "OCC symbols become names of contracts, and nothing else does": {
    "occ('AAPL261218P00267500')": "AAPL:2026-12-18:PUT:267.5",
    "occ('AAPL  261218C00000500')": "AAPL:2026-12-18:CALL:0.5",
    "occ('AAPL1261218C00270000')": "AAPL/AAPL1:2026-12-18:CALL:270",
    "occ('2SPY261218C00500000')": "SPY/2SPY:2026-12-18:CALL:500",
    "occ('BRKB261218C00480000')": "BRK.B:2026-12-18:CALL:480",
    "occ('AAPL261318C00270000')": "AAPL261318C00270000",
    "occ('AAPL261218C00000000')": "AAPL261218C00000000",
    "occ('123261218C00270000')": "123261218C00270000",
    "occ('AAPL261218C0027000')": "AAPL261218C0027000",
    "occ('MSFT')": "MSFT",
  },
  "numbers are exact, and what is no number is refused where it would be another number": {
    "scaled('-62.883', 0.002739726)": "-0.172282190058",
    "scaled('0.1', '0.2')": "0.02",
    "scaled('12345678901234567890', 1000000000000)": "12345678901234567890000000000000",
    "scaled('12345678901234567890123456789012345678', 0.1)":
      "12345678901234567890123456789012345678 cannot be multiplied by 0.1",
    "scaled('6.05E3', 0.001)": "6.05E3 cannot be multiplied by 0.001",
    "scaled('-', 0.001)": "- cannot be multiplied by 0.001",
    "scaled(null, 0.001)": null,
    "fraction('-10.95%')": "-0.1095",
    "fraction('0.2835')": "0.2835",
    "fraction('28,35%')": "28,35%",
    "whole('7.')": "7",
    "whole('1,5.2')": "1,5.2",
    "plain_number('-$1.50')": "-1.50",
    "plain_number('1.2B')": "1200000000",
    "plain_number('0,123')": "0,123",
    "plain_number('1,23')": "1,23",
    "plain_number('N/A')": "N/A",
    "plain_number('7.050', ',')": "7050",
    "plain_number('7.050,25', ',')": "7050.25",
    "plain_number('161,5', ',')": "161.5",
    "plain_number('12.34', ',')": "12.34 has no decimal comma",
    "class_share('BTC-USD')": "BTC-USD",
    "call_or_put('put')": "PUT",
    "call_or_put('X')": "X",
  },
};

test.each(Object.entries(GIVEN))("%s", async (_topic, cases) => {
  const given = await valuesOf(Object.keys(cases));

  expect(Object.fromEntries(Object.keys(cases).map((expression, at) => [expression, given[at]]))).toEqual(
    cases,
  );
});

test("in the doubled hour a series that has gone back means the later times from then on, and other series do not", async () => {
  const times = [
    "A 00:59",
    "A 01:15",
    "A 01:15",
    "B 01:45",
    "A 01:45",
    "A 01:05",
    "A 01:45",
    "B 01:50",
    "A 02:00",
  ];
  const file = fileOf(`series,time\n${times.map((row) => row.replace(" ", ",11/01/2026 ")).join("\n")}\n`);

  const { rows } = await mapped(
    `select file, row, series as instrument,
       new_york_in_order(time, '%m/%d/%Y %H:%M', series, row) as observed_at from input`,
    [file],
  );

  expect(rows.map(({ instrument, observed_at }) => `${instrument} ${observed_at?.slice(11, 16)}`)).toEqual([
    ...["A 04:59", "A 05:15", "A 05:15", "B 05:45", "A 05:45"],
    ...["A 06:05", "A 06:45", "B 05:50", "A 07:00"],
  ]);
});

test("volumes of bars become the day's so far, in the order of time, and a row with 0 stands before each day's first", async () => {
  const bars = [
    ...[
      "A,2026-11-18T14:32:59Z,7",
      "A,2026-11-18T14:30:59Z,5",
      "A,2026-11-18T14:31:59Z,3",
      "A,2026-11-18T14:31:59Z,3",
    ],
    ...[
      "A,2026-11-19T14:30:59Z,2",
      "B,2026-11-18T14:30:59Z,4",
      "B,2026-11-18T14:31:59Z,",
      "B,2026-11-18T14:32:59Z,1.5",
    ],
    ...["B,soon,9", "O:B261318C00270000,2026-11-18T14:30:59Z,6"],
  ];

  const { rows } = await mapped(
    `with bars as (select file, row, name as instrument, time as observed_at, own as volume, own as last from input)
     from day_volumes(bars)`,
    [fileOf(`name,time,own\n${bars.join("\n")}\n`)],
  );

  expect(
    rows.map(({ row, observed_at, volume, last }) => [row, observed_at?.slice(8), volume, last]),
  ).toEqual([
    ["1", "18T14:32:59Z", "15", "7"],
    ["2", "18T14:30:58.999999Z", "0", null],
    ["2", "18T14:30:59Z", "5", "5"],
    ["3", "18T14:31:59Z", "8", "3"],
    ["4", "18T14:31:59Z", "8", "3"],
    ["5", "19T14:30:58.999999Z", "0", null],
    ["5", "19T14:30:59Z", "2", "2"],
    ["6", "18T14:30:58.999999Z", "0", null],
    ["6", "18T14:30:59Z", "4", "4"],
    ["7", "18T14:31:59Z", null, null],
    ["8", "18T14:32:59Z", "1.5 is no whole number", "1.5"],
    ["9", "", "9", "9"],
    ["10", "18T14:30:59Z", "6", "6"],
  ]);
});
