-- What people ask: the newest quotes, bars in exchange time, option chains side by side, dividends.

-- The newest quote of each instrument, real-time and delayed apart, one row per source. session_bars knows when it was;
-- the row is looked up by its key. `limit` lets TimescaleDB pass over the chunks of other times one look-up at a time,
-- and the two halves let every server pass over old ones once for all of them.
create view latest_quotes as
select i.id as instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       i.description,
       s.kind as source,
       q.delayed,
       q.observed_at,
       q.bid,
       q.ask,
       q.last,
       q.change,
       q.pct_change,
       e.bid_size,
       e.ask_size,
       e.volume,
       e.delta,
       s.name as source_name
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
comment on view latest_quotes is 'The newest quote of each instrument: one row per source, real-time and delayed apart.';

-- Bars of one series (instrument, source, delayed) between two times, both included, of one exchange date. Bars begin
-- anew at the open and at the close, so that none mixes regular trading with the rest. volume is what was traded since
-- the last observation of the bar before, in a session's first bar since its own first observation.
create function quote_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, from_at timestamptz, to_at timestamptz,
  pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end
  from (
    select b.*, coalesce(lag(b.shown) over (order by b.bar_at), b.first_shown) as before
    from (
      select case
               when q.observed_at >= $9 then 'closed'
               when q.observed_at >= $8 then 'post'
               when q.observed_at >= $7 then 'regular'
               when q.observed_at >= $6 then 'pre'
               else 'closed'
             end as session,
             date_bin($10, q.observed_at, case
               when q.observed_at >= $9 then $9
               when q.observed_at >= $8 then $8
               when q.observed_at >= $7 then $7
               else coalesce($6, '2000-01-01 00:00+00')
             end) as bar_at,
             (array_agg(q.last order by q.observed_at) filter (where q.last is not null))[1] as open,
             max(q.last) as high,
             min(q.last) as low,
             (array_agg(q.last order by q.observed_at desc) filter (where q.last is not null))[1] as close,
             avg(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0) as mean_spread,
             count(*) as quote_count,
             (array_agg(e.volume order by q.observed_at) filter (where e.volume is not null))[1] as first_shown,
             (array_agg(e.volume order by q.observed_at desc) filter (where e.volume is not null))[1] as shown
      from quotes q
      left join extended_quotes e
        on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
       and e.instrument_id = $1 and e.source_id = $2 and e.observed_at between $4 and $5
      where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3 and q.observed_at between $4 and $5
      group by 1, 2
    ) b
  ) p
$$;

-- The same for bars of five minutes and more, which TimescaleDB Community can put together from pieces: there the program
-- replaces the text of this function.
create function wide_quote_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, from_at timestamptz, to_at timestamptz,
  pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select * from quote_bars($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
$$;

create view bars_1m as
select d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date,
       b.session,
       b.bar_at,
       b.open,
       b.high,
       b.low,
       b.close,
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
cross join lateral quote_bars(
  d.instrument_id, d.source_id, d.delayed, d.first_at, d.last_at,
  t.pre_at, t.open_at, t.close_at, t.post_at, interval '1 minute'
) b;
comment on view bars_1m is
  'Bars of 1 minute in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.';

create view bars_5m as
select d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date,
       b.session,
       b.bar_at,
       b.open,
       b.high,
       b.low,
       b.close,
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
cross join lateral wide_quote_bars(
  d.instrument_id, d.source_id, d.delayed, d.first_at, d.last_at,
  t.pre_at, t.open_at, t.close_at, t.post_at, interval '5 minutes'
) b;
comment on view bars_5m is
  'Bars of 5 minutes in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.';

create view bars_1h as
select d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date,
       b.session,
       b.bar_at,
       b.open,
       b.high,
       b.low,
       b.close,
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
cross join lateral wide_quote_bars(
  d.instrument_id, d.source_id, d.delayed, d.first_at, d.last_at,
  t.pre_at, t.open_at, t.close_at, t.post_at, interval '1 hour'
) b;
comment on view bars_1h is
  'Bars of 1 hour in exchange time, of the observations of `last`. Name date in the where clause: it is what makes it fast.';

create view bars_1d as
select d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date,
       coalesce(t.kind, 'closed') as session,
       d.first_at,
       d.last_at,
       d.open,
       d.high,
       d.low,
       d.close,
       d.spread_sum / nullif(d.spread_count, 0) as mean_spread,
       d.quote_count,
       coalesce(d.volume, e.volume) as volume,
       s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
left join lateral (
  (select e.volume from extended_quotes e
   where e.instrument_id = d.instrument_id and e.observed_at = d.last_at and e.source_id = d.source_id
     and e.observed_at >= now() - interval '14 days'
   limit 1)
  union all
  (select e.volume from extended_quotes e
   where e.instrument_id = d.instrument_id and e.observed_at = d.last_at and e.source_id = d.source_id
     and d.last_at < now() - interval '14 days'
   limit 1)
) e on true;
comment on view bars_1d is 'One bar for each exchange date. session is regular, early, or closed; volume is the last one shown.';

-- Calls and puts side by side: the newest quote of each contract that has not expired.
create view option_chain_latest as
select c.*,
       u.last as underlying_last,
       u.last / nullif(c.strike, 0) as moneyness
from (
  select q.symbol as underlying,
         q.expiration,
         q.strike,
         q.source,
         q.delayed,
         max(i.underlying_id) as underlying_id,
         max(q.instrument_id) filter (where q.option_type = 'CALL') as call_instrument_id,
         max(q.observed_at) filter (where q.option_type = 'CALL') as call_observed_at,
         max(q.bid) filter (where q.option_type = 'CALL') as call_bid,
         max(q.ask) filter (where q.option_type = 'CALL') as call_ask,
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'CALL') as call_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'CALL') as call_spread,
         max(q.last) filter (where q.option_type = 'CALL') as call_last,
         max(q.delta) filter (where q.option_type = 'CALL') as call_delta,
         max(q.volume) filter (where q.option_type = 'CALL') as call_volume,
         max(q.instrument_id) filter (where q.option_type = 'PUT') as put_instrument_id,
         max(q.observed_at) filter (where q.option_type = 'PUT') as put_observed_at,
         max(q.bid) filter (where q.option_type = 'PUT') as put_bid,
         max(q.ask) filter (where q.option_type = 'PUT') as put_ask,
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'PUT') as put_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'PUT') as put_spread,
         max(q.last) filter (where q.option_type = 'PUT') as put_last,
         max(q.delta) filter (where q.option_type = 'PUT') as put_delta,
         max(q.volume) filter (where q.option_type = 'PUT') as put_volume,
         q.source_name
  from latest_quotes q
  join instruments i on i.id = q.instrument_id
  where q.option_type is not null
  group by q.symbol, q.expiration, q.strike, q.source, q.source_name, q.delayed
) c
left join lateral (
  select q.last
  from latest_quotes q
  where q.instrument_id = c.underlying_id and q.source = c.source and q.source_name = c.source_name
    and q.delayed = c.delayed
) u on true;
comment on view option_chain_latest is 'One row per underlying, expiration and strike; moneyness is the underlying''s last over the strike.';

-- What the service said of each dividend when, and what it had said before.
create view dividend_calendar as
select d.instrument_id,
       i.security_type,
       i.symbol,
       s.kind as source,
       d.observed_at,
       d.ex_date,
       d.amount,
       d.yield,
       d.previous_ex_date,
       d.previous_amount,
       d.previous_yield,
       case
         when d.previous_at is null then 'first'
         when (d.ex_date, d.amount) is not distinct from (d.previous_ex_date, d.previous_amount) then 'yield'
         when d.ex_date is not distinct from d.previous_ex_date then 'amount'
         else 'ex_date'
       end as change,
       d.is_newest,
       d.is_newest and d.ex_date >= (now() at time zone 'America/New_York')::date as is_ahead,
       s.name as source_name
from (
  select *,
         lag(observed_at) over seen as previous_at,
         lag(ex_date) over seen as previous_ex_date,
         lag(amount) over seen as previous_amount,
         lag(yield) over seen as previous_yield,
         lead(observed_at) over seen is null as is_newest
  from dividends
  window seen as (partition by instrument_id, source_id order by observed_at)
) d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id;
comment on view dividend_calendar is 'is_ahead: what is announced and to come. change: what differs from what was said before.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
