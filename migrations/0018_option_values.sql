-- What an option's price says of volatility: Black-Scholes-Merton with a continuous dividend yield, for European exercise.

-- Numbers are double precision: an implied volatility is an estimate, and no price. Rates, yields and volatilities are per year
-- (0.05 is five percent), continuously compounded.

-- P(X > z) of a standard normal X, for z >= 0, to 2e-16: J. F. Hart, Computer Approximations (1968), algorithm 5666, in the form of
-- G. West, Better Approximations to Cumulative Normal Functions (2005). PostgreSQL has erfc only from 16 on.
create function normal_tail(z double precision) returns double precision language sql immutable parallel safe as $$
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

create function normal_cdf(x double precision) returns double precision language sql immutable parallel safe as $$
  select case when x > 0 then 1 - normal_tail(x) else normal_tail(-x) end
$$;
comment on function normal_cdf(double precision) is 'P(X <= x) of a standard normal X.';

-- The volatility at which the model gives this price. The time value alone is looked at, which put and call of a strike share, as
-- the value of the one out of the money, in units of sqrt(forward * strike): b(s) of the total deviation s. It bends once, at
-- sqrt(2 |ln(forward / strike)|); from there Newton's steps come nearer from one side, above it with b, below with its
-- logarithm (P. Jäckel, By Implication, 2006). Bounds keep a step that rounding leads astray.
create function implied_volatility(
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
  -- At or below what exercise is worth, up to rounding: no volatility gives this.
  if wanted <= 1e-12 * greatest(forward, strike) then
    return null;
  end if;
  wanted := wanted / sqrt(forward * strike);
  x := abs(ln(forward / strike));
  half_down := exp(-x / 2);
  half_up := exp(x / 2);
  -- More than the share or the strike itself is worth.
  if wanted >= half_down then
    return null;
  end if;
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

-- Value and greeks of a European option: delta and gamma per 1 of the spot, vega per 1 of volatility, theta per year that passes,
-- rho per 1 of the rate.
create function option_value(
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

-- Settings of a session, a role or a database, per year: set quotekeeper.rate = '0.04'.
create function option_rate() returns double precision language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('quotekeeper.rate', true), ''), '0.04')::double precision
$$;
comment on function option_rate() is 'The interest rate of option values: the setting quotekeeper.rate; 0.04 where it is not set.';

create function option_dividend_yield() returns double precision language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('quotekeeper.dividend_yield', true), ''), '0')::double precision
$$;
comment on function option_dividend_yield() is
  'The continuous dividend yield of option values: the setting quotekeeper.dividend_yield; 0 where it is not set.';
