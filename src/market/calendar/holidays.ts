/**
 * The days on which the exchange closes, closes early or opens late: by rule (NYSE Rule 7.2 and the exchange's yearly
 * announcements), and single days that no rule gives.
 */
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

function thanksgiving(year: number): Temporal.PlainDate {
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

type EarlyClose = {
  /** Exchange time, `HH:MM`. */
  close: string;
  reason: string;
};

/** With the year 1993 scheduled early closes moved from 14:00 to 13:00. */
const closeOf = (year: number) => (year < 1993 ? "14:00" : "13:00");

/**
 * The scheduled early closes of a year, `YYYY-MM-DD` to time and reason, by rule as they were through the years. Dates
 * before 2014 follow the exchange's own list of closings (NYSE, "Special Closings", 1885 to 2011), later ones its yearly
 * announcements. A day here can still be a holiday (24 December 1999 was Christmas Day, observed), which wins.
 */
export function earlyClosesOf(year: number): Map<string, EarlyClose> {
  const early = new Map<string, EarlyClose>();
  const add = (date: Temporal.PlainDate, reason: string) =>
    early.set(date.toString(), { close: closeOf(year), reason });

  if (year >= 1992) add(thanksgiving(year).add({ days: 1 }), "day after Thanksgiving");

  // On a Friday the eve is the observed holiday itself. From 1993 to 1995 the eve fell on Friday to Sunday.
  const christmasEve = Temporal.PlainDate.from({ year, month: 12, day: 24 });
  if (christmasEve.dayOfWeek <= DAY.thursday) add(christmasEve, "Christmas Eve");

  const july3 = Temporal.PlainDate.from({ year, month: 7, day: 3 });
  const july3Weekdays: readonly number[] =
    year < 2013
      ? [DAY.monday, DAY.tuesday, DAY.thursday]
      : [DAY.monday, DAY.tuesday, DAY.wednesday, DAY.thursday];
  if (year >= 1995 && july3Weekdays.includes(july3.dayOfWeek)) add(july3, "day before Independence Day");

  // Until 2012 a Thursday holiday shortened the Friday after it, since 2013 the Wednesday before it.
  const july5 = Temporal.PlainDate.from({ year, month: 7, day: 5 });
  if (year >= 1995 && year < 2013 && july5.dayOfWeek === DAY.friday) add(july5, "day after Independence Day");

  return early;
}

/**
 * Days without a session, to the reason. Sources of these and of the single early closes and late openings below, since
 * 1990: NYSE, "Special Closings" (1885 to 2011); NYSE announcements after it; for 1990-12-27 the Los Angeles Times of
 * that day; for 1999-12-31 the decision of the exchange's board of 3 June 1999. Moments of silence and other delays of
 * three minutes or less are left out: a poll in such a minute costs less than the rule.
 */
export const CLOSURES: ReadonlyMap<string, string> = new Map([
  ["1994-04-27", "National day of mourning for Richard Nixon"],
  ["2001-09-11", "Terrorist attacks of September 11"],
  ["2001-09-12", "Terrorist attacks of September 11"],
  ["2001-09-13", "Terrorist attacks of September 11"],
  ["2001-09-14", "Terrorist attacks of September 11"],
  ["2004-06-11", "National day of mourning for Ronald Reagan"],
  ["2007-01-02", "National day of mourning for Gerald Ford"],
  ["2012-10-29", "Hurricane Sandy"],
  ["2012-10-30", "Hurricane Sandy"],
  ["2018-12-05", "National day of mourning for George H. W. Bush"],
  ["2025-01-09", "National day of mourning for Jimmy Carter"],
]);

/** Sessions that ended early for one year only, exchange time. */
export const IRREGULAR_CLOSES: ReadonlyMap<string, EarlyClose> = new Map([
  ["1994-02-11", { close: "14:30", reason: "snowstorm" }],
  ["1996-01-08", { close: "14:00", reason: "snowstorm" }],
  ["1997-10-27", { close: "15:30", reason: "circuit breaker" }],
  ["1997-12-26", { close: "13:00", reason: "day after Christmas" }],
  ["1999-12-31", { close: "13:00", reason: "eve of the year 2000" }],
  ["2003-12-26", { close: "13:00", reason: "day after Christmas" }],
  ["2005-06-01", { close: "15:56", reason: "systems trouble" }],
]);

/** Sessions that opened late, exchange time. */
export const LATE_OPENINGS: ReadonlyMap<string, { open: string; reason: string }> = new Map([
  ["1990-12-27", { open: "11:00", reason: "transformer explosion" }],
  ["1995-12-18", { open: "10:30", reason: "systems trouble" }],
  ["1996-01-08", { open: "11:00", reason: "snowstorm" }],
  ["2002-09-11", { open: "12:00", reason: "anniversary of September 11" }],
]);
