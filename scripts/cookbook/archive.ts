/**
 * The made-up archive that docs/cookbook.md asks: ten sessions of November 2026, four stocks every minute, and the chains of two of
 * them twice an hour. The course of the stocks is the simulated market's; spreads, volatilities and the faults that the page
 * looks for are this file's. Nothing in it is chance: every run makes the same rows.
 */
import type pg from "pg";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { optionValue } from "../../src/serve/simulated/blackScholes.ts";
import { chance, seedOf } from "../../src/serve/simulated/hash.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { RATE } from "../../src/serve/simulated/option.ts";

/** What time it is in the archive: after its last quote, before its contracts expire. */
export const COOKBOOK_AS_OF = "2026-11-21T00:00:00Z";

/** Days of November, and how volatile they believe the time to come is. */
const SESSIONS = [
  [9, 0.285],
  [10, 0.28],
  [11, 0.283],
  [12, 0.3],
  [13, 0.312],
  [16, 0.305],
  [17, 0.296],
  [18, 0.29],
  [19, 0.284],
  [20, 0.279],
] as const;

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;
const SESSION_MINUTES = 390;
const NEWEST = 20;

/** The spread in the quiet of the day, basis points. */
const STOCKS = [
  { id: 1, symbol: "AAPL", description: "APPLE INC", quietSpread: 1.4 },
  { id: 2, symbol: "JPM", description: "JPMORGAN CHASE & CO", quietSpread: 2.1 },
  { id: 3, symbol: "KO", description: "COCA-COLA CO", quietSpread: 0.9 },
  { id: 4, symbol: "TSLA", description: "TESLA INC", quietSpread: 3.2 },
] as const;

type Stock = (typeof STOCKS)[number];

const EXPIRATIONS = ["2026-12-04", "2026-12-18", "2027-01-15", "2027-03-19", "2027-06-18"] as const;

/** `near` and `far`: what the shortest and the longest contracts add to the day's volatility. */
const CHAINS = [
  { stock: STOCKS[0], from: 320, step: 10, strikes: 15, near: -0.02, far: 0.02 },
  { stock: STOCKS[3], from: 215, step: 10, strikes: 6, near: 0.34, far: 0.16 },
] as const;

type Contract = {
  id: number;
  chain: (typeof CHAINS)[number];
  expiration: string;
  expiresMs: number;
  optionType: "CALL" | "PUT";
  strike: number;
  name: string;
};

const CONTRACTS: readonly Contract[] = CHAINS.flatMap((chain) =>
  EXPIRATIONS.flatMap((expiration) =>
    Array.from({ length: chain.strikes }, (_, place) => chain.from + place * chain.step).flatMap((strike) =>
      (["CALL", "PUT"] as const).map((optionType) => ({
        ...{ chain, expiration, optionType, strike },
        // 16:00 in New York, in summer an hour sooner.
        expiresMs: Date.parse(`${expiration}T${expiration === "2027-06-18" ? 20 : 21}:00:00Z`),
        name: `${chain.stock.symbol}:${expiration}:${optionType}:${strike}`,
      })),
    ),
  ),
).map((contract, place) => ({ ...contract, id: 101 + place }));

/** A quote as it is inserted; prices in dollars. */
type Row = { at: number; id: number; bid: number; ask: number; last: number; delta: number | null };

/** A slot of a job, and which of its instruments were missed, and why. */
type Slot = { job: "stocks" | "chains"; at: number; due: number; misses: { name: string; reason: string }[] };

/** 09:30 in New York, which is on winter time. */
const openOf = (day: number): number => Date.UTC(2026, 10, day, 14, 30);

/** Why a stock has no quote of a minute; null: it has one. */
function stockMiss(day: number, minute: number, { symbol }: Stock): string | null {
  if (day === 12 && minute >= 210 && minute < 265) return "down";
  if (day === 17 && symbol === "KO" && minute >= 60 && minute < 180) return "transport";
  if (day === 18 && minute < 20) return "refused";
  if (day === NEWEST && symbol === "KO" && minute >= 55 && minute < 63) return "transport";
  return null;
}

/** And a contract of a slot. */
function contractMiss(
  day: number,
  minute: number,
  { name, strike, chain, expiration }: Contract,
): string | null {
  if (day === 12 && minute >= 210 && minute < 265) return "down";
  if (day >= 13 && day <= 16 && chance(seedOf(name), day * 1_000 + minute) < (day === 13 ? 0.35 : 0.12))
    return "budget";
  // The call is a stale one in the afternoon: its put is not.
  const isStale =
    strike === 370 && chain.stock.symbol === "AAPL" && expiration === "2026-12-04" && name.includes("CALL");
  return day === NEWEST && minute > 180 && isStale ? "transport" : null;
}

const cents = (dollars: number): number => Math.round(dollars * 100) / 100;

/** Spreads are wide at the open and a little wider at the close, and never below a cent. */
function stockBook(
  last: number,
  { symbol, quietSpread }: Stock,
  { day, minute }: { day: number; minute: number },
) {
  const roll = chance(seedOf(symbol), day * 1_000 + minute);
  const shape = 1 + 3 * Math.exp(-minute / 18) + 0.7 * Math.exp((minute - SESSION_MINUTES) / 25);
  const basisPoints = quietSpread * shape * (0.7 + 0.5 * roll + 2 * roll ** 12);
  const spread = Math.max(1, Math.round((last * basisPoints) / 100));
  const bid = cents(last - Math.floor(spread / 2) / 100);
  return { bid, ask: cents(bid + spread / 100), last };
}

/** A skew that is steepest at the open, around a level that falls through the morning. */
function volatilityOf(
  contract: Contract,
  spot: number,
  { day, minute, years }: { day: number; minute: number; years: number },
) {
  const { chain, strike } = contract;
  const ofDay = SESSIONS.find(([date]) => date === day)?.[1] ?? 0;
  const morning = Math.exp(-minute / 80);
  const distance = Math.log(strike / spot) / Math.sqrt(Math.max(years, 0.06));
  const level =
    ofDay + chain.near * Math.exp(-years * 6) + chain.far * (1 - Math.exp(-years * 6)) + 0.025 * morning;
  return level - 0.07 * (1 + 0.6 * morning) * distance + 0.05 * distance ** 2;
}

function contractQuote(
  contract: Contract,
  spot: number,
  { at, day, minute }: { at: number; day: number; minute: number },
): Row {
  const { id, optionType, strike, expiresMs, name } = contract;
  const years = (expiresMs - at) / YEAR_MS;
  const volatility = volatilityOf(contract, spot, { day, minute, years });
  const { value, delta } = optionValue({ optionType, spot, strike, years, volatility, rate: RATE });
  const half = (0.02 + 0.006 * value) * (0.7 + 0.6 * chance(seedOf(name), day * 1_000 + minute));
  // Somebody bids too much for one put at the end.
  const off = name === "AAPL:2026-12-04:PUT:420" && day === NEWEST && minute === 375 ? 1.1 : 0;
  const bid = Math.max(0, Math.floor((value + off - half) * 100) / 100);
  const ask = Math.max(bid + 0.01, Math.ceil((value + off + half) * 100) / 100);
  return { at, id, bid, ask: cents(ask), last: cents(value), delta: Math.round(delta * 1e6) / 1e6 };
}

/** All rows, and the ledger of what was due. */
function makeRows(): { rows: Row[]; slots: Slot[] } {
  const market = createSimulatedMarket({ seed: 1 });
  const lastOf = (symbol: string, at: number): number =>
    Number(market.quote({ kind: "security", symbol }, new Date(at)).quote.last);
  const rows: Row[] = [];
  const slots: Slot[] = [];
  for (const [day] of SESSIONS)
    for (let minute = 0; minute < SESSION_MINUTES; minute++) {
      const slotAt = openOf(day) + minute * MINUTE_MS;
      const stocks: Slot = { job: "stocks", at: slotAt, due: STOCKS.length, misses: [] };
      for (const stock of STOCKS) {
        const reason = stockMiss(day, minute, stock);
        if (reason) stocks.misses.push({ name: stock.symbol, reason });
        else
          rows.push({
            ...{ at: slotAt + 400, id: stock.id, delta: null },
            ...stockBook(lastOf(stock.symbol, slotAt), stock, { day, minute }),
          });
      }
      slots.push(stocks);
      if (minute % 30 === 15) slots.push(chainsOf(day, minute, { rows, lastOf }));
    }
  return { rows, slots };
}

/** A pass over the chains, a call each second. An answer holds the contract and, at the same instant, its underlying. */
function chainsOf(
  day: number,
  minute: number,
  { rows, lastOf }: { rows: Row[]; lastOf: (symbol: string, at: number) => number },
): Slot {
  const slotAt = openOf(day) + minute * MINUTE_MS;
  const slot: Slot = { job: "chains", at: slotAt, due: CONTRACTS.length, misses: [] };
  for (const [place, contract] of CONTRACTS.entries()) {
    const reason = contractMiss(day, minute, contract);
    if (reason) {
      slot.misses.push({ name: contract.name, reason });
      continue;
    }
    const { stock } = contract.chain;
    const at = slotAt + 700 + place * 1_000;
    const book = stockBook(lastOf(stock.symbol, at), stock, { day, minute: minute + Math.floor(place / 60) });
    rows.push({ at, id: stock.id, delta: null, ...book });
    rows.push(contractQuote(contract, (book.bid + book.ask) / 2, { at, day, minute }));
  }
  return slot;
}

const DIVIDENDS = `
insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield) values
  ('2026-11-09 14:30:00.4+00', 1, 1, '2026-11-06', 0.26, 0.0028),
  ('2026-11-09 14:30:00.4+00', 2, 1, '2027-01-05', 1.50, 0.0210),
  ('2026-11-09 14:30:00.4+00', 3, 1, '2026-12-01', 0.51, 0.0260),
  ('2026-11-09 14:30:00.4+00', 4, 1, '2004-03-11', 0, null),
  ('2026-11-12 15:02:00.4+00', 3, 1, '2026-12-02', 0.51, 0.0260),
  ('2026-11-17 19:31:00.4+00', 3, 1, '2026-12-02', 0.53, 0.0270),
  ('2026-11-18 18:10:00.4+00', 2, 1, '2027-01-06', 1.55, 0.0217),
  ('2026-11-19 21:00:00.4+00', 1, 1, '2027-02-08', 0.27, 0.0029)`;

/** Fills a migrated, empty archive. */
export async function fillCookbook(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await ensurePartitions(client, "2026-11-01T00:00:00.000000Z", "2026-11-30T00:00:00.000000Z");
    await client.query(
      `insert into instruments (id, security_type, symbol, description, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at)
       select id, case when type is null then 'CS' else 'OPT' end, symbol, description, underlying, expiration::date, type, strike,
              '2026-11-09 14:30+00', '2026-11-20 21:00+00'
       from jsonb_to_recordset($1) as v (id int, symbol text, description text, underlying int, expiration text, type text, strike numeric)`,
      [
        JSON.stringify([
          ...STOCKS.map(({ id, symbol, description }) => ({ id, symbol, description })),
          ...CONTRACTS.map(({ id, chain: { stock }, expiration, optionType: type, strike, name }) => ({
            ...{
              id,
              symbol: stock.symbol,
              description: name,
              underlying: stock.id,
              expiration,
              type,
              strike,
            },
          })),
        ]),
      ],
    );
    const { rows, slots } = makeRows();
    await insertRows(client, rows);
    await client.query(DIVIDENDS);
    await insertSlots(client, slots);
    await client.query("select recompute_session_bars('2026-11-09', '2026-11-20')");
    await client.query("analyze");
  } finally {
    client.release();
  }
}

async function insertRows(client: pg.ClientBase, rows: readonly Row[]): Promise<void> {
  const columns = [
    rows.map(({ at }) => new Date(at).toISOString()),
    rows.map(({ id }) => id),
    rows.map(({ bid }) => bid.toFixed(2)),
    rows.map(({ ask }) => ask.toFixed(2)),
    rows.map(({ last }) => last.toFixed(2)),
    rows.map(({ delta }) => delta),
  ];
  const made = `unnest($1::timestamptz[], $2::int[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[])
    as v (at, id, bid, ask, last, delta)`;
  await client.query(
    `insert into extended_quotes (observed_at, instrument_id, source_id, contract_size, delta)
     select at, id, 1, 100, delta from ${made} where delta is not null`,
    columns,
  );
  await client.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
     select at, id, 1, false, bid, ask, last from ${made}`,
    columns,
  );
}

async function insertSlots(client: pg.ClientBase, slots: readonly Slot[]): Promise<void> {
  await client.query(
    "insert into due_sets (id, digest, instruments) values (1, 'stocks', $1), (2, 'chains', $2)",
    [STOCKS.map(({ symbol }) => symbol), CONTRACTS.map(({ name }) => name)],
  );
  await client.query(
    `insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
     select job, to_timestamp(at / 1000), 1, due, due - jsonb_array_length(misses), jsonb_array_length(misses),
            case job when 'stocks' then 1 else 2 end
     from jsonb_to_recordset($1) as v (job text, at bigint, due int, misses jsonb)`,
    [JSON.stringify(slots)],
  );
  await client.query(
    `insert into misses (job, slot_at, source_id, instrument, reason)
     select v.job, to_timestamp(v.at / 1000), 1, m.name, m.reason
     from jsonb_to_recordset($1) as v (job text, at bigint, misses jsonb)
     cross join jsonb_to_recordset(v.misses) as m (name text, reason text)`,
    [JSON.stringify(slots)],
  );
}
