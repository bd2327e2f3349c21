/**
 * On which dates listed options expire.
 */
import { Temporal } from "temporal-polyfill";
import { remembered } from "../remembered.ts";
import type { Calendar } from "./calendar/tradingCalendar.ts";
import { DAY, EXCHANGE_ZONE, nthWeekday } from "./calendar/dates.ts";

/** Third Fridays only, or every Friday. */
type ExpirationKind = "monthly" | "weekly";

/**
 * First month whose monthly options expire on the third Friday itself; before it the date was the Saturday after
 * (OCC moved the expiration date with February 2015; old contracts with Saturdays are in the field notes).
 */
const FIRST_FRIDAY_MONTH = Temporal.PlainYearMonth.from("2015-02");

/**
 * The expiration date of a month's standard options: the third Friday, or the last session before it when that
 * Friday is a holiday (Good Friday 2019: Thursday 18 April); until January 2015 the Saturday after the third Friday.
 */
export function monthlyExpiration(year: number, month: number, calendar: Calendar): string {
  const thirdFriday = nthWeekday({ year, month }, DAY.friday, 3);
  if (Temporal.PlainYearMonth.compare(thirdFriday.toPlainYearMonth(), FIRST_FRIDAY_MONTH) < 0) {
    return thirdFriday.add({ days: 1 }).toString();
  }
  return lastSessionUpTo(thirdFriday, calendar);
}

/**
 * The next expirations at or after a date, ascending; one on the date itself is still to come.
 *
 * @param expirations.next how many
 * @param today exchange date, `YYYY-MM-DD`
 */
export function nextExpirations(
  { kind, next }: { kind: ExpirationKind; next: number },
  today: string,
  calendar: Calendar,
): string[] {
  const expirations: string[] = [];
  const date = Temporal.PlainDate.from(today);
  // The last Friday may still have its expiration to come: on the Saturday after it, when that is today.
  let friday = date.subtract({ days: (date.dayOfWeek - DAY.friday + 7) % 7 });
  for (; expirations.length < next; friday = friday.add({ weeks: 1 })) {
    const isThird = friday.day > 14 && friday.day <= 21;
    if (kind === "monthly" && !isThird) continue;
    const expiration = isThird
      ? monthlyExpiration(friday.year, friday.month, calendar)
      : lastSessionUpTo(friday, calendar);
    if (expiration >= today) expirations.push(expiration);
  }
  return expirations;
}

/**
 * Whether a contract has expired: its date lies before today. On the date itself, a Saturday included, it has not.
 *
 * @param today exchange date, `YYYY-MM-DD`; see `contractDate`
 */
export function isExpired({ expiration }: { expiration: string }, today: string): boolean {
  return expiration < today;
}

/**
 * Assumed: a contract trades until 16:00 New York time on its expiration date (a few index options trade 15 minutes
 * longer), and nothing is to be asked of it afterwards.
 */
const EXPIRES_AT_HOUR = 16;

/**
 * The date that counts as today for contracts: the exchange's, and from 16:00 New York time the one after it, when
 * what expires on a date is over.
 */
export function contractDate(at: Date): string {
  return contractDateOfHour(Math.floor(at.getTime() / HOUR_MS));
}

const HOUR_MS = 3_600_000;

/** By hours since the epoch, at which alone it changes: a sweep asks for each slot of days ahead. */
const contractDateOfHour = remembered(8, (hour: number): string => {
  const there = Temporal.Instant.fromEpochMilliseconds(hour * HOUR_MS).toZonedDateTimeISO(EXCHANGE_ZONE);
  const date = there.toPlainDate();
  return (there.hour >= EXPIRES_AT_HOUR ? date.add({ days: 1 }) : date).toString();
});

function lastSessionUpTo(friday: Temporal.PlainDate, calendar: Calendar): string {
  let date = friday;
  while (calendar.session(date.toString()) === null) date = date.subtract({ days: 1 });
  return date.toString();
}
