/** Why quotes are missing in a chart: the ledger's misses of one instrument, bar by bar. */
import type pg from "pg";
import { INSTRUMENT_NAME } from "../schema/instrumentNames.ts";
import { isOnDates } from "../schema/tableRows.ts";
import { COUNTED_MISSES, missRow } from "./coverageView.ts";
import type { MissedBars, MissRow } from "./dashboardTypes.ts";
import { type Interval, WIDTH_MS } from "./widths.ts";

type MissedQuery = { instrument: number; source: number; interval: Interval; from: string; to: string };

/** Most rows of one answer: two for each bar that can be drawn. */
const MOST_ROWS = 20_000;

/** Sessions begin and end at half hours: misses that are put together by the half hour lie within one bar, however wide. */
const WIDEST_MS = 1_800_000;

/** By bar, job and reason. Bars of dates have those of a date together. */
export async function readMissedBars(
  pool: pg.Pool,
  { instrument, source, interval, from, to }: MissedQuery,
): Promise<MissedBars> {
  const named = await pool.query<{ name: string }>(
    `select ${INSTRUMENT_NAME} as name from instruments i where id = $1`,
    [instrument],
  );
  const [known] = named.rows;
  if (!known) return { misses: [], more: false };
  const width = WIDTH_MS[interval] < WIDTH_MS["1d"] ? Math.min(WIDTH_MS[interval], WIDEST_MS) : null;
  const { rows } = await pool.query<MissRow>(
    `select ${COUNTED_MISSES}
     from misses m
     where m.source_id = $2 and ${isOnDates("m.slot_at", "$3", "$4")}
       and (m.instrument = $1 or (m.instrument = '*' and exists (
         select from slots s join due_sets d on d.id = s.due_set_id
         where s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id and s.account_id = m.account_id
           and $1 = any (d.instruments)
       )))
     group by m.job, m.reason, case
       when $5::float8 is null then (m.slot_at at time zone 'America/New_York')::date::timestamptz
       else date_bin(make_interval(secs => $5), m.slot_at, '2000-01-01 00:00Z') end
     order by min(m.slot_at) desc, m.job, m.reason
     limit $6`,
    [known.name, source, from, to, width === null ? null : width / 1_000, MOST_ROWS + 1],
  );
  return {
    misses: rows.slice(0, MOST_ROWS).map(missRow).reverse(),
    more: rows.length > MOST_ROWS,
  };
}
