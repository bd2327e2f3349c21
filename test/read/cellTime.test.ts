/** Times and dates in the cells of a file, as its map says that they are written. */
import { expect, test } from "@jest/globals";
import { createTimeReader, dateReader } from "../../src/read/cellTime.ts";
import type { CsvCall } from "../../src/read/csvCall.ts";
import { MAP } from "./csvPiece.ts";

/** The time in a text, with how many digits of it were cut, or why there is none. */
function read(text: string, change: Partial<CsvCall["time"]>): string {
  const cell = createTimeReader({ ...MAP, time: { ...MAP.time, ...change } })(text);
  return cell.ok ? `${cell.value}${cell.cut === undefined ? "" : ` cut ${cell.cut}`}` : cell.problem;
}

test.each([
  ["s", "1795012200", "2026-11-18T14:30:00.000000Z"],
  ["s", "1795012200.25", "2026-11-18T14:30:00.250000Z"],
  ["s", "1795012200.1234567", "2026-11-18T14:30:00.123456Z cut 1"],
  ["s", "1795012200.123456000", "2026-11-18T14:30:00.123456Z"],
  ["ms", "1795012200123", "2026-11-18T14:30:00.123000Z"],
  ["ms", "1795012200123.4", "2026-11-18T14:30:00.123400Z"],
  ["us", "1795012200123456", "2026-11-18T14:30:00.123456Z"],
  ["us", "1795012200123456.5", "2026-11-18T14:30:00.123456Z cut 1"],
  ["ns", "1795012200123456000", "2026-11-18T14:30:00.123456Z"],
  ["ns", "1795012200123456789", "2026-11-18T14:30:00.123456Z cut 1"],
  ["s", "1795012200.123456789012", "2026-11-18T14:30:00.123456Z cut 1"],
])("a number since 1970 of %s, %s, is %s", (format, text, expected) => {
  expect(read(text, { format })).toBe(expected);
});

test.each([
  "",
  "-1",
  "+1795012200",
  "1795012200x",
  "x1795012200",
  "1e9",
  "1,5",
  "1795012200.",
  ".5",
  "1".repeat(21),
  "1795012200.1234567890123",
])("%j is no number since 1970", (text) => {
  expect(read(text, { format: "s" })).toBe("expected a number since 1970");
});

const BEYOND = "that is before 1980 or after 2099; see the map's time format";

test.each([
  ["1979-12-31T23:59:59.999999Z", BEYOND],
  ["1980-01-01T00:00:00Z", "1980-01-01T00:00:00.000000Z"],
  ["2099-12-31T23:59:59.999999Z", "2099-12-31T23:59:59.999999Z"],
  ["2100-01-01T00:00:00Z", BEYOND],
])("a time is of the years 1980 to 2099: %s", (text, expected) => {
  expect(read(text, {})).toBe(expected);
});

test("a time in ISO 8601 is of the map's zone where it has no offset of its own", () => {
  const timezone = "America/New_York";

  expect(read("2026-11-18T09:30:00", { timezone })).toBe("2026-11-18T14:30:00.000000Z");
  expect(read("2026-11-18T09:30:00+01:00", { timezone })).toBe("2026-11-18T08:30:00.000000Z");
  expect(read("2026-11-18T09:30:00.0000001Z", { timezone })).toBe("2026-11-18T09:30:00.000000Z cut 1");
  expect(read("18.11.2026", { timezone })).toBe("expected ISO 8601");
});

test("a time needs its offset where the map names no zone", () => {
  expect(read("2026-11-18T09:30:00", { timezone: null })).toBe(
    "it has no offset, and the map names no timezone",
  );
  expect(read("2026-11-18T09:30:00Z", { timezone: null })).toBe("2026-11-18T09:30:00.000000Z");
});

test("a time by a pattern is the whole text", () => {
  const format = "%m/%d/%Y %H:%M";

  expect(read("11/18/2026 9:30", { format })).toBe("2026-11-18T09:30:00.000000Z");
  expect(read("11/18/2026 9:30 ET", { format })).toBe("expected %m/%d/%Y %H:%M");
  expect(read("on 11/18/2026 9:30", { format })).toBe("expected %m/%d/%Y %H:%M");
});

test("a time that clocks showed twice is the one that the map says, and one that they skipped is none", () => {
  const zone = { timezone: "America/New_York" };

  expect(read("2026-11-01T01:30:00", { ...zone, ambiguous: "earlier" })).toBe("2026-11-01T05:30:00.000000Z");
  expect(read("2026-11-01T01:30:00", { ...zone, ambiguous: "later" })).toBe("2026-11-01T06:30:00.000000Z");
  expect(read("2026-11-01T01:30:00", { ...zone, ambiguous: "refuse" })).toContain("showed it twice");
  expect(read("2026-03-08T02:30:00", zone)).toBe(
    "clocks of America/New_York never showed it: they were put forward",
  );
});

test("a time cannot be read by a pattern or in a zone that nobody knows", () => {
  expect(() => read("x", { format: "%Q" })).toThrow(new RangeError("%Q: %Q is not known"));
  expect(() => read("2026-11-18T09:30:00", { timezone: "Mars/Olympus" })).toThrow(RangeError);
});

const date = (text: string, format = "iso") => {
  const cell = dateReader(format)(text);
  return cell.ok ? cell.value : cell.problem;
};

test.each([
  "2026-12-18",
  "20261218",
  "2026-12-18T00:00:00",
  "2026-12-18T00:00:00Z",
  "2026-12-18T23:59:59-05:00",
  "2026-12-18T00:00:00.000+0100",
  "2026-12-18 00:00:00-05:00",
  "2026-12-18 00:00:00+00:00",
])("the date of an expiration is the one that %s shows, whatever its offset", (text) => {
  expect(date(text)).toBe("2026-12-18");
});

test.each([
  "",
  "2026-02-30",
  "18.12.2026",
  "12/18/2026",
  "2026-12-18Z",
  "2026-12-18T00:00:00Zx",
  "2026-12-18T00Z:00:00",
])("the text %j holds no date of an expiration", (text) => {
  expect(date(text)).toBe("expected a date, YYYY-MM-DD");
});

test("the date of an expiration is read by the map's pattern", () => {
  expect(date("1/5/2027", "%m/%d/%Y")).toBe("2027-01-05");
  expect(date("0001-01-05", "%Y-%m-%d")).toBe("0001-01-05");
  expect(date("9999-12-31", "%Y-%m-%d")).toBe("9999-12-31");
  expect(date("on 1/5/2027", "%m/%d/%Y")).toBe("expected a date, %m/%d/%Y");
  expect(date("2027-01-05", "%m/%d/%Y")).toBe("expected a date, %m/%d/%Y");
  expect(date("13/5/2027", "%m/%d/%Y")).toBe("expected a date, %m/%d/%Y");
  expect(() => dateReader("%Q")).toThrow(new RangeError("%Q: %Q is not known"));
});
