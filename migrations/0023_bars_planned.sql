-- Bars of any width are planned in a fifth of the time: a short call took less time to run than to plan. And the quotes at an instant
-- are found in compressed chunks without batches of later times being unpacked.

-- As before, but for how it is said what bars of days are made of.
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
  where $2 >= interval '1 day' and d.first_at >= $3 and d.first_at < $4
  group by d.instrument_id, b.source, b.source_name, d.delayed,
           case when m.months > 0 then m.month - m.month % m.months
                else extract(epoch from date_bin($2, d.date::timestamp, '2000-01-03')) end
$$;

-- As before, but for how the end of the search is said: TimescaleDB compares the ends of a batch with a column or a value, not with the
-- least of both.
create or replace function quotes_at(at timestamptz) returns table (
  instrument_id integer, security_type text, symbol text, expiration date, option_type text, strike numeric, description text,
  underlying_id integer, source text, source_name text, source_id smallint, delayed boolean, observed_at timestamptz,
  bid numeric, ask numeric, last numeric, change numeric, pct_change numeric, bid_size bigint, ask_size bigint, volume bigint, delta numeric
) language sql stable parallel safe as $$
  select i.id, i.security_type, i.symbol, i.expiration, i.option_type, i.strike, i.description,
         i.underlying_id, s.kind, s.name, s.id, d.delayed, q.observed_at,
         q.bid, q.ask, q.last, q.change, q.pct_change, e.bid_size, e.ask_size, e.volume, e.delta
  from instruments i
  cross join sources s
  cross join (values (false), (true)) as d (delayed)
  cross join lateral (
    select b.first_at, b.last_at
    from session_bars b
    where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed and b.first_at <= $1
      and b.date <= ($1 at time zone 'America/New_York')::date
    order by b.date desc
    limit 1
  ) b
  cross join lateral (
    select q.*
    from quotes q
    where q.instrument_id = i.id and q.source_id = s.id and q.delayed = d.delayed
      and q.observed_at between b.first_at and b.last_at and q.observed_at <= $1
    order by q.observed_at desc
    limit 1
  ) q
  left join lateral (
    select e.*
    from extended_quotes e
    where e.instrument_id = i.id and e.source_id = s.id and e.observed_at = q.observed_at
    limit 1
  ) e on true
$$;
