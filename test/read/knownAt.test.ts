/** When the values of a row were known: at the end of its bar, or at the close of its date's session. */
import { expect, test } from "@jest/globals";
import type { CalendarOverride } from "../../src/market/calendar/overrides.ts";
import { createTimeReader } from "../../src/read/cellTime.ts";
import type { CsvCall } from "../../src/read/csvCall.ts";
import { readKnownAt } from "../../src/read/knownAt.ts";
import { MAP, rowsOfPiece } from "./csvPiece.ts";

/** The instant at which the values of a row were known that has this text for its time, or why there is none. */
function known(text: string, change: Partial<CsvCall["time"]>): string {
  const time = { ...MAP.time, timezone: "America/New_York", ...change };
  const cell = createTimeReader({ time })(text);
  return cell.ok ? cell.value : cell.problem;
}

test.each([
  ["time + 1m", "2026-11-18T09:30:00", "2026-11-18T14:30:59.999999Z"],
  ["time + 1m", "2026-11-18T15:59:00", "2026-11-18T20:59:59.999999Z"],
  ["time + 30s", "2026-11-18T09:30:00", "2026-11-18T14:30:29.999999Z"],
  ["time + 1h", "2026-11-18T15:30:00", "2026-11-18T21:29:59.999999Z"],
  ["time + 1h until close", "2026-11-18T15:30:00", "2026-11-18T20:59:59.999999Z"],
  ["time + 1h until close", "2026-11-18T14:30:00", "2026-11-18T20:29:59.999999Z"],
  ["time + 1h until close", "2026-11-18T16:00:00", "2026-11-18T21:59:59.999999Z"],
  ["time + 1h until close", "2025-11-28T12:30:00", "2025-11-28T17:59:59.999999Z"],
  ["time + 1h until close", "2026-11-22T15:30:00", "2026-11-22T21:29:59.999999Z"],
])("a bar that begins at its time with %s, %s, is known at %s", (knownAt, text, expected) => {
  expect(known(text, { knownAt })).toBe(expected);
});

test.each([
  ["close", "2026-11-18", "2026-11-18T20:59:59.999999Z"],
  ["close", "2026-07-01", "2026-07-01T19:59:59.999999Z"],
  ["close", "2025-11-28", "2025-11-28T17:59:59.999999Z"],
  ["close - 15m", "2026-11-18", "2026-11-18T20:45:00.000000Z"],
  ["close - 15m", "2025-11-28", "2025-11-28T17:45:00.000000Z"],
  ["close + 15m", "2026-11-18", "2026-11-18T21:15:00.000000Z"],
  ["close", "1985-01-04", "1985-01-04T20:59:59.999999Z"],
])("a date with %s, %s, is known at %s", (knownAt, text, expected) => {
  expect(known(text, { knownAt })).toBe(expected);
});

test.each([
  ["iso", "2026-11-18 00:00:00-05:00"],
  ["iso", "2026-11-18T00:00:00.000Z"],
  ["iso", "20261118"],
  ["%m/%d/%Y", "11/18/2026"],
  ["%Y-%m-%d %H:%M:%S%z", "2026-11-18 00:00:00-0500"],
  ["ns", "1794978000000000000"],
  ["s", "1794978000"],
  ["excel", "46344"],
])("a date in the form %s, %s, is that of 18 November", (format, text) => {
  expect(known(text, { format, timezone: null, knownAt: "close" })).toBe("2026-11-18T20:59:59.999999Z");
});

test.each([
  ["2026-11-26", "the exchange was closed on 2026-11-26 (Thanksgiving Day)"],
  ["2026-11-22", "the exchange was closed on 2026-11-22 (weekend)"],
  ["1979-12-31", "that is before 1980 or after 2099; see the map's time format"],
  ["2100-01-04", "that is before 1980 or after 2099; see the map's time format"],
  ["today", "expected a date, YYYY-MM-DD"],
])("a date without a close, %s, is said to have none", (text, problem) => {
  expect(known(text, { knownAt: "close" })).toBe(problem);
});

test("a date has the close that the operator's calendar gave it when the file was imported", () => {
  const calendar: CalendarOverride[] = [
    { date: "2026-11-18", kind: "early", close: "14:03" },
    { date: "2026-11-19", kind: "closed", reason: "mourning" },
  ];

  expect(known("2026-11-18", { knownAt: "close", calendar })).toBe("2026-11-18T19:02:59.999999Z");
  expect(known("2026-11-19", { knownAt: "close", calendar })).toBe(
    "the exchange was closed on 2026-11-19 (mourning)",
  );
});

test.each([
  "",
  "open",
  "close -15m",
  "close - 15",
  "close - 24h",
  "close until close",
  "time",
  "time + 0m",
  "time + 24h",
  "time - 1m",
  "time + 1d",
  "time + 1m until open",
])("%j says nothing of when values were known", (text) => {
  expect(readKnownAt(text)).toBeNull();
});

test("a journaled map whose knownAt this version does not know costs its piece, and names itself", () => {
  const { units, deadLetters } = rowsOfPiece("Symbol,Time,Last\nA,2026-11-18,1\n", {
    time: { ...MAP.time, knownAt: "noon" },
  });

  expect(units).toEqual([]);
  expect(deadLetters.map(({ detail }) => detail)).toEqual(["the map of the import: knownAt: noon"]);
});
