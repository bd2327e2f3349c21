/** Times in the cells of a plain table: ISO 8601 with an offset, or in UTC. */
import { expect, test } from "@jest/globals";
import { readInstant } from "../../src/read/cellTime.ts";

/** The instant in a text, and whether digits of it were cut, or why there is none. */
function read(text: string): string {
  const cell = readInstant(text);
  return cell.ok ? `${cell.value}${cell.cut === undefined ? "" : ` cut ${cell.cut}`}` : cell.problem;
}

const BEYOND = "that is before 1980 or after 2099";
const EXPECTED = "expected ISO 8601, such as 2026-11-18T14:30:00Z";

test.each([
  ["1979-12-31T23:59:59.999999Z", BEYOND],
  ["1980-01-01T00:00:00Z", "1980-01-01T00:00:00.000000Z"],
  ["2099-12-31T23:59:59.999999Z", "2099-12-31T23:59:59.999999Z"],
  ["2100-01-01T00:00:00Z", BEYOND],
  ["2026-11-18T09:30:00", "2026-11-18T09:30:00.000000Z"],
  ["2026-11-18 09:30", "2026-11-18T09:30:00.000000Z"],
  ["2026-11-18 09:30:00.5-05:00", "2026-11-18T14:30:00.500000Z"],
  ["2026-11-18T09:30:00.123456789-0500", "2026-11-18T14:30:00.123456Z cut 1"],
  ["2026-11-18T14:30:00.123456000Z", "2026-11-18T14:30:00.123456Z"],
  ["20261118T143000Z", "2026-11-18T14:30:00.000000Z"],
])("the time %s is read as %s", (text, expected) => {
  expect(read(text)).toBe(expected);
});

test.each([
  "",
  "2026-11-18",
  "20261118",
  "11/18/2026 09:30",
  "1795012200",
  "2026-11-18T9:30:00Z",
  "2026-11-18T14:30:00Zx",
])("%j is no instant", (text) => {
  expect(read(text)).toBe(EXPECTED);
});

test.each(["2026-02-30T09:30:00", "2026-11-18T24:00:00Z", "2026-11-18T23:60:00Z", "2026-11-18T23:59:60Z"])(
  "%j names no moment of the calendar",
  (text) => {
    expect(readInstant(text)).toMatchObject({ ok: false });
  },
);
