/** Arithmetic on calendar dates, without hours or zones, and the one zone the exchange lives in. */
import { Temporal } from "temporal-polyfill";
import { remembered } from "../../ground/remembered.ts";

export const EXCHANGE_ZONE = "America/New_York";

/** ISO day numbers, as in `Temporal.PlainDate.dayOfWeek`. */
export const DAY = {
  monday: 1,
  tuesday: 2,
  wednesday: 3,
  thursday: 4,
  friday: 5,
  saturday: 6,
  sunday: 7,
} as const;

const DAYS_OF_MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a text is `YYYY-MM-DD` and a day that exists (`2026-02-30` does not). */
export function isDateText(text: string): boolean {
  return text.length === "2026-11-27".length && isDate(text);
}

/** The contracts of an answer share their dates. */
const isDate = remembered(1_000, (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))];
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeapYear ? 29 : (DAYS_OF_MONTHS[month - 1] ?? 0);
  return day >= 1 && day <= days;
});

/** `YYYY-MM-DD` in New York. */
export function exchangeDate(at: Date): string {
  return Temporal.Instant.fromEpochMilliseconds(at.getTime())
    .toZonedDateTimeISO(EXCHANGE_ZONE)
    .toPlainDate()
    .toString();
}

/** New York's clocks, `YYYY-MM-DD HH:MM:SS`. */
export function exchangeTime(at: Date): string {
  return Temporal.Instant.fromEpochMilliseconds(at.getTime())
    .toZonedDateTimeISO(EXCHANGE_ZONE)
    .toPlainDateTime()
    .toString({ smallestUnit: "second" })
    .replace("T", " ");
}

const DAY_MS = 86_400_000;

/** Both dates are `YYYY-MM-DD`; `days` may be below 0. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** As `DAY` counts. @param date `YYYY-MM-DD` */
export function weekdayOf(date: string): number {
  return new Date(date).getUTCDay() || DAY.sunday;
}

/** A time during which a zone's distance to UTC stays the same. */
type Stretch = { fromMs: number; toMs: number; offsetMs: number };

/** The stretches from one local time to another in its zone, ascending; the last one may outlast it. */
export function stretchesBetween(start: Temporal.ZonedDateTime, end: Temporal.ZonedDateTime): Stretch[] {
  const stretches: Stretch[] = [];
  for (let from = start; from.epochMilliseconds < end.epochMilliseconds;) {
    const to = from.getTimeZoneTransition("next") ?? end;
    stretches.push({
      fromMs: from.epochMilliseconds,
      toMs: to.epochMilliseconds,
      offsetMs: from.offsetNanoseconds / 1e6,
    });
    from = to;
  }
  return stretches;
}

const MOST_YEARS = 100;

/** The stretches of a year at the exchange: a question to a zone is slow, and there is one for each day. */
const stretchesOf = remembered(MOST_YEARS, (year: number) => {
  const newYear = Temporal.PlainDate.from({ year, month: 1, day: 1 });
  return stretchesBetween(
    newYear.toZonedDateTime(EXCHANGE_ZONE),
    newYear.add({ years: 1 }).toZonedDateTime(EXCHANGE_ZONE),
  );
});

/**
 * The instant (UTC) at which exchange clocks show `time` (`HH:MM`) on `date` (`YYYY-MM-DD`): the first of two where
 * clocks are put back. Not for the hour from 02:00 that is left out when they are put forward.
 */
export function exchangeInstant(date: string, time: string): Date {
  const shownMs = Date.parse(`${date}T${time}Z`);
  const stretch = stretchesOf(Number(date.slice(0, 4))).find(
    ({ toMs, offsetMs }) => shownMs - offsetMs < toMs,
  );
  return new Date(shownMs - (stretch?.offsetMs ?? 0));
}

/** `nth` -1 is the last one. */
export function nthWeekday(
  month: { year: number; month: number },
  weekday: number,
  nth: number,
): Temporal.PlainDate {
  const first = Temporal.PlainDate.from({ ...month, day: 1 });
  const firstMatch = first.add({ days: (weekday - first.dayOfWeek + 7) % 7 });
  if (nth > 0) return firstMatch.add({ weeks: nth - 1 });
  const weeksLeft = Math.floor((first.daysInMonth - firstMatch.day) / 7);
  return firstMatch.add({ weeks: weeksLeft });
}

/** Easter Sunday of the Gregorian calendar (the anonymous algorithm of Meeus, Jones and Butcher). */
export function easterSunday(year: number): Temporal.PlainDate {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const inCentury = year % 100;
  const skippedLeaps = Math.floor((century + 8) / 25);
  const moonDrift = Math.floor((century - skippedLeaps + 1) / 3);
  const epact = (19 * golden + century - Math.floor(century / 4) - moonDrift + 15) % 30;
  const toSunday = (32 + 2 * (century % 4) + 2 * Math.floor(inCentury / 4) - epact - (inCentury % 4)) % 7;
  const correction = Math.floor((golden + 11 * epact + 22 * toSunday) / 451);
  const marchDays = epact + toSunday - 7 * correction + 114;
  return Temporal.PlainDate.from({ year, month: Math.floor(marchDays / 31), day: (marchDays % 31) + 1 });
}
