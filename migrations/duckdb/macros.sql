-- What statements of `quotekeeper sql` and the views beside this file are made of, in DuckDB's words. The tables of the schema `parts`
-- have the rows of files (src/files/sql/fillTables.ts).

-- What a format's letters mean in strftime; the longer ones first.
create macro to_char(value, format) as strftime(value,
  format
    .replace('YYYY', '%Y')
    .replace('YY', '%y')
    .replace('HH24', '%H')
    .replace('HH12', '%I')
    .replace('Month', '%B')
    .replace('Mon', '%b')
    .replace('MM', '%m')
    .replace('MI', '%M')
    .replace('Day', '%A')
    .replace('Dy', '%a')
    .replace('DDD', '%j')
    .replace('DD', '%d')
    .replace('SS', '%S')
    .replace('US', '%f')
    .replace('MS', '%g')
    .replace('AM', '%p'));
create macro date_bin(width, at_time, origin) as time_bucket(width, at_time, origin);

-- The instant that --as-of names, or now.
create macro as_of() as coalesce(getvariable('as_of')::timestamptz, now());

-- As expires_at of migrations/repeat/10_time_and_names.sql.
create macro expires_at(symbol, expiration, root) as (
  select (
    select case
             when r.root in ('VIX', 'VIXW', 'XSPAM')
               or r.root in (
                 'SPX', 'NDX', 'RUT', 'DJX', 'RUI', 'RLG', 'RLV', 'MNX', 'RMN', 'CBTX', 'MBTX', 'SIXB', 'SIXC', 'SIXE', 'SIXI', 'SIXM',
                 'SIXR', 'SIXRE', 'SIXT', 'SIXU', 'SIXV', 'SIXY'
               ) and s.date <= r.friday and not exists (select 1 from parts.sessions m where m.date > s.date and m.date <= r.friday)
               then s.open_at
             else s.close_at
           end
    from parts.sessions s
    cross join (
      select coalesce(root, ltrim(symbol, '$^.')) as root, f.first + 14 + (12 - extract(dow from f.first)::integer) % 7 as friday
      from (select date_trunc('month', expiration::timestamp)::date as first) f
    ) r
    where s.date between expiration - 7 and expiration
      and exists (
        select 1 from parts.sessions y
        where y.date between date_trunc('year', expiration::timestamp)::date and date_trunc('year', expiration::timestamp)::date + 10
      )
    order by s.date desc
    limit 1
  )
);

-- In which part of its session a quote lies, and from when the bars of that part are counted. Source 2, the simulated market, never closes.
create macro part_of(source_id, observed_at, pre_at, open_at, close_at, post_at) as case
  when source_id = 2 then 'regular'
  when observed_at >= post_at then 'closed'
  when observed_at >= close_at then 'post'
  when observed_at >= open_at then 'regular'
  when observed_at >= pre_at then 'pre'
  else 'closed'
end;
create macro part_begins(source_id, observed_at, date, pre_at, open_at, close_at, post_at) as case
  when source_id = 2 then date::timestamp at time zone 'America/New_York'
  when observed_at >= post_at then post_at
  when observed_at >= close_at then close_at
  when observed_at >= open_at then open_at
  else coalesce(pre_at, timestamptz '2000-01-01 00:00:00+00')
end;

-- As series_bars of PostgreSQL's: the bars of all series of some quotes. A series has all that is said of it beside its number: a
-- condition on these reaches the quotes, and others are not read.
create macro bars_of(quotes, extended, seconds) as table
  with seen as (
    select q.instrument_id, s.kind as source, s.name as source_name, q.delayed, q.date,
           i.security_type, i.symbol, i.expiration, i.option_type, i.strike, q.observed_at,
           case when q."last" > 0 then q."last" end as price,
           case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread,
           e.volume,
           part_of(q.source_id, q.observed_at, t.pre_at, t.open_at, t.close_at, t.post_at) as session,
           part_begins(q.source_id, q.observed_at, q.date, t.pre_at, t.open_at, t.close_at, t.post_at) as part_at
    from query_table(quotes) q
    join parts.instruments i on i.id = q.instrument_id
    join parts.sources s on s.id = q.source_id
    left join query_table(extended) e
      on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id and e.date = q.date
    left join parts.sessions t on t.date = q.date
  ), bars as (
    select instrument_id, source, source_name, delayed, date, security_type, symbol, expiration, option_type, strike, session,
           part_at + to_microseconds(seconds * 1000000::bigint * floor((epoch_us(observed_at) - epoch_us(part_at)) / (seconds * 1000000::bigint))::bigint) as bar_at,
           arg_min(price, observed_at) filter (where price is not null) as open,
           max(price) as high,
           min(price) as low,
           arg_max(price, observed_at) filter (where price is not null) as close,
           sum(spread) as spread_sum,
           count(spread) as spread_count,
           count(*) as quote_count,
           arg_min(volume, observed_at) filter (where volume is not null) as first_shown,
           arg_max(volume, observed_at) filter (where volume is not null) as shown
    from seen
    group by all
  ), shown as (
    select *,
           coalesce(lag(shown) over (partition by instrument_id, source, source_name, delayed, date, security_type, symbol, expiration,
             option_type, strike, shown is null order by bar_at), first_shown) as before,
           lag(close) over closes as close_before,
           lag(session) over closes as session_before
    from bars
    window closes as (partition by instrument_id, source, source_name, delayed, date, security_type, symbol, expiration, option_type,
      strike, close is null order by bar_at)
  )
  select *, case when shown < before then shown else shown - before end as volume from shown;

-- Bars of contracts of which the lake's files of a date have none (src/files/lake/lakeTables.ts says why). A quotient has the digits that
-- PostgreSQL's has.
create macro bars_left_out(quotes, extended, bars, seconds) as table
  select *,
         case when spread_count = 1 then spread_sum::decimal(38,23) else round(spread_sum / spread_count, 16)::decimal(38,23) end as mean_spread,
         case when session_before = session and close between 1e-300 and 1e300 and close_before between 1e-300 and 1e300
           then round(ln(close::double) - ln(close_before::double), 12)::decimal(38,12) end as log_return
  from bars_of(quotes, extended, seconds) b
  where option_type is not null and not exists (
    select 1 from query_table(bars) k
    where k.instrument_id = b.instrument_id and k.source = b.source and k.source_name = b.source_name and k.delayed = b.delayed
      and k.date = b.date
  );

-- When each series was quoted last, by its bars of sessions.
create macro newest_of_bars() as table
  select b.instrument_id, s.id as source_id, b.delayed, arg_max(b.last_at, b.date) as last_at
  from parts.bars_1d b join parts.sources s on s.kind = b.source and s.name = b.source_name
  group by b.instrument_id, s.id, b.delayed;

-- Newest quotes as latest_quotes has them.
create macro latest_of(newest, quotes, extended) as table
  select q.*, e.* exclude (instrument_id, observed_at, source_id, date), i.security_type, i.symbol, i.expiration, i.option_type, i.strike,
         i.description, i.root, s.kind as source, s.name as source_name
  from query_table(newest) n
  join parts.instruments i on i.id = n.instrument_id
  join parts.sources s on s.id = n.source_id
  join query_table(quotes) q on q.instrument_id = n.instrument_id and q.observed_at = n.last_at and q.source_id = n.source_id
  left join query_table(extended) e
    on e.instrument_id = n.instrument_id and e.observed_at = n.last_at and e.source_id = n.source_id;

-- As newest_interest of PostgreSQL's: what was said more than seven days before a quote is not believed.
create macro interest_of(quoted_at, said_at, open_interest) as case
  when said_at > quoted_at - interval 7 days then open_interest
end;

-- The middle of two decimals is a decimal: half of their sum has one more place.
create macro chain_of(latest, interests) as table
  select c.underlying, c.expiration, c.strike, c.source, c.delayed, c.underlying_id,
         c.call_instrument_id, c.call_observed_at, c.call_bid, c.call_ask, c.call_mid, c.call_spread, c.call_last, c.call_delta,
         c.call_volume,
         c.put_instrument_id, c.put_observed_at, c.put_bid, c.put_ask, c.put_mid, c.put_spread, c.put_last, c.put_delta,
         c.put_volume,
         c.source_name,
         u."last" as underlying_last,
         nullif(u."last", 0) / nullif(c.strike, 0) as moneyness,
         c.root,
         c.call_quoted_at, c.call_traded_at, coalesce(c.call_open_interest, interest_of(c.call_observed_at, co.observed_at, co.open_interest)) as call_open_interest,
         c.call_implied_volatility,
         c.put_quoted_at, c.put_traded_at, coalesce(c.put_open_interest, interest_of(c.put_observed_at, po.observed_at, po.open_interest)) as put_open_interest,
         c.put_implied_volatility,
         coalesce(p.name, c.source_name) as spot_source
  from (
    select q.symbol as underlying, q.expiration, q.strike, q.source, q.delayed, max(i.underlying_id) as underlying_id,
           max(q.instrument_id) filter (where q.option_type = 'CALL') as call_instrument_id,
           max(q.observed_at) filter (where q.option_type = 'CALL') as call_observed_at,
           max(q.bid) filter (where q.option_type = 'CALL') as call_bid,
           max(q.ask) filter (where q.option_type = 'CALL') as call_ask,
           max((q.bid + q.ask) * 0.5) filter (where q.option_type = 'CALL' and q.ask > 0) as call_mid,
           max(q.ask - q.bid) filter (where q.option_type = 'CALL' and q.ask > 0) as call_spread,
           max(q."last") filter (where q.option_type = 'CALL') as call_last,
           max(q.delta) filter (where q.option_type = 'CALL') as call_delta,
           max(q.volume) filter (where q.option_type = 'CALL') as call_volume,
           max(q.quoted_at) filter (where q.option_type = 'CALL') as call_quoted_at,
           max(q.traded_at) filter (where q.option_type = 'CALL') as call_traded_at,
           max(q.open_interest) filter (where q.option_type = 'CALL') as call_open_interest,
           max(q.implied_volatility) filter (where q.option_type = 'CALL') as call_implied_volatility,
           max(q.instrument_id) filter (where q.option_type = 'PUT') as put_instrument_id,
           max(q.observed_at) filter (where q.option_type = 'PUT') as put_observed_at,
           max(q.bid) filter (where q.option_type = 'PUT') as put_bid,
           max(q.ask) filter (where q.option_type = 'PUT') as put_ask,
           max((q.bid + q.ask) * 0.5) filter (where q.option_type = 'PUT' and q.ask > 0) as put_mid,
           max(q.ask - q.bid) filter (where q.option_type = 'PUT' and q.ask > 0) as put_spread,
           max(q."last") filter (where q.option_type = 'PUT') as put_last,
           max(q.delta) filter (where q.option_type = 'PUT') as put_delta,
           max(q.volume) filter (where q.option_type = 'PUT') as put_volume,
           max(q.quoted_at) filter (where q.option_type = 'PUT') as put_quoted_at,
           max(q.traded_at) filter (where q.option_type = 'PUT') as put_traded_at,
           max(q.open_interest) filter (where q.option_type = 'PUT') as put_open_interest,
           max(q.implied_volatility) filter (where q.option_type = 'PUT') as put_implied_volatility,
           q.source_name,
           i.root
    from query_table(latest) q
    join parts.instruments i on i.id = q.instrument_id
    where q.option_type is not null and q.instrument_id in (
      select x.id from parts.instruments x where expires_at(x.symbol, x.expiration, x.root) > as_of()
    )
    group by q.symbol, i.root, q.expiration, q.strike, q.source, q.source_name, q.delayed
  ) c
  join parts.sources s on s.kind = c.source and s.name = c.source_name
  left join parts.sources p on p.kind = s.kind and p.name = s.spot
  left join parts.sources o on o.kind = s.kind and o.name = s.interest
  left join query_table(latest) u
    on u.instrument_id = c.underlying_id and u.source = c.source and u.source_name = coalesce(p.name, c.source_name)
   and (p.id is not null or u.delayed = c.delayed)
  asof left join query_table(interests) co
    on co.instrument_id = c.call_instrument_id and co.source_id = o.id and co.observed_at <= c.call_observed_at
  asof left join query_table(interests) po
    on po.instrument_id = c.put_instrument_id and po.source_id = o.id and po.observed_at <= c.put_observed_at;
