/** Times as file names and columns write them. */
import { expect, test } from "@jest/globals";
import {
  findIso,
  readIso,
  createLocalReader,
  type TimeRead,
  compilePattern,
} from "../../src/read/timePattern.ts";
import { instantOf } from "../../src/clock.ts";

const NEW_YORK = createLocalReader("America/New_York", "earlier");

function shown(read: TimeRead | null): string | null {
  if (read === null) return null;
  return read.ok ? instantOf(read.micros) : read.problem;
}

/** What a pattern finds in a text. */
function found(pattern: string, text: string, whole = true): string | null {
  const compiled = compilePattern(pattern, { whole });
  return compiled.ok ? shown(compiled.pattern.read(text, NEW_YORK)) : compiled.problem;
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
  ["%Y-%m-%d", "2026-11-18 and more", null],
])("%s reads %s as %s", (pattern, text, expected) => {
  expect(found(pattern, text)).toBe(expected);
});

test("a pattern is found within a name, and not in the midst of a longer number", () => {
  expect(found("%Y%m%d_%H%M", "quotes_20261118_0930.v2.xml", false)).toBe("2026-11-18T14:30:00.000000Z");
  expect(found("%Y%m%d", "id120261118", false)).toBe(null);
  expect(found("q*-%s", "q-nasdaq-1795012200.xml", false)).toBe("2026-11-18T14:30:00.000000Z");
});

test.each([
  ["%H:%M", "it needs year, month and day, or %s"],
  ["%Y-%m-%d %I", "%I and %p go together"],
  ["%Y-%m-%d %M", "%M needs %H, or %I with %p"],
  ["%Y-%m-%d %Y", "%Y is there twice"],
  ["%Q", "%Q is not known"],
  ["%Y-%m-%d %", "it ends with a single %"],
])("%s is no pattern: %s", (pattern, problem) => {
  expect(compilePattern(pattern, { whole: true })).toEqual({ ok: false, problem });
});

test("ISO 8601 is read in its forms, and in file names with what file systems want in place of colons", () => {
  const whole = (text: string): string | null => shown(readIso(text, NEW_YORK));
  const within = (text: string): string | null => shown(findIso(text, NEW_YORK));

  expect(whole("2026-11-18")).toBe("2026-11-18T05:00:00.000000Z");
  expect(whole("2026-11-18T09:30")).toBe("2026-11-18T14:30:00.000000Z");
  expect(whole("2026-11-18 09:30:00.5+01:00")).toBe("2026-11-18T08:30:00.500000Z");
  expect(whole("20261118T093000Z")).toBe("2026-11-18T09:30:00.000000Z");
  expect(whole("18.11.2026")).toBe(null);
  expect(within("aapl-2026-11-18T09-30-00.xml")).toBe("2026-11-18T14:30:00.000000Z");
  expect(within("20261118T093000.123-0500-copy.xml")).toBe("2026-11-18T14:30:00.123000Z");
  expect(within("2026-11-18.xml")).toBe(null);
});

test("clocks that are put back show an hour twice, clocks that are put forward skip one, in any zone", () => {
  const hour = { year: 2026, month: 11, day: 1, hour: 1, minute: 30, second: 0, micros: 0 };
  const lordHowe = { ...hour, month: 10, day: 4, hour: 2, minute: 15 };

  expect(shown(createLocalReader("America/New_York", "earlier")(hour))).toBe("2026-11-01T05:30:00.000000Z");
  expect(shown(createLocalReader("America/New_York", "later")(hour))).toBe("2026-11-01T06:30:00.000000Z");
  expect(shown(createLocalReader("America/New_York", "refuse")(hour))).toContain("showed it twice");
  expect(shown(createLocalReader("UTC", "refuse")(hour))).toBe("2026-11-01T01:30:00.000000Z");
  // There clocks move by half an hour.
  expect(shown(createLocalReader("Australia/Lord_Howe", "earlier")(lordHowe))).toContain("never showed it");
});
