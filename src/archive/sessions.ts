/** The exchange's calendar as a table, so that SQL knows when a session opened and closed. */
import { and, between, sql } from "drizzle-orm";
import type pg from "pg";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { sessions } from "./schema.ts";
import { tablesOn, upsertAll } from "./tableRows.ts";
import { isOnCitus } from "./tiers/citus.ts";

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
  const before = (await isOnCitus(client)) ? await readHours(client, from, to) : null;
  await tablesOn(client)
    .delete(sessions)
    .where(and(between(sessions.date, from, to), sql`${sessions.date} <> all (${sql.param(dates)}::date[])`));
  await upsertAll(client, sessions, given);
  if (before === null) return;
  const after = await readHours(client, from, to);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (date) => before.get(date) !== after.get(date),
  );
  // Triggers do it elsewhere.
  await client.query(
    `select refresh_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date))
     from (select instrument_id, source_id, delayed, date from session_bars where date = any ($1::date[]) offset 0) b
     having count(*) > 0`,
    [changed],
  );
}

/** The hours of the sessions of some dates, as text. */
async function readHours(client: pg.ClientBase, from: string, to: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ date: string; hours: string }>(
    "select date::text, concat_ws(' ', pre_at, open_at, close_at, post_at) as hours from sessions where date between $1 and $2",
    [from, to],
  );
  return new Map(rows.map(({ date, hours }) => [date, hours]));
}
