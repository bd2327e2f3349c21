-- The archive as it was at an instant: every instrument, a chain, some symbols, and the surface of implied volatility.

-- session_bars says on which date the newest quote was, so that servers pass over all others.
create function quotes_at(at timestamptz) returns table (
  instrument_id integer, security_type text, symbol text, expiration date, option_type text, strike numeric, description text,
  underlying_id integer, source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, last numeric, change numeric, pct_change numeric, bid_size bigint, ask_size bigint, volume bigint, delta numeric
) language sql stable parallel safe as $$
  select i.id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.description,
         i.underlying_id, s.kind, s.name, s.id, d.delayed, q.observed_at,
         q.bid, q.ask, q.last, q.change, q.pct_change, e.bid_size, e.ask_size, e.volume, e.delta
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
      and q.observed_at between b.first_at and least(b.last_at, $1)
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

-- The session at whose close a contract ends: that of its expiration date, or the last one before; where the calendar knows none,
-- 16:00 in New York.
create function expires_at(expiration date) returns timestamptz language sql stable parallel safe as $$
  select coalesce(
    (select s.close_at from sessions s where s.date between $1 - 7 and $1 order by s.date desc limit 1),
    ($1 + time '16:00') at time zone 'America/New_York'
  )
$$;
comment on function expires_at(date) is 'The close at which contracts of an expiration date end.';

-- `spot` is the underlying's price when the contract was quoted, as the service sends both in one answer: the middle of bid and
-- ask, or the last one where nobody quotes.
create function chain_at(underlying text, at timestamptz) returns table (
  instrument_id integer, underlying_id integer, underlying text, expiration date, option_type text, strike numeric,
  source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, mid numeric, last numeric, volume bigint, delta numeric, spot numeric, moneyness numeric
) language sql stable parallel safe as $$
  select q.instrument_id, q.underlying_id, q.symbol, q.expiration, q.option_type, q.strike,
         q.source, q.source_name, q.source_id, q.delayed, q.observed_at,
         q.bid, q.ask, case when q.ask > 0 then (q.bid + q.ask) / 2 end, nullif(q.last, 0), q.volume, q.delta,
         u.spot, u.spot / nullif(q.strike, 0)
  from quotes_at($2) q
  left join lateral (
    select case when u.bid > 0 and u.ask > 0 then (u.bid + u.ask) / 2 else u.last end as spot
    from quotes u
    where u.instrument_id = q.underlying_id and u.source_id = q.source_id and u.delayed = q.delayed
      and u.observed_at <= q.observed_at and u.observed_at > q.observed_at - interval '1 day'
      and (u.last > 0 or u.bid > 0 and u.ask > 0)
    order by u.observed_at desc
    limit 1
  ) u on true
  where q.symbol = $1 and q.option_type is not null and expires_at(q.expiration) > $2
$$;
comment on function chain_at(text, timestamptz) is
  'The contracts of an underlying that had not expired at an instant, each as it was quoted last.';

-- An instrument as people write it: AAPL, or AAPL:2026-12-18:CALL:150.
create function instrument_name(symbol text, expiration date, option_type text, strike numeric) returns text
language sql stable parallel safe as $$
  select $1 || coalesce(':' || to_char($2, 'YYYY-MM-DD') || ':' || $3 || ':' || trim_scale($4), '')
$$;
comment on function instrument_name(text, date, text, numeric) is 'AAPL, or AAPL:2026-12-18:CALL:150.';

create function instruments_named(name text) returns setof instruments language sql stable parallel safe as $$
  select i.*
  from instruments i
  where i.symbol = split_part($1, ':', 1) and instrument_name(i.symbol, i.expiration, i.option_type, i.strike) = $1
$$;
comment on function instruments_named(text) is
  'Instruments of a name, AAPL or AAPL:2026-12-18:CALL:150: one for each security type that has it.';

create function asof(at timestamptz, symbols text[]) returns table (
  instrument text, instrument_id integer, source text, source_name text, delayed boolean, observed_at timestamptz, age interval,
  bid numeric, ask numeric, last numeric, volume bigint
) language sql stable parallel safe as $$
  select instrument_name(q.symbol, q.expiration, q.option_type, q.strike), q.instrument_id,
         q.source, q.source_name, q.delayed, q.observed_at, $1 - q.observed_at, q.bid, q.ask, q.last, q.volume
  from quotes_at($1) q
  where q.symbol = any (array(select split_part(s, ':', 1) from unnest($2) s))
    and instrument_name(q.symbol, q.expiration, q.option_type, q.strike) = any ($2)
$$;
comment on function asof(timestamptz, text[]) is
  'What was known of some instruments at an instant, and how old it was: AAPL, or a contract as AAPL:2026-12-18:CALL:150.';

-- Implied volatility of every contract, from both sides of the market, with the greeks that belong to it.
create function surface_at(underlying text, at timestamptz) returns table (
  instrument_id integer, underlying text, expiration date, option_type text, strike numeric, source text, source_name text, delayed boolean,
  observed_at timestamptz, spot numeric, moneyness numeric, years double precision, bid numeric, mid numeric, ask numeric,
  iv_bid double precision, iv_mid double precision, iv_ask double precision,
  delta double precision, gamma double precision, vega double precision, theta double precision, rho double precision,
  service_delta numeric, delta_difference double precision
) language sql stable parallel safe as $$
  select c.instrument_id, c.underlying, c.expiration, c.option_type, c.strike, c.source, c.source_name, c.delayed,
         c.observed_at, c.spot, c.moneyness, y.years, c.bid, c.mid, c.ask,
         implied_volatility(c.option_type, nullif(c.bid, 0), c.spot, c.strike, y.years, y.rate, y.yield),
         v.iv,
         implied_volatility(c.option_type, nullif(c.ask, 0), c.spot, c.strike, y.years, y.rate, y.yield),
         g.delta, g.gamma, g.vega, g.theta, g.rho, c.delta, g.delta - c.delta
  from chain_at($1, $2) c
  cross join lateral (
    select extract(epoch from expires_at(c.expiration) - c.observed_at)::double precision / (365 * 86400) as years,
           option_rate() as rate, option_dividend_yield() as yield
    offset 0
  ) y
  cross join lateral (
    select case when c.bid > 0 then
      implied_volatility(c.option_type, c.mid, c.spot, c.strike, y.years, y.rate, y.yield)
    end as iv
    offset 0
  ) v
  cross join lateral option_value(c.option_type, c.spot, c.strike, y.years, v.iv, y.rate, y.yield) g
$$;
comment on function surface_at(text, timestamptz) is
  'Implied volatilities and greeks of an underlying''s contracts at an instant; NULL where bid or ask do not tell one.';

create view option_surface as
select s.*
from (select coalesce(nullif(current_setting('quotekeeper.as_of', true), '')::timestamptz, now()) as at) n
cross join (select distinct symbol from instruments where option_type is not null) u
cross join lateral surface_at(u.symbol, n.at) s;
comment on view option_surface is
  'Implied volatilities and greeks of the contracts that have not expired: now, or at the instant of the setting quotekeeper.as_of.';
