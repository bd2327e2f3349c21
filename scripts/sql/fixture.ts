/**
 * The small archive that docs/sql.md asks: three sessions of November 2026, three stocks every five minutes, six
 * option contracts every half hour. Whole numbers alone, so that every server has the same rows.
 */
import type pg from "pg";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";

const INSTRUMENTS = `
insert into instruments (id, security_type, symbol, description, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at)
select v.id, v.security_type, v.symbol, v.description, v.underlying_id, v.expiration::date, v.option_type, v.strike::numeric,
       '2026-11-18 09:00+00', '2026-11-21 01:00+00'
from (values
  (1, 'CS', 'AAPL', 'APPLE INC', null, null, null, null),
  (2, 'CS', 'MSFT', 'MICROSOFT CORP', null, null, null, null),
  (3, 'CS', 'IBM', 'INTL BUSINESS MACHINES', null, null, null, null),
  (11, 'OPT', 'AAPL', 'AAPL DEC 145 CALL', 1, '2026-12-18', 'CALL', 145),
  (12, 'OPT', 'AAPL', 'AAPL DEC 145 PUT', 1, '2026-12-18', 'PUT', 145),
  (13, 'OPT', 'AAPL', 'AAPL DEC 150 CALL', 1, '2026-12-18', 'CALL', 150),
  (14, 'OPT', 'AAPL', 'AAPL DEC 150 PUT', 1, '2026-12-18', 'PUT', 150),
  (15, 'OPT', 'AAPL', 'AAPL DEC 155 CALL', 1, '2026-12-18', 'CALL', 155),
  (16, 'OPT', 'AAPL', 'AAPL DEC 155 PUT', 1, '2026-12-18', 'PUT', 155)
) as v (id, security_type, symbol, description, underlying_id, expiration, option_type, strike)`;

/** n counts the five minutes of a day from 04:00 New York; IBM is missing on Friday from 10:00 to 10:30. */
const STOCKS = `
create temporary table made as
select t.at, d.day, n, i.id,
       i.base + d.day * i.step + (abs((n * i.speed + d.day * 31) % 400 - 200) - 100) / 100.0
         + case when n >= 144 then i.step / 2 else 0 end as last,
       case when n between 66 and 143 then i.tick else i.tick * 4 end + case when n between 66 and 71 then 0.01 else 0 end as half,
       case when n < 66 then n * 50 else 3300 + (n - 66) * (n - 66) * i.speed + (n - 66) * 2000 end as volume
from (values (0, date '2026-11-18'), (1, date '2026-11-19'), (2, date '2026-11-20')) as d (day, date)
cross join generate_series(0, 191) n
cross join (values (1, 150, 1.25, 7, 0.01), (2, 420, -2.5, 11, 0.02), (3, 230, 0.4, 5, 0.03)) as i (id, base, step, speed, tick)
cross join lateral (
  select (d.date + time '04:00' + n * interval '5 minutes' + interval '1 second') at time zone 'America/New_York' as at
) t
where not (i.id = 3 and d.day = 2 and n between 72 and 77)`;

const QUOTES = `
insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
select at, id, 1, false, round(last - half, 2), round(last + half, 2), round(last, 2), null, null from made`;

const EXTENDED = `
insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume, open, previous_close)
select m.at, m.id, 1, 100 + m.n, 200 - m.n, m.volume, round(o.last, 2), round(p.last, 2)
from made m
left join made o on o.id = m.id and o.day = m.day and o.n = 66 and m.n >= 66
left join made p on p.id = m.id and p.day = m.day - 1 and p.n = 143`;

/** The time value of a contract falls with its distance from the money; the parity of the 155 strike is a little off. */
const CONTRACTS = `
create temporary table contracts as
select m.at, o.id, o.strike,
       greatest(case when o.is_call then m.last - o.strike else o.strike - m.last end, 0)
         + greatest(4 - abs(m.last - o.strike) / 4, 0.05) + case when o.id = 15 then 0.12 else 0 end as mid,
       least(greatest(0.5 + (case when o.is_call then 1 else -1 end) * (m.last - o.strike) / 40, 0.01), 0.99)
         * case when o.is_call then 1 else -1 end as delta,
       m.n
from made m
cross join (values (11, 145, true), (12, 145, false), (13, 150, true), (14, 150, false), (15, 155, true), (16, 155, false))
  as o (id, strike, is_call)
where m.id = 1 and m.n between 66 and 143 and m.n % 6 = 0`;

const CONTRACT_QUOTES = `
insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
select at, id, 1, false, round(mid - 0.05, 2), round(mid + 0.05, 2), round(mid, 2) from contracts`;

const CONTRACT_EXTENDED = `
insert into extended_quotes (observed_at, instrument_id, source_id, volume, contract_size, delta)
select at, id, 1, (n - 60) * 3, 100, round(delta, 3) from contracts`;

const DIVIDENDS = `
insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values
  ('2026-11-18 14:30:01+00', 1, 1, '2026-11-09', 0.26, 0.0069),
  ('2026-11-20 14:30:01+00', 1, 1, '2027-02-08', 0.26, 0.0069),
  ('2026-11-20 20:00:01+00', 1, 1, '2027-02-08', 0.27, 0.0072),
  ('2026-11-18 14:30:01+00', 2, 1, '2026-12-03', 0.91, 0.0087),
  ('2026-11-18 14:30:01+00', 3, 1, '2026-11-10', 1.68, 0.0292)`;

const LEDGER = `
insert into due_sets (id, digest, instruments) values (1, 'fixture', array['AAPL', 'IBM', 'MSFT']);
insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
select 'us-equities', slot_at, 1, 3, case when lost then 2 else 3 end, case when lost then 1 else 0 end, 1
from (
  select (d.date + time '09:30' + n * interval '5 minutes') at time zone 'America/New_York' as slot_at,
         d.date = '2026-11-20' and n between 6 and 11 as lost
  from (values (date '2026-11-18'), (date '2026-11-19'), (date '2026-11-20')) as d (date)
  cross join generate_series(0, 77) n
) s;
insert into misses (job, slot_at, source_id, instrument, reason)
select job, slot_at, source_id, 'IBM', case when extract(minute from slot_at) < 15 then 'transport' else 'refused' end
from slots where missed = 1`;

/** The clock is set back by ten minutes after the close of the second session; the archive holds three answers of then. */
const SET_BACK = `
insert into clock_steps (moved_at, step_ms, kind) values ('2026-11-19 21:50:12+00', -600000, 'set_back');
insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
                       journal_segment, journal_offset)
select observed_at::timestamptz, 1, gen_random_uuid(), requested_at::timestamptz, '{}', 200, 'quotes', 0, 'made', 0
from (values
  ('2026-11-19 22:00:01.25+00', '2026-11-19 22:00:01+00'),
  ('2026-11-19 22:00:01.250001+00', '2026-11-19 21:50:12+00'),
  ('2026-11-19 22:00:01.250002+00', '2026-11-19 21:55:01+00')) as v (observed_at, requested_at)`;

/** What time it is in the archive, for `option_chain_latest`: after its last quote, before its contracts expire. */
export const FIXTURE_AS_OF = "2026-11-21T00:00Z";

/** Fills a migrated, empty archive. */
export async function fillFixture(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await ensurePartitions(client, "2026-11-01T00:00:00.000000Z", "2026-11-30T00:00:00.000000Z");
    for (const statement of [
      INSTRUMENTS,
      STOCKS,
      QUOTES,
      EXTENDED,
      CONTRACTS,
      CONTRACT_QUOTES,
      CONTRACT_EXTENDED,
      DIVIDENDS,
      LEDGER,
      SET_BACK,
    ])
      await client.query(statement);
    await client.query("drop table made, contracts");
    await client.query("select recompute_session_bars('2026-11-18', '2026-11-20')");
  } finally {
    client.release();
  }
}
