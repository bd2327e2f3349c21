/** Times as names of files write them. */
import { expect, test } from "@jest/globals";
import { compilePattern } from "../../src/read/timePattern.ts";
import { findIso, readIso } from "../../src/read/cellTime.ts";
import { exchangeMicros, type TimeResult } from "../../src/read/wallTime.ts";
import { instantOf } from "../../src/ground/clock.ts";

function shown(read: TimeResult | null): string | null {
  if (read === null) return null;
  return read.ok ? instantOf(read.micros) : read.problem;
}

/** What a pattern finds in a text. */
function found(pattern: string, text: string): string | null {
  const compiled = compilePattern(pattern);
  return compiled.ok ? shown(compiled.pattern.read(text, exchangeMicros)) : compiled.problem;
}

test.each([
  ["%Y-%m-%d %H:%M:%S", "2026-11-18 09:30:05", "2026-11-18T14:30:05.000000Z"],
  ["%m/%d/%Y %I:%M:%S %p", "7/4/2026 1:02:03 pm", "2026-07-04T17:02:03.000000Z"],
  ["%d%b%y", "18Nov26", "2026-11-18T05:00:00.000000Z"],
  ["%Y%m%d%H%M%S%f", "20261118093005123456789", "2026-11-18T14:30:05.123456Z"],
  ["%Y%m%dT%H%M%z", "20261118T0930-0800", "2026-11-18T17:30:00.000000Z"],
  ["%Y%m%dT%H%M%z", "20261118T0930Z", "2026-11-18T09:30:00.000000Z"],
  ["%s.%f", "1795012200.25", "2026-11-18T14:30:00.250000Z"],
  ["%Y%%%m%%%d", "2026%11%18", "2026-11-18T05:00:00.000000Z"],
  ["%I %p %Y-%m-%d", "12 AM 2026-11-18", "2026-11-18T05:00:00.000000Z"],
  ["%Y-%m-%d %H:%M:%S", "2026-11-18 09:30:60", "there is no such time"],
  ["%I %p %Y-%m-%d", "13 PM 2026-11-18", "there is no such time"],
  ["%Y-%m-%d", "2026-11-18 and more", "2026-11-18T05:00:00.000000Z"],
  ["%Y-%m-%d", "on 2026-11-18", "2026-11-18T05:00:00.000000Z"],
  ["%d.%m.%Y", "1.2.2026", "2026-02-01T05:00:00.000000Z"],
  ["%d.%m.%Y", "1x2x2026", null],
  ["%d %b %Y", "1 fEb 2026", "2026-02-01T05:00:00.000000Z"],
  ["%d %b %Y", "1 Fev 2026", "there is no such time"],
  ["%d %b %Y", "31 dec 2026", "2026-12-31T05:00:00.000000Z"],
  ["%m/%d/%y", "1/2/68", "2068-01-02T05:00:00.000000Z"],
  ["%m/%d/%y", "1/2/69", "1969-01-02T05:00:00.000000Z"],
  ["%m/%d/%Y", "11/31/2026", "there is no such time"],
  ["%m/%d/%Y", "0/1/2026", "there is no such time"],
  ["%m/%d/%Y", "13/1/2026", "there is no such time"],
  ["%m/%d/%Y", "1/0/2026", "there is no such time"],
  ["%m/%d/%Y", "1/1/0000", "there is no such time"],
  ["%m/%d/%Y", "2/29/2024", "2024-02-29T05:00:00.000000Z"],
  ["%Y-%m-%d %H", "2026-11-18 23", "2026-11-19T04:00:00.000000Z"],
  ["%Y-%m-%d %H", "2026-11-18 24", "there is no such time"],
  ["%Y-%m-%d %H:%M", "2026-11-18 9:59", "2026-11-18T14:59:00.000000Z"],
  ["%Y-%m-%d %H:%M", "2026-11-18 9:60", "there is no such time"],
  ["%Y-%m-%d %H:%M:%S", "2026-11-18 9:30:59", "2026-11-18T14:30:59.000000Z"],
  ["%Y-%m-%d %I%p", "2026-11-18 12pm", "2026-11-18T17:00:00.000000Z"],
  ["%Y-%m-%d %I%p", "2026-11-18 01AM", "2026-11-18T06:00:00.000000Z"],
  ["%Y-%m-%d %I%p", "2026-11-18 00AM", "there is no such time"],
  ["%Y-%m-%d %I %p", "2026-11-18 9 PM", "2026-11-19T02:00:00.000000Z"],
  ["%Y-%m-%d %I %p", "2026-11-18 9 XM", null],
  ["%Y%m%d", "2026118", null],
  ["%Y%m%d%H%M", "20261118930", null],
  ["%y%m%d", "261118", "2026-11-18T05:00:00.000000Z"],
  ["%Y%m%d", "x20261118", "2026-11-18T05:00:00.000000Z"],
  ["T%d%m%Y", "T18112026", "2026-11-18T05:00:00.000000Z"],
  ["2%d%m%Y", "218112026", "2026-11-18T05:00:00.000000Z"],
  ["2%d%m%Y", "28112026", null],
  ["%Y%m%d2", "202611182", "2026-11-18T05:00:00.000000Z"],
  ["%Y-%m%d", "2026-118", null],
  ["%Y-%m-%d %H:%M:%S.%f", "2026-11-18 9:30:00.5", "2026-11-18T14:30:00.500000Z"],
  ["%Y-%m-%d %H:%M:%S.%f", "2026-11-18 9:30:00.1234567890", null],
  ["%s", "1795012200", "2026-11-18T14:30:00.000000Z"],
  ["%s", "0", "1970-01-01T00:00:00.000000Z"],
  ["%s", "123456789012", null],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 +05:30", "2026-11-18T04:00:00.000000Z"],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 -0330", "2026-11-18T13:00:00.000000Z"],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 -05", "2026-11-18T14:30:00.000000Z"],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 UTC", "2026-11-18T09:30:00.000000Z"],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 GMT", "2026-11-18T09:30:00.000000Z"],
  ["%Y-%m-%d %H:%M %z", "2026-11-18 9:30 EST", null],
  ["%Y-%m-%d%*", "2026-11-18\nand whatever", "2026-11-18T05:00:00.000000Z"],
  ["*%Y-%m-%d", "at 2026-11-18", "2026-11-18T05:00:00.000000Z"],
  ["[%Y] (%m) {%d} ^$.+?|\\/", "[2026] (11) {18} ^$.+?|\\/", "2026-11-18T05:00:00.000000Z"],
])("%s reads %s as %s", (pattern, text, expected) => {
  expect(found(pattern, text)).toBe(expected);
});

test("a pattern is found within a name, and not in the midst of a longer number", () => {
  expect(found("%Y%m%d_%H%M", "quotes_20261118_0930.v2.xml")).toBe("2026-11-18T14:30:00.000000Z");
  expect(found("%Y%m%d", "id120261118")).toBe(null);
  expect(found("%Y%m%d", "2026111812")).toBe(null);
  expect(found("%Y%m%d", "id-20261118-12")).toBe("2026-11-18T05:00:00.000000Z");
  expect(found("v%Y%m%d", "12v20261118")).toBe("2026-11-18T05:00:00.000000Z");
  expect(found("%Y%m%dv", "20261118v2")).toBe("2026-11-18T05:00:00.000000Z");
  expect(found("q*-%s", "q-nasdaq-1795012200.xml")).toBe("2026-11-18T14:30:00.000000Z");
});

test.each([
  ["%H:%M", "it needs year, month and day, or %s"],
  ["%m-%d", "it needs year, month and day, or %s"],
  ["%y-%d", "it needs year, month and day, or %s"],
  ["%Y-%b", "it needs year, month and day, or %s"],
  ["%Y-%m-%d %p", "%I and %p go together"],
  ["%Y-%m-%d %H:%S", "%S needs %M"],
  ["%Y-%m-%d %H:%M.%f", "%f needs %S or %s"],
  ["", "it needs year, month and day, or %s"],
  ["%Y-%m-%d %I", "%I and %p go together"],
  ["%Y-%m-%d %M", "%M needs %H, or %I with %p"],
  ["%Y-%m-%d %Y", "%Y is there twice"],
  ["%Q", "%Q is not known"],
  ["%Y-%m-%d %", "it ends with a single %"],
])("%s is no pattern: %s", (pattern, problem) => {
  expect(compilePattern(pattern)).toEqual({ ok: false, problem });
});

test.each([
  ["2026-11-18", "2026-11-18T05:00:00.000000Z"],
  ["20261118T093000Z", "2026-11-18T09:30:00.000000Z"],
  ["18.11.2026", null],
  ["2026-11-18T09:30:15", "2026-11-18T14:30:15.000000Z"],
  ["2026-11-18T09:30:15,123456789", "2026-11-18T14:30:15.123456Z"],
  ["2026-11-18T09:30:15.1", "2026-11-18T14:30:15.100000Z"],
  ["20261118 0930", "2026-11-18T14:30:00.000000Z"],
  ["2026-11-18t09:30z", "2026-11-18T09:30:00.000000Z"],
  ["2026-11-18 09:30 +0100", "2026-11-18T08:30:00.000000Z"],
  ["2026-11-18T09:30-05", "2026-11-18T14:30:00.000000Z"],
  ["2026-11-18T09", null],
  ["2026-11-18T09:30:15.", null],
  ["2026-11-18T09:30:15.1234567890", null],
  ["2026-11-18T09:30 EST", null],
  ["2026-11-18 ", null],
  [" 2026-11-18", null],
  ["26-11-18", null],
  ["2026-1-8", null],
  ["2026-11-18T25:00", "there is no such time"],
  ["2026-02-30", "there is no such time"],
])("a cell of ISO 8601 that has %j is %s", (text, expected) => {
  expect(shown(readIso(text, exchangeMicros))).toBe(expected);
});

test.each([
  ["aapl-2026-11-18T09-30-00.xml", "2026-11-18T14:30:00.000000Z"],
  ["20261118T093000.123-0500-copy.xml", "2026-11-18T14:30:00.123000Z"],
  ["2026-11-18.xml", null],
  ["2026-11-18T0930.xml", "2026-11-18T14:30:00.000000Z"],
  ["2026-11-18 09.30.15.xml", "2026-11-18T14:30:15.000000Z"],
  ["2026-11-18T09_30_15.xml", "2026-11-18T14:30:15.000000Z"],
  ["2026-11-18T09:30:15.123456Z.xml", "2026-11-18T09:30:15.123456Z"],
  ["2026-11-18T093015,123456789.xml", "2026-11-18T14:30:15.123456Z"],
  ["2026-11-18T09:30:15.1.xml", "2026-11-18T14:30:15.000000Z"],
  ["2026-11-18T09:30+01:00.xml", "2026-11-18T08:30:00.000000Z"],
  ["2026-11-18T0930+01.xml", "2026-11-18T08:30:00.000000Z"],
  ["2026-11-18T0930+0530.xml", "2026-11-18T04:00:00.000000Z"],
  ["2026-11-18T0930+05:30.xml", "2026-11-18T04:00:00.000000Z"],
  ["2026-11-17_to_2026-11-18T0930.xml", null],
  ["2026-11-18T09.xml", null],
  ["120261118T0930.xml", null],
  ["20261118T09301.xml", null],
  ["20261118T0930151.xml", null],
  ["20261118x0930.xml", null],
])("a file named %j is of %s", (text, expected) => {
  expect(shown(findIso(text, exchangeMicros))).toBe(expected);
});

test("of a time that says more than microseconds it is said, and not where it says zeros alone", () => {
  expect(readIso("2026-11-18T09:30:00.0000001Z", exchangeMicros)).toMatchObject({ ok: true, cut: true });
  expect(readIso("2026-11-18T09:30:00.123456000Z", exchangeMicros)).not.toHaveProperty("cut");
  expect(readIso("2026-02-30T09:30:00.0000001Z", exchangeMicros)).not.toHaveProperty("cut");
});

test("clocks that are put back show an hour twice, and clocks that are put forward skip one", () => {
  const hour = { year: 2026, month: 11, day: 1, hour: 1, minute: 30, second: 0, micros: 0 };
  const times = [hour, { ...hour, hour: 2, second: 5, micros: 7 }, { ...hour, second: 59, micros: 999_999 }];

  expect(times.map((time) => shown(exchangeMicros(time)))).toEqual([
    ...["2026-11-01T05:30:00.000000Z", "2026-11-01T07:30:05.000007Z", "2026-11-01T05:30:59.999999Z"],
  ]);
  expect(shown(exchangeMicros({ ...hour, month: 3, day: 8, hour: 2 }))).toContain("never showed it");
});
