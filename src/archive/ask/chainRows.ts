/** Option chains: which there are, and one of them as it was at an instant. */
import type pg from "pg";
import { isoOf } from "./queries.ts";
import type { ChainKey, ChainView, Contract, OptionRates, SourceKind, TermPoint } from "./dashboardTypes.ts";
import { readRootedName } from "../../market/instrument.ts";
import { engineOf } from "../tiers/citus/door.ts";
import { isoOrNull, nameOf, withIsoTimes } from "./quotes.ts";
import { stillSince } from "./standsStill.ts";

type ChainQuery = {
  /** Of the underlying; with a root, as the names of its contracts have it: `SPX/SPXW`. */
  symbol: string;
  expiration: string;
  sourceId: number;
  delayed: boolean;
  /** ISO 8601; null: the newest. */
  at: string | null;
};

/** Exchange dates of the time slider. */
const MOST_SPANS = 60;

export async function readChainKeys(pool: pg.Pool): Promise<ChainKey[]> {
  const { newestBars } = await engineOf(pool);
  const { rows } = await pool.query<ChainKey>(
    `select i.symbol || coalesce('/' || i.root, '') as symbol, i.expiration, s.kind as source, s.id as "sourceId",
            s.name as "sourceName", b.delayed, count(*)::int as contracts, max(b.last_at) as "lastAt"
     from ${newestBars} b
     join instruments i on i.id = b.instrument_id
     join sources s on s.id = b.source_id
     where i.option_type is not null
     group by i.symbol, i.root, i.expiration, s.id, b.delayed
     order by i.symbol, i.root nulls first, i.expiration, s.id, b.delayed`,
  );
  return rows.map((row) => ({ ...row, lastAt: isoOf(row.lastAt) }));
}

/** Calls and puts of one expiration, each as it was last observed at or before the instant, with its volatility. */
export async function readChain(pool: pg.Pool, query: ChainQuery): Promise<ChainView> {
  const { symbol, expiration, sourceId, delayed, at } = query;
  const { underlying: ofSymbol, root = null } = readRootedName(symbol);
  const until = at ?? "infinity";
  const contracts = await readContracts(pool, query);
  const ofUnderlying = [ofSymbol, sourceId, delayed, until];
  const underlying = await pool.query<{ last: string | null; at: string }>(UNDERLYING, ofUnderlying);
  const ofSpans = [ofSymbol, expiration, sourceId, delayed, MOST_SPANS, root];
  const spans = await pool.query<ChainView["spans"][number]>(SPANS, ofSpans);
  return {
    ...(await readOptionRates(pool)),
    underlyingLast: underlying.rows[0]?.last ?? null,
    underlyingObservedAt: isoOrNull(underlying.rows[0]?.at ?? null),
    contracts: contracts.map(toContract),
    spans: spans.rows.map(({ date, from, to }) => ({ date, from: isoOf(from), to: isoOf(to) })).reverse(),
  };
}

export async function readOptionRates(pool: pg.Pool): Promise<OptionRates> {
  const { rows } = await pool.query<OptionRates>(
    'select option_rate() as rate, option_dividend_yield() as "dividendYield"',
  );
  return rows[0] ?? { rate: 0, dividendYield: 0 };
}

/** At the money, by expiration, at the instant at which the chain is shown. */
export async function readTerm(pool: pg.Pool, query: ChainQuery): Promise<TermPoint[]> {
  const { expiration, sourceId, delayed, at } = query;
  const { underlying, root = null } = readRootedName(query.symbol);
  const asked = [underlying, expiration, sourceId, delayed, at ?? "now", root];
  return (await pool.query<TermPoint>(TERM, asked)).rows;
}

/** A contract as the database gives it; also what a file has of it. */
export type ContractRow = Omit<Contract, "instrument"> & {
  symbol: string;
  root: string | null;
  expiration: string;
  source: SourceKind;
  sourceName: string;
  years: number | null;
  rho: number | null;
  serviceRho: string | null;
};

/** `expiration` null: all that had not expired at the instant. */
export type ContractsQuery = Omit<ChainQuery, "expiration"> & { expiration: string | null };

export async function readContracts(pool: pg.Pool, query: ContractsQuery): Promise<ContractRow[]> {
  const { symbol, expiration, sourceId, delayed, at } = query;
  const { underlying, root = null } = readRootedName(symbol);
  const until = at ?? (expiration === null ? "now" : "infinity");
  return (await pool.query<ContractRow>(CONTRACTS, [underlying, expiration, sourceId, delayed, until, root]))
    .rows;
}

function toContract({ source: _source, sourceName: _name, years: _years, ...row }: ContractRow): Contract {
  const { symbol, root, expiration, rho: _rho, serviceRho: _serviceRho, ...contract } = row;
  return {
    ...withIsoTimes(contract),
    instrument: nameOf({ symbol, root, expiration, ...contract }),
    observedAt: isoOf(contract.observedAt),
    greeksAt: isoOrNull(contract.greeksAt),
  };
}

/** What has expired is shown as it was at its last moment. */
const INSTANT = "least($5::timestamptz, expires_at($1::text, $2::date, $6::text) - interval '1 microsecond')";

/** Volatilities have one source, `surface_at`; what it leaves out of the quote is `chain_at`'s. */
const CONTRACTS = `
  with c as materialized (
    select * from chain_at($1, ${INSTANT}) c
    where c.root is not distinct from $6 and ($2::date is null or c.expiration = $2) and c.source_id = $3 and c.delayed = $4
  ), s as materialized (
    select * from surface_at($1, ${INSTANT}) s
    where ($2::date is null or s.expiration = $2) and s.delayed = $4
      and (s.source, s.source_name) = (select kind, name from sources where id = $3)
  )
  select c.underlying as symbol, c.root, c.expiration, c.option_type as "optionType", trim_scale(c.strike) as strike, c.source,
         c.source_name as "sourceName", c.observed_at as "observedAt", c.bid, trim_scale(c.mid) as mid, c.ask, c.last, c.volume,
         trim_scale(c.spot) as spot, c.moneyness::double precision, s.years, s.iv_bid as "ivBid", s.iv_mid as "ivMid", s.iv_ask as "ivAsk",
         s.delta, s.gamma, s.vega, s.theta, s.rho, c.delta as "serviceDelta", c.bid_iv as "serviceIvBid",
         c.implied_volatility as "serviceIvMid", c.ask_iv as "serviceIvAsk", c.gamma as "serviceGamma", c.theta as "serviceTheta",
         c.vega as "serviceVega", c.rho as "serviceRho", s.iv_mid_difference as "ivDifference", s.delta_difference as "deltaDifference",
         s.gamma_difference as "gammaDifference", s.theta_difference as "thetaDifference", s.vega_difference as "vegaDifference",
         c.greeks_at as "greeksAt", c.quoted_at as "quotedAt", c.traded_at as "tradedAt", c.open_interest as "openInterest",
         ${stillSince("c")} as "stillSince"
  from c join s on s.instrument_id = c.instrument_id
  order by c.expiration, c.strike, c.option_type`;

/**
 * Far from the money a volatility need not be found. The straddle tells a move where both sides have a bid, and no more than half
 * of it is what exercise would be worth: otherwise no strike is at the money.
 */
const TERM = `
  with s as materialized (
    select s.expiration, s.option_type, s.strike, s.spot, s.years, s.bid, s.mid, s.iv_bid, s.iv_mid, s.iv_ask
    from surface_at($1, ${INSTANT}) s
    where s.root is not distinct from $6 and s.delayed = $4 and s.moneyness between 0.9 and 1.1
      and (s.source, s.source_name) = (select kind, name from sources where id = $3)
  )
  select distinct on (p.expiration) p.expiration, trim_scale(p.strike) as strike, p.years, p.iv_bid as "ivBid", p.iv_mid as "ivMid",
         p.iv_ask as "ivAsk", case when p.straddle >= 2 * p.away then trim_scale(p.straddle) end as straddle,
         case when p.straddle >= 2 * p.away then (p.straddle / p.spot)::double precision end as move
  from (
    select expiration, strike, avg(years) as years, avg(iv_bid) as iv_bid, avg(iv_mid) as iv_mid, avg(iv_ask) as iv_ask,
           min(abs(strike - spot)) as away, avg(spot) as spot,
           max(mid) filter (where option_type = 'CALL' and bid > 0) + max(mid) filter (where option_type = 'PUT' and bid > 0) as straddle
    from s group by expiration, strike having count(iv_mid) > 0
  ) p
  order by p.expiration, p.away, p.strike`;

/** session_bars says on which day its newest quote was, so that servers pass over the others. */
const UNDERLYING = `
  with m as materialized (select spot_id, is_apart from sources_beside where id = $2)
  select q.last, q.observed_at as at
  from session_bars b
  join instruments i on i.id = b.instrument_id
  cross join lateral (
    select q.* from quotes q
    where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
      and q.observed_at between b.first_at and least(b.last_at, $4::timestamptz) and q.last > 0
    order by q.observed_at desc limit 1
  ) q
  where i.symbol = $1 and i.option_type is null and b.source_id = (select spot_id from m)
    and (b.delayed = $3 or (select is_apart from m)) and b.first_at <= $4::timestamptz
    and not exists (
      select from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
        and l.first_at <= $4::timestamptz
    )
  order by q.observed_at desc limit 1`;

const SPANS = `
  select b.date, min(b.first_at) as from, max(b.last_at) as to
  from session_bars b join instruments i on i.id = b.instrument_id
  where i.symbol = $1 and i.root is not distinct from $6 and i.expiration = $2 and i.option_type is not null and b.source_id = $3 and b.delayed = $4
  group by b.date order by b.date desc limit $5`;
