/** The newest quote of each series, all of them or what has changed. */
import type pg from "pg";
import { inTransaction, type Queryable } from "../connect/transaction.ts";
import { isoOf } from "./queries.ts";
import {
  instrumentName,
  isKeptSymbol,
  option,
  readContractName,
  rootedName,
} from "../../market/instrument.ts";
import { type KnownOfChains, NOTHING_KNOWN } from "../../market/optionChain.ts";
import { jsonText } from "../../ground/outsideText.ts";
import type { instruments } from "../schema/schema.ts";
import type { Glance, QuoteLine, QuoteRow, SaidOfQuote, SourceKind } from "./dashboardTypes.ts";
import { stillSince } from "./standsStill.ts";

type Row = NamedInstrument & Omit<QuoteRow, "instrument">;

const COLUMNS = `q.instrument_id as "instrumentId", q.symbol, q.description, q.expiration, q.option_type as "optionType", q.strike,
  q.source, s.id as "sourceId", q.source_name as "sourceName", q.delayed, q.observed_at as "observedAt", q.bid, q.ask,
  case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread,
  case when q.last > 0 then q.last end as last, q.change, q.pct_change as "pctChange", q.bid_size as "bidSize",
  q.ask_size as "askSize", q.volume, q.delta, q.root, q.quoted_at as "quotedAt", q.traded_at as "tradedAt",
  q.open_interest as "openInterest", q.implied_volatility as "impliedVolatility", q.gamma, q.theta, q.vega,
  ${stillSince("q")} as "stillSince"`;

const FROM = "from latest_quotes q join sources s on s.kind = q.source and s.name = q.source_name";

const ORDER =
  "order by q.expiration nulls first, q.symbol, q.strike, q.option_type, q.root nulls first, s.id, q.delayed";

type QuotesQuery = {
  /** Of the instruments, in any case; default: all of them. */
  names?: readonly string[] | undefined;
  /** Only those observed from this instant on, ISO 8601; null: the newest of each series, however old. */
  since?: string | null;
};

/** Rows that are taken from the database in one turn of the event loop, a few milliseconds. */
const TOGETHER = 500;

export async function readQuotes(
  pool: pg.Pool,
  { names, since = null }: QuotesQuery = {},
): Promise<QuoteRow[]> {
  const named = names && (await readIds(pool, names));
  const changed = since === null ? undefined : await readChanged(pool, since);
  const ids = named && changed ? named.filter((each) => changed.includes(each)) : (named ?? changed);
  if (ids?.length === 0) return [];
  return inTransaction(pool, async (client) => {
    await client.query(
      `declare newest no scroll cursor for
       select ${COLUMNS} ${FROM} where ($1::integer[] is null or q.instrument_id = any ($1))
         and ($2::timestamptz is null or q.observed_at >= $2) ${ORDER}`,
      [ids ?? null, since],
    );
    const found: QuoteRow[] = [];
    for (;;) {
      const { rows } = await client.query<Row>(`fetch ${TOGETHER} from newest`);
      found.push(...rows.map(toQuote));
      if (rows.length < TOGETHER) return found;
    }
  });
}

/** Instruments that are shown at a glance. An underlying may have no quote of its own: twice as many are looked at. */
const MOST_AT_A_GLANCE = 12;

/** The newest quotes of the instruments that were seen last, securities before options. */
export async function readGlance(pool: pg.Pool): Promise<Glance> {
  const { rows: known } = await pool.query<{ id: number; total: number }>(
    `select id, count(*) over ()::int as total from instruments
     order by option_type is not null, date_trunc('hour', last_seen_at) desc, symbol, expiration, strike
     limit ${2 * MOST_AT_A_GLANCE}`,
  );
  const ids = known.map(({ id }) => id);
  const { rows } = await pool.query<Row>(
    `select distinct on (q.instrument_id) ${COLUMNS} ${FROM} where q.instrument_id = any ($1) order by q.instrument_id, q.observed_at desc`,
    [ids],
  );
  const placed = rows.map(toQuote).sort((a, b) => ids.indexOf(a.instrumentId) - ids.indexOf(b.instrumentId));
  return { instruments: known[0]?.total ?? 0, quotes: placed.slice(0, MOST_AT_A_GLANCE).map(atAGlance) };
}

const atAGlance = (row: QuoteRow): Glance["quotes"][number] => {
  const { instrument, source, sourceName, sourceId, delayed, observedAt, last, bid, ask } = row;
  return { instrument, source, sourceName, sourceId, delayed, observedAt, last, bid, ask };
};

/** Ids of instruments with quotes from an instant on. `session_bars` names the few that have, so the others are not looked up. */
async function readChanged(pool: pg.Pool, since: string): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `select distinct instrument_id as id from session_bars
     where date >= ($1::timestamptz at time zone 'America/New_York')::date and last_at >= $1`,
    [since],
  );
  return rows.map(({ id }) => id);
}

async function readIds(pool: pg.Pool, names: readonly string[]): Promise<number[]> {
  const parts = names.map((name) => {
    const contract = readContractName(name.toUpperCase(), isKeptSymbol);
    return typeof contract === "string"
      ? { symbol: name.toUpperCase() }
      : { ...contract, symbol: contract.underlying };
  });
  const { rows } = await pool.query<{ id: number }>(
    `select distinct i.id from instruments i
     join json_to_recordset($1) as n (symbol text, root text, expiration date, "optionType" text, strike numeric)
       on upper(i.symbol) = n.symbol and i.expiration is not distinct from n.expiration
       and i.option_type is not distinct from n."optionType" and i.strike is not distinct from n.strike
       and i.root is not distinct from n.root`,
    [jsonText(parts)],
  );
  return rows.map(({ id }) => id);
}

function toQuote({ instrumentId, root, ...row }: Row): QuoteRow {
  return {
    instrumentId,
    instrument: nameOf({ ...row, root }),
    ...withIsoTimes(row),
    symbol: rootedName({ underlying: row.symbol, root: root ?? undefined }),
    observedAt: isoOf(row.observedAt),
  };
}

export async function readQuotesOf(pool: pg.Pool, observedAt: readonly string[]): Promise<QuoteLine[]> {
  const { rows } = await pool.query<NamedInstrument & Omit<QuoteLine, "instrument">>(
    `select i.symbol, i.root, i.expiration, i.option_type as "optionType", i.strike, i.description, s.kind as source, q.delayed,
       q.observed_at as "observedAt", q.bid, q.ask, q.last, q.change, q.pct_change as "pctChange", e.bid_size as "bidSize",
       e.ask_size as "askSize", e.volume, e.delta
     from quotes q
     join instruments i on i.id = q.instrument_id
     join sources s on s.id = q.source_id
     left join extended_quotes e
       on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
     where q.observed_at = any ($1::timestamptz[])
     order by i.symbol, i.expiration nulls first, i.strike, i.option_type, i.root nulls first`,
    [observedAt],
  );
  return rows.map(({ symbol, root, expiration, optionType, strike, ...row }) => ({
    ...row,
    instrument: nameOf({ symbol, root, expiration, optionType, strike }),
    observedAt: isoOf(row.observedAt),
  }));
}

/**
 * The last price of each symbol in its newest quote, decimal text. Of several sources, and of real-time and delayed quotes,
 * the newest that has one counts; 0 is no price.
 */
async function readLastPrices(
  pool: Queryable,
  symbols: readonly string[],
): Promise<[symbol: string, last: string][]> {
  if (symbols.length === 0) return [];
  const { rows } = await pool.query<{ symbol: string; last: string }>(
    `select distinct on (symbol) symbol, last::text as last from latest_quotes
     where symbol = any ($1) and option_type is null and last > 0 order by symbol, observed_at desc`,
    [symbols],
  );
  return rows.map(({ symbol, last }) => [symbol, last]);
}

/** @param since expirations before this date are left out */
export async function readKnownOfChains(
  pool: Queryable,
  underlyings: readonly string[],
  since: string,
): Promise<KnownOfChains> {
  if (underlyings.length === 0) return NOTHING_KNOWN;
  const prices = await readLastPrices(pool, underlyings);
  const { rows } = await pool.query<{ symbol: string; dates: string[] }>(
    `select symbol, array_agg(distinct expiration::text order by expiration::text) as dates from instruments
     where symbol = any ($1) and option_type is not null and expiration >= $2 group by symbol`,
    [underlyings, since],
  );
  return { prices, expirations: rows.map(({ symbol, dates }) => [symbol, dates]) };
}

export async function readSourcesStored(pool: pg.Pool): Promise<{ kind: SourceKind; name: string }[]> {
  const { rows } = await pool.query<{ kind: SourceKind; name: string }>(
    `select s.kind, s.name from sources s
     join (select distinct source_id from session_bars) b on b.source_id = s.id`,
  );
  return rows;
}

type NamedInstrument = Pick<
  typeof instruments.$inferSelect,
  "symbol" | "root" | "expiration" | "optionType" | "strike"
>;

export function nameOf({ symbol, root, expiration, optionType, strike }: NamedInstrument): string {
  if (expiration === null || optionType === null || strike === null) return symbol;
  return instrumentName(
    option({ underlying: symbol, root: root ?? undefined, expiration, optionType, strike }),
  );
}

export function withIsoTimes<R extends Pick<SaidOfQuote, "quotedAt" | "tradedAt" | "stillSince">>(row: R): R {
  const { quotedAt, tradedAt, stillSince: since } = row;
  return {
    ...row,
    quotedAt: isoOrNull(quotedAt),
    tradedAt: isoOrNull(tradedAt),
    stillSince: isoOrNull(since),
  };
}

export function isoOrNull(timestamptz: string | null): string | null {
  return timestamptz === null ? null : isoOf(timestamptz);
}
