/** The exchange's calendar as a table, so that SQL knows when a session opened and closed. */
import type pg from "pg";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";

/** First year that is written: the calendar's own. Of rows before it nobody knows whether the market was open. */
export const FIRST_YEAR = 1990;

/** Years of sessions that are kept beside the present one, before and after it. */
const YEARS_AROUND = 1;

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
  const sessions = createCalendar().sessions(from, to);
  await client.query(
    `with given as (
       select * from unnest($1::date[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
         $6::timestamptz[], $7::text[]) as given (date, kind, pre_at, open_at, close_at, post_at, reason)
     ), gone as (
       delete from sessions s
       where s.date between $8 and $9 and not exists (select from given g where g.date = s.date)
     )
     insert into sessions as kept select * from given
     on conflict (date) do update set kind = excluded.kind, pre_at = excluded.pre_at, open_at = excluded.open_at,
       close_at = excluded.close_at, post_at = excluded.post_at, reason = excluded.reason
     where (kept.kind, kept.pre_at, kept.open_at, kept.close_at, kept.post_at, kept.reason)
       is distinct from (excluded.kind, excluded.pre_at, excluded.open_at, excluded.close_at, excluded.post_at, excluded.reason)`,
    [
      sessions.map(({ date }) => date),
      sessions.map(({ kind }) => kind),
      sessions.map(({ pre }) => pre),
      sessions.map(({ open }) => open),
      sessions.map(({ close }) => close),
      sessions.map(({ post }) => post),
      sessions.map(({ reason }) => reason),
      from,
      to,
    ],
  );
}
