/** Slots of the exchange's calendar, from a second to years apart, and when each is over: for all who go by that. */
import type { WantedSession } from "../../src/market/calendar/tradingCalendar.ts";

type Case = { name: string; schedule: string; session: WantedSession; slotAt: string; endsAt: string };

const of = (
  name: string,
  schedule: string,
  session: WantedSession,
  ...[slotAt, endsAt]: [string, string]
): Case => ({
  ...{ name, schedule, session, slotAt, endsAt },
});

/** Times in UTC; New York is five hours behind. Thursday 15 January 2026 is a session, Monday the 19th a holiday. */
export const SLOT_ENDS: readonly Case[] = [
  of("a second", "* * * * * *", "regular", "2026-01-15T17:00:00Z", "2026-01-15T17:00:01Z"),
  of("a minute", "* * * * *", "regular", "2026-01-15T17:00:00Z", "2026-01-15T17:01:00Z"),
  of("the session's last minute", "* * * * *", "regular", "2026-01-15T20:59:00Z", "2026-01-15T21:00:00Z"),
  of("the last minute of a half day", "* * * * *", "regular", "2026-11-27T17:59:00Z", "2026-11-27T18:00:00Z"),
  of("uneven minutes", "0,55 * * * *", "regular", "2026-01-15T17:00:00Z", "2026-01-15T17:55:00Z"),
  of("an hour", "0 * * * *", "regular", "2026-01-15T17:00:00Z", "2026-01-15T18:00:00Z"),
  of("a day, by its session", "0 10 * * *", "regular", "2026-01-15T15:00:00Z", "2026-01-15T21:00:00Z"),
  of("a day, after the close", "30 16 * * *", "post", "2026-01-15T21:30:00Z", "2026-01-16T01:00:00Z"),
  of("a day, by the next pre-market", "0 12 * * *", "always", "2026-01-15T17:00:00Z", "2026-01-16T09:00:00Z"),
  of("a week, by its session", "59 15 * * THU", "regular", "2026-01-15T20:59:00Z", "2026-01-15T21:00:00Z"),
  of("a week, by a day", "0 12 * * SAT", "always", "2026-01-17T17:00:00Z", "2026-01-18T17:00:00Z"),
  of("a month", "0 12 15 * *", "always", "2026-01-15T17:00:00Z", "2026-01-16T09:00:00Z"),
  of("a year", "30 9 15 1 *", "any", "2026-01-15T14:30:00Z", "2026-01-16T01:00:00Z"),
  of("a year, around the clock", "0 0 1 1 *", "always", "2026-01-01T05:00:00Z", "2026-01-02T05:00:00Z"),
  of("four years", "0 12 29 2 *", "always", "2024-02-29T17:00:00Z", "2024-03-01T09:00:00Z"),
];
