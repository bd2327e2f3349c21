-- Bars of five minutes know their return: whoever asked for it sorted the bars of all series at each question.

-- By two logarithms, whose difference is never too large; prices that no float can hold have none, and no load fails for them.
create function log_return(close numeric, before numeric) returns numeric language sql immutable parallel safe as $$
  select case
           when $1 between 1e-300 and 1e300 and $2 between 1e-300 and 1e300
             then round((ln($1::double precision) - ln($2::double precision))::numeric, 12)
         end
$$;

alter table intraday_bars add column log_return numeric;
comment on column intraday_bars.log_return is
  'Of five minutes: natural logarithm of close by the close before it on that date, to 12 places; NULL where that is of another session.';

-- As before, and each bar of five minutes gets its return.
create or replace function keep_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[], all_are_over boolean default false,
  parts bar_part[] default '{}', written text default null
) returns void language plpgsql as $$
declare
  -- Of all of them, so that servers pass over the partitions of other times.
  day_from timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  day_to timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  asked record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates, array_agg(b.bars_to) as froms,
         array_agg(b.until) as untils, array_agg(b.xmin::text = written) as are_given
  into asked
  from (
    select b.*, case
             when all_are_over or exists (
               select from session_bars l
               where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
             ) then 'infinity'
             else date_bin('15 minutes', b.last_at, '2000-01-01 00:00+00')
           end as until
    from unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
    cross join lateral (
      select b.*, b.xmin from session_bars b
      where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
      limit 1
    ) b
    where not b.quotes_dropped
  ) b
  where b.until > coalesce(b.bars_to, b.first_at);
  if asked.dates is null then
    return;
  end if;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before, log_return)
  with a as materialized (
    select * from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils,
      asked.are_given) with ordinality as a (instrument_id, source_id, delayed, date, from_at, until, is_given, place)
  ), given as materialized (
    select a.place, g.*
    from unnest(parts) g
    join a on a.instrument_id = g.instrument_id and a.source_id = g.source_id and a.delayed = g.delayed
          and a.date = (g.first_at at time zone 'America/New_York')::date
    where a.is_given and g.first_at < a.until and (a.from_at is null or g.first_at >= a.from_at)
  ), kept as materialized (
    -- Once for each series, and not for each of its bars.
    select a.place, v.volume, c.close, c.session
    from a
    left join lateral (
      select b.volume from intraday_bars b
      where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
        and b.minutes = 5 and b.volume is not null
      order by b.bar_at desc
      limit 1
    ) v on true
    left join lateral (
      select b.close, b.session from intraday_bars b
      where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
        and b.minutes = 5 and b.close is not null
      order by b.bar_at desc
      limit 1
    ) c on true
    where a.from_at is not null
  )
  select a.instrument_id, a.source_id, a.delayed, a.date, 5, n.bar_at, o.session, n.open, n.high, n.low, n.close,
         n.spread_sum, n.spread_count, n.quote_count, n.volume,
         case when n.volume is not null then coalesce(
           lag(n.volume) over (partition by a.place, n.volume is null order by n.bar_at), k.volume, n.first_volume) end,
         log_return(n.close, case
           when coalesce(lag(o.session) over closes, k.session) = o.session then coalesce(lag(n.close) over closes, k.close) end)
  from (
    select p.place, date_bin('5 minutes', p.first_at, '2000-01-01 00:00+00') as bar_at,
           (array_agg(p.open order by p.first_at) filter (where p.open is not null))[1] as open,
           max(p.high) as high, min(p.low) as low,
           (array_agg(p.close order by p.first_at desc) filter (where p.close is not null))[1] as close,
           sum(p.spread_sum) as spread_sum, sum(p.spread_count) as spread_count, sum(p.quote_count) as quote_count,
           (array_agg(p.first_volume order by p.first_at) filter (where p.first_volume is not null))[1] as first_volume,
           (array_agg(p.volume order by p.first_at desc) filter (where p.volume is not null))[1] as volume
    from (
      select place, first_at, open, high, low, close, spread_sum, spread_count, quote_count, first_volume, volume
      from given
      union all
      -- What nobody has given, the rows tell.
      select a.place, r.*
      from a
      left join (select place, min(first_at) as at from given group by 1) g on g.place = a.place
      cross join lateral (
        select min(q.observed_at),
               (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1],
               max(q.last) filter (where q.last > 0),
               min(q.last) filter (where q.last > 0),
               (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1],
               coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0),
               count(*) filter (where q.bid > 0 and q.ask > 0),
               count(*),
               (array_agg(e.volume order by q.observed_at) filter (where e.volume is not null))[1],
               (array_agg(e.volume order by q.observed_at desc) filter (where e.volume is not null))[1]
        from quotes q
        left join lateral (
          select e.volume from extended_quotes e
          where e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
            and e.observed_at >= day_from and e.observed_at < day_to
          limit 1
        ) e on true
        where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
          and q.observed_at >= coalesce(a.from_at, a.date::timestamp at time zone 'America/New_York')
          and q.observed_at < least(a.until, g.at, (a.date + 1)::timestamp at time zone 'America/New_York')
          and q.observed_at >= day_from and q.observed_at < day_to
        group by date_bin('5 minutes', q.observed_at, '2000-01-01 00:00+00')
      ) r
    ) p
    group by 1, 2
  ) n
  join a using (place)
  left join sessions t on t.date = a.date
  left join kept k using (place)
  cross join lateral (select session_of(n.bar_at, t.pre_at, t.open_at, t.close_at, t.post_at) as session) o
  window closes as (partition by a.place, n.close is null order by n.bar_at)
  -- Somebody has emptied session_bars alone: what was kept then is made anew, and no load is held up by it.
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set
    session = excluded.session, open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = excluded.volume, volume_before = excluded.volume_before, log_return = excluded.log_return;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before)
  select a.instrument_id, a.source_id, a.delayed, a.date, 60, n.*
  from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils)
    as a (instrument_id, source_id, delayed, date, from_at, until)
  left join sessions t on t.date = a.date
  cross join lateral (
    select bar_beginning(b.bar_at, interval '1 hour', t.pre_at, t.open_at, t.close_at, t.post_at) as hour_at, b.session,
           (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], max(b.high), min(b.low),
           (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
           sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
           (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
           (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
    from intraday_bars b
    where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
      and b.minutes = 5
      and b.bar_at >= coalesce(bar_beginning(a.from_at, interval '1 hour', t.pre_at, t.open_at, t.close_at, t.post_at), '-infinity')
      and (a.until = 'infinity'
        or b.bar_at < bar_beginning(a.until, interval '1 hour', t.pre_at, t.open_at, t.close_at, t.post_at))
    group by 1, 2
  ) n
  -- Of the others no hour is over.
  where a.until = 'infinity' or a.from_at is null
     or bar_beginning(a.until, interval '1 hour', t.pre_at, t.open_at, t.close_at, t.post_at)
        > bar_beginning(a.from_at, interval '1 hour', t.pre_at, t.open_at, t.close_at, t.post_at)
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set
    session = excluded.session, open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = excluded.volume, volume_before = excluded.volume_before;

  update session_bars b set bars_to = a.until
  from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.untils)
    as a (instrument_id, source_id, delayed, date, until)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date;
end
$$;

-- Every row has its source: where nobody asks for it, the planner leaves out a join that could only add columns.
create or replace view bars_5m as
select b.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       b.delayed,
       b.date,
       b.session,
       b.bar_at,
       b.open,
       b.high,
       b.low,
       b.close,
       b.spread_sum / nullif(b.spread_count, 0) as mean_spread,
       b.quote_count,
       case when b.volume < b.volume_before then b.volume else b.volume - b.volume_before end as volume,
       s.name as source_name,
       b.log_return
from intraday_bars b
join instruments i on i.id = b.instrument_id
left join sources s on s.id = b.source_id
where b.minutes::integer = 5
union all
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
       s.name,
       b.log_return
from session_bars d
join instruments i on i.id = d.instrument_id
left join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
cross join lateral (
  select n.*,
         case
           when lag(n.session) over closes = n.session then log_return(n.close, lag(n.close) over closes)
           when lag(n.session) over closes is null then (
             select log_return(n.close, k.close)
             from (
               select k.close, k.session from intraday_bars k
               where k.instrument_id = d.instrument_id and k.date = d.date and k.source_id = d.source_id
                 and k.delayed = d.delayed and k.minutes = 5 and k.close is not null and k.bar_at < n.bar_at
               order by k.bar_at desc
               limit 1
             ) k
             where k.session = n.session
           )
         end as log_return
  from newest_bars(
    d.instrument_id, d.source_id, d.delayed, d.date, coalesce(d.bars_to, d.first_at), d.last_at,
    t.pre_at, t.open_at, t.close_at, t.post_at, interval '5 minutes'
  ) n
  window closes as (partition by n.close is null order by n.bar_at)
) b
where d.bars_to is distinct from 'infinity';

-- The returns of bars that are there. Other releases kept bars elsewhere, which come into the table later.
create function fill_log_returns() returns void language sql as $$
  update intraday_bars b set log_return = n.log_return
  from (
    select instrument_id, source_id, delayed, date, minutes, bar_at,
           case when lag(session) over closes = session then log_return(close, lag(close) over closes) end as log_return
    from intraday_bars
    where minutes = 5 and close is not null
    window closes as (partition by instrument_id, source_id, delayed, date order by bar_at)
  ) n
  where b.instrument_id = n.instrument_id and b.source_id = n.source_id and b.delayed = n.delayed and b.date = n.date
    and b.minutes = n.minutes and b.bar_at = n.bar_at and b.log_return is distinct from n.log_return
$$;
revoke execute on function fill_log_returns() from public;
-- Means something on TimescaleDB only: all of a compressed table may be written anew.
set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0;
select fill_log_returns();
