create or replace view latest_quotes as
select i.id as instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.description, s.kind as source,
       q.delayed, q.observed_at, q.bid, q.ask, q.last, q.change, q.pct_change, e.bid_size, e.ask_size, e.volume, e.delta,
       s.name as source_name, i.root, q.quoted_at, q.traded_at,
       e.open_interest, e.implied_volatility, e.bid_iv, e.ask_iv, e.gamma, e.theta, e.vega, e.rho, e.greeks_at
from instruments i
cross join sources s
cross join (values (false), (true)) as d (delayed)
cross join lateral (
  select b.last_at
  from session_bars b
  where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed
  order by b.date desc
  limit 1
) b
cross join lateral (
  (select * from quotes q
   where q.instrument_id = i.id and q.observed_at = b.last_at and q.source_id = s.id
     and q.observed_at >= now() - interval '14 days'
   limit 1)
  union all
  (select * from quotes q
   where q.instrument_id = i.id and q.observed_at = b.last_at and q.source_id = s.id
     and b.last_at < now() - interval '14 days'
   limit 1)
) q
left join lateral (
  (select * from extended_quotes e
   where e.instrument_id = i.id and e.observed_at = b.last_at and e.source_id = s.id
     and e.observed_at >= now() - interval '14 days'
   limit 1)
  union all
  (select * from extended_quotes e
   where e.instrument_id = i.id and e.observed_at = b.last_at and e.source_id = s.id
     and b.last_at < now() - interval '14 days'
   limit 1)
) e on true;

-- How the end of the search is written matters: TimescaleDB compares the ends of a batch with a column or a value, not with the
-- least of both.
create or replace function quotes_at(at timestamptz) returns table (
  instrument_id integer, security_type text, symbol text, expiration date, option_type text, strike numeric, description text,
  underlying_id integer, source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, last numeric, change numeric, pct_change numeric, bid_size bigint, ask_size bigint, volume bigint, delta numeric,
  quoted_at timestamptz, traded_at timestamptz, open_interest bigint, implied_volatility numeric, bid_iv numeric, ask_iv numeric,
  gamma numeric, theta numeric, vega numeric, rho numeric, greeks_at timestamptz
) language sql stable parallel safe as $$
  select i.id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.description,
         i.underlying_id, s.kind, s.name, s.id, d.delayed, q.observed_at,
         q.bid, q.ask, q.last, q.change, q.pct_change, e.bid_size, e.ask_size, e.volume, e.delta,
         q.quoted_at, q.traded_at, e.open_interest, e.implied_volatility, e.bid_iv, e.ask_iv, e.gamma, e.theta, e.vega, e.rho, e.greeks_at
  from instruments i
  cross join sources s
  cross join (values (false), (true)) as d (delayed)
  cross join lateral (
    select b.first_at, b.last_at
    from session_bars b
    where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed and b.first_at <= $1
      and b.date <= ($1 at time zone 'America/New_York')::date
    order by b.date desc
    limit 1
  ) b
  cross join lateral (
    select q.*
    from quotes q
    where q.instrument_id = i.id and q.source_id = s.id and q.delayed = d.delayed
      and q.observed_at between b.first_at and b.last_at and q.observed_at <= $1
    order by q.observed_at desc
    limit 1
  ) q
  left join lateral (
    select e.*
    from extended_quotes e
    where e.instrument_id = i.id and e.source_id = s.id and e.observed_at = q.observed_at
    limit 1
  ) e on true
$$;
comment on function quotes_at(timestamptz) is
  'Of each instrument, source and kind of feed the newest quote at or before an instant.';

-- A quote's age is that of its bid and ask where the service says when they were made. No quote is younger than its answer.
create or replace function asof(at timestamptz, symbols text[]) returns table (
  instrument text, instrument_id integer, source text, source_name text, delayed boolean, observed_at timestamptz, age interval,
  bid numeric, ask numeric, last numeric, volume bigint, quoted_at timestamptz, traded_at timestamptz, open_interest bigint
) language sql stable parallel safe as $$
  select instrument_name(q.symbol, q.expiration, q.option_type, q.strike, i.root), q.instrument_id,
         q.source, q.source_name, q.delayed, q.observed_at, $1 - least(q.quoted_at, q.observed_at), q.bid, q.ask, q.last, q.volume,
         q.quoted_at, q.traded_at, q.open_interest
  from quotes_at($1) q
  join instruments i on i.id = q.instrument_id
  where q.symbol = any (array(
      select unnest(array[split_part(s, ':', 1), regexp_replace(split_part(s, ':', 1), '/[^/]*$', '')]) from unnest($2) s
    ))
    and instrument_name(q.symbol, q.expiration, q.option_type, q.strike, i.root) = any ($2)
$$;
comment on function asof(timestamptz, text[]) is
  'What was known of some instruments at an instant, and how old it was: AAPL, or a contract as AAPL:2026-12-18:CALL:150.';

-- Of each source the one that has the prices of its underlyings, and the one that has the open interest of its contracts; `is_apart`:
-- they are prices of another feed, which may be delayed where this one is not.
create or replace view sources_beside as
select s.id, coalesce(p.id, s.id) as spot_id, coalesce(p.name, s.name) as spot_source, p.id is not null as is_apart,
       o.id as interest_id
from sources s
left join sources p on p.kind = s.kind and p.name = s.spot
left join sources o on o.kind = s.kind and o.name = s.interest;

create or replace function newest_interest(instrument integer, source smallint, at timestamptz) returns table (
  open_interest bigint, open_interest_date date
) language sql stable parallel safe as $$
  select e.open_interest, e.open_interest_date
  from extended_quotes e
  where e.instrument_id = $1 and e.source_id = $2 and e.observed_at <= $3 and e.observed_at > $3 - interval '7 days'
    and e.open_interest_date is not null
  order by e.observed_at desc
  limit 1
$$;
comment on function newest_interest(integer, smallint, timestamptz) is
  'The open interest that came without a quote, of a contract: the newest of the seven days before an instant.';

-- `spot` is the underlying's price when the contract was quoted, as the service sends both in one answer: the middle of bid and
-- ask, or the last one where nobody quotes. Where a service has feeds, it is of the source that `spot_source` names. Open interest that
-- comes without a quote is the newest one at or before the quote.
create or replace function chain_at(underlying text, at timestamptz) returns table (
  instrument_id integer, underlying_id integer, underlying text, expiration date, option_type text, strike numeric,
  source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, mid numeric, last numeric, volume bigint, delta numeric, spot numeric, moneyness numeric,
  quoted_at timestamptz, traded_at timestamptz, open_interest bigint, implied_volatility numeric, bid_iv numeric, ask_iv numeric,
  gamma numeric, theta numeric, vega numeric, rho numeric, greeks_at timestamptz, root text, spot_source text, open_interest_date date
) language sql stable parallel safe as $$
  select q.instrument_id, q.underlying_id, q.symbol, q.expiration, q.option_type, q.strike,
         q.source, q.source_name, q.source_id, q.delayed, q.observed_at,
         q.bid, q.ask, case when q.ask > 0 then (q.bid + q.ask) / 2 end, nullif(q.last, 0), q.volume, q.delta,
         u.spot, u.spot / nullif(q.strike, 0),
         q.quoted_at, q.traded_at, coalesce(q.open_interest, o.open_interest), q.implied_volatility, q.bid_iv, q.ask_iv,
         q.gamma, q.theta, q.vega, q.rho, q.greeks_at, i.root, m.spot_source, o.open_interest_date
  from quotes_at($2) q
  join instruments i on i.id = q.instrument_id
  join sources_beside m on m.id = q.source_id
  left join lateral (
    select case when u.bid > 0 and u.ask > 0 then (u.bid + u.ask) / 2 else u.last end as spot
    from quotes u
    where u.instrument_id = q.underlying_id and u.source_id = m.spot_id and (m.is_apart or u.delayed = q.delayed)
      and u.observed_at <= q.observed_at and u.observed_at > q.observed_at - interval '1 day'
      and (u.last > 0 or u.bid > 0 and u.ask > 0)
    order by u.observed_at desc
    limit 1
  ) u on true
  left join lateral (
    select n.* from newest_interest(q.instrument_id, m.interest_id, q.observed_at) n where m.interest_id is not null
  ) o on true
  where q.symbol = $1 and q.option_type is not null and expires_at(q.symbol, q.expiration, i.root) > $2
$$;
comment on function chain_at(text, timestamptz) is
  'The contracts of an underlying that had not expired at an instant, each as it was quoted last.';
