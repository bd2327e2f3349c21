/** Of when the newest quotes of each account are, and whether their values change: from the newest rows of the last days, by their keys. */
import type { Queryable } from "../connect/transaction.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../../quotes/fields.ts";
import { isoOf } from "./queries.ts";
import { STILL_DELAY_MINUTES } from "./standsStill.ts";

/** How far behind real time delayed quotes are, in ms. */
export const DELAY_MS = STILL_DELAY_MINUTES * 60_000;

/** A service's clock may be ahead of ours; a quote of later than this is one without a time. */
const BELIEVED = "q.quoted_at <= q.observed_at + interval '1 minute'";

/** The series of an account that were quoted on a date of the exchange: of one source, all delayed or none. */
export type NewestQuotes = {
  account: string;
  sourceId: number;
  delayed: boolean;
  /** New York, `YYYY-MM-DD`. */
  date: string;
  instruments: number[];
  /** When the first and the last answer of the date arrived. */
  firstAt: Date;
  lastAt: Date;
  /** When the newest of each series' last quotes was made, as the service says it; null: it does not say. */
  quotedAt: Date | null;
  /** How far apart the answers of a series are, in ms: of that with the fifth least, so that five are asked as often; null: of fewer. */
  spacingMs: number | null;
};

/**
 * Accounts of services, not of a simulated market, on dates from `since` on. The limit has each row looked up by its key, however few
 * rows the planner takes a month to have.
 *
 * @param since New York, `YYYY-MM-DD`
 */
export async function readNewestQuotes(pool: Queryable, since: string): Promise<NewestQuotes[]> {
  type Row = Omit<NewestQuotes, "firstAt" | "lastAt" | "quotedAt"> &
    Record<"firstAt" | "lastAt", string> & { quotedAt: string | null };
  const { rows } = await pool.query<Row>(
    `with newest as materialized (
       select b.instrument_id, b.source_id, b.delayed, b.date, b.first_at, b.last_at,
         (extract(epoch from b.last_at - b.first_at) * 1000 / nullif(b.quote_count - 1, 0))::float8 as spacing,
         case when ${BELIEVED} then q.quoted_at end as quoted_at
       from session_bars b
       cross join lateral (
         select q.observed_at, q.quoted_at from quotes q
         where q.instrument_id = b.instrument_id and q.observed_at = b.last_at and q.source_id = b.source_id and q.observed_at >= $1::date
         limit 1
       ) q
       where b.date >= $1::date
     )
     select a.name as account, n.source_id as "sourceId", n.delayed, n.date::text, array_agg(n.instrument_id) as instruments,
       min(n.first_at) as "firstAt", max(n.last_at) as "lastAt", max(n.quoted_at) as "quotedAt",
       (array_agg(n.spacing order by n.spacing))[5] as "spacingMs"
     from newest n
     join sources s on s.id = n.source_id and s.kind = 'account'
     join responses r on r.observed_at = n.last_at and r.source_id = n.source_id and r.observed_at >= $1::date
     join accounts a on a.id = r.account_id
     group by 1, 2, 3, 4`,
    [since],
  );
  return rows.map(({ firstAt, lastAt, quotedAt, ...row }) => ({
    ...row,
    firstAt: new Date(isoOf(firstAt)),
    lastAt: new Date(isoOf(lastAt)),
    quotedAt: quotedAt === null ? null : new Date(isoOf(quotedAt)),
  }));
}

/** Instruments that one statement looks at: where values change, the first of them shows it. */
const AT_ONCE = 200;

/** Which quotes of series are looked at: those of answers in (from, to]. */
type Window = Pick<NewestQuotes, "sourceId" | "delayed" | "instruments"> & { from: Date; to: Date };

/** When the newest quote of a window was made; null: the service does not say, or there is none. */
export async function readQuotedWithin(pool: Queryable, window: Window): Promise<Date | null> {
  const { rows } = await pool.query<{ at: string | null }>(
    `select max(q.quoted_at) as at from quotes q
     where q.instrument_id = any ($1) and q.source_id = $2 and q.delayed = $3 and q.observed_at > $4 and q.observed_at <= $5
       and ${BELIEVED}`,
    [window.instruments, ...bounds(window)],
  );
  const at = rows[0]?.at ?? null;
  return at === null ? null : new Date(isoOf(at));
}

const VALUES = [
  ...PRICE_FIELDS.map(({ column }) => `q.${column}`),
  ...EXTENDED_FIELDS.map(({ column }) => `e.${column}`),
].join(", ");

const ROWS = `select q.instrument_id, q.observed_at, row(${VALUES})::text as said from quotes q
  left join extended_quotes e on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id`;

/**
 * How many instruments have said the same since an instant, in a window and in the last quote of each date since; null: a value of one
 * of them has changed.
 *
 * @param by an instrument whose first answer of the window is later does not count
 */
export async function countUnchanged(
  pool: Queryable,
  window: Window,
  { by, since }: { by: Date; since: string },
): Promise<number | null> {
  let unchanged = 0;
  for (let place = 0; place < window.instruments.length; place += AT_ONCE) {
    const { rows } = await pool.query<{ changed: number; same: number }>(
      `select (count(*) filter (where values > 1))::int as changed, (count(*) filter (where first_at <= $6))::int as same
       from (select instrument_id, count(distinct said) as values, min(observed_at) as first_at
             from (${ROWS}
                   where q.instrument_id = any ($1) and q.source_id = $2 and q.delayed = $3 and q.observed_at > $4 and q.observed_at <= $5
                   union all
                   ${ROWS} join session_bars b on b.instrument_id = q.instrument_id and b.last_at = q.observed_at and b.source_id = q.source_id
                   where b.instrument_id = any ($1) and b.source_id = $2 and b.delayed = $3 and b.date >= $7::date and q.observed_at > $4) w
             group by instrument_id) each`,
      [window.instruments.slice(place, place + AT_ONCE), ...bounds(window), by.toISOString(), since],
    );
    if ((rows[0]?.changed ?? 0) > 0) return null;
    unchanged += rows[0]?.same ?? 0;
  }
  return unchanged;
}

function bounds({ sourceId, delayed, from, to }: Window): unknown[] {
  return [sourceId, delayed, from.toISOString(), to.toISOString()];
}
