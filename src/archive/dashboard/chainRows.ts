/** Option chains: which there are, and one of them as it was at an instant. */
import type pg from "pg";
import { isoOf } from "../queries.ts";
import type { ChainKey, ChainView, Contract, SourceKind } from "./dashboardTypes.ts";
import { isOnCitus } from "../tiers/citus.ts";
import { isoOrNull, nameOf } from "./quotes.ts";

/** Which chain, and when. */
type ChainQuery = {
  symbol: string;
  expiration: string;
  sourceId: number;
  delayed: boolean;
  /** ISO 8601; null: the newest. */
  at: string | null;
};

/** Exchange dates of the time slider. */
const MOST_SPANS = 60;

/** The series of options, and when each was seen last. */
const SERIES = `from instruments i
     cross join sources s
     cross join (values (false), (true)) as d (delayed)
     cross join lateral (
       select b.last_at from session_bars b
       where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed
       order by b.date desc limit 1
     ) b`;

const ALL_SERIES = `from (
       select b.instrument_id, b.source_id, b.delayed, max(b.last_at) as last_at from session_bars b group by 1, 2, 3
     ) b
     join instruments i on i.id = b.instrument_id
     join sources s on s.id = b.source_id
     cross join lateral (select b.delayed) d`;

/** Every expiration that has quotes, by underlying. */
export async function readChainKeys(pool: pg.Pool): Promise<ChainKey[]> {
  const { rows } = await pool.query<{
    symbol: string;
    expiration: string;
    source: SourceKind;
    source_id: number;
    source_name: string;
    delayed: boolean;
    contracts: string;
    last_at: string;
  }>(
    `select i.symbol, i.expiration, s.kind as source, s.id as source_id, s.name as source_name, d.delayed,
            count(*) as contracts, max(b.last_at) as last_at
     ${(await isOnCitus(pool)) ? ALL_SERIES : SERIES}
     where i.option_type is not null
     group by i.symbol, i.expiration, s.id, d.delayed
     order by i.symbol, i.expiration, s.id, d.delayed`,
  );
  return rows.map(({ source_id, source_name, contracts, last_at, ...row }) => ({
    ...row,
    ...{ sourceId: source_id, sourceName: source_name },
    ...{ contracts: Number(contracts), lastAt: isoOf(last_at) },
  }));
}

/** Calls and puts of one expiration, each as it was last observed at or before the instant. */
export async function readChain(pool: pg.Pool, query: ChainQuery): Promise<ChainView> {
  const { symbol, expiration, sourceId, delayed, at } = query;
  const until = at ?? "infinity";
  const contracts = await pool.query<ContractRow>(CONTRACTS, [symbol, expiration, sourceId, delayed, until]);
  const underlying = await pool.query<{ last: string | null; observed_at: string }>(UNDERLYING, [
    ...[symbol, sourceId, delayed, until],
  ]);
  const spans = await pool.query<{ date: string; from_at: string; to_at: string }>(SPANS, [
    ...[symbol, expiration, sourceId, delayed, MOST_SPANS],
  ]);
  return {
    underlyingLast: underlying.rows[0]?.last ?? null,
    underlyingObservedAt: isoOrNull(underlying.rows[0]?.observed_at ?? null),
    contracts: contracts.rows.map(toContract),
    spans: spans.rows
      .map(({ date, from_at, to_at }) => ({ date, from: isoOf(from_at), to: isoOf(to_at) }))
      .reverse(),
  };
}

type ContractRow = Omit<Contract, "instrument" | "optionType" | "observedAt"> & {
  symbol: string;
  expiration: string;
  option_type: "CALL" | "PUT";
  observed_at: string;
};

function toContract(row: ContractRow): Contract {
  const { option_type, observed_at, strike, bid, ask, mid, last, delta, volume } = row;
  return {
    ...{ instrument: nameOf(row), strike, optionType: option_type, observedAt: isoOf(observed_at) },
    ...{ bid, ask, mid, last, delta, volume },
  };
}

/** What has expired is shown as it was at its last moment. */
const CONTRACTS = `
  select c.underlying as symbol, c.expiration, c.option_type, trim_scale(c.strike) as strike, c.observed_at, c.bid, c.ask,
         trim_scale(c.mid) as mid, c.last, c.delta, c.volume
  from chain_at($1, least($5::timestamptz, expires_at($2) - interval '1 microsecond')) c
  where c.expiration = $2 and c.source_id = $3 and c.delayed = $4
  order by c.strike, c.option_type`;

/** session_bars says on which day its newest quote was, so that servers pass over the others. */
const UNDERLYING = `
  select q.last, q.observed_at
  from session_bars b
  join instruments i on i.id = b.instrument_id
  cross join lateral (
    select q.* from quotes q
    where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
      and q.observed_at between b.first_at and least(b.last_at, $4::timestamptz) and q.last > 0
    order by q.observed_at desc limit 1
  ) q
  where i.symbol = $1 and i.option_type is null and b.source_id = $2 and b.delayed = $3 and b.first_at <= $4::timestamptz
    and not exists (
      select from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
        and l.first_at <= $4::timestamptz
    )
  order by q.observed_at desc limit 1`;

const SPANS = `
  select b.date, min(b.first_at) as from_at, max(b.last_at) as to_at
  from session_bars b join instruments i on i.id = b.instrument_id
  where i.symbol = $1 and i.expiration = $2 and i.option_type is not null and b.source_id = $3 and b.delayed = $4
  group by b.date order by b.date desc limit $5`;
