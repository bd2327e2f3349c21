/** The newest quote of each series, all of them or what has changed. */
import type pg from "pg";
import { isoOf } from "../queries.ts";
import { instrumentName } from "../../market/instrument.ts";
import type { QuoteRow, SourceKind } from "./dashboardTypes.ts";

type Row = Named & {
  instrument_id: number;
  description: string | null;
  source: SourceKind;
  source_id: number;
  source_name: string;
  delayed: boolean;
  observed_at: string;
} & Record<
    | "bid"
    | "ask"
    | "spread"
    | "last"
    | "change"
    | "pct_change"
    | "bid_size"
    | "ask_size"
    | "volume"
    | "delta",
    string | null
  >;

const COLUMNS = `q.instrument_id, q.symbol, q.description, q.expiration, q.option_type, q.strike, q.source,
  s.id as source_id, q.source_name, q.delayed, q.observed_at, q.bid, q.ask,
  case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread,
  case when q.last > 0 then q.last end as last, q.change, q.pct_change, q.bid_size, q.ask_size, q.volume, q.delta`;

const FROM = "from latest_quotes q join sources s on s.kind = q.source and s.name = q.source_name";

const ORDER = "order by q.expiration nulls first, q.symbol, q.strike, q.option_type, s.id, q.delayed";

/** All of them, securities before options. */
export async function readQuotes(pool: pg.Pool): Promise<QuoteRow[]> {
  const { rows } = await pool.query<Row>(`select ${COLUMNS} ${FROM} ${ORDER}`);
  return rows.map(toQuote);
}

/**
 * Those that are newer than an instant. `session_bars` names the few instruments that are, so the others are not
 * looked up.
 *
 * @param since ISO 8601
 */
export async function readQuotesSince(pool: pg.Pool, since: string): Promise<QuoteRow[]> {
  const changed = await pool.query<{ instrument_id: number }>(
    `select distinct instrument_id from session_bars
     where date >= ($1::timestamptz at time zone 'America/New_York')::date and last_at > $1`,
    [since],
  );
  if (changed.rows.length === 0) return [];
  const ids = changed.rows.map(({ instrument_id }) => instrument_id);
  const { rows } = await pool.query<Row>(
    `select ${COLUMNS} ${FROM} where q.instrument_id = any ($1::integer[]) and q.observed_at > $2 ${ORDER}`,
    [ids, since],
  );
  return rows.map(toQuote);
}

function toQuote(row: Row): QuoteRow {
  const { instrument_id, option_type, source_id, source_name, observed_at } = row;
  const { pct_change, bid_size, ask_size, ...same } = row;
  const { symbol, description, expiration, strike, source, delayed } = same;
  const { bid, ask, spread, last, change, volume, delta } = same;
  return {
    instrumentId: instrument_id,
    instrument: nameOf(row),
    ...{ symbol, description, expiration, optionType: option_type, strike },
    ...{ source, sourceId: source_id, sourceName: source_name, delayed },
    observedAt: isoOf(observed_at),
    ...{ bid, ask, spread, last, change, pctChange: pct_change },
    ...{ bidSize: bid_size, askSize: ask_size, volume, delta },
  };
}

/** Whether the archive has any quote of a simulated market. */
export async function readHasSimulatedRows(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    `select exists (
       select 1 from session_bars b join sources s on s.id = b.source_id where s.kind = 'simulated'
     ) as found`,
  );
  return rows[0]?.found === true;
}

/** What names an instrument in a row. */
type Named = {
  symbol: string;
  expiration: string | null;
  option_type: "CALL" | "PUT" | null;
  strike: string | null;
};

/** `AAPL` or `AAPL:2026-12-18:CALL:150`. */
export function nameOf({ symbol, expiration, option_type: optionType, strike }: Named): string {
  return expiration !== null && optionType !== null && strike !== null
    ? instrumentName({ kind: "option", underlying: symbol, expiration, optionType, strike })
    : symbol;
}

/** A `timestamptz` as ISO 8601, null where there is none. */
export function isoOrNull(timestamptz: string | null): string | null {
  return timestamptz === null ? null : isoOf(timestamptz);
}
