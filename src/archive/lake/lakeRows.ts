/** What the database knows for the lake: which archive it is, which exchange dates have rows, came late or were dropped. */
import type pg from "pg";
import type { Instant } from "../../clock.ts";

/** The archive's name of chance. */
export async function readArchiveIdentity(db: Pick<pg.ClientBase, "query">): Promise<string> {
  const { rows } = await db.query<{ id: string }>("select id from archive_identity");
  return rows[0]?.id ?? "";
}

/** Assumed: a load that began when a date was not over is committed a quarter of an hour after its end. */
const LOADS_END_AFTER = "15 minutes";

/** The exchange date that is not over by the database's clock, or has been for a moment only. */
export async function readToday(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ today: string }>(
    "select ((now() - $1::interval) at time zone 'America/New_York')::date::text as today",
    [LOADS_END_AFTER],
  );
  return rows[0]?.today ?? "";
}

/**
 * Exchange dates of which there are rows, ascending. Whatever has quotes has bars of their session, wherever they came from.
 *
 * @param after the dates behind this one; null: all. The last one is `through`.
 */
export async function readDatesWithRows(
  pool: pg.Pool,
  after: string | null,
  through: string,
): Promise<string[]> {
  const dates = (table: string, column: string): string =>
    `select (${column} at time zone 'America/New_York')::date as date from ${table}
     where ${column} >= ($1::date + 1)::timestamp at time zone 'America/New_York'
       and ${column} < ($2::date + 1)::timestamp at time zone 'America/New_York'`;
  const { rows } = await pool.query<{ date: string }>(
    `select distinct date::text as date from (
       select date from session_bars where date > $1::date and date <= $2::date
       union all select date from derived_closes where date > $1::date and date <= $2::date
       union all ${dates("responses", "observed_at")}
       union all ${dates("slots", "slot_at")}
       union all ${dates("dead_letters", "observed_at")}
     ) d order by 1`,
    [after ?? "0001-01-01", through],
  );
  return rows.map(({ date }) => date);
}

/** What a day's files were made of: see the manifests. */
export type WrittenDay = { date: string; snapshot: string; writtenAt: Instant };

/**
 * Exchange dates whose rows came, or were changed, when the date was over, and when it was not written yet, or after that.
 * What a snapshot has not seen counts, and by the clock as well: a restored database begins to number its transactions anew.
 */
export async function readLateDays(
  db: Pick<pg.ClientBase, "query">,
  written: readonly WrittenDay[],
): Promise<string[]> {
  const { rows } = await db.query<{ date: string }>(
    `select l.date::text as date
     from late_days l
     left join unnest($1::date[], $2::text[], $3::timestamptz[]) as w (date, snapshot, at) using (date)
     where w.date is null or l.changed_at >= w.at or not pg_visible_in_snapshot(l.changed_by, w.snapshot::pg_snapshot)
     order by 1`,
    [
      written.map(({ date }) => date),
      written.map(({ snapshot }) => snapshot),
      written.map(({ writtenAt }) => writtenAt),
    ],
  );
  return rows.map(({ date }) => date);
}

/** Exchange dates of which quotes were dropped behind the lake's files. */
export async function readDroppedDays(db: Pick<pg.ClientBase, "query">): Promise<Set<string>> {
  const { rows } = await db.query<{ date: string }>("select date::text as date from dropped_days");
  return new Set(rows.map(({ date }) => date));
}

/** Whether there are quotes of an exchange date. */
export async function hasQuotes(pool: pg.Pool, date: string): Promise<boolean> {
  const { rows } = await pool.query<{ there: boolean }>(
    `select exists (
       select 1 from quotes
       where observed_at >= $1::date::timestamp at time zone 'America/New_York'
         and observed_at < ($1::date + 1)::timestamp at time zone 'America/New_York'
     ) as there`,
    [date],
  );
  return rows[0]?.there === true;
}
