-- The bars of one series on one date: of its bars of five minutes that are kept, from kept_from on, NULL: of none, and of its quotes from
-- from_at to to_at, whose volumes are read once for all of them, and not looked up for each. Volume is what was traded since the last
-- volume shown before, which is shown_before where these rows have none; bars without one are passed over.
create or replace function series_bars(
  of_instrument integer, of_source smallint, of_delayed boolean, of_date date, kept_from timestamptz, shown_before bigint,
  from_at timestamptz, to_at timestamptz, pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz, width interval
) returns table (
  session text, bar_at timestamptz, open numeric, high numeric, low numeric, close numeric, mean_spread numeric,
  quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end
  from (
    select b.*, coalesce(lag(b.shown) over (partition by b.shown is null order by b.bar_at), $6, b.first_shown) as before
    from (
      select session_of(r.at, $9, $10, $11, $12) as session, bar_beginning(r.at, $13, $9, $10, $11, $12) as bar_at,
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
        where k.instrument_id = $1 and k.date = $4 and k.source_id = $2 and k.delayed = $3 and k.minutes = 5 and k.bar_at >= $5
        union all
        select q.observed_at, p.price, p.price, p.price, p.price,
               case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end,
               case when q.bid > 0 and q.ask > 0 then 1 else 0 end, 1, e.volume, e.volume
        from quotes q
        cross join lateral (select case when q.last > 0 then q.last end as price) p
        left join (
          select e.observed_at, e.volume from extended_quotes e
          where e.instrument_id = $1 and e.source_id = $2 and e.observed_at between $7 and $8
          offset 0
        ) e on e.observed_at = q.observed_at
        where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3 and q.observed_at between $7 and $8
      ) r
      group by 1, 2
    ) b
  ) p
$$;
comment on function series_bars(
  integer, smallint, boolean, date, timestamptz, bigint, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
) is 'Part of the views of bars and of bars(...): the bars of one series on one date. Call bars(...) instead.';

-- Bars are made from the rows a moment after these were stored. Whoever stores rows sets made_to of their session bars:
--   NULL: the bar, and its bars in intraday_bars, have all rows.
--   an instant: rows later than it have come since.
--   -infinity: rows have come or gone among those that the bar was made of, and all of it is made again. Its bars in intraday_bars go in
--     the same transaction, and bars_to is NULL.
-- Views add the rows later than made_to and bars_to, so a bar says what its rows say before it is made.
-- A contract that is quoted each five minutes has as many bars as quotes, and they take as much room: none is kept, bars_to is -infinity,
-- and views make them of the quotes. They are kept of dates with more than two quotes in five minutes, in the mean, and always of
-- securities: questions are about many dates of these.
create or replace function has_kept_bars(option_type text, first_at timestamptz, last_at timestamptz, quote_count bigint) returns boolean
language sql immutable parallel safe as $$ select $1 is null or $3 - $2 < ($4 - 12) * interval '150 seconds' $$;
comment on function has_kept_bars(text, timestamptz, timestamptz, bigint) is
  'Internal: whether intraday_bars keeps the bars of a date with so many quotes of a contract, or, where its type is NULL, of a security. Of others views make them of the quotes.';

-- Locks bars that are to be made, and those of dates that their series has ended. Bars that another transaction changes are left to the
-- next call.
create or replace function lock_due_bars(most integer) returns table (instrument_id integer, source_id smallint, delayed boolean, date date)
language sql as $$
  with due as materialized (
    select b.instrument_id, b.source_id, b.delayed, b.date from session_bars b
    where b.made_to is not null
    order by b.date, b.instrument_id, b.source_id, b.delayed
    limit $1
    for update skip locked
  ), ended as materialized (
    select p.instrument_id, p.source_id, p.delayed, p.date
    from due d
    cross join lateral (
      select p.date from session_bars p
      where p.instrument_id = d.instrument_id and p.source_id = d.source_id and p.delayed = d.delayed and p.date < d.date
      order by p.date desc
      limit 1
    ) l
    join session_bars p
      on p.instrument_id = d.instrument_id and p.source_id = d.source_id and p.delayed = d.delayed and p.date = l.date
    where coalesce(isfinite(p.bars_to), true) and p.made_to is null
    for update of p skip locked
  )
  select * from due
  union
  select * from ended
$$;

-- Makes bars of session_bars and intraday_bars, one for each place of the arrays; the caller holds their locks. Bars of five minutes that
-- have ended are kept, of a date that its series has ended all. all_are_over: the quotes of these dates are about to go, so all of their
-- bars are kept. Each statement joins and groups by the instrument: on Citus every worker does its part.
create or replace function make_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[], all_are_over boolean default false
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  -- Of all dates, so that partitions of other times are passed over.
  day_from timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  day_to timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  asked record;
  kept record;
begin
  -- Means something on TimescaleDB only: bars of compressed chunks may all be written again.
  perform set_config('timescaledb.max_tuples_decompressed_per_dml_transaction', '0', true);
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids, array_agg(b.delayed) as delayed_flags,
         array_agg(b.date) as dates, array_agg(b.is_anew) as anew, array_agg(b.made_to) as rows_from,
         array_agg(b.from_at) as froms, array_agg(b.until) as untils,
         array_agg(b.pre_at) as pre_ats, array_agg(b.open_at) as open_ats, array_agg(b.close_at) as close_ats, array_agg(b.post_at) as post_ats,
         array_agg(v.volume) as volumes, array_agg(c.close) as closes, array_agg(c.session) as sessions,
         array_agg(distinct b.date) filter (where b.made_to is not null and not b.quotes_dropped) as changed
  into asked
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date, b.quotes_dropped, s.is_anew,
           case when s.is_anew then '-infinity' else b.made_to end as made_to,
           case when not s.is_anew then nullif(b.bars_to, '-infinity') end as from_at,
           t.pre_at, opens_at(b.source_id, b.date, t.open_at) as open_at, t.close_at, t.post_at,
           case when all_are_over or l.is_ended then 'infinity' else five_minutes(b.last_at, t.close_at) end as until
    from session_bars b
    join unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
      on a.instrument_id = b.instrument_id and a.source_id = b.source_id and a.delayed = b.delayed and a.date = b.date
    cross join lateral (select coalesce(b.made_to = '-infinity' or b.made_to is not null and b.bars_to = 'infinity', false) as is_anew) s
    left join sessions t on t.date = b.date and b.source_id <> 2
    left join lateral (
      select true as is_ended from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
      limit 1
    ) l on true
    left join lateral (
      select count(*) as quote_count from quotes q
      where b.quotes_dropped and q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
        and q.observed_at >= b.date::timestamp at time zone 'America/New_York'
        and q.observed_at < (b.date + 1)::timestamp at time zone 'America/New_York'
    ) c on true
    -- A bar that knows more than the rows stays until as many rows are there again.
    where not b.quotes_dropped or b.made_to is not null and c.quote_count >= b.quote_count
  ) b
  -- The last volume, close and session of the bars that are kept: once for each series, and not for each of its new bars.
  left join lateral (
    select k.volume from intraday_bars k
    where b.from_at is not null and k.instrument_id = b.instrument_id and k.date = b.date and k.source_id = b.source_id
      and k.delayed = b.delayed and k.minutes = 5 and k.volume is not null
    order by k.bar_at desc
    limit 1
  ) v on true
  left join lateral (
    select k.close, k.session from intraday_bars k
    where b.from_at is not null and k.instrument_id = b.instrument_id and k.date = b.date and k.source_id = b.source_id
      and k.delayed = b.delayed and k.minutes = 5 and k.close is not null
    order by k.bar_at desc
    limit 1
  ) c on true;

  -- The bar of a date: of all rows, or of what it was made of and the rows since. It is there, and takes the values by its key: an update
  -- that joined it was planned as a look at all rows of all these bars for each bar of the date.
  insert into session_bars as b (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low, close, open_at, close_at,
    spread_sum, spread_count, quote_count)
  select k.instrument_id, k.source_id, k.delayed, k.date,
         case when a.is_anew then r.first_at else k.first_at end,
         r.last_at,
         case when a.is_anew then r.open else coalesce(k.open, r.open) end,
         case when a.is_anew then r.high else greatest(r.high, k.high) end,
         case when a.is_anew then r.low else least(r.low, k.low) end,
         case when a.is_anew then r.close else coalesce(r.close, k.close) end,
         case when a.is_anew then r.open_at else coalesce(k.open_at, r.open_at) end,
         case when a.is_anew then r.close_at else coalesce(r.close_at, k.close_at) end,
         r.spread_sum + case when a.is_anew then 0 else k.spread_sum end,
         r.spread_count + case when a.is_anew then 0 else k.spread_count end,
         r.quote_count + case when a.is_anew then 0 else k.quote_count end
  from session_bars k
  join unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.rows_from, asked.anew)
    as a (instrument_id, source_id, delayed, date, rows_from, is_anew)
    on a.instrument_id = k.instrument_id and a.source_id = k.source_id and a.delayed = k.delayed and a.date = k.date
  cross join lateral (
    select q.instrument_id, min(q.observed_at) as first_at, max(q.observed_at) as last_at,
           (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1] as open,
           max(q.last) filter (where q.last > 0) as high,
           min(q.last) filter (where q.last > 0) as low,
           (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1] as close,
           min(q.observed_at) filter (where q.last > 0) as open_at,
           max(q.observed_at) filter (where q.last > 0) as close_at,
           coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0) as spread_sum,
           count(*) filter (where q.bid > 0 and q.ask > 0) as spread_count,
           count(*) as quote_count
    from quotes q
    where q.instrument_id = k.instrument_id and q.source_id = k.source_id and q.delayed = k.delayed
      and q.observed_at > a.rows_from and q.observed_at >= k.date::timestamp at time zone 'America/New_York'
      and q.observed_at < (k.date + 1)::timestamp at time zone 'America/New_York'
      and q.observed_at >= day_from and q.observed_at < day_to
    group by 1
  ) r
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = excluded.first_at, last_at = excluded.last_at, open = excluded.open, high = excluded.high, low = excluded.low,
    close = excluded.close, open_at = excluded.open_at, close_at = excluded.close_at, spread_sum = excluded.spread_sum,
    spread_count = excluded.spread_count, quote_count = excluded.quote_count, volume = null, quotes_dropped = false;

  delete from session_bars b
  using unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.anew)
    as a (instrument_id, source_id, delayed, date, is_anew)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
    and a.is_anew and not b.quotes_dropped
    and not exists (
      select from quotes q
      where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
        and q.observed_at >= b.date::timestamp at time zone 'America/New_York'
        and q.observed_at < (b.date + 1)::timestamp at time zone 'America/New_York'
        and q.observed_at >= day_from and q.observed_at < day_to
    );

  -- Those of which bars of five minutes and hours are kept.
  select array_agg(a.instrument_id) as instrument_ids, array_agg(a.source_id) as source_ids, array_agg(a.delayed) as delayed_flags,
         array_agg(a.date) as dates, array_agg(a.from_at) as froms, array_agg(a.until) as untils,
         array_agg(a.pre_at) as pre_ats, array_agg(a.open_at) as open_ats, array_agg(a.close_at) as close_ats, array_agg(a.post_at) as post_ats,
         array_agg(a.volume) as volumes, array_agg(a.close) as closes, array_agg(a.session) as sessions
  into kept
  from session_bars b
  join unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils,
    asked.pre_ats, asked.open_ats, asked.close_ats, asked.post_ats, asked.volumes, asked.closes, asked.sessions)
    as a (instrument_id, source_id, delayed, date, from_at, until, pre_at, open_at, close_at, post_at, volume, close, session)
    on a.instrument_id = b.instrument_id and a.source_id = b.source_id and a.delayed = b.delayed and a.date = b.date
  join instruments i on i.id = b.instrument_id
  where all_are_over or has_kept_bars(i.option_type, b.first_at, b.last_at, b.quote_count);

  delete from intraday_bars b
  using (
    select a.instrument_id, a.source_id, a.delayed, a.date
    from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.anew, asked.froms)
      as a (instrument_id, source_id, delayed, date, is_anew, from_at)
    where a.is_anew or a.from_at is not null and (a.instrument_id, a.source_id, a.delayed, a.date) not in (
      select * from unnest(kept.instrument_ids, kept.source_ids, kept.delayed_flags, kept.dates)
    )
  ) a
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before, log_return)
  select b.instrument_id, b.source_id, b.delayed, b.date, 5, n.bar_at, p.session,
         n.open, n.high, n.low, n.close, n.spread_sum, n.spread_count, n.quote_count, n.volume,
         case when n.volume is not null then coalesce(
           lag(n.volume) over (partition by b.instrument_id, b.source_id, b.delayed, b.date, n.volume is null order by n.bar_at),
           a.volume, n.first_volume) end,
         log_return(n.close, case
           when coalesce(lag(p.session) over closes, a.session) = p.session then coalesce(lag(n.close) over closes, a.close) end)
  from session_bars b
  join unnest(kept.instrument_ids, kept.source_ids, kept.delayed_flags, kept.dates, kept.froms, kept.untils,
    kept.pre_ats, kept.open_ats, kept.close_ats, kept.post_ats, kept.volumes, kept.closes, kept.sessions)
    as a (instrument_id, source_id, delayed, date, from_at, until, pre_at, open_at, close_at, post_at, volume, close, session)
    on a.instrument_id = b.instrument_id and a.source_id = b.source_id and a.delayed = b.delayed and a.date = b.date
  cross join lateral (
    select r.instrument_id, five_minutes(r.observed_at, a.close_at) as bar_at,
           (array_agg(r.last order by r.observed_at) filter (where r.last > 0))[1] as open,
           max(r.last) filter (where r.last > 0) as high,
           min(r.last) filter (where r.last > 0) as low,
           (array_agg(r.last order by r.observed_at desc) filter (where r.last > 0))[1] as close,
           coalesce(sum(r.ask - r.bid) filter (where r.bid > 0 and r.ask > 0), 0) as spread_sum,
           count(*) filter (where r.bid > 0 and r.ask > 0) as spread_count,
           count(*) as quote_count,
           (array_agg(r.volume order by r.observed_at) filter (where r.volume is not null))[1] as first_volume,
           (array_agg(r.volume order by r.observed_at desc) filter (where r.volume is not null))[1] as volume
    from (
      -- A quote with its volume. Joined, each quote of a table without statistics was looked for among all volumes of its date.
      select o.instrument_id, o.observed_at, max(o.bid) as bid, max(o.ask) as ask, max(o.last) as last, max(o.volume) as volume
      from (
        select q.instrument_id, q.observed_at, q.bid, q.ask, q.last, null::bigint as volume, true as is_quote
        from quotes q
        where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
          and q.observed_at >= coalesce(a.from_at, b.date::timestamp at time zone 'America/New_York')
          and q.observed_at < least(a.until, (b.date + 1)::timestamp at time zone 'America/New_York')
          and q.observed_at >= day_from and q.observed_at < day_to
        union all
        select e.instrument_id, e.observed_at, null, null, null, e.volume, false
        from extended_quotes e
        where e.instrument_id = b.instrument_id and e.source_id = b.source_id and e.volume is not null
          and e.observed_at >= coalesce(a.from_at, b.date::timestamp at time zone 'America/New_York')
          and e.observed_at < least(a.until, (b.date + 1)::timestamp at time zone 'America/New_York')
          and e.observed_at >= day_from and e.observed_at < day_to
      ) o
      group by 1, 2
      having bool_or(o.is_quote)
    ) r
    group by 1, 2
  ) n
  cross join lateral (select session_of(n.bar_at, a.pre_at, a.open_at, a.close_at, a.post_at) as session) p
  window closes as (partition by b.instrument_id, b.source_id, b.delayed, b.date, n.close is null order by n.bar_at)
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set
    session = excluded.session, open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = excluded.volume, volume_before = excluded.volume_before, log_return = excluded.log_return;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before)
  select b.instrument_id, b.source_id, b.delayed, b.date, 60,
         bar_beginning(b.bar_at, interval '1 hour', a.pre_at, a.open_at, a.close_at, a.post_at), b.session,
         (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], max(b.high), min(b.low),
         (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
         sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
         (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
         (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
  from intraday_bars b
  join unnest(kept.instrument_ids, kept.source_ids, kept.delayed_flags, kept.dates, kept.froms, kept.untils,
    kept.pre_ats, kept.open_ats, kept.close_ats, kept.post_ats)
    as a (instrument_id, source_id, delayed, date, from_at, until, pre_at, open_at, close_at, post_at)
    on a.instrument_id = b.instrument_id and a.source_id = b.source_id and a.delayed = b.delayed and a.date = b.date
  where b.minutes = 5
    and b.bar_at >= coalesce(bar_beginning(a.from_at, interval '1 hour', a.pre_at, a.open_at, a.close_at, a.post_at), '-infinity')
    and (a.until = 'infinity'
      or b.bar_at < bar_beginning(a.until, interval '1 hour', a.pre_at, a.open_at, a.close_at, a.post_at))
  group by 1, 2, 3, 4, 6, 7
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set
    session = excluded.session, open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = excluded.volume, volume_before = excluded.volume_before;

  update session_bars b set
    bars_to = case
      when not (all_are_over or has_kept_bars(i.option_type, b.first_at, b.last_at, b.quote_count)) then '-infinity'
      when a.until > coalesce(a.from_at, b.first_at) then a.until
      else a.from_at
    end,
    made_to = case when a.rows_from is null then b.made_to end
  from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.rows_from, asked.froms, asked.untils)
    as a (instrument_id, source_id, delayed, date, rows_from, from_at, until)
  join instruments i on i.id = a.instrument_id
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date;

  update session_bars b set made_to = null
  from unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)
  where b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date
    and b.quotes_dropped and b.made_to is not null;

  -- What was written of dates that are over is out of date.
  insert into late_days (date, changed_by, changed_at)
  select d.date, pg_current_xact_id(), clock_timestamp() from unnest(asked.changed) as d (date)
  where d.date < (clock_timestamp() at time zone 'America/New_York')::date
  order by 1
  on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at;
end
$$;

-- Makes the bars of rows that were stored since. The program calls it every few seconds, and at the end of a load until none is left.
create or replace function make_due_bars(most integer) returns integer language plpgsql as $$
declare
  due record;
begin
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into due
  from lock_due_bars(most) b;
  if due.dates is null then
    return 0;
  end if;
  perform make_bars(due.instrument_ids, due.source_ids, due.delayed_flags, due.dates);
  return cardinality(due.dates);
end
$$;

create or replace function recompute_session_bars(from_date date, to_date date) returns bigint language plpgsql as $$
begin
  -- Every bar is there and locked before its rows are read: what others add meanwhile is added to the new bar.
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, spread_sum,
    spread_count, quote_count, made_to)
  select q.instrument_id, q.source_id, q.delayed, (q.observed_at at time zone 'America/New_York')::date,
         min(q.observed_at), max(q.observed_at), 0, 0, 0, '-infinity'
  from quotes q
  where q.observed_at >= from_date::timestamp at time zone 'America/New_York'
    and q.observed_at < (to_date + 1)::timestamp at time zone 'America/New_York'
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = least(kept.first_at, excluded.first_at), last_at = greatest(kept.last_at, excluded.last_at), made_to = '-infinity';
  update session_bars b set made_to = '-infinity'
  where b.date between from_date and to_date and b.made_to is distinct from '-infinity';
  perform make_bars(array_agg(b.instrument_id), array_agg(b.source_id), array_agg(b.delayed), array_agg(b.date))
  from session_bars b where b.date between from_date and to_date
  having count(*) > 0;
  -- The dates before are over for series that have rows of these dates now.
  perform make_bars(array_agg(p.instrument_id), array_agg(p.source_id), array_agg(p.delayed), array_agg(p.date))
  from (
    select distinct on (p.instrument_id, p.source_id, p.delayed) p.*
    from session_bars p
    join session_bars b on b.instrument_id = p.instrument_id and b.source_id = p.source_id and b.delayed = p.delayed
    where b.date between from_date and to_date and p.date between from_date - 14 and from_date - 1
    order by p.instrument_id, p.source_id, p.delayed, p.date desc
  ) p
  where coalesce(isfinite(p.bars_to), true)
  having count(*) > 0;
  return (select count(*) from session_bars where date between from_date and to_date);
end
$$;
comment on function recompute_session_bars(date, date) is
  'Makes the bars of exchange dates again from their quotes, both dates included, after somebody changed quotes by hand. Returns how many session bars the dates have.';

-- What their rows alone knew is kept before quotes go: all bars of their sessions, and their last volumes. The bars are marked:
-- rows of theirs that come again make no bar anew before all are there.
create or replace function keep_bars_of_dropped(from_at timestamptz, to_at timestamptz) returns void language plpgsql as $$
declare
  of_date date;
begin
  for of_date in
    select distinct date from session_bars where not quotes_dropped and first_at < to_at and last_at >= from_at order by 1
  loop
    update session_bars b set made_to = b.made_to
    where b.date = of_date and not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
    perform make_bars(array_agg(b.instrument_id), array_agg(b.source_id), array_agg(b.delayed), array_agg(b.date), true)
    from session_bars b
    where b.date = of_date and not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at
    having count(*) > 0;
    update session_bars b set volume = coalesce(b.volume, v.volume)
    from (
      select distinct on (b.instrument_id, b.source_id, b.delayed)
             b.instrument_id, b.source_id, b.delayed, e.volume
      from session_bars b
      join quotes q on q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
        and q.observed_at between b.first_at and b.last_at
      join extended_quotes e
        on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
      where e.volume is not null and b.date = of_date and not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at
        and q.observed_at >= of_date::timestamp at time zone 'America/New_York'
        and q.observed_at < (of_date + 1)::timestamp at time zone 'America/New_York'
        and e.observed_at >= of_date::timestamp at time zone 'America/New_York'
        and e.observed_at < (of_date + 1)::timestamp at time zone 'America/New_York'
      order by b.instrument_id, b.source_id, b.delayed, e.observed_at desc
    ) v
    where v.instrument_id = b.instrument_id and v.source_id = b.source_id and v.delayed = b.delayed and b.date = of_date
      and not b.quotes_dropped;
    update session_bars b set quotes_dropped = true
    where b.date = of_date and not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
  end loop;
end
$$;

comment on function lock_due_bars(integer) is 'Internal, part of make_due_bars(...): locks bars that are to be made.';
comment on function make_bars(integer[], smallint[], boolean[], date[], boolean) is
  'Internal: makes rows of session_bars and intraday_bars from quotes. To do it by hand, call recompute_session_bars(from, to).';
comment on function make_due_bars(integer) is
  'Internal: makes the bars of rows that were stored since the last call, at most so many session bars. Returns how many.';
comment on function keep_bars_of_dropped(timestamptz, timestamptz) is
  'Internal: completes and marks the bars of quotes that are about to be dropped, between two instants.';
revoke execute on function lock_due_bars(integer), make_bars(integer[], smallint[], boolean[], date[], boolean),
  make_due_bars(integer), recompute_session_bars(date, date), keep_bars_of_dropped(timestamptz, timestamptz) from public;

create or replace view bars_1m as
select d.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, d.delayed, d.date, b.session,
       b.bar_at, b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count, b.volume, s.name as source_name
from session_bars d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2
cross join lateral series_bars(
  d.instrument_id, d.source_id, d.delayed, d.date, null, null, d.first_at, d.last_at,
  t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '1 minute'
) b;

-- Bars that are kept, and those of the quotes since. Both halves join the instruments themselves: a condition of a symbol reaches no rows
-- behind a join with both.
create or replace view bars_5m as
select b.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, b.delayed, b.date, b.session,
       b.bar_at, b.open, b.high, b.low, b.close, b.spread_sum / nullif(b.spread_count, 0) as mean_spread, b.quote_count,
       case when b.volume < b.volume_before then b.volume else b.volume - b.volume_before end as volume, s.name as source_name, b.log_return
from intraday_bars b
join instruments i on i.id = b.instrument_id
left join sources s on s.id = b.source_id
where b.minutes::integer = 5
union all
select d.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind, d.delayed, d.date, b.session,
       b.bar_at, b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count, b.volume, s.name, b.log_return
from session_bars d
join instruments i on i.id = d.instrument_id
left join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2
left join lateral (
  select k.volume from intraday_bars k
  where k.instrument_id = d.instrument_id and k.date = d.date and k.source_id = d.source_id and k.delayed = d.delayed
    and k.minutes = 5 and k.volume is not null
  order by k.bar_at desc
  limit 1
) v on true
left join lateral (
  select k.close, k.session from intraday_bars k
  where k.instrument_id = d.instrument_id and k.date = d.date and k.source_id = d.source_id and k.delayed = d.delayed
    and k.minutes = 5 and k.close is not null
  order by k.bar_at desc
  limit 1
) c on true
cross join lateral (
  select n.*, log_return(n.close, case
           when coalesce(lag(n.session) over closes, c.session) = n.session then coalesce(lag(n.close) over closes, c.close) end) as log_return
  from series_bars(
    d.instrument_id, d.source_id, d.delayed, d.date, null, v.volume, greatest(d.bars_to, d.first_at), d.last_at,
    t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '5 minutes'
  ) n
  window closes as (partition by n.close is null order by n.bar_at)
) b
where d.bars_to is distinct from 'infinity';

create or replace view bars_1h as
select b.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, b.delayed, b.date, b.session,
       b.bar_at, b.open, b.high, b.low, b.close, b.spread_sum / nullif(b.spread_count, 0) as mean_spread, b.quote_count,
       case when b.volume < b.volume_before then b.volume else b.volume - b.volume_before end as volume, s.name as source_name
from intraday_bars b
join instruments i on i.id = b.instrument_id
left join sources s on s.id = b.source_id
where b.minutes::integer = 60
union all
select d.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind, d.delayed, d.date, b.session,
       b.bar_at, b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count, b.volume, s.name
from session_bars d
join instruments i on i.id = d.instrument_id
left join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2
cross join lateral (
  select bar_beginning(greatest(d.bars_to, d.first_at), interval '1 hour', t.pre_at, opens_at(d.source_id, d.date, t.open_at),
           t.close_at, t.post_at) as kept_from
) f
left join lateral (
  select k.volume from intraday_bars k
  where k.instrument_id = d.instrument_id and k.date = d.date and k.source_id = d.source_id and k.delayed = d.delayed
    and k.minutes = 5 and k.volume is not null and k.bar_at < f.kept_from
  order by k.bar_at desc
  limit 1
) v on true
cross join lateral series_bars(
  d.instrument_id, d.source_id, d.delayed, d.date, f.kept_from, v.volume, greatest(d.bars_to, d.first_at), d.last_at,
  t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, interval '1 hour'
) b
where d.bars_to is distinct from 'infinity';

-- What made them in earlier releases.
drop function if exists quote_bars(
  integer, smallint, boolean, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
), newest_bars(
  integer, smallint, boolean, date, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, timestamptz, interval
);

-- Session bars with all rows: what a bar was made of, unless all of it is to be made again, and the rows that have come since.
create or replace view session_bars_now as
select d.instrument_id, d.source_id, d.delayed, d.date, d.first_at, d.last_at,
       coalesce(k.open, n.open) as open,
       greatest(n.high, k.high) as high,
       least(n.low, k.low) as low,
       coalesce(n.close, k.close) as close,
       coalesce(n.close_at, k.close_at) as close_at,
       coalesce(k.spread_sum, 0) + n.spread_sum as spread_sum,
       coalesce(k.spread_count, 0) + n.spread_count as spread_count,
       coalesce(k.quote_count, 0) + n.quote_count as quote_count,
       coalesce(
         d.volume,
         (
           select e.volume from extended_quotes e
           where e.instrument_id = d.instrument_id and e.observed_at = d.last_at and e.source_id = d.source_id
             and e.observed_at >= now() - interval '14 days'
             -- A bar that is not made yet may end with a row that was there already under the other kind of feed.
             and (d.made_to is null or exists (
               select from quotes q
               where q.instrument_id = d.instrument_id and q.observed_at = d.last_at and q.source_id = d.source_id
                 and q.delayed = d.delayed))
           limit 1
         ),
         (
           select e.volume
           from extended_quotes e
           join quotes q on q.instrument_id = e.instrument_id and q.observed_at = e.observed_at and q.source_id = e.source_id
           where e.instrument_id = d.instrument_id and e.source_id = d.source_id and e.volume is not null
             and e.observed_at between greatest(d.bars_to, d.first_at) and d.last_at and q.delayed = d.delayed
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
       ) as volume
from session_bars d
left join lateral (
  select d.open, d.high, d.low, d.close, d.close_at, d.spread_sum, d.spread_count, d.quote_count
  where d.made_to is distinct from '-infinity' or d.quotes_dropped
) k on true
cross join lateral (
  select (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1] as open,
         max(q.last) filter (where q.last > 0) as high,
         min(q.last) filter (where q.last > 0) as low,
         (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1] as close,
         max(q.observed_at) filter (where q.last > 0) as close_at,
         coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0) as spread_sum,
         count(*) filter (where q.bid > 0 and q.ask > 0) as spread_count,
         count(*) as quote_count
  from quotes q
  where d.made_to is not null and not d.quotes_dropped
    and q.instrument_id = d.instrument_id and q.source_id = d.source_id and q.delayed = d.delayed
    and q.observed_at between d.first_at and d.last_at and q.observed_at > d.made_to
) n
-- Rows that were there already under the other kind of feed leave a bar without a quote until the next bars are made.
where coalesce(k.quote_count, 0) + n.quote_count > 0;

create or replace view bars_1d as
select d.instrument_id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, d.delayed, d.date,
       case when d.source_id = 2 then 'regular' else coalesce(t.kind, 'closed') end as session,
       d.first_at, d.last_at, d.open, d.high, d.low, d.close, d.spread_sum / nullif(d.spread_count, 0) as mean_spread,
       d.quote_count, d.volume, s.name as source_name,
       case when d.close_at is not null then
         session_of(d.close_at, t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at)
       end as close_session
from session_bars_now d
join instruments i on i.id = d.instrument_id
join sources s on s.id = d.source_id
left join sessions t on t.date = d.date and d.source_id <> 2;

create or replace view bars_1d_regular as
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

-- Bars of any width. A width that dates cannot make is refused.
create or replace function bars(instrument text, width interval, from_at timestamptz, to_at timestamptz) returns table (
  instrument_id integer, source text, source_name text, delayed boolean, date date, session text, bar_at timestamptz,
  open numeric, high numeric, low numeric, close numeric, mean_spread numeric, quote_count bigint, volume bigint
) language sql stable parallel safe as $$
  select d.instrument_id, s.kind, s.name, d.delayed, d.date, b.session, b.bar_at,
         b.open, b.high, b.low, b.close, b.mean_spread, b.quote_count, b.volume
  from instruments_named($1) i
  join session_bars d on d.instrument_id = i.id
  left join sources s on s.id = d.source_id
  left join sessions t on t.date = d.date and d.source_id <> 2
  cross join lateral (
    select case when w.is_of_kept then '-infinity'::timestamptz end as kept_from,
           greatest(case when w.is_of_kept then d.bars_to end, d.first_at) as quotes_from
    from (select extract(epoch from $2) % 300 = 0 as is_of_kept) w
    offset 0
  ) f
  cross join lateral series_bars(
    d.instrument_id, d.source_id, d.delayed, d.date, f.kept_from, null, f.quotes_from, d.last_at,
    t.pre_at, opens_at(d.source_id, d.date, t.open_at), t.close_at, t.post_at, $2
  ) b
  where not is_of_dates($2) and d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    and b.bar_at >= $3 and b.bar_at < $4
  union all
  select d.instrument_id, s.kind, s.name, d.delayed, min(d.date), null, min(d.first_at),
         (array_agg(d.open order by d.date) filter (where d.open is not null))[1], max(d.high), min(d.low),
         (array_agg(d.close order by d.date desc) filter (where d.close is not null))[1],
         sum(d.spread_sum) / nullif(sum(d.spread_count), 0), sum(d.quote_count)::bigint, sum(d.volume)::bigint
  from instruments_named($1) i
  -- Planned for itself: as one statement with all that the view joins, planning took longer than reading.
  cross join lateral (
    select d.* from session_bars_now d
    where d.instrument_id = i.id
      and d.date between ($3 at time zone 'America/New_York')::date and ($4 at time zone 'America/New_York')::date
    offset 0
  ) d
  join sources s on s.id = d.source_id
  cross join lateral (
    select extract(year from d.date) * 12 + extract(month from d.date) - 1 as month,
           extract(year from $2) * 12 + extract(month from $2) as months
  ) m
  where is_of_dates($2) and d.first_at >= $3 and d.first_at < $4
  group by d.instrument_id, s.kind, s.name, d.delayed,
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
