/** The holes of the ledger, as people ask for them: by job, day and reason. */
import type pg from "pg";
import { z } from "zod";
import type { Instant } from "../../ground/clock.ts";
import { instantText } from "../schema/tableRows.ts";

const count = z.int().nonnegative();

/** Misses of one job on one exchange date for one reason. */
export const hole = z.strictObject({
  job: z.string(),
  date: z.string(),
  source: z.string(),
  reason: z.string(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  slots: count,
  instruments: count,
  misses: count,
});

export type Hole = z.infer<typeof hole>;

/** The holes of slots from `from` on and before `to`, oldest first; null: no bound. */
export async function listHoles(
  pool: pg.Pool,
  { from, to }: { from: Instant | null; to: Instant | null },
): Promise<Hole[]> {
  const { rows } = await pool.query<Hole>(
    `select m.job, (m.slot_at at time zone 'America/New_York')::date as date, o.kind as source, m.reason,
            ${instantText("min(m.slot_at)")} as "from",
            ${instantText("max(m.slot_at)")} as "to",
            count(distinct m.slot_at)::int as slots,
            greatest(count(distinct m.instrument) filter (where m.instrument <> '*'), max(m.starred))::int as instruments,
            sum(case when m.instrument = '*' then m.due else 1 end)::int as misses
     from (
       -- The stars of a slot's shares stand for all of their instruments together.
       select m.*, s.due,
              sum(s.due) filter (where m.instrument = '*') over (partition by job, slot_at, source_id, m.reason) as starred
       from misses m join slots s using (job, slot_at, source_id, account_id)
     ) m
     join sources o on o.id = m.source_id
     where m.slot_at >= coalesce($1::timestamptz, '-infinity') and m.slot_at < coalesce($2::timestamptz, 'infinity')
     group by 1, 2, 3, 4
     order by 2, 1, 3, 4`,
    [from, to],
  );
  return rows;
}

/** The UTC hours that hold a miss: of these the journal may know more. Each as the instant it begins. */
export async function hoursWithMisses(
  pool: pg.Pool,
  { from, to }: { from: Instant | null; to: Instant | null },
): Promise<Date[]> {
  const { rows } = await pool.query<{ hour: string }>(
    `select distinct date_trunc('hour', slot_at) as hour from misses
     where slot_at >= coalesce($1::timestamptz, '-infinity') and slot_at < coalesce($2::timestamptz, 'infinity')
     order by 1`,
    [from, to],
  );
  return rows.map(({ hour }) => new Date(hour));
}
