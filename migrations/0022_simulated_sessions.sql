-- The simulated market never closes, and its bars say so: each date is a regular session of its own, from midnight to midnight in New
-- York. Bars of all other sources are as they were.

-- When a session opens: source 2, the simulated market, at midnight. It has no other hours: whoever joins the sessions of its
-- dates leaves them out.
create function opens_at(source_id smallint, date date, open_at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select case when $1 = 2 then $2::timestamp at time zone 'America/New_York' else $3 end
$$;
comment on function opens_at(smallint, date, timestamptz) is
  'When the session of a source opens on a date: open_at of the exchange''s calendar, but for the simulated market midnight in New York.';

-- As before, with the hours of each source.
create or replace function keep_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[], all_are_over boolean default false,
  parts bar_part[] default '{}', written text[] default '{}'
) returns void language plpgsql as $$
declare
  -- Of all of them, so that servers pass over the partitions of other times.
  day_from timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  day_to timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  asked record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates, array_agg(b.bars_to) as froms,
         array_agg(b.until) as untils, array_agg(b.xmin::text = any(written)) as are_given
  into asked
  from (
    select b.*, case
             when all_are_over or exists (
               select from session_bars l
               where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
             ) then 'infinity'
             else date_bin('5 minutes', b.last_at, '2000-01-01 00:00+00')
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
  left join sessions t on t.date = a.date and a.source_id <> 2
  left join kept k using (place)
  cross join lateral (select session_of(n.bar_at, t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at) as session) o
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
  left join sessions t on t.date = a.date and a.source_id <> 2
  cross join lateral (
    select bar_beginning(b.bar_at, interval '1 hour', t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at) as hour_at, b.session,
           (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], max(b.high), min(b.low),
           (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
           sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
           (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
           (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
    from intraday_bars b
    where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
      and b.minutes = 5
      and b.bar_at >= coalesce(bar_beginning(a.from_at, interval '1 hour', t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at), '-infinity')
      and (a.until = 'infinity'
        or b.bar_at < bar_beginning(a.until, interval '1 hour', t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at))
    group by 1, 2
  ) n
  -- Of the others no hour is over.
  where a.until = 'infinity' or a.from_at is null
     or bar_beginning(a.until, interval '1 hour', t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at)
        > bar_beginning(a.from_at, interval '1 hour', t.pre_at, opens_at(a.source_id, a.date, t.open_at), t.close_at, t.post_at)
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

create or replace view bars_1m as
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
left join sessions t on t.date = d.date and d.source_id <> 2
cross join lateral quote_bars(
  d.instrument_id, d.source_id, d.delayed, d.first_at, d.last_at,
  t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '1 minute'
) b;

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
left join sessions t on t.date = d.date and d.source_id <> 2
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
    t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '5 minutes'
  ) n
  window closes as (partition by n.close is null order by n.bar_at)
) b
where d.bars_to is distinct from 'infinity';

create or replace view bars_1h as
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
       s.name as source_name
from intraday_bars b
join instruments i on i.id = b.instrument_id
join sources s on s.id = b.source_id
where b.minutes::integer = 60
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
       s.name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2
cross join lateral newest_bars(
  d.instrument_id, d.source_id, d.delayed, d.date, coalesce(d.bars_to, d.first_at), d.last_at,
  t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '1 hour'
) b
where d.bars_to is distinct from 'infinity';

create or replace view bars_1d as
select d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date,
       case when d.source_id = 2 then 'regular' else coalesce(t.kind, 'closed') end as session,
       d.first_at,
       d.last_at,
       d.open,
       d.high,
       d.low,
       d.close,
       d.spread_sum / nullif(d.spread_count, 0) as mean_spread,
       d.quote_count,
       coalesce(
         d.volume,
         (
           select e.volume from extended_quotes e
           where e.instrument_id = d.instrument_id and e.observed_at = d.last_at and e.source_id = d.source_id
             and e.observed_at >= now() - interval '14 days'
           limit 1
         ),
         (
           select e.volume
           from extended_quotes e
           join quotes q on q.instrument_id = e.instrument_id and q.observed_at = e.observed_at and q.source_id = e.source_id
           where e.instrument_id = d.instrument_id and e.source_id = d.source_id and e.volume is not null
             and e.observed_at between coalesce(d.bars_to, d.first_at) and d.last_at and q.delayed = d.delayed
           order by e.observed_at desc
           limit 1
         ),
         (
           select b.volume from intraday_bars b
           where b.instrument_id = d.instrument_id and b.date = d.date and b.source_id = d.source_id
             and b.delayed = d.delayed and b.minutes = 5 and b.volume is not null
           order by b.bar_at desc
           limit 1
         )
       ) as volume,
       s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2;

create or replace function bars(instrument text, width interval, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, date date, session text, bar_at timestamptz,
  open numeric, high numeric, low numeric, close numeric, mean_spread numeric, quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select d.instrument_id, s.kind, s.name, d.delayed, d.date, b.session, b.bar_at,
         b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count,
         case when b.shown < b.before then b.shown else b.shown - b.before end
  from instruments_named($1) i
  join session_bars d on d.instrument_id = i.id
  left join sources s on s.id = d.source_id
  left join sessions t on t.date = d.date and d.source_id <> 2
  cross join lateral (
    select kept_to, greatest(kept_to, d.first_at) as quotes_from
    from (select case when extract(epoch from $2) % 300 = 0 then coalesce(d.bars_to, '-infinity') else '-infinity' end as kept_to) k
    offset 0
  ) k
  cross join lateral (
    select p.*, coalesce(lag(p.shown) over (partition by p.shown is null order by p.bar_at), p.first_shown) as before
    from (
      select session_of(r.at, t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at) as session,
             bar_beginning(r.at, $2, t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at) as bar_at,
             (array_agg(r.open order by r.at) filter (where r.open is not null))[1] as open,
             max(r.high) as high,
             min(r.low) as low,
             (array_agg(r.close order by r.at desc) filter (where r.close is not null))[1] as close,
             sum(r.spread_sum) / nullif(sum(r.spread_count), 0) as mean_spread,
             sum(r.quote_count)::bigint as quote_count,
             (array_agg(r.first_shown order by r.at) filter (where r.first_shown is not null))[1] as first_shown,
             (array_agg(r.shown order by r.at desc) filter (where r.shown is not null))[1] as shown
      from (
        select n.bar_at as at, n.open, n.high, n.low, n.close, n.spread_sum, n.spread_count, n.quote_count,
               n.volume_before as first_shown, n.volume as shown
        from intraday_bars n
        where n.instrument_id = d.instrument_id and n.date = d.date and n.source_id = d.source_id and n.delayed = d.delayed
          and n.minutes = 5 and n.bar_at < k.kept_to
        union all
        select q.observed_at, p.price, p.price, p.price, p.price,
               case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end,
               case when q.bid > 0 and q.ask > 0 then 1 else 0 end, 1, e.volume, e.volume
        from quotes q
        cross join lateral (select case when q.last > 0 then q.last end as price) p
        left join (
          select e.observed_at, e.volume from extended_quotes e
          where e.instrument_id = d.instrument_id and e.source_id = d.source_id
            and e.observed_at between k.quotes_from and d.last_at
          offset 0
        ) e on e.observed_at = q.observed_at
        where q.instrument_id = d.instrument_id and q.source_id = d.source_id and q.delayed = d.delayed
          and q.observed_at between k.quotes_from and d.last_at
      ) r
      group by 1, 2
    ) p
  ) b
  where $2 < interval '1 day' and d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    and b.bar_at >= $3 and b.bar_at < $4
  union all
  select d.instrument_id, b.source, b.source_name, d.delayed, min(d.date), null, min(d.first_at),
         (array_agg(d.open order by d.date) filter (where d.open is not null))[1], max(d.high), min(d.low),
         (array_agg(d.close order by d.date desc) filter (where d.close is not null))[1],
         sum(d.spread_sum) / nullif(sum(d.spread_count), 0), sum(d.quote_count)::bigint, sum(b.volume)::bigint
  from instruments_named($1) i
  join session_bars d on d.instrument_id = i.id
  join sources s on s.id = d.source_id
  join bars_1d b
    on b.instrument_id = d.instrument_id and b.source = s.kind and b.source_name = s.name and b.delayed = d.delayed and b.date = d.date
  cross join lateral (
    select extract(year from d.date) * 12 + extract(month from d.date) - 1 as month,
           extract(year from $2) * 12 + extract(month from $2) as months
  ) m
  where $2 >= interval '1 day' and d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    and d.first_at >= $3 and d.first_at < $4
  group by d.instrument_id, b.source, b.source_name, d.delayed,
           case when m.months > 0 then m.month - m.month % m.months
                else extract(epoch from date_bin($2, d.date::timestamp, '2000-01-03')) end
$$;

create or replace function spread_stats(instrument text, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, session text, quotes bigint, two_sided bigint, crossed bigint,
  narrowest numeric, median numeric, p95 numeric, widest numeric, mean numeric, mean_basis_points numeric
) language sql stable parallel safe as $$
  select q.instrument_id, s.kind, s.name, q.delayed, e.session, count(*), count(p.spread), count(*) filter (where p.spread <= 0),
         min(p.spread), percentile_disc(0.5) within group (order by p.spread), percentile_disc(0.95) within group (order by p.spread),
         max(p.spread), trim_scale(round(avg(p.spread), 8)), round(avg(10000 * p.spread / ((q.ask + q.bid) / 2)), 4)
  from instruments_named($1) i
  join quotes q on q.instrument_id = i.id
  join sources s on s.id = q.source_id
  cross join lateral (select (q.observed_at at time zone 'America/New_York')::date as date) d
  left join sessions t on t.date = d.date and q.source_id <> 2
  cross join lateral (select session_of(q.observed_at, t.pre_at, opens_at(q.source_id, d.date, t.open_at), t.close_at, t.post_at) as session) e
  cross join lateral (select case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread) p
  where q.observed_at >= $2 and q.observed_at < $3
  group by q.instrument_id, s.kind, s.name, q.delayed, e.session
$$;

do $$
declare
  said text := 'Part of the session: pre, regular, post, or closed for all other time; of the simulated market always regular. Origin: sessions.';
  name text;
begin
  foreach name in array '{intraday_bars,bars_1m,bars_5m,bars_1h}'::text[] loop
    execute format('comment on column %I.session is %L', name, said);
  end loop;
end
$$;
comment on column bars_1d.session is
  'regular, early, or closed: no session on that date; of the simulated market always regular. Origin: sessions.kind.';

-- The simulated market's bars that are there: those of an hour are put together anew of those of five minutes.
-- Means something on TimescaleDB only: all of a compressed table may be written anew.
set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0;
do $$
begin
  if not exists (select from session_bars where source_id = 2) then
    return;
  end if;
  update intraday_bars b set session = 'regular', log_return = n.log_return
  from (
    select instrument_id, source_id, delayed, date, minutes, bar_at, log_return(close, lag(close) over closes) as log_return
    from intraday_bars
    where source_id = 2 and minutes = 5
    window closes as (partition by instrument_id, source_id, delayed, date, close is null order by bar_at)
  ) n
  where b.instrument_id = n.instrument_id and b.source_id = n.source_id and b.delayed = n.delayed and b.date = n.date
    and b.minutes = n.minutes and b.bar_at = n.bar_at
    and (b.session, b.log_return) is distinct from ('regular', n.log_return);
  delete from intraday_bars where source_id = 2 and minutes = 60;
  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before)
  select b.instrument_id, b.source_id, b.delayed, b.date, 60,
         date_bin('1 hour', b.bar_at, b.date::timestamp at time zone 'America/New_York'), 'regular',
         (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], max(b.high), min(b.low),
         (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
         sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
         (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
         (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
  from intraday_bars b
  join session_bars d
    on d.instrument_id = b.instrument_id and d.source_id = b.source_id and d.delayed = b.delayed and d.date = b.date
  where b.source_id = 2 and b.minutes = 5
    -- Hours that are not over are not kept.
    and (d.bars_to = 'infinity'
      or b.bar_at < date_bin('1 hour', d.bars_to, d.date::timestamp at time zone 'America/New_York'))
  group by 1, 2, 3, 4, 6;
end
$$;
