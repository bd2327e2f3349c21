import { expect, test } from "@jest/globals";
import { readDate } from "../../../src/services/reference/leafValues.ts";

test.each([
  ["2011-06-24T00:00:00-04:00", "2011-06-24"],
  ["2010-12-22T00:00:00-05:00", "2010-12-22"],
  ["2026-11-12T00:00:00.000Z", "2026-11-12"],
  ["2026-11-12T00:00:00+1400", "2026-11-12"],
  ["2026-11-12T00:00:00", "2026-11-12"],
  ["2026-11-12", "2026-11-12"],
  [" 2026-11-12\n", "2026-11-12"],
  ["2024-02-29T00:00:00-05:00", "2024-02-29"],
])("the date of a date-time is the one that stands in the text, whatever the zone: %s", (text, date) => {
  expect(readDate(text)).toEqual({ ok: true, value: date });
});

test.each([undefined, "", "null", "na", "0001-01-01T00:00:00-05:00"])(
  "the date of a date-time is absent in %p",
  (text) => {
    expect(readDate(text)).toEqual({ ok: true, value: null });
  },
);

test.each([
  "2026-02-30T00:00:00-05:00",
  "2026-13-01",
  "0000-01-01",
  "20261112",
  "Nov 12 2026",
  "2026-11-12T25",
  "since 2026-11-12",
  "2026-11-12 or later",
  "soon",
])("the date of a date-time is not read out of %p", (text) => {
  expect(readDate(text)).toEqual({ ok: false, problem: `"${text}" is not a date` });
});

test("the date of a date-time that cannot be read is quoted by its first 40 characters only", () => {
  expect(readDate("x".repeat(41))).toEqual({ ok: false, problem: `"${"x".repeat(40)}" is not a date` });
});
