/** Twenty sessions of five thousand instruments in the ledger: most are whole, every tenth slot lacks a hundred, one lacks all. */
import type pg from "pg";

/** How many instruments. */
export const COVERED = 5_000;

/** Fills it. */
export async function fillLedger(pool: pg.Pool): Promise<void> {
  await pool.query(
    `insert into due_sets (digest, instruments)
     select 'covered', array_agg('S' || lpad(n::text, 4, '0')) from generate_series(1, $1::int) n`,
    [COVERED],
  );
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select 'covered', day + time '15:00' + m * interval '5 minutes', 2, $1, $1 - lost, lost,
       (select id from due_sets where digest = 'covered')
     from generate_series(current_date - 27, current_date - 1, interval '1 day') day, generate_series(0, 30) m,
       lateral (select case when m = 3 then $1 when m % 10 = 0 then 100 else 0 end as lost) l
     where extract(isodow from day) < 6`,
    [COVERED],
  );
  await pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select job, slot_at, 2, '*', 'down' from slots where job = 'covered' and stored = 0
     union all
     select job, slot_at, 2, 'S' || lpad((1 + n * 37 % $1::int)::text, 4, '0'), 'budget'
     from slots, generate_series(1, 100) n where job = 'covered' and missed = 100`,
    [COVERED],
  );
}
