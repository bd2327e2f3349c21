/**
 * The exchange's calendar as a table, so that SQL knows when a session opened and closed. The table holds whole years: those of
 * quotes, those in which contracts of the archive expire, and the ones around the present.
 */
import { and, between, sql } from "drizzle-orm";
import type pg from "pg";
import { addDays } from "../../market/calendar/dates.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { markLate } from "./lateDays.ts";
import { makeDueBars, removeStaleBars } from "./makeBars.ts";
import { sessions } from "./schema.ts";
import { calendarDays } from "./internalSchema.ts";
import { insertAll, tablesOn, upsertAll } from "./tableRows.ts";
import { ADDING_LOCK, inTransaction } from "../connect/transaction.ts";

/** First year that is written: the calendar's own. Of rows before it nobody knows whether the market was open. */
export const FIRST_YEAR = 1990;

/** Last year that is written. An answer may hold any expiration, and its contract can wait for a program that knows more years. */
const LAST_YEAR = 2199;

/** Years of sessions that are kept beside the present one, before and after it. */
const YEARS_AROUND = 1;

/** A contract may expire on a day without a session: its last one is at most this many days before (`expires_at`). */
const DAYS_BACK = 7;

/**
 * Writes the sessions of the year before to the year after, corrected where the calendar has learnt, and of every year
 * that the archive holds quotes of or contracts until.
 *
 * @param year of the present, UTC
 */
export async function refreshSessions(client: pg.ClientBase, year: number): Promise<void> {
  const { rows } = await client.query<{ year: number }>(
    `select distinct extract(year from date)::int as year from session_bars
     union
     select extract(year from unnest(array[e.expiration, e.expiration - ${DAYS_BACK}]))::int
     from (select distinct expiration from instruments where expiration is not null) e`,
  );
  const around = Array.from({ length: 2 * YEARS_AROUND + 1 }, (_, index) => year - YEARS_AROUND + index);
  await writeYears(client, around);
  await ensureSessions(
    client,
    rows.map((row) => row.year).filter((one) => !around.includes(one)),
  );
}

/** Writes the sessions of the years that have none yet. */
export async function ensureSessions(client: pg.ClientBase, years: readonly number[]): Promise<void> {
  const { rows } = await client.query<{ year: number }>(
    `select year from unnest($1::int[]) as year
     where not exists (select from sessions where date between make_date(year, 1, 1) and make_date(year, 12, 31))`,
    [[...new Set(years)].filter((year) => year >= FIRST_YEAR && year <= LAST_YEAR)],
  );
  if (rows.length === 0) return;
  await client.query(`do $$ begin ${ADDING_LOCK}; end $$`);
  await writeYears(
    client,
    rows.map(({ year }) => year),
  );
}

/** Writes the sessions at whose closes contracts of these expirations end. @param expirations dates, `YYYY-MM-DD` */
export async function ensureExpirations(
  client: pg.ClientBase,
  expirations: readonly string[],
): Promise<void> {
  const dates = [...new Set(expirations)].flatMap((date) => [date, addDays(date, -DAYS_BACK)]);
  if (dates.length > 0)
    await ensureSessions(
      client,
      dates.map((date) => Number(date.slice(0, 4))),
    );
}

/**
 * Takes over what the operator says of single days. Sessions follow, and the bars that are made of them.
 *
 * @param client in a transaction
 */
export async function settleCalendarDays(
  client: pg.ClientBase,
  days: readonly CalendarOverride[],
): Promise<void> {
  if (differing(await readDays(client), days).length === 0) return;
  await client.query(ADDING_LOCK);
  const changed = differing(await readDays(client), days);
  await tablesOn(client).delete(calendarDays);
  await insertAll(
    client,
    calendarDays,
    days.map(({ close = null, reason = null, ...day }) => ({ ...day, close, reason })),
  );
  const { rows } = await client.query<{ year: number }>(
    "select distinct extract(year from date)::int as year from sessions",
  );
  const known = new Set(rows.map(({ year }) => year));
  const years = new Set(changed.map((date) => Number(date.slice(0, 4))));
  await writeYears(
    client,
    [...years].filter((year) => known.has(year)),
  );
}

/** Settles them in a transaction of its own, and makes the bars. */
export async function keepCalendarDays(pool: pg.Pool, days: readonly CalendarOverride[]): Promise<void> {
  await inTransaction(pool, (client) => settleCalendarDays(client, days));
  await makeDueBars(pool);
}

async function readDays(client: pg.ClientBase): Promise<CalendarOverride[]> {
  // A history that is applied in part has no such table yet.
  const there = await client.query("select where to_regclass('calendar_days') is not null");
  if (there.rowCount === 0) return [];
  const rows = await tablesOn(client).select().from(calendarDays);
  return rows.map(({ close, reason, ...day }) => ({
    ...day,
    ...(close !== null && { close }),
    ...(reason !== null && { reason }),
  }));
}

function differing(some: readonly CalendarOverride[], others: readonly CalendarOverride[]): string[] {
  const texts = (days: readonly CalendarOverride[]): Map<string, string> =>
    new Map(
      days.map(({ date, kind, close, reason }) => [
        date,
        JSON.stringify([kind, close ?? null, reason ?? null]),
      ]),
    );
  const [a, b] = [texts(some), texts(others)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((date) => a.get(date) !== b.get(date)).sort();
}

async function writeYears(client: pg.ClientBase, years: readonly number[]): Promise<void> {
  const calendar = createCalendar(await readDays(client));
  for (const year of years) {
    const [from, to] = [`${year}-01-01`, `${year}-12-31`];
    const given = calendar.sessions(from, to).map(({ date, kind, reason, ...at }) => ({
      date,
      kind,
      reason,
      preAt: at.pre.toISOString(),
      openAt: at.open.toISOString(),
      closeAt: at.close.toISOString(),
      postAt: at.post.toISOString(),
    }));
    const dates = given.map(({ date }) => date);
    const before = await readHours(client, from, to);
    await tablesOn(client)
      .delete(sessions)
      .where(
        and(between(sessions.date, from, to), sql`${sessions.date} <> all (${sql.param(dates)}::date[])`),
      );
    await upsertAll(client, sessions, given);
    await followHours(client, before, await readHours(client, from, to));
  }
}

type Hours = ReadonlyMap<string, string>;

/** Marks the bars of dates whose hours have changed, to be made again. */
async function followHours(client: pg.ClientBase, before: Hours, after: Hours): Promise<void> {
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (date) => before.get(date) !== after.get(date),
  );
  if (changed.length === 0) return;
  const { rows } = await client.query<{ date: string }>(
    `with changed as (
       update session_bars set made_to = '-infinity' where date = any ($1::date[]) and not quotes_dropped returning date
     )
     select distinct date::text as date from changed`,
    [changed],
  );
  const dates = rows.map(({ date }) => date);
  await removeStaleBars(client, dates);
  await markLate(client, dates);
}

async function readHours(client: pg.ClientBase, from: string, to: string): Promise<Hours> {
  const { rows } = await client.query<{ date: string; hours: string }>(
    "select date::text, concat_ws(' ', pre_at, open_at, close_at, post_at) as hours from sessions where date between $1 and $2",
    [from, to],
  );
  return new Map(rows.map(({ date, hours }) => [date, hours]));
}
