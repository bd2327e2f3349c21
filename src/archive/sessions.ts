/** The exchange's calendar as a table, so that SQL knows when a session opened and closed. */
import { and, between, sql } from "drizzle-orm";
import type pg from "pg";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { sessions } from "./schema.ts";
import { tablesOn, upsertAll } from "./tableRows.ts";

/** First year that is written: the calendar's own. Of rows before it nobody knows whether the market was open. */
export const FIRST_YEAR = 1990;

/** Years of sessions that are kept beside the present one, before and after it. */
const YEARS_AROUND = 1;

const calendar = createCalendar();

/**
 * Writes the sessions of the year before to the year after, corrected where the calendar has learnt, and of every year
 * that the archive holds quotes of.
 *
 * @param year of the present, UTC
 */
export async function refreshSessions(client: pg.ClientBase, year: number): Promise<void> {
  const { rows } = await client.query<{ year: number }>(
    "select distinct extract(year from date)::int as year from session_bars",
  );
  const around = Array.from({ length: 2 * YEARS_AROUND + 1 }, (_, index) => year - YEARS_AROUND + index);
  for (const one of around) await writeYear(client, one);
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
    [years.filter((year) => year >= FIRST_YEAR)],
  );
  for (const { year } of rows) await writeYear(client, year);
}

async function writeYear(client: pg.ClientBase, year: number): Promise<void> {
  if (year < FIRST_YEAR) return;
  const [from, to] = [`${year}-01-01`, `${year}-12-31`];
  const given = calendar.sessions(from, to).map(({ date, kind, reason, ...at }) => ({
    ...{ date, kind, reason, preAt: at.pre.toISOString(), openAt: at.open.toISOString() },
    ...{ closeAt: at.close.toISOString(), postAt: at.post.toISOString() },
  }));
  const dates = given.map(({ date }) => date);
  await tablesOn(client)
    .delete(sessions)
    .where(and(between(sessions.date, from, to), sql`${sessions.date} <> all (${sql.param(dates)}::date[])`));
  await upsertAll(client, sessions, given);
}
