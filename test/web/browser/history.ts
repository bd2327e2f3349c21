/** Sessions that are over, as a collector of the simulated market would have stored them: for charts with a past. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type pg from "pg";
import { createCalendar, type TradingSession } from "../../../src/market/calendar/tradingCalendar.ts";
import { exchangeDate } from "../../../src/market/calendar/dates.ts";
import { type InstrumentKey, option, security } from "../../../src/market/instrument.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { followOwnRows } from "../../support/archive.ts";

/** What there is a past of. */
export const SYMBOLS = [
  "AAPL",
  "MSFT",
  "GOOGL",
  "AMZN",
  "NVDA",
  "META",
  "TSLA",
  "JPM",
  "GE",
  "IBM",
  "KO",
  "PFE",
];

/** The job that the past is of. A job that still runs would look for its slots since then. */
export const PAST_JOB = "past-sessions";

const SESSIONS = 6;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** What is polled before the open and after the close. */
const AROUND_MS = 90 * MINUTE_MS;
const SIMULATED = 2;

/** A hole of the collector's, minutes after the open, in the session before the last. */
export const HOLE = { from: 100, to: 142 };

/** Fills the sessions before `now`. @returns their exchange dates, ascending */
export async function fillPast(pool: pg.Pool, now: Date, chain: readonly InstrumentKey[]): Promise<string[]> {
  const sessions = createCalendar()
    .sessions(exchangeDate(new Date(now.getTime() - 20 * DAY_MS)), exchangeDate(now))
    .filter(({ close }) => close.getTime() + AROUND_MS < now.getTime())
    .slice(-SESSIONS);
  const equities = await identify(pool, SYMBOLS.map(security));
  const contracts = await identify(pool, chain);
  await pool.query(
    `update instruments o set underlying_id = u.id from instruments u
     where u.symbol = o.symbol and u.option_type is null and o.option_type is not null`,
  );
  for (const [index, session] of sessions.entries()) {
    const holed = index === sessions.length - 2;
    const at = minutesOf(session).filter((ms) => !holed || !isInHole(session, ms));
    await fill(pool, equities, at);
    await fill(
      pool,
      contracts,
      at.filter(
        (ms) => ms >= session.open.getTime() && ms <= session.close.getTime() && (ms / MINUTE_MS) % 15 === 0,
      ),
    );
    await account(pool, session, index, sessions.length);
  }
  await followOwnRows(pool);
  await answer(pool, now);
  const exDate = sessions.at(-2)?.date;
  if (exDate)
    await pool.query(
      "insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values ($1, $2, $3, $4, 0.26, 0.27)",
      [sessions.at(-3)?.open.toISOString(), equities[0]?.id, SIMULATED, exDate],
    );
  return sessions.map(({ date }) => date);
}

/** Answers of the last half hour: some twenty a minute. */
async function answer(pool: pg.Pool, now: Date): Promise<void> {
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
       journal_segment, journal_offset)
     select at + interval '40 milliseconds', ${SIMULATED}, gen_random_uuid(), at, '{}', 200, 'quotes', 1000, 'past', 0
     from generate_series(2, 31) as minute,
          lateral generate_series(1, 19 + (minute * 7) % 5) as call,
          lateral (select date_trunc('minute', $1::timestamptz) - minute * interval '1 minute' + call * interval '2 seconds' as at) as a`,
    [now.toISOString()],
  );
}

type Identified = { key: InstrumentKey; id: number };

async function identify(pool: pg.Pool, keys: readonly InstrumentKey[]): Promise<Identified[]> {
  const market = createSimulatedMarket({ seed: 1 });
  const found: Identified[] = [];
  for (const key of keys) {
    const { instrument } = market.quote(key, new Date("2026-11-19T15:00:00Z"));
    const { rows } = await pool.query<{ id: number }>(
      `insert into instruments (security_type, symbol, exchange, description, expiration, option_type, strike, first_seen_at, last_seen_at)
       values ($1, $2, $3, $4, $5, $6, $7, now(), now()) returning id`,
      [
        instrument.securityType,
        instrument.symbol,
        instrument.exchange,
        instrument.description,
        instrument.expiration,
        instrument.optionType,
        instrument.strike,
      ],
    );
    found.push({ key, id: rows[0]?.id ?? 0 });
  }
  return found;
}

function minutesOf({ open, close }: TradingSession): number[] {
  const from = open.getTime() - AROUND_MS;
  const count = (close.getTime() + AROUND_MS - from) / MINUTE_MS;
  return Array.from({ length: count }, (_, minute) => from + minute * MINUTE_MS);
}

function isInHole({ open }: TradingSession, ms: number): boolean {
  const minute = (ms - open.getTime()) / MINUTE_MS;
  return minute >= HOLE.from && minute < HOLE.to;
}

async function fill(pool: pg.Pool, instruments: readonly Identified[], at: readonly number[]): Promise<void> {
  const rows = rowsOf(instruments, at);
  const columns =
    "at timestamptz, id int, bid numeric, ask numeric, last numeric, change numeric, pct numeric, bid_size bigint, ask_size bigint, volume bigint, delta numeric";
  const of = `from json_to_recordset($1) as r (${columns})`;
  await pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last, change, pct_change)
     select at, id, ${SIMULATED}, false, bid, ask, last, change, pct ${of}`,
    [rows],
  );
  await pool.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, bid_size, ask_size, volume, delta)
     select at, id, ${SIMULATED}, bid_size, ask_size, volume, delta ${of}`,
    [rows],
  );
}

/** The rows as JSON. Each file of a run has the same past, which takes seconds to make: it lies in the run's directory. */
function rowsOf(instruments: readonly Identified[], at: readonly number[]): string {
  const name = `past-${instruments[0]?.id}-${instruments.length}-${at[0]}-${at.length}.json`;
  const kept = join(dirname(process.env["TEST_PROGRAM"] ?? ""), name);
  if (existsSync(kept)) return readFileSync(kept, "utf8");
  const rows = JSON.stringify(quotesOf(instruments, at));
  writeFileSync(`${kept}.${process.pid}`, rows);
  renameSync(`${kept}.${process.pid}`, kept);
  return rows;
}

function quotesOf(instruments: readonly Identified[], at: readonly number[]): object[] {
  const market = createSimulatedMarket({ seed: 1 });
  return at.flatMap((ms) =>
    instruments.map(({ key, id }) => {
      const { quote, greeksDelta } = market.quote(key, new Date(ms));
      const { bid, ask, last, change, pctChange, extended } = quote;
      return {
        at: new Date(ms + 1_200 + id).toISOString(),
        id,
        bid,
        ask,
        last,
        change,
        pct: pctChange,
        bid_size: extended?.bidSize,
        ask_size: extended?.askSize,
        volume: extended?.volume,
        delta: greeksDelta,
      };
    }),
  );
}

/** The ledger of a session: all that was due, the hole as `down`, and here and there what else can happen. */
async function account(pool: pg.Pool, session: TradingSession, index: number, count: number): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into due_sets (digest, instruments) values ('past', $1)
     on conflict (digest) do update set digest = excluded.digest returning id`,
    [SYMBOLS],
  );
  const slots = minutesOf(session).map((ms) => {
    const misses: [string, string][] = [];
    const minute = (ms - session.open.getTime()) / MINUTE_MS;
    if (index === count - 2 && isInHole(session, ms)) misses.push(["*", "down"]);
    else if (index === count - 4 && minute >= 200) misses.push(["IBM", "absent_from_answer"]);
    else if (index === count - 5 && minute >= 30 && minute < 50)
      misses.push(["KO", "transport"], ["PFE", "transport"]);
    return { at: new Date(ms).toISOString(), misses };
  });
  await pool.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select $1, r.at, ${SIMULATED}, $2, $2 - r.missed, r.missed, $3
     from json_to_recordset($4) as r (at timestamptz, missed int)`,
    [
      PAST_JOB,
      SYMBOLS.length,
      rows[0]?.id,
      JSON.stringify(
        slots.map(({ at, misses }) => ({
          at,
          missed: misses.some(([name]) => name === "*") ? SYMBOLS.length : misses.length,
        })),
      ),
    ],
  );
  await pool.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select $1, r.at, ${SIMULATED}, r.instrument, r.reason
     from json_to_recordset($2) as r (at timestamptz, instrument text, reason text)`,
    [
      PAST_JOB,
      JSON.stringify(
        slots.flatMap(({ at, misses }) => misses.map(([instrument, reason]) => ({ at, instrument, reason }))),
      ),
    ],
  );
}

/** Calls and puts around a price. */
export function chainOf(
  symbol: string,
  expirations: readonly string[],
  strikes: readonly number[],
): InstrumentKey[] {
  return expirations.flatMap((expiration) =>
    strikes.flatMap((strike) =>
      (["CALL", "PUT"] as const).map((optionType) =>
        option({ underlying: symbol, expiration, optionType, strike: String(strike) }),
      ),
    ),
  );
}
