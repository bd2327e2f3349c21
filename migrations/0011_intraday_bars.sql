-- Bars of five minutes and of an hour are kept, as those of a date are; they were made from all rows at each question.

create table intraday_bars (
  bar_at        timestamptz not null,
  date          date not null,
  instrument_id integer not null,
  source_id     smallint not null,
  minutes       smallint not null check (minutes in (5, 60)),
  delayed       boolean not null,
  session       text not null,
  spread_count  bigint not null,
  quote_count   bigint not null,
  volume        bigint,
  volume_before bigint,
  open          numeric,
  high          numeric,
  low           numeric,
  close         numeric,
  spread_sum    numeric not null,
  primary key (instrument_id, date, source_id, delayed, minutes, bar_at)
);
-- For questions of all series of a date. An expression, so that nobody who asks for one series is led to it: of a table without
-- statistics the planner would not know better.
create index intraday_bars_date on intraday_bars ((minutes::integer), date);
comment on table intraday_bars is
  'Bars that end by session_bars.bars_to. What is newer, a quarter of an hour at most, is read from the rows.';
comment on column intraday_bars.volume is 'The last one shown in the bar.';
comment on column intraday_bars.volume_before is 'The last one shown earlier on that date, or the first one of the bar where there is none.';

alter table session_bars add column bars_to timestamptz;
comment on column session_bars.bars_to is
  'intraday_bars has the bars that end by then: all of a date that is not its series'' last, others up to the last quarter of an hour.';

create function session_of(
  at timestamptz, pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz
) returns text language sql immutable parallel safe as $$
  select case
           when $1 >= $5 then 'closed'
           when $1 >= $4 then 'post'
           when $1 >= $3 then 'regular'
           when $1 >= $2 then 'pre'
           else 'closed'
         end
$$;

-- Bars begin anew at the open and at the close. All of these are at whole five minutes, so no five minutes reach over them.
create function bar_beginning(
  at timestamptz, width interval, pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz
) returns timestamptz language sql immutable parallel safe as $$
  select date_bin($2, $1, case
           when $1 >= $6 then $6
           when $1 >= $5 then $5
           when $1 >= $4 then $4
           else coalesce($3, '2000-01-01 00:00+00')
         end)
$$;

-- Keeps the bars that are over, or all, of series and dates, one for each place of the arrays; the caller holds the locks of
-- their session bars. Only rows since bars_to are read.
create function keep_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[], all_are_over boolean default false
) returns void language plpgsql as $$
declare
  -- Of all of them, so that servers pass over the partitions of other times.
  day_from timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  day_to timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  asked record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates, array_agg(b.bars_to) as froms,
         array_agg(b.until) as untils
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
      select * from session_bars b
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
    spread_sum, spread_count, quote_count, volume, volume_before)
  select a.instrument_id, a.source_id, a.delayed, a.date, 5, n.bar_at,
         session_of(n.bar_at, t.pre_at, t.open_at, t.close_at, t.post_at), n.open, n.high, n.low, n.close,
         n.spread_sum, n.spread_count, n.quote_count, n.volume,
         case when n.volume is not null then coalesce(
           lag(n.volume) over (partition by a.instrument_id, a.source_id, a.delayed, a.date, n.volume is null order by n.bar_at),
           k.volume, n.first_volume) end
  from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils)
    as a (instrument_id, source_id, delayed, date, from_at, until)
  left join sessions t on t.date = a.date
  left join lateral (
    select b.volume from intraday_bars b
    where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
      and b.minutes = 5 and b.volume is not null
    order by b.bar_at desc
    limit 1
  ) k on a.from_at is not null
  cross join lateral (
    select date_bin('5 minutes', q.observed_at, '2000-01-01 00:00+00') as bar_at,
           (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1] as open,
           max(q.last) filter (where q.last > 0) as high,
           min(q.last) filter (where q.last > 0) as low,
           (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1] as close,
           coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0) as spread_sum,
           count(*) filter (where q.bid > 0 and q.ask > 0) as spread_count,
           count(*) as quote_count,
           (array_agg(e.volume order by q.observed_at) filter (where e.volume is not null))[1] as first_volume,
           (array_agg(e.volume order by q.observed_at desc) filter (where e.volume is not null))[1] as volume
    from quotes q
    left join lateral (
      select e.volume from extended_quotes e
      where e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
        and e.observed_at >= day_from and e.observed_at < day_to
      limit 1
    ) e on true
    where q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
      and q.observed_at >= coalesce(a.from_at, a.date::timestamp at time zone 'America/New_York')
      and q.observed_at < least(a.until, (a.date + 1)::timestamp at time zone 'America/New_York')
      and q.observed_at >= day_from and q.observed_at < day_to
    group by 1
  ) n
  -- Somebody has emptied session_bars alone: what was kept then is made anew, and no load is held up by it.
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set
    session = excluded.session, open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = excluded.volume, volume_before = excluded.volume_before;

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
revoke execute on function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean) from public;

-- The bars of those series and dates anew, when rows came, went or changed among those that they were made of.
create function refresh_intraday_bars(
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
    and b.bars_to is not null and not b.quotes_dropped;
  perform keep_intraday_bars(instrument_ids, source_ids, delayed_flags, dates);
end
$$;
revoke execute on function refresh_intraday_bars(integer[], smallint[], boolean[], date[]) from public;

-- Whoever makes session bars anew makes the bars within them anew too.
alter function refresh_session_bars(integer[], smallint[], boolean[], date[]) rename to refresh_daily_bars;
create function refresh_session_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
begin
  perform refresh_daily_bars(instrument_ids, source_ids, delayed_flags, dates);
  perform refresh_intraday_bars(instrument_ids, source_ids, delayed_flags, dates);
end
$$;
revoke execute on function refresh_session_bars(integer[], smallint[], boolean[], date[]) from public;

-- As before, and bars that are kept whole are made anew.
create or replace function keep_session_bars() returns trigger language plpgsql as $$
declare
  late record;
begin
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
  ), added as (
    insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low,
      close, open_at, close_at, spread_sum, spread_count, quote_count)
    select n.instrument_id, n.source_id, n.delayed, n.date, n.first_at, n.last_at, o.last, n.high, n.low,
           c.last, n.open_at, n.close_at, n.spread_sum, n.spread_count, n.quote_count
    from fresh n
    left join inserted o
      on o.instrument_id = n.instrument_id and o.source_id = n.source_id and o.observed_at = n.open_at
    left join inserted c
      on c.instrument_id = n.instrument_id and c.source_id = n.source_id and c.observed_at = n.close_at
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
  -- Whoever loads inserts extended quotes next: their trigger keeps the bars of these dates.
  perform set_config('quotekeeper.bars_from',
                     least(nullif(current_setting('quotekeeper.bars_from', true), '')::date, min(observed_at)::date - 1)::text, true),
          set_config('quotekeeper.bars_to',
                     greatest(nullif(current_setting('quotekeeper.bars_to', true), '')::date, max(observed_at)::date)::text, true)
  from inserted
  having count(*) > 0;
  return null;
end
$$;

-- Quotes and extended quotes are inserted by one statement each, in this order: after the second one all is there that bars are
-- made of. Volumes that come into bars which are kept already make the bars of their dates anew. Bars that others are adding to
-- are left to them.
create function keep_bars() returns trigger language plpgsql as $$
declare
  from_date date;
  to_date date;
  volumes_from timestamptz;
  touched record;
begin
  select least(nullif(current_setting('quotekeeper.bars_from', true), '')::date, min(observed_at)::date - 1),
         greatest(nullif(current_setting('quotekeeper.bars_to', true), '')::date, max(observed_at)::date),
         min(observed_at) filter (where volume is not null)
  into from_date, to_date, volumes_from
  from inserted;
  if from_date is null then
    return null;
  end if;
  -- Volumes of quotes that another transaction brought: nobody else makes their bars meanwhile.
  if coalesce(current_setting('quotekeeper.bars_to', true), '') = '' or exists (
    select from session_bars
    where date between from_date and to_date and bars_to > volumes_from
  ) then
    select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into touched
    from (
      select b.*, n.first_at as volumes_from
      from (
        select instrument_id, source_id, (observed_at at time zone 'America/New_York')::date as date, min(observed_at) as first_at
        from inserted
        where volume is not null
        group by 1, 2, 3
      ) n
      join session_bars b on b.instrument_id = n.instrument_id and b.source_id = n.source_id and b.date = n.date
      order by b.instrument_id, b.source_id, b.delayed, b.date
      for update of b
    ) b
    where b.bars_to > b.volumes_from;
    if touched.dates is not null then
      perform refresh_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
    end if;
  end if;
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into touched
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date
    from session_bars b
    where b.date between from_date and to_date
      and (b.bars_to is null or date_bin('15 minutes', b.last_at, '2000-01-01 00:00+00') > b.bars_to)
    for update of b skip locked
  ) b;
  if touched.dates is not null then
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
  end if;
  if touched.dates is not null then
    perform keep_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
  end if;
  return null;
end
$$;

create trigger keep_bars after insert on extended_quotes
  referencing new table as inserted for each statement execute function keep_bars();

-- On native partitions bars follow extended quotes that are deleted, changed or truncated as well.
create function follow_lost_volumes() returns trigger language plpgsql as $$
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

-- Statements name a partition or its table: each has triggers of its own.
do $$
declare
  watched text;
begin
  for watched in
    select c.oid::regclass::text from pg_class c
    where c.oid = 'extended_quotes'::regclass and c.relkind = 'p'
    union all
    select i.inhrelid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhparent
    where c.oid = 'extended_quotes'::regclass and c.relkind = 'p'
  loop
    execute format('create trigger follow_deleted_volumes after delete on %s
      referencing old table as gone for each statement execute function follow_lost_volumes()', watched);
    execute format('create trigger follow_changed_volumes after update on %s
      referencing old table as gone new table as inserted for each statement execute function follow_lost_volumes()', watched);
    execute format('create trigger follow_truncated_volumes after truncate on %s
      for each statement execute function follow_lost_volumes()', watched);
    if watched <> 'extended_quotes' then
      execute format('create trigger keep_bars after insert on %s
        referencing new table as inserted for each statement execute function keep_bars()', watched);
    end if;
  end loop;
end
$$;

-- Bars that are not kept yet, from the rows since from_at and the five minutes before them that an hour has begun with.
create function newest_bars(
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
        left join lateral (
          select e.volume from extended_quotes e
          where e.instrument_id = $1 and e.observed_at = q.observed_at and e.source_id = $2 and e.observed_at between $5 and $6
          limit 1
        ) e on true
        where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3 and q.observed_at between $5 and $6
      ) r
      group by 1, 2
    ) b
  ) p
$$;

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
       s.name as source_name
from intraday_bars b
join instruments i on i.id = b.instrument_id
join sources s on s.id = b.source_id
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
       s.name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date
cross join lateral newest_bars(
  d.instrument_id, d.source_id, d.delayed, d.date, coalesce(d.bars_to, d.first_at), d.last_at,
  t.pre_at, t.open_at, t.close_at, t.post_at, interval '5 minutes'
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
left join sessions t on t.date = d.date
cross join lateral newest_bars(
  d.instrument_id, d.source_id, d.delayed, d.date, coalesce(d.bars_to, d.first_at), d.last_at,
  t.pre_at, t.open_at, t.close_at, t.post_at, interval '1 hour'
) b
where d.bars_to is distinct from 'infinity';

-- The day's last volume: as a rule its last quote's, which is looked up by its key. A column that is not asked for costs nothing.
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
       coalesce(t.kind, 'closed') as session,
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
left join sessions t on t.date = d.date;
comment on view bars_1d is 'One bar for each exchange date. session is regular, early, or closed; volume is the last one shown.';

-- A date whose hours are corrected: its bars are made anew, with or without them.
create function follow_calendar() returns trigger language plpgsql as $$
begin
  perform refresh_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date))
  from session_bars
  where date = coalesce(new.date, old.date)
  having count(*) > 0;
  return null;
end
$$;
create trigger follow_calendar after insert or delete on sessions for each row execute function follow_calendar();
create trigger follow_corrections after update on sessions for each row
  when ((old.pre_at, old.open_at, old.close_at, old.post_at) is distinct from (new.pre_at, new.open_at, new.close_at, new.post_at))
  execute function follow_calendar();

drop function wide_quote_bars(
  integer, smallint, boolean, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
);

-- The bars of the quotes that are there.
do $$
declare
  of_date date;
begin
  for of_date in select distinct date from session_bars order by 1 loop
    perform keep_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date))
    from session_bars where date = of_date;
  end loop;
end
$$;
