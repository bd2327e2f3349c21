-- Bars equal the rows, also of rows that were lost and come again; a price of 0 is no trade; expired contracts leave the chain.

alter table session_bars add column quotes_dropped boolean not null default false;
comment on column session_bars.quotes_dropped is
  'Retention has dropped quotes of it: the bar knows more than the rows, and stays until as many rows are there again.';
comment on column session_bars.volume is
  'NULL while extended_quotes has it: the last one shown on that date. Written down before retention drops those rows.';
comment on table session_bars is
  'Kept by a trigger on quotes, in the transaction that inserts them. Prices are those of last above 0: 0 is no trade.';

-- Bars from the rows themselves, one for each place of the arrays. The caller has locked those that are there: so nobody
-- else changes them, and rows that others have added meanwhile are seen, since each statement looks anew.
create function refresh_session_bars(
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
revoke execute on function refresh_session_bars(integer[], smallint[], boolean[], date[]) from public;

-- Rows that come after all of their bar's are added to it, which is what collecting does. Rows that come among or before
-- them may have been in it once and lost since: their bar is made from the rows. In the order of the key, so that two
-- loaders do not wait for each other in a circle. A bar that is not added to is locked all the same.
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
    where kept.last_at < excluded.first_at
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
  return null;
end
$$;

-- On native partitions bars follow rows that are deleted, changed or truncated as well. TimescaleDB has no such triggers
-- where it compresses.
create function follow_lost_quotes() returns trigger language plpgsql as $$
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

-- Statements name a partition or its table: each has triggers of its own.
do $$
declare
  watched text;
begin
  for watched in
    select c.oid::regclass::text from pg_class c
    where c.oid = 'quotes'::regclass and c.relkind = 'p'
    union all
    select i.inhrelid::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhparent
    where c.oid = 'quotes'::regclass and c.relkind = 'p'
  loop
    execute format('create trigger follow_deleted_quotes after delete on %s
      referencing old table as gone for each statement execute function follow_lost_quotes()', watched);
    execute format('create trigger follow_changed_quotes after update on %s
      referencing old table as gone new table as inserted for each statement execute function follow_lost_quotes()', watched);
    execute format('create trigger follow_truncated_quotes after truncate on %s
      for each statement execute function follow_lost_quotes()', watched);
  end loop;
end
$$;

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

-- What the release before has left: bars that count a row again which was lost and came again, and bars with a price
-- of 0. Of those that have no rows any more the prices of 0 are taken out. On hypertables they are what retention left;
-- TimescaleDB Community still knows their counts, in pieces that were made before the rows went.
do $$
declare
  wrong record;
begin
  if (select relkind from pg_class where oid = 'quotes'::regclass) = 'r' then
    update session_bars b set quotes_dropped = true
    where not exists (
      select from quotes q
      where q.instrument_id = b.instrument_id and q.observed_at = b.first_at and q.source_id = b.source_id
    );
    if to_regclass('bar_pieces') is not null then
      execute $pieces$
        update session_bars b
        set quote_count = p.quote_count, spread_count = p.spread_count, spread_sum = p.spread_sum
        from (
          select instrument_id, source_id, delayed, (bar_at at time zone 'America/New_York')::date as date,
                 sum(quote_count)::bigint as quote_count, sum(spread_count)::bigint as spread_count,
                 coalesce(sum(spread_sum), 0) as spread_sum
          from bar_pieces
          group by 1, 2, 3, 4
        ) p
        where b.quotes_dropped and b.quote_count > p.quote_count
          and p.instrument_id = b.instrument_id and p.source_id = b.source_id and p.delayed = b.delayed and p.date = b.date
      $pieces$;
    end if;
  end if;
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into wrong
  from session_bars b
  join (
    select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date as date,
           count(*) as quote_count
    from quotes
    group by 1, 2, 3, 4
  ) n using (instrument_id, source_id, delayed, date)
  where not b.quotes_dropped and (n.quote_count <> b.quote_count or b.low <= 0);
  if wrong.dates is not null then
    perform refresh_session_bars(wrong.instrument_ids, wrong.source_ids, wrong.delayed_flags, wrong.dates);
  end if;
  update session_bars set
    open = case when open > 0 then open end,
    high = case when high > 0 then high end,
    low = null,
    close = case when close > 0 then close end
  where low <= 0;
end
$$;

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

-- The day's last volume: as a rule its last quote's, which is looked up by its key; earlier rows are read where that has none.
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
       coalesce(d.volume, e.volume, f.volume) as volume,
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
) e on true
left join lateral (
  select x.volume
  from extended_quotes x
  join quotes q on q.instrument_id = x.instrument_id and q.observed_at = x.observed_at and q.source_id = x.source_id
  where d.volume is null and e.volume is null
    and x.instrument_id = d.instrument_id and x.observed_at between d.first_at and d.last_at
    and x.source_id = d.source_id and x.volume is not null
    and q.delayed = d.delayed
  order by x.observed_at desc
  limit 1
) f on true;
comment on view bars_1d is 'One bar for each exchange date. session is regular, early, or closed; volume is the last one shown.';

-- A contract is there until the close of the last session on or before its expiration: as of now, or of the time in the
-- setting quotekeeper.as_of, for archives that are read years later.
create or replace view option_chain_latest as
select c.*,
       u.last as underlying_last,
       nullif(u.last, 0) / nullif(c.strike, 0) as moneyness
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
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'CALL' and q.ask > 0) as call_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'CALL' and q.ask > 0) as call_spread,
         max(q.last) filter (where q.option_type = 'CALL') as call_last,
         max(q.delta) filter (where q.option_type = 'CALL') as call_delta,
         max(q.volume) filter (where q.option_type = 'CALL') as call_volume,
         max(q.instrument_id) filter (where q.option_type = 'PUT') as put_instrument_id,
         max(q.observed_at) filter (where q.option_type = 'PUT') as put_observed_at,
         max(q.bid) filter (where q.option_type = 'PUT') as put_bid,
         max(q.ask) filter (where q.option_type = 'PUT') as put_ask,
         max((q.bid + q.ask) / 2) filter (where q.option_type = 'PUT' and q.ask > 0) as put_mid,
         max(q.ask - q.bid) filter (where q.option_type = 'PUT' and q.ask > 0) as put_spread,
         max(q.last) filter (where q.option_type = 'PUT') as put_last,
         max(q.delta) filter (where q.option_type = 'PUT') as put_delta,
         max(q.volume) filter (where q.option_type = 'PUT') as put_volume,
         q.source_name
  from latest_quotes q
  join instruments i on i.id = q.instrument_id
  where q.option_type is not null
    and q.expiration >= (
      select coalesce(
        (select min(t.date) from sessions t where t.close_at > n.at and t.date between n.date and n.date + 7),
        n.date
      )
      from (
        select at, (at at time zone 'America/New_York')::date as date
        from (select coalesce(nullif(current_setting('quotekeeper.as_of', true), '')::timestamptz, now()) as at) a
      ) n
    )
  group by q.symbol, q.expiration, q.strike, q.source, q.source_name, q.delayed
) c
left join lateral (
  select q.last
  from latest_quotes q
  where q.instrument_id = c.underlying_id and q.source = c.source and q.source_name = c.source_name
    and q.delayed = c.delayed
) u on true;
comment on view option_chain_latest is
  'One row per underlying, expiration and strike, until the expiration''s close; moneyness is the underlying''s last over the strike.';
