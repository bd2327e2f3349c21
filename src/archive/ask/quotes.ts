/** The newest quote of each series, all of them or what has changed. */
import type pg from "pg";
import { isoOf } from "./queries.ts";
import {
  instrumentName,
  isKeptSymbol,
  option,
  readContractName,
  rootedName,
} from "../../market/instrument.ts";
import { jsonText } from "../../outsideText.ts";
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

const COLUMNS = `q.instrument_id, q.symbol, q.description, q.expiration, q.option_type, q.strike, q.root, q.source,
  s.id as source_id, q.source_name, q.delayed, q.observed_at, q.bid, q.ask,
  case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread,
  case when q.last > 0 then q.last end as last, q.change, q.pct_change, q.bid_size, q.ask_size, q.volume, q.delta`;

const FROM = "from latest_quotes q join sources s on s.kind = q.source and s.name = q.source_name";

const ORDER =
  "order by q.expiration nulls first, q.symbol, q.strike, q.option_type, q.root nulls first, s.id, q.delayed";

/**
 * Them, securities before options.
 *
 * @param names of the instruments, in any case; default: all of them
 */
export async function readQuotes(pool: pg.Pool, names?: readonly string[]): Promise<QuoteRow[]> {
  if (names === undefined)
    return (await pool.query<Row>(`select ${COLUMNS} ${FROM} ${ORDER}`)).rows.map(toQuote);
  const ids = await readIds(pool, names);
  if (ids.length === 0) return [];
  const { rows } = await pool.query<Row>(
    `select ${COLUMNS} ${FROM} where q.instrument_id = any ($1::integer[]) ${ORDER}`,
    [ids],
  );
  return rows.map(toQuote);
}

/** Ids of instruments by their names; there may be several of one name, and none. */
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
  const { symbol, root, description, expiration, strike, source, delayed } = same;
  const { bid, ask, spread, last, change, volume, delta } = same;
  return {
    instrumentId: instrument_id,
    instrument: nameOf(row),
    symbol: rootedName({ underlying: symbol, root: root ?? undefined }),
    ...{ description, expiration, optionType: option_type, strike },
    ...{ source, sourceId: source_id, sourceName: source_name, delayed },
    observedAt: isoOf(observed_at),
    ...{ bid, ask, spread, last, change, pctChange: pct_change },
    ...{ bidSize: bid_size, askSize: ask_size, volume, delta },
  };
}

/** The sources that the archive has quotes of. */
export async function readSourcesStored(pool: pg.Pool): Promise<{ kind: SourceKind; name: string }[]> {
  const { rows } = await pool.query<{ kind: SourceKind; name: string }>(
    `select s.kind, s.name from sources s
     join (select distinct source_id from session_bars) b on b.source_id = s.id`,
  );
  return rows;
}

/** What names an instrument in a row. */
type Named = {
  symbol: string;
  root: string | null;
  expiration: string | null;
  option_type: "CALL" | "PUT" | null;
  strike: string | null;
};

/** `AAPL` or `AAPL:2026-12-18:CALL:150`. */
export function nameOf({ symbol, root, expiration, option_type: optionType, strike }: Named): string {
  if (expiration === null || optionType === null || strike === null) return symbol;
  return instrumentName(
    option({ underlying: symbol, root: root ?? undefined, expiration, optionType, strike }),
  );
}

/** A `timestamptz` as ISO 8601, null where there is none. */
export function isoOrNull(timestamptz: string | null): string | null {
  return timestamptz === null ? null : isoOf(timestamptz);
}
