import { expect, test } from "@jest/globals";
import { isDateText } from "../../../src/market/calendar/dates.ts";

test("only a day of the calendar is a date, written with two digits for month and day", () => {
  expect(isDateText("2024-02-29")).toBe(true);
  expect(isDateText("2026-02-29")).toBe(false);
  expect(isDateText("2026-2-9")).toBe(false);
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
    .filter((date) => isDateText(date) !== isKnown(date));

  expect(other).toEqual([]);
});
