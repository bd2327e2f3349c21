/** Twenty million quotes, made inside the database: 500 instruments, one a minute, session by session. */
import type pg from "pg";
import { exchangeDate } from "../../src/market/calendar/dates.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { ensurePartitions } from "../../src/archive/partitions.ts";
import { instantFromDate } from "../../src/clock.ts";

/** Instruments that are quoted. */
export const INSTRUMENTS = 500;

/** Contracts on the 250th of them, quoted each half hour. */
export const CONTRACTS = 100;

/** Observations of one session: 09:30 to 16:00, one a minute. */
const MINUTES = 390;

/** Exchange dates of the newest past sessions that together hold about so many quotes, ascending. */
export function sessionDates(rows: number, now: Date): { date: string; open: Date }[] {
  const count = Math.max(5, Math.ceil(rows / (INSTRUMENTS * MINUTES)));
  const from = new Date(now.getTime() - 2 * (count + 5) * 86_400_000);
  const sessions = createCalendar()
    .sessions(exchangeDate(from), exchangeDate(now))
    .filter(({ kind, post }) => kind === "regular" && post < now);
  return sessions.slice(-count).map(({ date, open }) => ({ date, open }));
}

/** Makes the instruments, the contracts behind the stocks, and sources beside the one that has rows: real archives have several. */
export async function fillInstruments(client: pg.ClientBase): Promise<void> {
  await client.query(
    `insert into instruments (security_type, symbol, first_seen_at, last_seen_at)
     select 'CS', 'S' || lpad(n::text, 3, '0'), now(), now() from generate_series(1, $1::int) n`,
    [INSTRUMENTS],
  );
  await client.query(
    `insert into instruments (security_type, symbol, underlying_id, expiration, option_type, strike, contract_size, first_seen_at, last_seen_at)
     select 'OPT', 'S250', u.id, date '2031-12-19', case n % 2 when 0 then 'CALL' else 'PUT' end, 245 + n / 2, 100, now(), now()
     from generate_series(1, $1::int) n cross join instruments u where u.symbol = 'S250'`,
    [CONTRACTS],
  );
  await client.query("insert into sources (name, kind) values ('old files', 'import')");
}

/** One session's quotes and extended quotes; a sum of waves rather than chance, so that every run has the same rows. */
export async function fillSession(client: pg.ClientBase, open: Date, place: number): Promise<void> {
  const from = instantFromDate(open);
  await ensurePartitions(client, from, from);
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select at, i, 1, false, p.last - 0.01, p.last + 0.02, p.last, 0.25, 0.24
     from generate_series(0, ${MINUTES - 1}) m
     cross join generate_series(1, ${INSTRUMENTS}) i
     cross join lateral (select $1::timestamptz + m * interval '1 minute' + (i / 100) * interval '200 ms' as at) t
     cross join lateral (
       select round((20 + i + 3 * sin((m + 37 * $2::int) / 60.0 + i))::numeric, 2) as last
     ) p`,
    [from, place],
  );
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume)
     select $1::timestamptz + m * interval '1 minute' + (i / 100) * interval '200 ms', i, 1, 3, 4, (m + 1) * (1000 + i)
     from generate_series(0, ${MINUTES - 1}) m cross join generate_series(1, ${INSTRUMENTS}) i`,
    [from],
  );
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
     select $1::timestamptz + m * interval '30 minutes' + interval '500 ms', ${INSTRUMENTS} + n, 1, false, 60, 61, 60.5
     from generate_series(0, ${MINUTES / 30 - 1}) m cross join generate_series(1, ${CONTRACTS}) n`,
    [from],
  );
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, volume, delta)
     select $1::timestamptz + m * interval '30 minutes' + interval '500 ms', ${INSTRUMENTS} + n, 1, 0, 0.6
     from generate_series(0, ${MINUTES / 30 - 1}) m cross join generate_series(1, ${CONTRACTS}) n`,
    [from],
  );
}
