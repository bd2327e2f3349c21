-- The archive's views for `quotekeeper sql`, in DuckDB's words, above the tables of the schema `parts` and the macros beside this file.
-- Each has the columns of the database's view of that name.

-- A quotient of decimals is DOUBLE.
create view bars_1m as
select instrument_id, security_type, symbol, expiration, option_type, strike, source, delayed, date, session, bar_at,
       open, high, low, close, spread_sum / spread_count as mean_spread, quote_count, volume, source_name
from bars_of('parts.quotes', 'parts.extended_quotes', 60);

-- PostgreSQL's own text.
create view bars_1d_regular as
select b.instrument_id, b.security_type, b.symbol, b.expiration, b.option_type, b.strike, b.source, b.delayed, b.date,
       min(b.bar_at) as bar_at,
       (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1] as open,
       max(b.high) as high,
       min(b.low) as low,
       (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1] as close,
       sum(b.quote_count)::bigint as quote_count,
       sum(b.volume)::bigint as volume,
       b.source_name
from bars_1h b
where b.session = 'regular'
group by b.instrument_id, b.security_type, b.symbol, b.expiration, b.option_type, b.strike, b.source, b.delayed, b.date, b.source_name;

-- The newest quotes at or before --as-of, as far as the chain needs them; parts.latest_quotes has those of now.
create view parts.latest_as_of as
select q.instrument_id, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, s.name as source_name, q.delayed,
       q.observed_at, q.bid, q.ask, q."last", e.volume, e.delta, q.quoted_at, q.traded_at, e.open_interest, e.implied_volatility
from parts.quotes q
join parts.instruments i on i.id = q.instrument_id
join parts.sources s on s.id = q.source_id
left join parts.extended_quotes e
  on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id and e.date = q.date
where q.observed_at <= as_of()
qualify row_number() over (partition by q.instrument_id, q.source_id, q.delayed order by q.observed_at desc) = 1;

-- Open interest that came without a quote. Of now no file of more than two weeks before is read for it: a contract that nobody has quoted
-- for so long has none here.
create view parts.interests_as_of as
select instrument_id, source_id, observed_at, open_interest
from parts.extended_quotes
where open_interest_date is not null and observed_at <= as_of();

create view parts.interests as
select * from parts.interests_as_of where observed_at > now() - interval 14 days;

-- With --as-of it is made of parts.latest_as_of and parts.interests_as_of.
create view option_chain_latest as from chain_of('parts.latest_quotes', 'parts.interests');

-- PostgreSQL's own text.
create view dividend_calendar as
select d.instrument_id, i.security_type, i.symbol, s.kind as source, d.observed_at, d.ex_date, d.amount, d.yield,
       d.previous_ex_date, d.previous_amount, d.previous_yield,
       case
         when d.previous_at is null then 'first'
         when d.ex_date is not distinct from d.previous_ex_date and d.amount is not distinct from d.previous_amount then 'yield'
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

create view coverage_daily as
with expected as (
  select s.date, s.source_id, name as instrument, sum(s.n)::bigint as expected
  from (select date, source_id, due_set_id, count(*) as n from parts.slots group by 1, 2, 3) s
  join (select id, unnest(instruments) as name from parts.due_sets) d on d.id = s.due_set_id
  group by 1, 2, 3
), lost as (
  select m.date, m.source_id, name as instrument, m.reason, count(*) as n
  from (
    select m.date, m.source_id, m.reason,
           unnest(case when m.instrument = '*' then d.instruments else [m.instrument] end) as name
    from parts.misses m
    join parts.slots s
      on s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id and s.account_id = m.account_id and s.date = m.date
    join parts.due_sets d on d.id = s.due_set_id
  ) m
  group by 1, 2, 3, 4
)
select e.date, o.kind as source, e.instrument, e.expected,
       e.expected - coalesce(sum(l.n), 0)::bigint as stored,
       coalesce(sum(l.n), 0)::bigint as missed,
       coalesce(to_json(map(
         list(l.reason order by length(l.reason), l.reason) filter (where l.reason is not null),
         list(l.n order by length(l.reason), l.reason) filter (where l.reason is not null)
       )), '{}'::json) as reasons
from expected e
join parts.sources o on o.id = e.source_id
left join lost l on l.date = e.date and l.source_id = e.source_id and l.instrument = e.instrument
group by e.date, o.kind, e.instrument, e.expected;
