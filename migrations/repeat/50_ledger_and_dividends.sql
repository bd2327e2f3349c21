-- A miss counts for the share in which its instrument was due.
create or replace view coverage_daily as
with expected as (
  select s.date, s.source_id, name as instrument, sum(s.n)::bigint as expected
  from (
    select (slot_at at time zone 'America/New_York')::date as date, source_id, due_set_id, count(*) as n
    from slots
    group by 1, 2, 3
  ) s
  join due_sets d on d.id = s.due_set_id
  cross join unnest(d.instruments) as name
  group by 1, 2, 3
), lost as (
  select (m.slot_at at time zone 'America/New_York')::date as date, m.source_id, name as instrument, m.reason, count(*) as n
  from misses m
  join slots s
    on s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id and s.account_id = m.account_id
  join due_sets d on d.id = s.due_set_id
  cross join unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as name
  group by 1, 2, 3, 4
)
select e.date,
       o.kind as source,
       e.instrument,
       e.expected,
       e.expected - coalesce(sum(l.n), 0)::bigint as stored,
       coalesce(sum(l.n), 0)::bigint as missed,
       coalesce(jsonb_object_agg(l.reason, l.n) filter (where l.reason is not null), '{}') as reasons
from expected e
join sources o on o.id = e.source_id
left join lost l on l.date = e.date and l.source_id = e.source_id and l.instrument = e.instrument
group by e.date, o.kind, e.instrument, e.expected;

-- What the service said of each dividend when, and what it had said before.
create or replace view dividend_calendar as
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
