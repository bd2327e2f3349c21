-- Volume is what was traded since the last volume shown before; bars without one are passed over.
create or replace function quote_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, from_at timestamptz, to_at timestamptz,
  pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end
  from (
    select b.*,
           coalesce(lag(b.shown) over (partition by b.shown is null order by b.bar_at), b.first_shown) as before
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
             (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1] as open,
             max(q.last) filter (where q.last > 0) as high,
             min(q.last) filter (where q.last > 0) as low,
             (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1] as close,
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
comment on function quote_bars(
  integer, smallint, boolean, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
) is 'Part of bars_1m: bars from the quotes of one date. Call bars(...) instead.';

-- The bars of a series that intraday_bars does not have yet. Volumes are read once for all quotes, and not looked up for each.
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
comment on function newest_bars(
  integer, smallint, boolean, date, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
) is 'Part of bars_5m and bars_1h: bars that are not kept yet. Call bars(...) instead.';

-- Writes the bars that have ended into intraday_bars, by the five minutes of the session. Parts that a load gives are by those of the clock:
-- on a date whose close is not at a whole five minutes the bars are made from the rows.
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
         array_agg(b.until) as untils, array_agg(b.xmin::text = any(written) and b.is_in_clock) as are_given
  into asked
  from (
    select b.*, coalesce(extract(epoch from t.close_at)::bigint % 300 = 0, true) as is_in_clock, case
             when all_are_over or exists (
               select from session_bars l
               where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
             ) then 'infinity'
             else five_minutes(b.last_at, t.close_at)
           end as until
    from unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
    cross join lateral (
      select b.*, b.xmin from session_bars b
      where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
      limit 1
    ) b
    left join sessions t on t.date = b.date and b.source_id <> 2
    where not b.quotes_dropped
  ) b
  where b.until > coalesce(b.bars_to, b.first_at);
  if asked.dates is null then
    return;
  end if;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before, log_return)
  with a as materialized (
    select a.*, t.pre_at, opens_at(a.source_id, a.date, t.open_at) as open_at, t.close_at, t.post_at
    from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils,
      asked.are_given) with ordinality as a (instrument_id, source_id, delayed, date, from_at, until, is_given, place)
    left join sessions t on t.date = a.date and a.source_id <> 2
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
    select p.place, five_minutes(p.first_at, p.close_at) as bar_at,
           (array_agg(p.open order by p.first_at) filter (where p.open is not null))[1] as open,
           max(p.high) as high, min(p.low) as low,
           (array_agg(p.close order by p.first_at desc) filter (where p.close is not null))[1] as close,
           sum(p.spread_sum) as spread_sum, sum(p.spread_count) as spread_count, sum(p.quote_count) as quote_count,
           (array_agg(p.first_volume order by p.first_at) filter (where p.first_volume is not null))[1] as first_volume,
           (array_agg(p.volume order by p.first_at desc) filter (where p.volume is not null))[1] as volume
    from (
      -- They are of the clock's five minutes, as all bars of their dates are.
      select place, null::timestamptz as close_at, first_at, open, high, low, close, spread_sum, spread_count, quote_count,
             first_volume, volume
      from given
      union all
      -- What nobody has given, the rows tell.
      select a.place, a.close_at, r.*
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
        group by five_minutes(q.observed_at, a.close_at)
      ) r
    ) p
    group by 1, 2
  ) n
  join a using (place)
  left join kept k using (place)
  cross join lateral (select session_of(n.bar_at, a.pre_at, a.open_at, a.close_at, a.post_at) as session) o
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
comment on function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text[]) is
  'Internal, part of keep_ended_bars(...) and of refresh_intraday_bars(...): writes rows of intraday_bars.';
revoke execute on function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text[]) from public;

-- Bars from the rows themselves, one for each place of the arrays. The caller has locked those that are there: so nobody
-- else changes them, and rows that others have added meanwhile are seen, since each statement looks anew.
create or replace function refresh_daily_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
declare
  -- Of all of them, so that servers pass over the partitions of other times.
  from_at timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  to_at timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);
begin
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low, close,
    open_at, close_at, spread_sum, spread_count, quote_count)
  select a.instrument_id, a.source_id, a.delayed, a.date, n.first_at, n.last_at, o.last, n.high, n.low, c.last,
         n.open_at, n.close_at, n.spread_sum, n.spread_count, n.quote_count
  from unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
  cross join lateral (
    select min(q.observed_at) as first_at, max(q.observed_at) as last_at,
           max(q.last) filter (where q.last > 0) as high, min(q.last) filter (where q.last > 0) as low,
           min(q.observed_at) filter (where q.last > 0) as open_at,
           max(q.observed_at) filter (where q.last > 0) as close_at,
           coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0) as spread_sum,
           count(*) filter (where q.bid > 0 and q.ask > 0) as spread_count,
           count(*) as quote_count
    from quotes q
    where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
      and q.observed_at >= a.date::timestamp at time zone 'America/New_York'
      and q.observed_at < (a.date + 1)::timestamp at time zone 'America/New_York'
      and q.observed_at >= from_at and q.observed_at < to_at
  ) n
  left join lateral (
    select q.last from quotes q
    where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.observed_at = n.open_at
      and q.observed_at >= from_at and q.observed_at < to_at
    limit 1
  ) o on true
  left join lateral (
    select q.last from quotes q
    where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.observed_at = n.close_at
      and q.observed_at >= from_at and q.observed_at < to_at
    limit 1
  ) c on true
  where n.quote_count > 0
  order by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = excluded.first_at, last_at = excluded.last_at, open = excluded.open, high = excluded.high,
    low = excluded.low, close = excluded.close, open_at = excluded.open_at, close_at = excluded.close_at,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = null, quotes_dropped = false
  where not kept.quotes_dropped or excluded.quote_count >= kept.quote_count;

  delete from session_bars b
  using unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
    and not b.quotes_dropped
    and not exists (
      select from quotes q
      where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
        and q.observed_at >= a.date::timestamp at time zone 'America/New_York'
        and q.observed_at < (a.date + 1)::timestamp at time zone 'America/New_York'
        and q.observed_at >= from_at and q.observed_at < to_at
    );
end
$$;
comment on function refresh_daily_bars(integer[], smallint[], boolean[], date[]) is
  'Internal, part of refresh_session_bars(...): the rows of session_bars themselves.';

-- Makes the bars of five minutes and of an hour again. It writes the session bars in any case, so that a load that remembers them sees it.
create or replace function refresh_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
begin
  delete from intraday_bars b
  using unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
    and not exists (
      select from session_bars s
      where s.instrument_id = a.instrument_id and s.source_id = a.source_id and s.delayed = a.delayed and s.date = a.date
        and s.quotes_dropped
    );
  update session_bars b set bars_to = null
  from unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
    and not b.quotes_dropped;
  perform keep_intraday_bars(instrument_ids, source_ids, delayed_flags, dates);
end
$$;
comment on function refresh_intraday_bars(integer[], smallint[], boolean[], date[]) is
  'Internal, part of refresh_session_bars(...): the rows of intraday_bars.';
revoke execute on function refresh_intraday_bars(integer[], smallint[], boolean[], date[]) from public;

create or replace function refresh_session_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
begin
  perform refresh_daily_bars(instrument_ids, source_ids, delayed_flags, dates);
  perform refresh_intraday_bars(instrument_ids, source_ids, delayed_flags, dates);
end
$$;
comment on function refresh_session_bars(integer[], smallint[], boolean[], date[]) is
  'Internal: makes rows of session_bars again from quotes. To do it by hand, call recompute_session_bars(from, to).';
revoke execute on function refresh_session_bars(integer[], smallint[], boolean[], date[]) from public;

-- All bars of some dates from the rows. Bars of which retention has dropped quotes stay as they are.
create or replace function recompute_session_bars(from_date date, to_date date) returns bigint language plpgsql as $$
declare
  asked record;
begin
  -- Every bar is there and locked before its rows are read: what others add meanwhile is added to the new bar.
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, spread_sum,
    spread_count, quote_count)
  select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date,
         min(observed_at), max(observed_at), 0, 0, 0
  from quotes
  where observed_at >= from_date::timestamp at time zone 'America/New_York'
    and observed_at < (to_date + 1)::timestamp at time zone 'America/New_York'
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set quote_count = kept.quote_count where false;
  perform from session_bars where date between from_date and to_date
  order by instrument_id, source_id, delayed, date
  for update;
  select array_agg(instrument_id) as instrument_ids, array_agg(source_id) as source_ids,
         array_agg(delayed) as delayed_flags, array_agg(date) as dates
  into asked
  from session_bars where date between from_date and to_date;
  if asked.dates is not null then
    perform refresh_session_bars(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates);
  end if;
  return (select count(*) from session_bars where date between from_date and to_date);
end
$$;
comment on function recompute_session_bars(date, date) is
  'Makes the bars of exchange dates again from their quotes, both dates included, after somebody changed quotes by hand. Returns how many session bars the dates have.';
revoke execute on function recompute_session_bars(date, date) from public;

-- Parts that are later than all rows of their session bar are added to it, which is what collecting does. Rows that come among
-- or before the others may have been in it once and lost since: their bar is made from the rows. In the order of the key, so
-- that two loaders do not wait for each other in a circle. A bar that is not added to is locked all the same. Whoever sets
-- quotekeeper.bars_given in a transaction calls it behind the rows of both tables. It gives the series whose bars
-- were made from the rows, and the transactions that had written bars before: who remembers rows learns what others have changed.
create or replace function add_bar_parts(parts bar_part[]) returns table (
  instrument_id integer, source_id smallint, delayed boolean, written_by text
) language plpgsql as $$
#variable_conflict use_column
declare
  late record;
  before record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.xmin::text) as xids
  into before
  from (
    select b.*, b.xmin
    from (
      select distinct instrument_id, source_id, delayed, (first_at at time zone 'America/New_York')::date as date from unnest(parts)
    ) p
    join session_bars b using (instrument_id, source_id, delayed, date)
    order by instrument_id, source_id, delayed, date
    for update of b
  ) b;
  with fresh as materialized (
    select p.instrument_id, p.source_id, p.delayed, (p.first_at at time zone 'America/New_York')::date as date,
           min(p.first_at) as first_at, max(p.last_at) as last_at,
           (array_agg(p.open order by p.open_at) filter (where p.open is not null))[1] as open,
           max(p.high) as high, min(p.low) as low,
           (array_agg(p.close order by p.close_at desc) filter (where p.close is not null))[1] as close,
           min(p.open_at) as open_at, max(p.close_at) as close_at,
           sum(p.spread_sum) as spread_sum, sum(p.spread_count) as spread_count, sum(p.quote_count) as quote_count
    from unnest(parts) p
    group by 1, 2, 3, 4
  ), added as (
    insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low,
      close, open_at, close_at, spread_sum, spread_count, quote_count)
    select n.*
    from fresh n
    order by n.instrument_id, n.source_id, n.delayed, n.date
    on conflict (instrument_id, source_id, delayed, date) do update set
      last_at = excluded.last_at,
      open = coalesce(kept.open, excluded.open),
      close = coalesce(excluded.close, kept.close),
      open_at = coalesce(kept.open_at, excluded.open_at),
      close_at = coalesce(excluded.close_at, kept.close_at),
      -- Of two that are equal and written otherwise the newer one, as in one batch.
      high = greatest(excluded.high, kept.high),
      low = least(excluded.low, kept.low),
      spread_sum = kept.spread_sum + excluded.spread_sum,
      spread_count = kept.spread_count + excluded.spread_count,
      quote_count = kept.quote_count + excluded.quote_count
    where kept.last_at < excluded.first_at and kept.bars_to is distinct from 'infinity'
    returning instrument_id, source_id, delayed, date
  )
  select array_agg(f.instrument_id) as instrument_ids, array_agg(f.source_id) as source_ids,
         array_agg(f.delayed) as delayed_flags, array_agg(f.date) as dates
  into late
  from fresh f
  where not exists (
    select from added a
    where a.instrument_id = f.instrument_id and a.source_id = f.source_id and a.delayed = f.delayed and a.date = f.date
  );
  if late.dates is not null then
    perform refresh_session_bars(late.instrument_ids, late.source_ids, late.delayed_flags, late.dates);
  end if;
  return query
    select l.*, null
    from unnest(late.instrument_ids, late.source_ids, late.delayed_flags) as l (instrument_id, source_id, delayed)
    union all
    select * from unnest(before.instrument_ids, before.source_ids, before.delayed_flags, before.xids);
end
$$;
comment on function add_bar_parts(bar_part[]) is
  'Internal, for the loader: adds what a load brought of session bars to those that are there.';
revoke execute on function add_bar_parts(bar_part[]) from public;

-- Writes the bars that have ended since several transactions stored rows; `others_too` includes the bars of other transactions.
create or replace function keep_ended_bars(
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
comment on function keep_ended_bars(date, date, bar_part[], text[], boolean) is
  'Internal, for the loader: writes the bars of five minutes and of an hour that have ended into intraday_bars.';
revoke execute on function keep_ended_bars(date, date, bar_part[], text[], boolean) from public;

-- A trigger of quotes: adds new rows to session_bars, unless the transaction gives the bars itself.
create or replace function keep_session_bars() returns trigger language plpgsql as $$
declare
  parts bar_part[];
begin
  if current_setting('quotekeeper.bars_given', true) = 'on' then
    return null;
  end if;
  with fresh as materialized (
    select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date as date,
           min(observed_at) as first_at, max(observed_at) as last_at,
           max(last) filter (where last > 0) as high, min(last) filter (where last > 0) as low,
           min(observed_at) filter (where last > 0) as open_at,
           max(observed_at) filter (where last > 0) as close_at,
           coalesce(sum(ask - bid) filter (where bid > 0 and ask > 0), 0) as spread_sum,
           count(*) filter (where bid > 0 and ask > 0) as spread_count,
           count(*) as quote_count
    from inserted
    group by 1, 2, 3, 4
  )
  select array_agg(row(n.instrument_id, n.source_id, n.delayed, n.first_at, n.last_at, n.open_at, n.close_at, o.last, n.high,
           n.low, c.last, n.spread_sum, n.spread_count, n.quote_count, null, null)::bar_part)
  into parts
  from fresh n
  left join inserted o
    on o.instrument_id = n.instrument_id and o.source_id = n.source_id and o.observed_at = n.open_at
  left join inserted c
    on c.instrument_id = n.instrument_id and c.source_id = n.source_id and c.observed_at = n.close_at;
  if parts is null then
    return null;
  end if;
  perform add_bar_parts(parts);
  -- Whoever loads inserts extended quotes next: their trigger keeps the bars of these dates.
  perform set_config('quotekeeper.bars_from',
                     least(nullif(current_setting('quotekeeper.bars_from', true), '')::date, min(first_at)::date - 1)::text, true),
          set_config('quotekeeper.bars_to',
                     greatest(nullif(current_setting('quotekeeper.bars_to', true), '')::date, max(last_at)::date)::text, true)
  from unnest(parts);
  return null;
end
$$;
comment on function keep_session_bars() is 'Internal, a trigger of quotes: adds new rows to session_bars.';

-- Quotes and extended quotes are inserted by one statement each, in this order: after the second one all is there that bars are
-- made of. Volumes that come into bars which are kept already make the bars of their dates anew.
create or replace function keep_bars() returns trigger language plpgsql as $$
declare
  from_date date;
  to_date date;
  volumes_from timestamptz;
  touched record;
begin
  if current_setting('quotekeeper.bars_given', true) = 'on' then
    return null;
  end if;
  select least(nullif(current_setting('quotekeeper.bars_from', true), '')::date, min(observed_at)::date - 1),
         greatest(nullif(current_setting('quotekeeper.bars_to', true), '')::date, max(observed_at)::date),
         min(observed_at) filter (where volume is not null)
  into from_date, to_date, volumes_from
  from inserted;
  if from_date is null then
    return null;
  end if;
  -- Volumes of quotes that another transaction brought: nobody else makes their bars meanwhile, and whoever remembers these
  -- quotes sees it.
  update session_bars b set bars_to = b.bars_to
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date
    from (
      select distinct instrument_id, source_id, (observed_at at time zone 'America/New_York')::date as date from inserted
      where volume is not null
    ) n
    join session_bars b using (instrument_id, source_id, date)
    where b.xmin::text <> pg_current_xact_id()::xid::text
    order by b.instrument_id, b.source_id, b.delayed, b.date
    for update of b
  ) n
  where b.instrument_id = n.instrument_id and b.source_id = n.source_id and b.delayed = n.delayed and b.date = n.date;
  if coalesce(current_setting('quotekeeper.bars_to', true), '') = '' or exists (
    select from session_bars
    where date between from_date and to_date and bars_to > volumes_from
  ) then
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select instrument_id, source_id, (observed_at at time zone 'America/New_York')::date as date, min(observed_at) as volumes_from
      from inserted
      where volume is not null
      group by 1, 2, 3
    ) n
    join session_bars b using (instrument_id, source_id, date)
    where b.bars_to > n.volumes_from;
    if touched.dates is not null then
      perform refresh_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
    end if;
  end if;
  perform keep_ended_bars(from_date, to_date);
  return null;
end
$$;
comment on function keep_bars() is
  'Internal, a trigger of extended_quotes: brings session_bars and intraday_bars up to new rows.';

-- On native partitions bars follow rows that are deleted, changed or truncated as well. TimescaleDB has no such triggers
-- where it compresses.
create or replace function follow_lost_quotes() returns trigger language plpgsql as $$
declare
  touched record;
begin
  if tg_op = 'DELETE' then
    -- Bars that are there alone: who rebuilds them takes them away first.
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select distinct instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date as date
      from gone
    ) g
    join session_bars b using (instrument_id, source_id, delayed, date);
  elsif tg_op = 'UPDATE' then
    select array_agg(g.instrument_id) as instrument_ids, array_agg(g.source_id) as source_ids,
           array_agg(g.delayed) as delayed_flags, array_agg(g.date) as dates
    into touched
    from (
      select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date as date from gone
      union
      select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date from inserted
    ) g;
  else
    -- A partition holds whole bars or one end of them.
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from session_bars b
    where not exists (
        select from quotes q
        where q.instrument_id = b.instrument_id and q.observed_at = b.first_at and q.source_id = b.source_id
      ) or not exists (
        select from quotes q
        where q.instrument_id = b.instrument_id and q.observed_at = b.last_at and q.source_id = b.source_id
      );
  end if;
  if touched.dates is null then
    return null;
  end if;
  perform from session_bars b
  join unnest(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates)
    as a (instrument_id, source_id, delayed, date) using (instrument_id, source_id, delayed, date)
  order by b.instrument_id, b.source_id, b.delayed, b.date
  for update of b;
  perform refresh_session_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
  return null;
end
$$;
comment on function follow_lost_quotes() is
  'Internal, a trigger of quotes: makes bars again from the rows that are left after an update, a delete or a truncate.';

-- On native partitions bars follow extended quotes that are deleted, changed or truncated as well.
create or replace function follow_lost_volumes() returns trigger language plpgsql as $$
declare
  touched record;
begin
  if tg_op = 'DELETE' then
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select distinct instrument_id, source_id, (observed_at at time zone 'America/New_York')::date as date from gone
    ) g
    join session_bars b using (instrument_id, source_id, date);
  elsif tg_op = 'UPDATE' then
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select instrument_id, source_id, (observed_at at time zone 'America/New_York')::date as date from gone
      union
      select instrument_id, source_id, (observed_at at time zone 'America/New_York')::date from inserted
    ) g
    join session_bars b using (instrument_id, source_id, date);
  else
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select distinct instrument_id, source_id, date from intraday_bars where volume is not null
    ) g
    join session_bars b using (instrument_id, source_id, date);
  end if;
  if touched.dates is null then
    return null;
  end if;
  perform from session_bars b
  join unnest(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates)
    as a (instrument_id, source_id, delayed, date) using (instrument_id, source_id, delayed, date)
  order by b.instrument_id, b.source_id, b.delayed, b.date
  for update of b;
  perform refresh_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
  return null;
end
$$;
comment on function follow_lost_volumes() is
  'Internal, a trigger of extended_quotes: makes bars again from the rows that are left after an update, a delete or a truncate.';

-- A date whose hours are corrected: its bars are made anew, with or without them, and the lake writes the date again.
create or replace function follow_calendar() returns trigger language plpgsql as $$
begin
  insert into late_days (date, changed_by, changed_at)
  select b.date, pg_current_xact_id(), clock_timestamp()
  from (select distinct date from session_bars where date = coalesce(new.date, old.date)) b
  where b.date < (clock_timestamp() at time zone 'America/New_York')::date
  on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at;
  perform refresh_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date))
  from session_bars
  where date = coalesce(new.date, old.date)
  having count(*) > 0;
  return null;
end
$$;
comment on function follow_calendar() is
  'Internal, a trigger of sessions: makes the bars of a date again when the hours of its session change.';

-- The returns of bars that are there. Other releases kept bars elsewhere, which come into the table later.
create or replace function fill_log_returns() returns void language sql as $$
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
comment on function fill_log_returns() is
  'Internal: fills log_return of intraday_bars where it is missing.';
revoke execute on function fill_log_returns() from public;

-- What their rows alone knew is kept before quotes go: all bars of their sessions, and their last volumes. The bars are marked:
-- rows of theirs that come again make no bar anew before all are there.
create or replace function keep_bars_of_dropped(from_at timestamptz, to_at timestamptz) returns void language plpgsql as $$
declare
  of_date date;
begin
  for of_date in
    select distinct date from session_bars where not quotes_dropped and first_at < to_at and last_at >= from_at order by 1
  loop
    perform from session_bars
    where date = of_date and not quotes_dropped and first_at < to_at and last_at >= from_at
    order by instrument_id, source_id, delayed
    for update;
    perform keep_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date), true)
    from session_bars
    where date = of_date and not quotes_dropped and first_at < to_at and last_at >= from_at;
  end loop;
  update session_bars b
  set quotes_dropped = true,
      volume = coalesce(b.volume, (
        select e.volume
        from extended_quotes e
        join quotes q
          on q.instrument_id = e.instrument_id and q.observed_at = e.observed_at and q.source_id = e.source_id
        where e.instrument_id = b.instrument_id and e.source_id = b.source_id and e.volume is not null
          and e.observed_at between b.first_at and b.last_at and q.delayed = b.delayed
        order by e.observed_at desc
        limit 1
      ))
  where not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
end
$$;
comment on function keep_bars_of_dropped(timestamptz, timestamptz) is
  'Internal: completes and marks the bars of quotes that are about to be dropped, between two instants.';
revoke execute on function keep_bars_of_dropped(timestamptz, timestamptz) from public;

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

-- The session of a date's close. Columns before it are as they were.
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
       s.name as source_name,
       case when d.close_at is not null then
         session_of(d.close_at, t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at)
       end as close_session
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2;

create or replace view bars_1d_regular as
select b.instrument_id,
       b.security_type,
       b.symbol,
       b.expiration,
       b.option_type,
       b.strike,
       b.source,
       b.delayed,
       b.date,
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

-- Bars of any width. A width that dates cannot make is refused.
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
  where not is_of_dates($2) and d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    and b.bar_at >= $3 and b.bar_at < $4
  union all
  select d.instrument_id, b.source, b.source_name, d.delayed, min(d.date), null, min(d.first_at),
         (array_agg(d.open order by d.date) filter (where d.open is not null))[1], max(d.high), min(d.low),
         (array_agg(d.close order by d.date desc) filter (where d.close is not null))[1],
         sum(d.spread_sum) / nullif(sum(d.spread_count), 0), sum(d.quote_count)::bigint, sum(b.volume)::bigint
  from instruments_named($1) i
  -- Planned for itself: as one statement with all that the view joins, planning took longer than reading.
  cross join lateral (
    select b.date, b.source, b.source_name, b.delayed, b.volume
    from bars_1d b
    where b.instrument_id = i.id
      and b.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    offset 0
  ) b
  join sources s on s.kind = b.source and s.name = b.source_name
  join session_bars d on d.instrument_id = i.id and d.date = b.date and d.source_id = s.id and d.delayed = b.delayed
  cross join lateral (
    select extract(year from d.date) * 12 + extract(month from d.date) - 1 as month,
           extract(year from $2) * 12 + extract(month from $2) as months
  ) m
  where is_of_dates($2) and d.first_at >= $3 and d.first_at < $4
  group by d.instrument_id, b.source, b.source_name, d.delayed,
           case when m.months > 0 then m.month - m.month % m.months
                else extract(epoch from date_bin($2, d.date::timestamp, '2000-01-03')) end
$$;
comment on function bars(text, interval, timestamptz, timestamptz) is
  'Bars of any width of an instrument, AAPL or AAPL:2026-12-18:CALL:150, that begin between two instants, the second one excluded.';

-- Below a day from bar to bar of a session, as log_return of bars_5m; from a day on from bar to bar.
create or replace function returns(instrument text, width interval, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, date date, session text, bar_at timestamptz,
  close numeric, log_return numeric, percent numeric
) language sql stable parallel safe as $$
  select b.instrument_id, b.source, b.source_name, b.delayed, b.date, b.session, b.bar_at, b.close,
         log_return(b.close, lag(b.close) over before), round(100 * (b.close / lag(b.close) over before - 1), 6)
  from bars($1, $2, $3, $4) b
  where b.close is not null
  window before as (
    partition by b.instrument_id, b.source_name, b.source, b.delayed, case when $2 < interval '1 day' then b.date end, b.session
    order by b.bar_at
  )
$$;
comment on function returns(text, interval, timestamptz, timestamptz) is
  'Closes of bars(...) and their returns: logarithmic, and in percent; NULL in the first bar of a session, or of all where bars are of days.';

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
comment on function spread_stats(text, timestamptz, timestamptz) is
  'How wide the market of an instrument was in each session: asks less bids where there are both; crossed where bid and ask meet or overlap.';
