/** The rules of a year's holidays and early closes. */
import { expect, test } from "@jest/globals";
import { holidaysOf, earlyClosesOf } from "../../../src/market/calendar/holidays.ts";

test("a New Year's Day on a Saturday is lost, every other holiday closes a weekday of its year", () => {
  expect([...holidaysOf(2022).keys()].sort()).toEqual([
    ...["2022-01-17", "2022-02-21", "2022-04-15", "2022-05-30", "2022-06-20", "2022-07-04"],
    ...["2022-09-05", "2022-11-24", "2022-12-26"],
  ]);
  expect(holidaysOf(2022).get("2022-12-26")).toBe("Christmas Day (observed)");
  expect(holidaysOf(2023).get("2023-01-02")).toBe("New Year's Day (observed)");
  expect(holidaysOf(2023).get("2023-12-25")).toBe("Christmas Day");
});

test("holidays begin with the year in which the exchange first closed for them", () => {
  const names = (year: number) => [...holidaysOf(year).values()].join();

  expect([1997, 1998].map((year) => names(year).includes("Martin Luther King"))).toEqual([false, true]);
  expect([2021, 2022].map((year) => names(year).includes("Juneteenth"))).toEqual([false, true]);
});

test.each([
  [1991, "12-24 14:00"],
  [1992, "11-27 14:00, 12-24 14:00"],
  [1993, "11-26 13:00"],
  [1994, "11-25 13:00"],
  [1995, "07-03 13:00, 11-24 13:00"],
  [1996, "07-05 13:00, 11-29 13:00, 12-24 13:00"],
  [2002, "07-05 13:00, 11-29 13:00, 12-24 13:00"],
  [2004, "11-26 13:00"],
  [2005, "11-25 13:00"],
  [2013, "07-03 13:00, 11-29 13:00, 12-24 13:00"],
  [2019, "07-03 13:00, 11-29 13:00, 12-24 13:00"],
  [2022, "11-25 13:00"],
  [2023, "07-03 13:00, 11-24 13:00"],
])("the rules of %d close early on %s", (year, days) => {
  const early = [...earlyClosesOf(year)].map(([date, { close }]) => `${date.slice(5)} ${close}`);

  expect(early.sort().join(", ")).toBe(days);
});
