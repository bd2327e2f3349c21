/** Quotes put straight into an archive, one line each. */
import type pg from "pg";
import { makeDueBars } from "../../src/archive/schema/makeBars.ts";
import { prepareStaging } from "../../src/archive/load/staging.ts";
import { storeUnits } from "../../src/archive/load/storeQuotes.ts";
import type { PlacedUnit } from "../../src/archive/schema/quoteColumns.ts";
import { BEGIN_STORING } from "../../src/archive/connect/transaction.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { makeQuote } from "../../src/quotes/document.ts";
import type { ExtendedField, PriceField } from "../../src/quotes/fields.ts";
import { freshDatabase } from "./database.ts";

/** One observation; times are New York's, prices and volume text. */
export type Seen = {
  at: string;
  id?: number;
  source?: number;
  delayed?: boolean;
} & Partial<Record<PriceField | ExtendedField, string | null>>;

/** A migrated database with these stocks, numbered from 1. */
export async function archive(...instruments: string[]): Promise<pg.Pool> {
  const { pool } = await freshDatabase();
  await addStocks(pool, instruments);
  return pool;
}

export async function addStocks(pool: pg.Pool, symbols: readonly string[], firstId = 1): Promise<void> {
  await pool.query(
    `insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at)
     select $2 + place - 1, 'CS', symbol, now(), now() from unnest($1::text[]) with ordinality as s (symbol, place)`,
    [symbols, firstId],
  );
}

/** Contracts on AAPL, which is number 1: each an expiration, a type and a strike. */
export async function addContracts(
  pool: pg.Pool,
  contracts: readonly (readonly [expiration: string, type: "CALL" | "PUT", strike: string])[],
  firstId = 2,
): Promise<void> {
  await pool.query(
    `insert into instruments (id, security_type, symbol, underlying_id, expiration, option_type, strike, first_seen_at, last_seen_at)
     select $2 + place - 1, 'OPT', 'AAPL', 1, (c->>0)::date, c->>1, (c->>2)::numeric, now(), now()
     from jsonb_array_elements($1) with ordinality as e (c, place)`,
    [JSON.stringify(contracts), firstId],
  );
}

/** Loads observations as one batch, and makes their bars; those that are there already are passed over. */
export async function see(pool: pg.Pool, ...seen: Seen[]): Promise<void> {
  await load(pool, seen);
  await makeDueBars(pool);
}

/** Loads observations as one batch, as a loader does, and leaves their bars to the next that makes them. */
export async function load(pool: pg.Pool, seen: readonly Seen[]): Promise<void> {
  const client = await pool.connect();
  try {
    const instants = await instantsOf(client, seen);
    await prepareStaging(client);
    await client.query(BEGIN_STORING);
    await storeUnits(
      client,
      seen.map((one, place) => placed(one, instants[place] ?? "")),
    );
    await client.query("commit");
  } finally {
    client.release();
  }
}

function placed(one: Seen, observedAt: string): PlacedUnit {
  const { id = 1, source = 1, delayed = false } = one;
  const quote = makeQuote(
    ({ name }) => one[name] ?? null,
    () => null,
  );
  const instrument = { securityType: "CS", symbol: "", expiration: null, optionType: null, strike: null };
  const described = { exchange: null, description: null, contractSize: null, underlying: null };
  const unit = { observedAt, delayed, quote, greeksDelta: null, fragment: null };
  return {
    unit: { ...unit, instrument: { ...instrument, ...described, assumedType: false } },
    instrumentId: id,
    sourceId: source,
  };
}

/** `observed_at` of each; there is room for them afterwards. */
async function instantsOf(client: pg.ClientBase, seen: readonly Seen[]): Promise<string[]> {
  const { rows } = await client.query<{ at: string }>(
    `select to_char((at::timestamp at time zone 'America/New_York') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
     from unnest($1::text[]) with ordinality as t (at, place) order by place`,
    [seen.map(({ at }) => at)],
  );
  const instants = rows.map(({ at }) => at);
  const ordered = instants.toSorted();
  await ensurePartitions(client, ordered[0] ?? "", ordered.at(-1) ?? "");
  return instants;
}
