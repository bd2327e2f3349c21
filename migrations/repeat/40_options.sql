-- What an option's price says of volatility: Black-Scholes-Merton with a continuous dividend yield, for European exercise.
-- Numbers are double precision: an implied volatility is an estimate, and no price. Rates, yields and volatilities are per year
-- (0.05 is five percent), continuously compounded.
-- P(X > z) of a standard normal X, for z >= 0, to 2e-16: J. F. Hart, Computer Approximations (1968), algorithm 5666, in the form of
-- G. West, Better Approximations to Cumulative Normal Functions (2005). PostgreSQL has erfc only from 16 on.
create or replace function normal_tail(z double precision) returns double precision language sql immutable parallel safe as $$
  select case
           when z > 37 then 0
           when z < 7.07106781186547 then
             exp(-z * z / 2)
             * ((((((0.0352624965998911 * z + 0.700383064443688) * z + 6.37396220353165) * z + 33.912866078383) * z
                  + 112.079291497871) * z + 221.213596169931) * z + 220.206867912376)
             / (((((((0.0883883476483184 * z + 1.75566716318264) * z + 16.064177579207) * z + 86.7807322029461) * z
                   + 296.564248779674) * z + 637.333633378831) * z + 793.826512519948) * z + 440.413735824752)
           else exp(-z * z / 2) / (z + 1 / (z + 2 / (z + 3 / (z + 4 / (z + 0.65))))) / 2.506628274631
         end
$$;
comment on function normal_tail(double precision) is 'P(X > z) of a standard normal X, for z >= 0.';

create or replace function normal_cdf(x double precision) returns double precision language sql immutable parallel safe as $$
  select case when x > 0 then 1 - normal_tail(x) else normal_tail(-x) end
$$;
comment on function normal_cdf(double precision) is 'P(X <= x) of a standard normal X.';

-- Value and greeks of a European option: delta and gamma per 1 of the spot, vega per 1 of volatility, theta per year that passes,
-- rho per 1 of the rate.
create or replace function option_value(
  option_type text, spot double precision, strike double precision, years double precision, volatility double precision,
  rate double precision default 0, dividend_yield double precision default 0,
  out value double precision, out delta double precision, out gamma double precision, out vega double precision,
  out theta double precision, out rho double precision
) language plpgsql immutable strict parallel safe as $$
declare
  sign integer := case option_type when 'CALL' then 1 when 'PUT' then -1 end;
  deviation double precision;
  d1 double precision;
  d2 double precision;
  of_spot double precision;
  of_strike double precision;
  density double precision;
begin
  if sign is null or not (spot > 0 and strike > 0 and years > 0 and volatility > 0) then
    return;
  end if;
  deviation := volatility * sqrt(years);
  d1 := (ln(spot / strike) + (rate - dividend_yield) * years) / deviation + deviation / 2;
  d2 := d1 - deviation;
  of_spot := spot * exp(-dividend_yield * years);
  of_strike := strike * exp(-rate * years);
  density := case when abs(d1) < 37 then exp(-d1 * d1 / 2) * 0.3989422804014327 else 0 end;
  delta := sign * exp(-dividend_yield * years) * normal_cdf(sign * d1);
  rho := sign * years * of_strike * normal_cdf(sign * d2);
  value := spot * delta - rho / years;
  gamma := exp(-dividend_yield * years) * density / (spot * deviation);
  vega := of_spot * density * sqrt(years);
  theta := -of_spot * density * volatility / (2 * sqrt(years)) - rate * rho / years + dividend_yield * spot * delta;
end
$$;
comment on function option_value(text, double precision, double precision, double precision, double precision, double precision, double precision) is
  'Value and greeks of a European CALL or PUT by Black-Scholes-Merton. delta and gamma are per 1 of the spot, vega per 1 of volatility, theta per year, rho per 1 of the rate.';

-- A price at its upper bound has no volatility.
create or replace function implied_volatility(
  option_type text, price double precision, spot double precision, strike double precision, years double precision,
  rate double precision default 0, dividend_yield double precision default 0
) returns double precision language plpgsql immutable strict parallel safe as $$
declare
  forward double precision;
  x double precision;
  wanted double precision;
  least_s double precision := 0;
  most_s double precision;
  s double precision;
  next_s double precision;
  b double precision;
  slope double precision;
  half_down double precision;
  half_up double precision;
  bend double precision;
  is_below boolean;
begin
  if option_type not in ('CALL', 'PUT') or not (price > 0 and spot > 0 and strike > 0 and years > 0)
    or 'Infinity' in (price, spot, strike, years) or 'NaN' in (price, spot, strike, years) then
    return null;
  end if;
  forward := spot * exp((rate - dividend_yield) * years);
  wanted := price * exp(rate * years)
    - greatest(case option_type when 'CALL' then forward - strike else strike - forward end, 0);
  -- At or below what exercise is worth, or at or above what the share or the strike itself is, up to rounding: no volatility gives
  -- this.
  if least(wanted, least(forward, strike) - wanted) <= 1e-12 * greatest(forward, strike) then
    return null;
  end if;
  wanted := wanted / sqrt(forward * strike);
  x := abs(ln(forward / strike));
  half_down := exp(-x / 2);
  half_up := exp(x / 2);
  bend := sqrt(2 * x);
  if bend > 0 then
    b := half_down * normal_cdf(bend / 2 - x / bend) - half_up * normal_cdf(-bend / 2 - x / bend);
    is_below := wanted < b;
  else
    is_below := false;
  end if;
  s := greatest(bend, 1e-8);
  most_s := case when is_below then bend else 76 end;
  if not is_below then
    least_s := bend;
  end if;
  for step in 1..100 loop
    b := half_down * normal_cdf(s / 2 - x / s) - half_up * normal_cdf(-s / 2 - x / s);
    if b > wanted then
      most_s := s;
    else
      least_s := s;
    end if;
    -- exp complains where a number is too small for its type.
    slope := exp(greatest(-700, -(x / s) * (x / s) / 2 - s * s / 8)) * 0.3989422804014327;
    next_s := case
                when b <= 0 or slope <= 0 then (least_s + most_s) / 2
                when is_below then s - ln(b / wanted) * b / slope
                else s - (b - wanted) / slope
              end;
    if next_s <= least_s or next_s >= most_s then
      next_s := (least_s + most_s) / 2;
    end if;
    if abs(next_s - s) <= 1e-12 * s then
      return next_s / sqrt(years);
    end if;
    s := next_s;
  end loop;
  return s / sqrt(years);
end
$$;
comment on function implied_volatility(text, double precision, double precision, double precision, double precision, double precision, double precision) is
  'The volatility per year at which Black-Scholes-Merton gives this price of a European CALL or PUT; NULL where none does.';

-- Settings of a session, a role or a database, per year: set quotekeeper.rate = '0.04'.
create or replace function option_rate() returns double precision language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('quotekeeper.rate', true), ''), '0.04')::double precision
$$;
comment on function option_rate() is 'The interest rate of option values: the setting quotekeeper.rate; 0.04 where it is not set.';

create or replace function option_dividend_yield() returns double precision language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('quotekeeper.dividend_yield', true), ''), '0')::double precision
$$;
comment on function option_dividend_yield() is
  'The continuous dividend yield of option values: the setting quotekeeper.dividend_yield; 0 where it is not set.';

-- Implied volatility of every contract, from both sides of the market, with the greeks that belong to it, and the service's own
-- beside them. The service's are of a day, of a point of volatility and of a point of the rate; so are the differences.
create or replace function surface_at(underlying text, at timestamptz) returns table (
  instrument_id integer, underlying text, expiration date, option_type text, strike numeric, source text, source_name text, delayed boolean,
  observed_at timestamptz, spot numeric, moneyness numeric, years double precision, bid numeric, mid numeric, ask numeric,
  iv_bid double precision, iv_mid double precision, iv_ask double precision,
  delta double precision, gamma double precision, vega double precision, theta double precision, rho double precision,
  service_delta numeric, delta_difference double precision,
  quoted_at timestamptz, traded_at timestamptz, open_interest bigint,
  service_iv_bid numeric, service_iv_mid numeric, service_iv_ask numeric,
  service_gamma numeric, service_theta numeric, service_vega numeric, service_rho numeric, greeks_at timestamptz,
  iv_mid_difference double precision, gamma_difference double precision, theta_difference double precision,
  vega_difference double precision, rho_difference double precision, root text, spot_source text, open_interest_date date
) language sql stable parallel safe as $$
  select c.instrument_id, c.underlying, c.expiration, c.option_type, c.strike, c.source, c.source_name, c.delayed,
         c.observed_at, c.spot, c.moneyness, y.years, c.bid, c.mid, c.ask,
         implied_volatility(c.option_type, nullif(c.bid, 0), c.spot, c.strike, y.years, y.rate, y.yield),
         v.iv,
         implied_volatility(c.option_type, nullif(c.ask, 0), c.spot, c.strike, y.years, y.rate, y.yield),
         g.delta, g.gamma, g.vega, g.theta, g.rho, c.delta, g.delta - c.delta,
         c.quoted_at, c.traded_at, c.open_interest, c.bid_iv, c.implied_volatility, c.ask_iv,
         c.gamma, c.theta, c.vega, c.rho, c.greeks_at,
         v.iv - c.implied_volatility, g.gamma - c.gamma, g.theta / 365 - c.theta, g.vega / 100 - c.vega, g.rho / 100 - c.rho, c.root,
         c.spot_source, c.open_interest_date
  from chain_at($1, $2) c
  cross join lateral (
    select extract(epoch from expires_at(c.underlying, c.expiration, c.root) - c.observed_at)::double precision / (365 * 86400) as years,
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

-- The contracts and the quotes of an instant that is set, as option_surface has them.
create or replace view option_chain_latest as
select c.underlying, c.expiration, c.strike, c.source, c.delayed, c.underlying_id,
       c.call_instrument_id, c.call_observed_at, c.call_bid, c.call_ask, c.call_mid, c.call_spread, c.call_last, c.call_delta,
       c.call_volume,
       c.put_instrument_id, c.put_observed_at, c.put_bid, c.put_ask, c.put_mid, c.put_spread, c.put_last, c.put_delta, c.put_volume,
       c.source_name,
       u.last as underlying_last,
       nullif(u.last, 0) / nullif(c.strike, 0) as moneyness,
       c.root,
       c.call_quoted_at, c.call_traded_at, coalesce(c.call_open_interest, co.open_interest) as call_open_interest, c.call_implied_volatility,
       c.put_quoted_at, c.put_traded_at, coalesce(c.put_open_interest, po.open_interest) as put_open_interest, c.put_implied_volatility,
       m.spot_source
from (
  select q.symbol as underlying,
         q.expiration,
         q.strike,
         q.source,
         q.delayed,
         max(q.underlying_id) as underlying_id,
         max(q.instrument_id) filter (where q.option_type = 'CALL') as call_instrument_id,
         max(q.observed_at) filter (where q.option_type = 'CALL') as call_observed_at,
         max(q.bid) filter (where q.option_type = 'CALL') as call_bid,
         max(q.ask) filter (where q.option_type = 'CALL') as call_ask,
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'CALL' and q.ask > 0) as call_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'CALL' and q.ask > 0) as call_spread,
         max(q.last) filter (where q.option_type = 'CALL') as call_last,
         max(q.delta) filter (where q.option_type = 'CALL') as call_delta,
         max(q.volume) filter (where q.option_type = 'CALL') as call_volume,
         max(q.instrument_id) filter (where q.option_type = 'PUT') as put_instrument_id,
         max(q.observed_at) filter (where q.option_type = 'PUT') as put_observed_at,
         max(q.bid) filter (where q.option_type = 'PUT') as put_bid,
         max(q.ask) filter (where q.option_type = 'PUT') as put_ask,
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'PUT' and q.ask > 0) as put_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'PUT' and q.ask > 0) as put_spread,
         max(q.last) filter (where q.option_type = 'PUT') as put_last,
         max(q.delta) filter (where q.option_type = 'PUT') as put_delta,
         max(q.volume) filter (where q.option_type = 'PUT') as put_volume,
         q.source_name,
         q.source_id,
         i.root,
         max(q.quoted_at) filter (where q.option_type = 'CALL') as call_quoted_at,
         max(q.traded_at) filter (where q.option_type = 'CALL') as call_traded_at,
         max(q.open_interest) filter (where q.option_type = 'CALL') as call_open_interest,
         max(q.implied_volatility) filter (where q.option_type = 'CALL') as call_implied_volatility,
         max(q.quoted_at) filter (where q.option_type = 'PUT') as put_quoted_at,
         max(q.traded_at) filter (where q.option_type = 'PUT') as put_traded_at,
         max(q.open_interest) filter (where q.option_type = 'PUT') as put_open_interest,
         max(q.implied_volatility) filter (where q.option_type = 'PUT') as put_implied_volatility
  from quotes_at(coalesce(as_of(), 'infinity')) q
  join instruments i on i.id = q.instrument_id
  where q.option_type is not null and expires_at(q.symbol, q.expiration, i.root) > coalesce(as_of(), now())
  group by q.symbol, i.root, q.expiration, q.strike, q.source, q.source_name, q.source_id, q.delayed
) c
join sources_beside m on m.id = c.source_id
left join lateral (
  select q.last
  from quotes_at(coalesce(as_of(), 'infinity')) q
  where q.instrument_id = c.underlying_id and q.source_id = m.spot_id and (m.is_apart or q.delayed = c.delayed)
  order by q.observed_at desc
  limit 1
) u on true
left join lateral (
  select n.* from newest_interest(c.call_instrument_id, m.interest_id, c.call_observed_at) n where m.interest_id is not null
) co on true
left join lateral (
  select n.* from newest_interest(c.put_instrument_id, m.interest_id, c.put_observed_at) n where m.interest_id is not null
) po on true;

create or replace view option_surface as
select s.*
from (select coalesce(as_of(), now()) as at) n
cross join (select distinct symbol from instruments where option_type is not null) u
cross join lateral surface_at(u.symbol, n.at) s;
