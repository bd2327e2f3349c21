/** Sessions of a made-up market, made inside the database: 250 stocks and a call on each, one quote a minute. */
import type pg from "pg";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { instantFromDate } from "../../src/ground/clock.ts";

/** Stocks, and as many contracts. */
const STOCKS = 250;

/** Observations of one session: 09:30 to 16:00, one a minute. */
const MINUTES = 390;

/** Quotes of one session. */
export const SESSION_QUOTES = 2 * STOCKS * MINUTES;

/** Makes the instruments: 1 to 250 are stocks, 251 to 500 calls on them. */
export async function fillInstruments(client: pg.ClientBase): Promise<void> {
  await client.query(
    `insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
     select n, 'CS', 'S' || lpad(n::text, 3, '0'), now(), now() from generate_series(1, $1::int) n`,
    [STOCKS],
  );
  await client.query(
    `insert into instruments (id, security_type, symbol, underlying_id, expiration, option_type, strike, contract_size, first_seen_at, last_seen_at)
     select $1::int + n, 'OPT', 'S' || lpad(n::text, 3, '0'), n, date '2029-12-21', 'CALL', 5 + n, 100, now(), now()
     from generate_series(1, $1::int) n`,
    [STOCKS],
  );
}

/**
 * One session's quotes and extended quotes. Values are by chance where a market's are not: last digits of prices, sizes, volumes and
 * changes, which no encoding makes shorter. Chance is a hash of place and session, so that each run has the same rows.
 */
export async function fillSession(client: pg.ClientBase, open: Date, place: number): Promise<void> {
  const from = instantFromDate(open);
  await ensurePartitions(client, from, from);
  const rows = `
    from generate_series(0, ${MINUTES - 1}) m
    cross join generate_series(1, ${2 * STOCKS}) i
    cross join lateral (select hashint8extended(i * 1000 + m, $2::int) & 9223372036854775807 as h) c
    cross join lateral (
      select i > ${STOCKS} as is_option, round((50 + i * 37 % 900) / 100.0, 2) as eps,
             case when i > ${STOCKS} then 400 + i + h % 50 else 500 + (i * 7919) % 40000 + h % 200 end as cents
    ) p`;
  const at = "$1::timestamptz + m * interval '1 minute' + (i / 100) * interval '200 ms'";
  const price = (off: string): string => `round((cents + ${off}) / 100.0, 2)`;
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select ${at}, i, 2, false, ${price("-1")}, ${price("1")}, ${price("0")},
            case when is_option then 0.12 else round(((h >> 8) % 400 - 200) / 100.0, 2) end,
            case when is_option then 1.2500 else round(((h >> 17) % 40000 - 20000) / 10000.0, 4) end
     ${rows}`,
    [from, place],
  );
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, open, high, low, previous_close,
       volume, session_volume, earnings_per_share, pe_ratio, high_52_week, low_52_week, contract_high, contract_low, contract_size, delta)
     select ${at}, i, 2, case when is_option then 12 else (h >> 26) % 100 end, case when is_option then i else (h >> 33) % 100 end,
            ${price("-40")}, ${price("90")}, ${price("-120")}, ${price("-33")},
            case when is_option then i * 3 else (h >> 20) % 80000000 end, case when is_option then i else (h >> 40) % 1000000 end,
            case when not is_option then eps end, case when not is_option then round(cents / 100.0 / eps, 4) end,
            case when not is_option then ${price("2000")} end, case when not is_option then ${price("-400")} end,
            case when is_option then 9.90 end, case when is_option then 0.35 end, case when is_option then 100 end,
            case when is_option then (1000 + i * 7) / 10000.0 end
     ${rows}`,
    [from, place],
  );
}
