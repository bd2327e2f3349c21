/**
 * The scheduled early closes, by rule as they were through the years. Dates before 2014 follow the exchange's own
 * list of closings (NYSE, "Special Closings", 1885 to 2011), later ones its yearly announcements.
 */
import { Temporal } from "temporal-polyfill";
import { DAY } from "./dates.ts";
import { thanksgiving } from "./holidays.ts";

export type EarlyClose = {
  /** Exchange time, `HH:MM`. */
  close: string;
  reason: string;
};

/** With the year 1993 scheduled early closes moved from 14:00 to 13:00. */
const closeOf = (year: number) => (year < 1993 ? "14:00" : "13:00");

/**
 * The scheduled early closes of a year, `YYYY-MM-DD` to time and reason. A day here can still be a holiday
 * (24 December 1999 was Christmas Day, observed), which wins.
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
