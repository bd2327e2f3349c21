-- One calendar: what the operator says of single days reaches the sessions, and what is made of them. Bars end at a close of any minute,
-- contracts at a close that the calendar knows; bars of dates say which session they are of.

create table calendar_days (
  date   date primary key,
  kind   text not null check (kind in ('closed', 'early', 'regular')),
  close  text,
  reason text
);
comment on table calendar_days is
  'Days on which the exchange differs from the program''s rules, as jobs/calendar.yaml said when a command read it last. sessions follow.';
comment on column calendar_days.date is 'The exchange''s date, New York. Origin: calendar.yaml.';
comment on column calendar_days.kind is 'closed: no session; early: one that ends at close; regular: 09:30 to 16:00. Origin: calendar.yaml.';
comment on column calendar_days.close is 'When an early session ends, HH:MM in New York; NULL: 13:00. Origin: calendar.yaml.';
comment on column calendar_days.reason is 'Why, in the operator''s words; NULL: not said. Origin: calendar.yaml.';

-- The calendar knows whole years. Of a date in another one it says nothing, whatever it knows of the year before.
create or replace function expires_at(expiration date) returns timestamptz language sql stable parallel safe as $$
  select (
    select s.close_at
    from sessions s
    where s.date between $1 - 7 and $1
      and exists (
        select from sessions y
        where y.date between date_trunc('year', $1::timestamp)::date and date_trunc('year', $1::timestamp)::date + 10
      )
    order by s.date desc
    limit 1
  )
$$;
comment on function expires_at(date) is
  'The close at which contracts of an expiration date end: of that date''s session, or of the last one before; NULL: sessions has nothing of that year.';

-- Five minutes of the clock, but behind a close of any minute they are counted from there.
create function five_minutes(at timestamptz, close_at timestamptz) returns timestamptz language sql immutable parallel safe as $$
  select date_bin('5 minutes', $1, case when $1 >= $2 then $2 else '2000-01-01 00:00+00' end)
$$;
comment on function five_minutes(timestamptz, timestamptz) is
  'Part of bars of five minutes: when the one of an instant begins, on a date whose session closes at a time.';

-- As before, but with the sessions' own five minutes. What a load gives is in the clock's: where a close is not, the rows tell.
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

-- Bars that are there and reach over such a close. Distributed tables have no triggers, and their functions are settled later.
do $$
declare
  reaching record;
begin
  if exists (select from pg_extension where extname = 'citus') then
    return;
  end if;
  select array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
  into reaching
  from session_bars b
  join sessions t on t.date = b.date and extract(epoch from t.close_at)::bigint % 300 <> 0;
  if reaching.dates is null then
    return;
  end if;
  insert into late_days (date, changed_by, changed_at)
  select b.date, pg_current_xact_id(), clock_timestamp() from (select distinct date from unnest(reaching.dates) date) b
  on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at;
  perform refresh_intraday_bars(reaching.instrument_ids, reaching.source_ids, reaching.delayed_flags, reaching.dates);
end
$$;

-- Whether bars are put together of dates; an error where dates cannot make such bars.
create function is_of_dates(width interval) returns boolean language plpgsql immutable strict parallel safe as $$
declare
  months integer := extract(year from width) * 12 + extract(month from width);
begin
  if width < interval '1 day' then
    return false;
  elsif months = 0 and extract(epoch from width) % 86400 = 0 or months > 0 and width = make_interval(months => months) then
    return true;
  end if;
  raise exception using errcode = 'invalid_parameter_value', message = format('bars cannot be %s wide', width),
    hint = 'From a day on a width is whole days, such as 7 days, or whole months, such as 3 mons.';
end
$$;
comment on function is_of_dates(interval) is
  'Part of bars(...): whether bars of a width are put together of dates; an error where neither whole days nor whole months make it.';

-- As before, but a width that dates cannot make is refused.
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

-- As before, but for prices at the upper bound.
create or replace function implied_volatility(
  option_type text, price double precision, spot double precision, strike double precision, years double precision,
  rate double precision default 0, dividend_yield double precision default 0
) returns double precision language plpgsql immutable strict parallel safe as $$
declare
  forward double precision;
  x double precision;
  wanted double precision;
  least_s double precision := 0;
  most_s double precision;
  s double precision;
  next_s double precision;
  b double precision;
  slope double precision;
  half_down double precision;
  half_up double precision;
  bend double precision;
  is_below boolean;
begin
  if option_type not in ('CALL', 'PUT') or not (price > 0 and spot > 0 and strike > 0 and years > 0)
    or 'Infinity' in (price, spot, strike, years) or 'NaN' in (price, spot, strike, years) then
    return null;
  end if;
  forward := spot * exp((rate - dividend_yield) * years);
  wanted := price * exp(rate * years)
    - greatest(case option_type when 'CALL' then forward - strike else strike - forward end, 0);
  -- At or below what exercise is worth, or at or above what the share or the strike itself is, up to rounding: no volatility gives
  -- this.
  if least(wanted, least(forward, strike) - wanted) <= 1e-12 * greatest(forward, strike) then
    return null;
  end if;
  wanted := wanted / sqrt(forward * strike);
  x := abs(ln(forward / strike));
  half_down := exp(-x / 2);
  half_up := exp(x / 2);
  bend := sqrt(2 * x);
  if bend > 0 then
    b := half_down * normal_cdf(bend / 2 - x / bend) - half_up * normal_cdf(-bend / 2 - x / bend);
    is_below := wanted < b;
  else
    is_below := false;
  end if;
  s := greatest(bend, 1e-8);
  most_s := case when is_below then bend else 76 end;
  if not is_below then
    least_s := bend;
  end if;
  for step in 1..100 loop
    b := half_down * normal_cdf(s / 2 - x / s) - half_up * normal_cdf(-s / 2 - x / s);
    if b > wanted then
      most_s := s;
    else
      least_s := s;
    end if;
    -- exp complains where a number is too small for its type.
    slope := exp(greatest(-700, -(x / s) * (x / s) / 2 - s * s / 8)) * 0.3989422804014327;
    next_s := case
                when b <= 0 or slope <= 0 then (least_s + most_s) / 2
                when is_below then s - ln(b / wanted) * b / slope
                else s - (b - wanted) / slope
              end;
    if next_s <= least_s or next_s >= most_s then
      next_s := (least_s + most_s) / 2;
    end if;
    if abs(next_s - s) <= 1e-12 * s then
      return next_s / sqrt(years);
    end if;
    s := next_s;
  end loop;
  return s / sqrt(years);
end
$$;

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
comment on view bars_1d is
  'One bar for each exchange date, of all its hours; bars_1d_regular has those of regular hours alone. volume is the last one shown.';
comment on column bars_1d.close_session is
  'Part of the session that close is of: pre, regular, post, or closed for all other time; NULL: no close. Origin: sessions.';

create view bars_1d_regular as
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
comment on view bars_1d_regular is
  'One bar for each exchange date, of the quotes between open and close alone; bars_1d has those of all hours.';
comment on column bars_1d_regular.bar_at is 'When its first bar of an hour begins. UTC. Origin: bars_1h.bar_at.';
comment on column bars_1d_regular.volume is
  'Shares traded in regular hours, of an option contracts: the sum of the bars of an hour; NULL: none was shown. Origin: extended_quotes.volume.';
do $$
declare
  said record;
begin
  for said in
    select t.attname, col_description(f.attrelid, f.attnum) as comment
    from pg_attribute t join pg_attribute f on f.attrelid = 'bars_1h'::regclass and f.attname = t.attname
    where t.attrelid = 'bars_1d_regular'::regclass and t.attname not in ('bar_at', 'volume')
  loop
    execute format('comment on column bars_1d_regular.%I is %L', said.attname, said.comment);
  end loop;
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    grant select on calendar_days, bars_1d_regular to quotekeeper_reader;
  end if;
end
$$;

-- The setting quotekeeper.as_of, for archives that are read years later.
create function as_of() returns timestamptz language sql stable parallel safe as $$
  select nullif(current_setting('quotekeeper.as_of', true), '')::timestamptz
$$;
comment on function as_of() is 'The instant of the setting quotekeeper.as_of; NULL where it is not set.';
