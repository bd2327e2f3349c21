import { describe, expect, test } from "@jest/globals";
import { isCalendarDate, readDate } from "../../src/quotes-api/dateText.ts";

describe("the date of a date-time", () => {
  test.each([
    ["2011-06-24T00:00:00-04:00", "2011-06-24"],
    ["2010-12-22T00:00:00-05:00", "2010-12-22"],
    ["2026-11-12T00:00:00.000Z", "2026-11-12"],
    ["2026-11-12T00:00:00+1400", "2026-11-12"],
    ["2026-11-12", "2026-11-12"],
    ["2024-02-29T00:00:00-05:00", "2024-02-29"],
  ])("is the one that stands in the text, whatever the zone: %s", (text, date) => {
    expect(readDate(text)).toEqual({ ok: true, value: date });
  });

  test.each([undefined, "", "null", "na", "0001-01-01T00:00:00-05:00"])("is absent in %p", (text) => {
    expect(readDate(text)).toEqual({ ok: true, value: null });
  });

  test.each(["2026-02-30T00:00:00-05:00", "2026-13-01", "20261112", "Nov 12 2026", "2026-11-12T25", "soon"])(
    "is not read out of %p",
    (text) => {
      expect(readDate(text)).toEqual({ ok: false, problem: `"${text}" is not a date` });
    },
  );
});

test("only days of the calendar are calendar dates", () => {
  expect(isCalendarDate("2024-02-29")).toBe(true);
  expect(isCalendarDate("2026-02-29")).toBe(false);
  expect(isCalendarDate("2026-2-9")).toBe(false);
});

test("of all years, the days that exist are those that a clock knows", () => {
  const years = Array.from({ length: 10_000 }, (_, year) => String(year).padStart(4, "0"));
  const days = [
    "00-10",
    "01-00",
    "01-31",
    "02-28",
    "02-29",
    "02-30",
    "04-31",
    "06-30",
    "12-31",
    "12-32",
    "13-01",
  ];
  const isKnown = (date: string): boolean => {
    const time = Date.parse(`${date}T00:00:00Z`);
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
  };

  const other = years
    .flatMap((year) => days.map((day) => `${year}-${day}`))
    .filter((date) => isCalendarDate(date) !== isKnown(date));

  expect(other).toEqual([]);
});
