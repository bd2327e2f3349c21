import { expect, test } from "@jest/globals";
import { addDays, exchangeInstant, isDateText, weekdayOf } from "../../../src/market/calendar/dates.ts";

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

test("of every day from 1990 to 2060, the exchange's clocks show at an instant what it was asked for", () => {
  const clocks = new Intl.DateTimeFormat("sv", {
    timeZone: "America/New_York",
    dateStyle: "short",
    timeStyle: "short",
  });
  const wrong: string[] = [];
  for (let date = "1990-01-01"; date < "2061-01-01"; date = addDays(date, 1))
    for (const time of ["00:00", "01:30", "04:00", "16:00"]) {
      const shown = clocks.format(exchangeInstant(date, time));
      if (shown !== `${date} ${time}`) wrong.push(`${date} ${time}: ${shown}`);
    }

  expect(wrong).toEqual([]);
});

test("of an hour that clocks show twice, the first is meant", () => {
  expect(exchangeInstant("2026-11-01", "01:30").toISOString()).toBe("2026-11-01T05:30:00.000Z");
});

test("days are added over the ends of months and years, and taken away", () => {
  expect(addDays("2024-02-28", 2)).toBe("2024-03-01");
  expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
});

test("weekdays are counted from Monday, 1, to Sunday, 7", () => {
  expect(["2026-11-23", "2026-11-28", "2026-11-29"].map(weekdayOf)).toEqual([1, 6, 7]);
});
