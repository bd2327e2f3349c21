import { expect, test } from "@jest/globals";
import { parseFrom, parseTo } from "../../../src/cli/backfill/backfill.ts";

test.each([
  ["2026-11-17", "2026-11-17T05:00:00.000000Z", "2026-11-18T05:00:00.000000Z"],
  // The clocks go back on 1 November 2026: that date has 25 hours.
  ["2026-11-01", "2026-11-01T04:00:00.000000Z", "2026-11-02T05:00:00.000000Z"],
  ["2026-11-17T10:00:00-05:00", "2026-11-17T15:00:00.000000Z", "2026-11-17T15:00:00.000000Z"],
  ["2026-11-17T15:00:00.123456Z", "2026-11-17T15:00:00.123456Z", "2026-11-17T15:00:00.123456Z"],
])("%s begins at %s and ends at %s", (text, from, to) => {
  expect([parseFrom(text), parseTo(text)]).toEqual([from, to]);
});

test.each(["2026-02-30", "yesterday", "2026-11-17T10:00:00", "", "17.11.2026"])(
  "%p is neither a date nor a time with its offset",
  (text) => {
    expect(() => parseFrom(text)).toThrow("Expected an exchange date");
    expect(() => parseTo(text)).toThrow("Expected an exchange date");
  },
);
