/**
 * The simulated market never closes. A session is a calendar day in New York, midnight to midnight: 24 hours,
 * 23 or 25 when the clocks change. So a demonstration shows moving prices at any hour.
 */
import { Temporal } from "temporal-polyfill";
import { EXCHANGE_ZONE } from "../../market/calendar/dates.ts";
import { remembered } from "../../ground/remembered.ts";

export type Session = {
  /** Days from 1970-01-01 to the session's date in New York. */
  day: number;
  /** Epoch ms of its first instant, and of the first after it. */
  startMs: number;
  endMs: number;
};

/** Milliseconds of a day without a clock change; the unit of epoch days. */
export const DAY_MS = 86_400_000;

const HOUR_MS = 3_600_000;

// Midnight in New York is a full hour of UTC, so one hour lies in one session.
const sessionOfHour = remembered(1_000, (hour: number): Session => {
  const at = Temporal.Instant.fromEpochMilliseconds(hour * HOUR_MS).toZonedDateTimeISO(EXCHANGE_ZONE);
  const start = at.startOfDay();
  return {
    day: Date.parse(`${at.toPlainDate().toString()}T00:00:00Z`) / DAY_MS,
    startMs: start.epochMilliseconds,
    endMs: start.add({ days: 1 }).epochMilliseconds,
  };
});

/** The session an instant (epoch ms) lies in. */
export function sessionAt(atMs: number): Session {
  return sessionOfHour(Math.floor(atMs / HOUR_MS));
}

export function sessionBefore(session: Session): Session {
  return sessionAt(session.startMs - 1);
}

/** The calendar date (`YYYY-MM-DD`) of an epoch day. */
export function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** The epoch day of a calendar date (`YYYY-MM-DD`). */
export function dayOfDate(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}
