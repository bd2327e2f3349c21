import { expect, test } from "@jest/globals";
import {
  addDays,
  easterSunday,
  exchangeInstant,
  exchangeTime,
  isDateText,
  nthWeekday,
  weekdayOf,
} from "../../../src/market/calendar/dates.ts";

test("only a day of the calendar is a date, written with two digits for month and day", () => {
  expect(isDateText("2024-02-29")).toBe(true);
  expect(isDateText("2026-02-29")).toBe(false);
  for (const text of [
    "",
    "2026-2-9",
    "2026/02/09",
    "2026-02-09 ",
    "2026-02-009",
    "2026-02-09T00:00",
    "12026-02-09",
  ])
    expect(isDateText(text)).toBe(false);
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
  expect(exchangeInstant("2026-11-01", "02:00").toISOString()).toBe("2026-11-01T07:00:00.000Z");
});

test("weekdays are counted from Monday, 1, to Sunday, 7", () => {
  expect(["2026-11-23", "2026-11-28", "2026-11-29"].map(weekdayOf)).toEqual([1, 6, 7]);
});

test("the exchange's clocks go by New York, in summer and in winter, to the second", () => {
  expect(exchangeTime(new Date("2026-07-01T03:59:59.999Z"))).toBe("2026-06-30 23:59:59");
  expect(exchangeTime(new Date("2026-01-15T14:30:00.000Z"))).toBe("2026-01-15 09:30:00");
});

test("days are added over ends of months, and taken away over leap days", () => {
  expect(addDays("2026-12-31", 1)).toBe("2027-01-01");
  expect(addDays("2024-03-01", -1)).toBe("2024-02-29");
  expect(addDays("2026-12-18", 0)).toBe("2026-12-18");
});

test("weekdays of a month are counted from its beginning, the last one from its end", () => {
  const fridays = [1, 2, 3, 4, -1].map((nth) => nthWeekday({ year: 2026, month: 5 }, 5, nth).toString());

  expect(fridays).toEqual(["2026-05-01", "2026-05-08", "2026-05-15", "2026-05-22", "2026-05-29"]);
  expect(nthWeekday({ year: 2026, month: 5 }, 1, 1).toString()).toBe("2026-05-04");
  expect(nthWeekday({ year: 2026, month: 2 }, 7, -1).toString()).toBe("2026-02-22");
});

/** Easter Sundays as almanacs have them: ordinary ones, the earliest and the latest, and those that the moon alone would give other dates. */
const EASTER = [
  ...["1954-04-18", "1981-04-19", "1990-04-15", "1991-03-31", "1992-04-19", "1995-04-16", "1997-03-30"],
  ...["1999-04-04", "2000-04-23", "2003-04-20", "2005-03-27", "2008-03-23", "2010-04-04", "2011-04-24"],
  ...["2014-04-20", "2016-03-27", "2019-04-21", "2024-03-31", "2025-04-20", "2026-04-05", "2027-03-28"],
  ...["2038-04-25", "2049-04-18", "2076-04-19", "2100-03-28", "2285-03-22"],
];

test.each(EASTER)("Easter is on %s", (date) => {
  expect(easterSunday(Number(date.slice(0, 4))).toString()).toBe(date);
});
