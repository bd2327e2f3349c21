/** Four accounts that two collectors call, for the archive of thousands of instruments: leases, shares of the ledger, a day of answers. */
import type pg from "pg";
import { joinFleet } from "../../test/support/fleetRows.ts";

/** Fills it. The ledger is there already. */
export async function fillFleet(pool: pg.Pool): Promise<void> {
  const holders = [await joinFleet(pool, { number: 1 }), await joinFleet(pool, { number: 2 })];
  await pool.query(
    `insert into accounts (id, name, call_limit, window_ms, state)
     select n, (array['main', 'second', 'third', 'fourth'])[n], 60, 60000, 'active' from generate_series(1, 4) n
     on conflict (id) do update set name = excluded.name, call_limit = 60, window_ms = 60000, state = 'active'`,
  );
  await pool.query(
    `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
     select n, 3, ($1::uuid[])[1 + n % 2], 'r', 1, now() - interval '3 hours', now(), now() + interval '1 day', false from generate_series(1, 4) n`,
    [holders],
  );
  await pool.query(
    `insert into lease_history (account_id, fence, taken_at, holder, collector, how, previous)
     select n, f, now() - (4 - f) * interval '3 hours', ($1::uuid[])[1 + n % 2], 'quotes-' || 1 + n % 2,
       case f when 1 then 'new' when 2 then 'released' else 'expired' end, case f when 1 then null else 'quotes-1' end
     from generate_series(1, 4) n, generate_series(1, 3) f`,
    [holders],
  );
  // A quarter of each slot is each account's.
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id, account_id)
     select job, slot_at, source_id, due / 4, due / 4, 0, due_set_id, n from slots, generate_series(2, 4) n where missed = 0`,
  );
  await pool.query("update slots set due = due / 4, stored = due / 4 where account_id = 1 and missed = 0");
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, rate_limit_used,
       rate_limit_remaining, rate_limit_limit, body_bytes, journal_segment, journal_offset, account_id)
     select at + n * interval '7 ms', 2, gen_random_uuid(), at, 'covered', '{"form":"symbols","symbols":["S0001"],"delayed":false}', 200,
       case when s % 997 = 0 then 'quota_fault' else 'quotes' end, s % 60, 60 - s % 60, 60, 900, 'bench', s, n
     from generate_series(0, 86399) s, generate_series(1, 4) n, lateral (select now() - s * interval '1 s' as at) t`,
  );
  await pool.query("vacuum analyze");
}
