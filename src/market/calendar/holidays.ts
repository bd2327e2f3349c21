/** The regular NYSE holidays, by rule (NYSE Rule 7.2 and the exchange's yearly announcements). */
import { Temporal } from "temporal-polyfill";
import { DAY, easterSunday, nthWeekday } from "./dates.ts";

type HolidayRule = {
  name: string;
  /** First year in which the exchange closed for it; absent: before this calendar begins. */
  since?: number;
  /** The day itself, before observance. */
  on: (year: number) => Temporal.PlainDate;
  /** A Saturday holiday closes the Friday before it, except this one; a Sunday always moves to the Monday. */
  lostOnSaturday?: true;
};

const fixed = (month: number, day: number) => (year: number) => Temporal.PlainDate.from({ year, month, day });

const RULES: readonly HolidayRule[] = [
  // A Friday that ends a month or a year stays open, so that the accounts of the period close on it:
  // 31 December 1993, 1999, 2004, 2010, 2021 and 2027 were or are sessions.
  { name: "New Year's Day", on: fixed(1, 1), lostOnSaturday: true },
  {
    name: "Martin Luther King, Jr. Day",
    since: 1998,
    on: (year) => nthWeekday({ year, month: 1 }, DAY.monday, 3),
  },
  { name: "Washington's Birthday", on: (year) => nthWeekday({ year, month: 2 }, DAY.monday, 3) },
  { name: "Good Friday", on: (year) => easterSunday(year).subtract({ days: 2 }) },
  { name: "Memorial Day", on: (year) => nthWeekday({ year, month: 5 }, DAY.monday, -1) },
  { name: "Juneteenth", since: 2022, on: fixed(6, 19) },
  { name: "Independence Day", on: fixed(7, 4) },
  { name: "Labor Day", on: (year) => nthWeekday({ year, month: 9 }, DAY.monday, 1) },
  { name: "Thanksgiving Day", on: thanksgiving },
  { name: "Christmas Day", on: fixed(12, 25) },
];

/** The first year in which all of these rules hold. */
export const RULES_SINCE = Math.max(...RULES.map(({ since = 0 }) => since));

export function thanksgiving(year: number): Temporal.PlainDate {
  return nthWeekday({ year, month: 11 }, DAY.thursday, 4);
}

/** The days a year's regular holidays close, `YYYY-MM-DD` to name; `(observed)` is added to a moved one. */
export function holidaysOf(year: number): Map<string, string> {
  const closed = new Map<string, string>();
  for (const { name, since = 0, on, lostOnSaturday } of RULES) {
    if (year < since) continue;
    const day = on(year);
    if (day.dayOfWeek === DAY.saturday && lostOnSaturday) continue;
    const moved = day.dayOfWeek === DAY.saturday ? -1 : day.dayOfWeek === DAY.sunday ? 1 : 0;
    closed.set(day.add({ days: moved }).toString(), moved === 0 ? name : `${name} (observed)`);
  }
  return closed;
}
