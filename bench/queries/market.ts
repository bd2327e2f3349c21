/** Twenty million quotes, made inside the database: 500 instruments, one a minute, and the chains of ten, session by session. */
import type pg from "pg";
import { exchangeDate } from "../../src/market/calendar/dates.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { type Instant, instantFromDate } from "../../src/ground/clock.ts";

/** Instruments that are quoted. */
export const INSTRUMENTS = 500;

/** Every so manieth of them has a chain. */
const CHAIN_EVERY = 50;

/** Strikes of an expiration, calls and puts of each; days from the newest session to the expirations that are to come. */
const [STRIKES, EXPIRE_IN] = [10, [7, 28, 63, 126, 252]];

/** Contracts of a chain that are still traded. */
export const CHAIN = 2 * STRIKES * EXPIRE_IN.length;

/** Contracts of all chains that are still traded, quoted each half hour. */
export const CONTRACTS = (INSTRUMENTS / CHAIN_EVERY) * CHAIN;

/** Contracts that expired after a quarter of the sessions, quoted until then. */
export const EXPIRED = (INSTRUMENTS / CHAIN_EVERY) * 2 * STRIKES;

/** Observations of one session: 09:30 to 16:00, one a minute. */
const MINUTES = 390;
const HALF_HOURS = MINUTES / 30;

/** Exchange dates of the newest past sessions that together hold about so many quotes, ascending. */
export function sessionDates(rows: number, now: Date): { date: string; open: Date }[] {
  const count = Math.max(5, Math.ceil(rows / (INSTRUMENTS * MINUTES + CONTRACTS * HALF_HOURS)));
  const from = new Date(now.getTime() - 2 * (count + 5) * 86_400_000);
  const sessions = createCalendar()
    .sessions(exchangeDate(from), exchangeDate(now))
    .filter(({ kind, post }) => kind === "regular" && post < now);
  return sessions.slice(-count).map(({ date, open }) => ({ date, open }));
}

/**
 * Makes the instruments, the contracts behind the stocks, and sources beside the one that has rows: real archives have several.
 *
 * @param dates exchange dates that will be filled, ascending
 */
export async function fillInstruments(client: pg.ClientBase, dates: readonly string[]): Promise<void> {
  await client.query(
    `insert into instruments (security_type, symbol, first_seen_at, last_seen_at)
     select 'CS', 'S' || lpad(n::text, 3, '0'), now(), now() from generate_series(1, $1::int) n`,
    [INSTRUMENTS],
  );
  await client.query(
    `insert into instruments (security_type, symbol, underlying_id, expiration, option_type, strike, contract_size, first_seen_at, last_seen_at)
     select 'OPT', u.symbol, u.id, e.expiration, t.option_type, round((20 + u.id) * (0.9 + 0.02 * n)), 100, now(), now()
     from instruments u
     cross join (select $1::date union all select $2::date + days from unnest($3::int[]) days) e (expiration)
     cross join generate_series(1, ${STRIKES}) n
     cross join (values ('CALL'), ('PUT')) t (option_type)
     where u.id % ${CHAIN_EVERY} = 0
     order by u.id, e.expiration, n, t.option_type`,
    [dates[Math.floor(dates.length / 4)], dates.at(-1), EXPIRE_IN],
  );
  await client.query("insert into sources (name, kind) values ('old files', 'import')");
}

/** What the price of instrument `i` is at minute `m` of the session `$2`: a sum of waves rather than chance, so that every run has the same rows. */
const PRICE = "round((20 + i + 3 * sin((m + 37 * $2::int) / 60.0 + i))::numeric, 2)";

/** One session's quotes and extended quotes. */
export async function fillSession(client: pg.ClientBase, open: Date, place: number): Promise<void> {
  const from = instantFromDate(open);
  await ensurePartitions(client, from, from);
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select at, i, 1, false, p.last - 0.01, p.last + 0.02, p.last, 0.25, 0.24
     from generate_series(0, ${MINUTES - 1}) m
     cross join generate_series(1, ${INSTRUMENTS}) i
     cross join lateral (select $1::timestamptz + m * interval '1 minute' + (i / 100) * interval '200 ms' as at) t
     cross join lateral (select ${PRICE} as last) p`,
    [from, place],
  );
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume)
     select $1::timestamptz + m * interval '1 minute' + (i / 100) * interval '200 ms', i, 1, 3, 4, (m + 1) * (1000 + i)
     from generate_series(0, ${MINUTES - 1}) m cross join generate_series(1, ${INSTRUMENTS}) i`,
    [from],
  );
  await fillChains(client, from, place);
}

/** The contracts' quotes, at the model's price of a smile, two seconds after their underlyings'. */
async function fillChains(client: pg.ClientBase, from: Instant, place: number): Promise<void> {
  const priced = `(
    select $1::timestamptz + m * interval '1 minute' + interval '2 s' as at, c.id, v.value::numeric, v.delta::numeric
    from generate_series(0, ${MINUTES - 30}, 30) m
    cross join (select c.*, c.underlying_id as i from instruments c where c.option_type is not null and c.expiration >= ($1::timestamptz)::date) c
    cross join lateral (select ${PRICE}::float8 as spot) p
    cross join lateral option_value(c.option_type, p.spot, c.strike::float8, (c.expiration - ($1::timestamptz)::date + 0.3) / 365.0,
      0.2 + 0.5 * abs(ln(c.strike::float8 / p.spot)), 0.04) v
  ) priced`;
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
     select at, id, 1, false, round(0.99 * value, 2), round(1.01 * value, 2) + 0.01, round(value, 2) from ${priced}`,
    [from, place],
  );
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, volume, delta)
     select at, id, 1, 10, round(delta, 4) from ${priced}`,
    [from, place],
  );
}
