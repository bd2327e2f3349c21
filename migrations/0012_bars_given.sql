-- Whoever loads may give the bars of its rows with them: they were made from the rows by triggers, which read all rows back.

create type bar_part as (
  instrument_id integer,
  source_id     smallint,
  delayed       boolean,
  first_at      timestamptz,
  last_at       timestamptz,
  open_at       timestamptz,
  close_at      timestamptz,
  open          numeric,
  high          numeric,
  low           numeric,
  close         numeric,
  spread_sum    numeric,
  spread_count  bigint,
  quote_count   bigint,
  first_volume  bigint,
  volume        bigint
);
comment on type bar_part is
  'Quotes of one series that follow each other within five minutes, or all that one statement has brought of a date.';

-- Parts that are later than all rows of their session bar are added to it, which is what collecting does. Rows that come among
-- or before the others may have been in it once and lost since: their bar is made from the rows. In the order of the key, so
-- that two loaders do not wait for each other in a circle. A bar that is not added to is locked all the same. Whoever sets
-- quotekeeper.bars_given in a transaction calls it behind the rows of both tables. It gives the series whose bars
-- were made from the rows, and the transactions that had written bars before: who remembers rows learns what others have changed.
create function add_bar_parts(parts bar_part[]) returns table (
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
revoke execute on function add_bar_parts(bar_part[]) from public;

-- As before, unless the bars are given.
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

-- As before, but for the parts of bars that a load has brought in a transaction, and those of rows before that it remembers. Where
-- others have changed something since then, the rows tell.
drop function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean);
create function keep_intraday_bars(
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
    spread_sum, spread_count, quote_count, volume, volume_before)
  with a as materialized (
    select * from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils,
      asked.are_given) with ordinality as a (instrument_id, source_id, delayed, date, from_at, until, is_given, place)
  ), given as materialized (
    select a.place, g.*
    from unnest(parts) g
    join a on a.instrument_id = g.instrument_id and a.source_id = g.source_id and a.delayed = g.delayed
          and a.date = (g.first_at at time zone 'America/New_York')::date
    where a.is_given and g.first_at < a.until and (a.from_at is null or g.first_at >= a.from_at)
  )
  select a.instrument_id, a.source_id, a.delayed, a.date, 5, n.bar_at,
         session_of(n.bar_at, t.pre_at, t.open_at, t.close_at, t.post_at), n.open, n.high, n.low, n.close,
         n.spread_sum, n.spread_count, n.quote_count, n.volume,
         case when n.volume is not null then coalesce(
           lag(n.volume) over (partition by a.place, n.volume is null order by n.bar_at), k.volume, n.first_volume) end
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
  left join lateral (
    select b.volume from intraday_bars b
    where b.instrument_id = a.instrument_id and b.date = a.date and b.source_id = a.source_id and b.delayed = a.delayed
      and b.minutes = 5 and b.volume is not null
    order by b.bar_at desc
    limit 1
  ) k on a.from_at is not null
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
revoke execute on function
  keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text) from public;

-- As before, and the session bars are written in any case: who remembers their rows sees it.
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

-- Keeps the bars that rows of these dates have ended. Bars that others are adding to are left to them, and so are those that others
-- have written since the transaction whose parts are given.
create function keep_ended_bars(
  from_date date, to_date date, parts bar_part[] default '{}', written text default null
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
      and (b.bars_to is null or date_bin('15 minutes', b.last_at, '2000-01-01 00:00+00') > b.bars_to)
      and (written is null or b.xmin::text = written)
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
revoke execute on function keep_ended_bars(date, date, bar_part[], text) from public;

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
