-- Bars are kept as soon as five minutes are over, and no longer each quarter of an hour: a question reads that much less of the rows.
-- A load may keep the bars of several of its transactions at once, and its first keeping is of all that wait: a load before it may
-- have been killed.

drop function keep_ended_bars(date, date, bar_part[], text);
drop function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text);

-- As before, but each five minutes, and of parts that several transactions have brought.
create function keep_intraday_bars(
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
revoke execute on function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text[]) from public;

-- As before, but each five minutes, and behind several transactions; of others too where that is asked for.
create function keep_ended_bars(
  from_date date, to_date date, parts bar_part[] default '{}', written text[] default '{}', others_too boolean default true
) returns void language plpgsql as $$
declare
  touched record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into touched
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date
    from session_bars b
    where b.date between from_date and to_date
      and (b.bars_to is null or date_bin('5 minutes', b.last_at, '2000-01-01 00:00+00') > b.bars_to)
      and (others_too or b.xmin::text = any(written))
    for update of b skip locked
  ) b;
  if touched.dates is null then
    return;
  end if;
  -- A date that begins ends the one before.
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into touched
  from (
    select a.* from unnest(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates) as a
    union
    select p.instrument_id, p.source_id, p.delayed, p.date
    from unnest(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates)
      as a (instrument_id, source_id, delayed, date)
    cross join lateral (
      select * from session_bars b
      where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date < a.date
      order by b.date desc
      limit 1
    ) p
    where p.bars_to is distinct from 'infinity'
  ) b (instrument_id, source_id, delayed, date);
  perform keep_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates, false,
                             parts, written);
end
$$;
revoke execute on function keep_ended_bars(date, date, bar_part[], text[], boolean) from public;

-- As before, but volumes are read once for all quotes of a series, and not looked up for each.
create or replace function newest_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, of_date date, from_at timestamptz, to_at timestamptz,
  pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end
  from (
    select b.*, coalesce(
             lag(b.shown) over (partition by b.shown is null order by b.bar_at),
             (
               select k.volume from intraday_bars k
               where k.instrument_id = $1 and k.date = $4 and k.source_id = $2 and k.delayed = $3 and k.minutes = 5
                 and k.volume is not null and k.bar_at < b.bar_at
               order by k.bar_at desc
               limit 1
             ),
             b.first_shown
           ) as before
    from (
      select session_of(r.at, $7, $8, $9, $10) as session, bar_beginning(r.at, $11, $7, $8, $9, $10) as bar_at,
             (array_agg(r.open order by r.at) filter (where r.open is not null))[1] as open,
             max(r.high) as high,
             min(r.low) as low,
             (array_agg(r.close order by r.at desc) filter (where r.close is not null))[1] as close,
             sum(r.spread_sum) / nullif(sum(r.spread_count), 0) as mean_spread,
             sum(r.quote_count)::bigint as quote_count,
             (array_agg(r.first_shown order by r.at) filter (where r.first_shown is not null))[1] as first_shown,
             (array_agg(r.shown order by r.at desc) filter (where r.shown is not null))[1] as shown
      from (
        select k.bar_at as at, k.open, k.high, k.low, k.close, k.spread_sum, k.spread_count, k.quote_count,
               k.volume_before as first_shown, k.volume as shown
        from intraday_bars k
        where $11 > interval '5 minutes' and k.instrument_id = $1 and k.date = $4 and k.source_id = $2 and k.delayed = $3
          and k.minutes = 5 and k.bar_at >= bar_beginning($5, $11, $7, $8, $9, $10)
        union all
        select q.observed_at, p.price, p.price, p.price, p.price,
               case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end,
               case when q.bid > 0 and q.ask > 0 then 1 else 0 end, 1, e.volume, e.volume
        from quotes q
        cross join lateral (select case when q.last > 0 then q.last end as price) p
        left join (
          select e.observed_at, e.volume from extended_quotes e
          where e.instrument_id = $1 and e.source_id = $2 and e.observed_at between $5 and $6
          offset 0
        ) e on e.observed_at = q.observed_at
        where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3 and q.observed_at between $5 and $6
      ) r
      group by 1, 2
    ) b
  ) p
$$;
