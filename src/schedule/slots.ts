/**
 * Cron x calendar -> slots: the instants at which a job is due. A slot is the job's promise, so the set of slots
 * is fixed by the schedule alone: no tick, restart or clock change adds one or takes one away.
 *
 * When the clocks change:
 * - An expression that names every hour (`* * * * *`, `30 * * * *`) means elapsed time: it goes on through the
 *   repeated hour of autumn and has nothing in the hour that spring skips.
 * - Any other expression (`30 1 * * *`) means hours on the wall: a repeated time is due once, at its first
 *   occurrence; a skipped time is due once, as late as if clocks had not changed (02:30 at 03:30), so that a daily
 *   poll is daily.
 */
import { Temporal } from "temporal-polyfill";
import { QuotekeeperError } from "../ground/errors.ts";
import { remembered } from "../ground/remembered.ts";
import type { Calendar, WantedSession } from "../market/calendar/tradingCalendar.ts";
import { ascendingOnce, readCron } from "./cron.ts";
import { stretchesBetween } from "../market/calendar/dates.ts";
import { RULES_SINCE } from "../market/calendar/holidays.ts";

export type Schedule = {
  /** The slots in the window (after, until], ascending, each instant once. Empty when `until` is not later. */
  slotsBetween: (after: Date, until: Date) => Date[];
  /** The first slot later than `after`, or null when there is none within 400 days. */
  next: (after: Date) => Date | null;
  /** Whether there is a slot in any year, by the calendar's present rules. Takes up to half a second. */
  isEverDue: () => boolean;
  /** Whether a slot can fall between full minutes, so that ticks are needed every second. */
  subMinute: boolean;
};

/** How far `next` looks: past any holiday, and past a year, so that a yearly slot is found. */
const NEXT_HORIZON_DAYS = 400;

/**
 * Years after which dates, weekdays and leap years come together again: 29 February is a Monday once in them. A
 * schedule that names many dates needs fewer: two years of days hold each weekday, clock change and half day.
 */
const CYCLE_YEARS = 28;
const ENOUGH_DATES = 800;

/** Days whose slots are remembered: a tick asks for the same one or two over and over. */
const KEPT_DAYS = 4;

/**
 * @param options.cron expression as node-cron reads it
 * @param options.timezone IANA zone of the expression
 * @param options.session slots outside of it are left out
 * @throws SCHEDULE_INVALID for an expression or a zone that is none
 */
export function createSchedule({
  cron,
  timezone,
  session,
  calendar,
}: {
  cron: string;
  timezone: string;
  session: WantedSession;
  calendar: Calendar;
}): Schedule {
  const { timesOfDayMs, everyHour, subMinute, namesDate } = readCron(cron);
  const localDateAt = dateReader(timezone);

  const slotsOn = remembered(KEPT_DAYS, (text: string): number[] => {
    const date = Temporal.PlainDate.from(text);
    if (!namesDate(date)) return [];
    const day = localDate(date, timezone);
    if (day.stretches.length === 0) return [];
    return instantsOn(day, { timesOfDayMs, everyHour }).filter((at) =>
      calendar.isOpenFor(session, new Date(at)),
    );
  });

  return {
    subMinute,
    slotsBetween(after, until) {
      const afterMs = after.getTime();
      const untilMs = until.getTime();
      const slots: Date[] = [];
      const last = localDateAt(until);
      for (let date = localDateAt(after); Temporal.PlainDate.compare(date, last) <= 0; date = nextDay(date)) {
        const due = slotsOn(date.toString());
        for (let i = firstLater(due, afterMs, itself); i < due.length && (due[i] ?? 0) <= untilMs; i++) {
          slots.push(new Date(due[i] ?? 0));
        }
      }
      return slots;
    },
    next(after) {
      let date = localDateAt(after);
      for (let days = 0; days <= NEXT_HORIZON_DAYS; days++, date = nextDay(date)) {
        const due = slotsOn(date.toString());
        const at = due[firstLater(due, after.getTime(), itself)];
        if (at !== undefined) return new Date(at);
      }
      return null;
    },
    isEverDue() {
      let named = 0;
      let date = new Temporal.PlainDate(RULES_SINCE, 1, 1);
      for (; date.year < RULES_SINCE + CYCLE_YEARS && named < ENOUGH_DATES; date = nextDay(date)) {
        if (!namesDate(date)) continue;
        if (slotsOn(date.toString()).length > 0) return true;
        named += 1;
      }
      return false;
    },
  };
}

const nextDay = (date: Temporal.PlainDate) => date.add({ days: 1 });

function dateReader(timezone: string): (at: Date) => Temporal.PlainDate {
  const read = (at: Date) =>
    Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timezone).toPlainDate();
  try {
    read(new Date(0));
  } catch (cause) {
    throw new QuotekeeperError("SCHEDULE_INVALID", `"${timezone}" is no time zone`, { cause });
  }
  return read;
}

const itself = (ms: number): number => ms;

/** Index of the first element later than `ms` in a list whose elements ascend by `msOf`. */
export function firstLater<T>(ascending: readonly T[], ms: number, msOf: (element: T) => number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const element = ascending[middle];
    if (element !== undefined && msOf(element) > ms) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One local date: midnight as if the zone were UTC, its stretches ascending, and the offset before the spring gap. */
type LocalDate = {
  midnightMs: number;
  stretches: ReturnType<typeof stretchesBetween>;
  standardOffsetMs: number;
};

/** @returns no stretch at all for a date that the zone skipped (Apia, 2011-12-30) */
function localDate(date: Temporal.PlainDate, timezone: string): LocalDate {
  const start = date.toZonedDateTime(timezone);
  const stretches = stretchesBetween(start, date.add({ days: 1 }).toZonedDateTime(timezone));
  // The gap can begin with the date itself (Havana, 00:00 to 01:00): look at the moment before it too.
  const before = start.subtract({ milliseconds: 1 }).offsetNanoseconds / 1e6;
  const offsets = [before, ...stretches.map(({ offsetMs }) => offsetMs)];
  const midnightMs = date.toZonedDateTime("UTC").epochMilliseconds;
  return { midnightMs, stretches, standardOffsetMs: Math.min(...offsets) };
}

/** The instants that the times of day stand for, ascending and each once. @param times.timesOfDayMs ascending */
function instantsOn(
  day: LocalDate,
  { timesOfDayMs, everyHour }: { timesOfDayMs: readonly number[]; everyHour: boolean },
): number[] {
  if (everyHour) return instantsOf(day, timesOfDayMs);
  // A shifted slot may meet a regular one, and comes out of order.
  return ascendingOnce(timesOfDayMs.map((time) => instantsOf(day, [time])[0] ?? shiftedInstant(day, time)));
}

/**
 * The instants (epoch ms UTC, ascending) at which clocks show these times of day, themselves ascending, on that date. A time
 * inside the gap of spring gives none, one in the hour of autumn that comes twice gives two.
 */
function instantsOf({ midnightMs, stretches }: LocalDate, timesOfDayMs: readonly number[]): number[] {
  const instants: number[] = [];
  for (const { fromMs, toMs, offsetMs } of stretches)
    for (const time of timesOfDayMs) {
      const at = midnightMs + time - offsetMs;
      if (at >= fromMs && at < toMs) instants.push(at);
    }
  return instants;
}

/** The instant for a time inside the gap of spring, counted on as if clocks had not changed: 02:30 becomes 03:30. */
function shiftedInstant({ midnightMs, standardOffsetMs }: LocalDate, timeOfDayMs: number): number {
  return midnightMs + timeOfDayMs - standardOffsetMs;
}
