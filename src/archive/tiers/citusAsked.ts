/**
 * Functions that ask for rows by their arguments (docs/sql.md), with the columns and rows of every tier. Citus plans a statement
 * within a function only where it knows the values of its arguments, as in PL/pgSQL; and it finds neither tables in a function that
 * PostgreSQL puts into the statement around it. What stands on these alone (`surface_at`, `returns`) is as everywhere.
 */
import { hoursOf, sessionsOf } from "./citusBars.ts";
import { keptPieces, made } from "./citusViews.ts";

/** Of the functions: what they say of an argument and a column of one name, the column is meant. */
const asking = (signature: string, body: string): string => `
create or replace function ${signature} language plpgsql stable as $$
#variable_conflict use_column
begin
  return ${body};
end
$$`;

/** The close at which contracts of an expiration end; as `expires_at`, which workers do not have. */
const closeOf = (expiration: string): string => `(
    select s.close_at from sessions s
    where s.date between ${expiration} - 7 and ${expiration} and exists (
      select from sessions y
      where y.date between date_trunc('year', ${expiration}::timestamp)::date
        and date_trunc('year', ${expiration}::timestamp)::date + 10
    )
    order by s.date desc limit 1
  )`;

const EXPIRES_AT = asking("expires_at(expiration date) returns timestamptz", closeOf("$1"));

const INSTRUMENTS_NAMED = asking(
  "instruments_named(name text) returns setof instruments",
  `query
  select i.*
  from instruments i
  where i.symbol = any (array[split_part($1, ':', 1), regexp_replace(split_part($1, ':', 1), '/[^/]*$', '')])
    and instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root) = $1`,
);

/** The newest quotes at or before an instant, of the instruments of which this holds; see `latest_quotes`. */
const quotesAt = (at: string, which: string): string => `
  select i.id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.description,
         i.underlying_id, s.kind, s.name, s.id, b.delayed, q.observed_at,
         q.bid, q.ask, q.last, q.change, q.pct_change, e.bid_size, e.ask_size, e.volume, e.delta
  from session_bars b
  join instruments i on i.id = b.instrument_id
  join sources s on s.id = b.source_id
  cross join lateral (
    select q.*
    from quotes q
    where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
      and q.observed_at between b.first_at and least(b.last_at, ${at})
    order by q.observed_at desc
    limit 1
  ) q
  left join extended_quotes e
    on e.instrument_id = b.instrument_id and e.observed_at = q.observed_at and e.source_id = b.source_id
   and e.observed_at <= ${at}
  where b.first_at <= ${at} and b.date <= (${at} at time zone 'America/New_York')::date
    and not exists (
      select from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed
        and l.date > b.date and l.first_at <= ${at} and l.date <= (${at} at time zone 'America/New_York')::date
    )
    and ${which}`;

const QUOTES_AT = asking(
  `quotes_at(at timestamptz) returns table (
  instrument_id integer, security_type text, symbol text, expiration date, option_type text, strike numeric, description text,
  underlying_id integer, source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, last numeric, change numeric, pct_change numeric, bid_size bigint, ask_size bigint, volume bigint, delta numeric
)`,
  `query ${quotesAt("$1", "true")}`,
);

const NAMES = `instrument_id, security_type, symbol, expiration, option_type, strike, description, underlying_id, source, source_name,
       source_id, delayed, observed_at, bid, ask, last, change, pct_change, bid_size, ask_size, volume, delta`;

const ASOF = asking(
  `asof(at timestamptz, symbols text[]) returns table (
  instrument text, instrument_id integer, source text, source_name text, delayed boolean, observed_at timestamptz, age interval,
  bid numeric, ask numeric, last numeric, volume bigint
)`,
  `query
  select instrument_name(q.symbol, q.expiration, q.option_type, q.strike, i.root), q.instrument_id,
         q.source, q.source_name, q.delayed, q.observed_at, $1 - q.observed_at, q.bid, q.ask, q.last, q.volume
  from (${quotesAt("$1", `i.id = any (array(select n.id from unnest($2) s cross join lateral instruments_named(s) n))`)}) q (${NAMES})
  join instruments i on i.id = q.instrument_id`,
);

const CHAIN = `returns table (
  instrument_id integer, underlying_id integer, underlying text, expiration date, option_type text, strike numeric,
  source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, mid numeric, last numeric, volume bigint, delta numeric, spot numeric, moneyness numeric
)`;

/**
 * Contracts and their underlying lie on different workers, so the quotes of a day of the underlying come to the coordinator. There
 * they are put in order with the contracts': each contract has the last price before it.
 */
const CHAIN_ROWS = asking(
  `chain_rows(text, timestamptz) ${CHAIN}`,
  `query
  with contracts as materialized (
    ${quotesAt("$2", "i.symbol = $1 and i.option_type is not null")}
  ), c (${NAMES}) as (
    select * from contracts
  ), u as materialized (
    select q.instrument_id, q.source_id, q.delayed, q.observed_at,
           case when q.bid > 0 and q.ask > 0 then (q.bid + q.ask) / 2 else q.last end as spot
    from quotes q
    where q.instrument_id in (select i.underlying_id from instruments i where i.symbol = $1 and i.option_type is not null)
      and q.observed_at <= $2 and q.observed_at > (select min(observed_at) - interval '1 day' from c)
      and (q.last > 0 or q.bid > 0 and q.ask > 0)
  ), n as (
    select o.*, count(o.spot) over (
             partition by o.underlying_id, o.source_id, o.delayed order by o.observed_at, o.spot is null
           ) as place
    from (
      select null::integer as instrument_id, u.instrument_id as underlying_id, u.source_id, u.delayed, u.observed_at, u.spot from u
      union all
      select c.instrument_id, c.underlying_id, c.source_id, c.delayed, c.observed_at, null from c
    ) o
  ), p as (
    select n.instrument_id, n.source_id, n.delayed, case
             when n.observed_at < max(case when n.spot is not null then n.observed_at end) over same + interval '1 day'
               then max(n.spot) over same
           end as spot
    from n
    window same as (partition by n.underlying_id, n.source_id, n.delayed, n.place)
  )
  select c.instrument_id, c.underlying_id, c.symbol, c.expiration, c.option_type, c.strike,
         c.source, c.source_name, c.source_id, c.delayed, c.observed_at,
         c.bid, c.ask, case when c.ask > 0 then (c.bid + c.ask) / 2 end, nullif(c.last, 0), c.volume, c.delta,
         p.spot, p.spot / nullif(c.strike, 0)
  from c
  join p on p.instrument_id = c.instrument_id and p.source_id = c.source_id and p.delayed = c.delayed
  cross join lateral (select ${closeOf("c.expiration")} as close_at offset 0) t
  where t.close_at > $2`,
);

/** PL/pgSQL has no argument and column of one name. */
const CHAIN_AT = `
create or replace function chain_at(underlying text, at timestamptz) ${CHAIN} language sql stable as $$
  select * from chain_rows($1, $2)
$$`;

/** Symbols that have contracts. */
const UNDERLYINGS = asking(
  "underlyings() returns setof text",
  "query select distinct i.symbol from instruments i where i.option_type is not null",
);

const OPTION_SURFACE = `
create or replace view option_surface as
select s.*, i.root
from (select coalesce(as_of(), now()) as at) n
cross join underlyings() u (symbol)
cross join lateral surface_at(u.symbol, n.at) s
join instruments i on i.id = s.instrument_id`;

const COMMENTS = `
comment on function chain_rows(text, timestamptz) is 'The rows of chain_at, which has an argument and a column of one name.';
comment on function underlyings() is 'Symbols that have contracts.'`;

/** Until when bars that are kept are used: those of whole five minutes are put together of them. */
const KEPT_TO =
  "case when extract(epoch from $2) % 300 = 0 then coalesce(d.bars_to, '-infinity') else '-infinity' end";

const DATES =
  "d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date";

const BARS = `
create or replace function bars(instrument text, width interval, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, date date, session text, bar_at timestamptz,
  open numeric, high numeric, low numeric, close numeric, mean_spread numeric, quote_count bigint, volume bigint
) language plpgsql stable as $$
#variable_conflict use_column
declare
  ids integer[] := array(select i.id from instruments_named($1) i);
  -- A month is no number of days.
  months numeric := extract(year from $2) * 12 + extract(month from $2);
begin
  if not is_of_dates($2) then
    return query
    select d.instrument_id, s.kind, s.name, d.delayed, d.date, b.session, b.bar_at,
           b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count, b.volume
    from session_bars d
    left join sources s on s.id = d.source_id
    cross join lateral (${made({ width: "$2", from: `greatest(${KEPT_TO}, d.first_at)`, pieces: keptPieces(`< ${KEPT_TO}`) })}) b
    where d.instrument_id = any (ids) and ${DATES} and b.bar_at >= $3 and b.bar_at < $4;
  else
    return query
    select d.instrument_id, s.kind, s.name, d.delayed, min(d.date), null::text, min(d.first_at),
           (array_agg(d.open order by d.date) filter (where d.open is not null))[1], max(d.high), min(d.low),
           (array_agg(d.close order by d.date desc) filter (where d.close is not null))[1],
           sum(d.spread_sum) / nullif(sum(d.spread_count), 0), sum(d.quote_count)::bigint, sum(d.volume)::bigint
    from session_bars_now d
    join sources s on s.id = d.source_id
    where d.instrument_id = any (ids) and ${DATES} and d.first_at >= $3 and d.first_at < $4
    group by d.instrument_id, s.kind, s.name, d.delayed, case
               when months > 0 then extract(year from d.date) * 12 + extract(month from d.date) - 1
                 - (extract(year from d.date) * 12 + extract(month from d.date) - 1) % months
               else extract(epoch from date_bin($2, d.date::timestamp, '2000-01-03'))
             end;
  end if;
end
$$`;

const SPREAD_STATS = asking(
  `spread_stats(instrument text, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, session text, quotes bigint, two_sided bigint, crossed bigint,
  narrowest numeric, median numeric, p95 numeric, widest numeric, mean numeric, mean_basis_points numeric
)`,
  `query
  select p.instrument_id, p.kind, p.name, p.delayed, p.session, count(*), count(p.spread), count(*) filter (where p.spread <= 0),
         min(p.spread), percentile_disc(0.5) within group (order by p.spread), percentile_disc(0.95) within group (order by p.spread),
         max(p.spread), trim_scale(round(avg(p.spread), 8)), round(avg(10000 * p.spread / ((p.ask + p.bid) / 2)), 4)
  from (
    select q.instrument_id, s.kind, s.name, q.delayed, q.bid, q.ask,
           session_of(q.observed_at, ${hoursOf("q")}) as session,
           case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread
    from (
      select q.*, (q.observed_at at time zone 'America/New_York')::date as date
      from quotes q
      where q.instrument_id = any (array(select i.id from instruments_named($1) i)) and q.observed_at >= $2 and q.observed_at < $3
    ) q
    join sources s on s.id = q.source_id
    ${sessionsOf("q")}
  ) p
  group by p.instrument_id, p.kind, p.name, p.delayed, p.session`,
);

/** All of them, in the order in which they can be made, after the views. */
export const CITUS_ASKED: readonly string[] = [
  ...[EXPIRES_AT, INSTRUMENTS_NAMED, QUOTES_AT, ASOF, CHAIN_ROWS, CHAIN_AT],
  ...[UNDERLYINGS, OPTION_SURFACE, BARS, SPREAD_STATS, COMMENTS],
];
