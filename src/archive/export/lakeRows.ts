/**
 * What the database knows for the lake: which archive it is, which lake is its own, which exchange dates have rows, came late or
 * were dropped.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import { archiveLake, droppedDays } from "../schema/internalSchema.ts";
import { columnList, inArrays, isOnDates } from "../schema/tableRows.ts";
import { inTransaction, type Queryable } from "../connect/transaction.ts";

/** Assumed: a load that began when a date was not over is committed a quarter of an hour after its end. */
const LOADS_END_AFTER = "15 minutes";

/** The exchange date that is not over by the database's clock, or has been for a moment only. */
export async function readToday(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ today: string }>(
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
     where ${isOnDates(column, "($1::date + 1)", "$2")}`;
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
 * Exchange dates whose rows came, or were changed, when the date was over, and when it was not written yet, or after that; and those
 * with bars that are due. What a snapshot has not seen counts, and by the clock as well: a restored database begins to number its
 * transactions anew.
 */
export async function readLateDays(db: Queryable, written: readonly WrittenDay[]): Promise<string[]> {
  const { rows } = await db.query<{ date: string }>(
    `select l.date::text as date
     from late_days l
     left join unnest($1::date[], $2::text[], $3::timestamptz[]) as w (date, snapshot, at) using (date)
     where w.date is null or l.changed_at >= w.at or not pg_visible_in_snapshot(l.changed_by, w.snapshot::pg_snapshot)
     order by 1`,
    inArrays(written, "date", "snapshot", "writtenAt"),
  );
  return [...new Set([...rows.map(({ date }) => date), ...(await readDueDates(db))])].sort();
}

/** Exchange dates with bars that are due: rows have come since they were made. */
export async function readDueDates(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ date: string }>(
    "select distinct date::text as date from session_bars where made_to is not null",
  );
  return rows.map(({ date }) => date);
}

/**
 * What tells the rows of exchange dates that are over from what they were before: a text by date. Null: not to be told, for bars of
 * the date are due. Dates whose rows came in time have none. Whoever changes rows of a date waits for whoever did so before.
 */
export async function readVersions(db: Queryable): Promise<Map<string, string | null>> {
  const { rows } = await db.query<{ date: string; version: string }>(
    "select date::text as date, concat_ws(' ', changed_by, changed_at) as version from late_days",
  );
  const due = (await readDueDates(db)).map((date) => [date, null] as const);
  return new Map<string, string | null>([
    ...rows.map(({ date, version }) => [date, version] as const),
    ...due,
  ]);
}

/** A file that quotes were dropped behind. */
export type DroppedFile = { name: string; path: string; revision: number; bytes: number; sha256: string };

export type DroppedDay = {
  date: string;
  /** The files that have its quotes and extended quotes; null: an earlier program dropped them, and did not say which. */
  files: DroppedFile[] | null;
  /** Where `files` is null: how many quotes were dropped at least. */
  quotes: number;
};

async function readDroppedDays(db: Queryable): Promise<Map<string, DroppedDay>> {
  const { rows } = await db.query<Omit<DroppedDay, "quotes">>(
    "select date::text as date, files from dropped_days order by date",
  );
  const untold = rows.flatMap(({ date, files }) => (files === null ? [date] : []));
  const quotes = untold.length === 0 ? new Map<string, number>() : await countDropped(db, untold);
  return new Map(rows.map((day) => [day.date, { ...day, quotes: quotes.get(day.date) ?? 0 }]));
}

/** The bars of sessions know how many quotes there were. */
async function countDropped(db: Queryable, dates: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ date: string; quotes: number }>(
    `select date::text as date, sum(quote_count)::float8 as quotes from session_bars
     where date = any ($1::date[]) and quotes_dropped group by date`,
    [dates],
  );
  return new Map(rows.map(({ date, quotes }) => [date, quotes]));
}

export async function noteDropped(
  client: pg.ClientBase,
  days: readonly { date: string; files: readonly DroppedFile[] }[],
): Promise<void> {
  await client.query(
    `insert into dropped_days (${columnList(droppedDays, "date", "droppedAt", "files")})
     select date, now(), files from jsonb_to_recordset($1) as d (date date, files jsonb)
     on conflict (date) do update set files = excluded.files`,
    [JSON.stringify(days)],
  );
}

export type KnownLake = {
  /** The archive's name of chance. */
  archive: string;
  /** The id of the archive's lake; null: no lake was begun. */
  known: string | null;
  /** Exchange dates of which quotes were dropped, by date, ascending. */
  dropped: ReadonlyMap<string, DroppedDay>;
};

export async function readKnownLake(db: Queryable): Promise<KnownLake> {
  const { rows } = await db.query<{ archive: string; known: string | null }>(
    "select (select id from archive_identity) as archive, (select id from archive_lake) as known",
  );
  const { archive = "", known = null } = rows[0] ?? {};
  return { archive, known, dropped: await readDroppedDays(db) };
}

export async function setLake(
  pool: pg.Pool,
  id: string,
  dropped: readonly { date: string; files: readonly DroppedFile[] }[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query("delete from archive_lake");
    await client.query(
      `insert into archive_lake (${columnList(archiveLake, "id", "setAt")}) values ($1, now())`,
      [id],
    );
    await noteDropped(client, dropped);
  });
}

export async function newLakeId(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ id: string }>("select gen_random_uuid() as id");
  return rows[0]?.id ?? "";
}

export async function hasQuotes(pool: pg.Pool, date: string): Promise<boolean> {
  // Citus plans this subquery by itself, and then it has to have a column.
  const { rows } = await pool.query<{ there: boolean }>(
    `select exists (select 1 from quotes where ${isOnDates("observed_at", "$1", "$1")}) as there`,
    [date],
  );
  return rows[0]?.there === true;
}
