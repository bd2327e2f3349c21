create or replace function session_of(
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
comment on function session_of(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz) is
  'Part of the views of bars: in which part of a session an instant lies.';

-- Bars are counted from the opening of the market, from its close, and from the ends of the other hours.
create or replace function bar_beginning(
  at timestamptz, width interval, pre_at timestamptz, open_at timestamptz, close_at timestamptz, post_at timestamptz
) returns timestamptz language sql immutable parallel safe as $$
  select date_bin($2, $1, case
           when $1 >= $6 then $6
           when $1 >= $5 then $5
           when $1 >= $4 then $4
           else coalesce($3, '2000-01-01 00:00+00')
         end)
$$;
comment on function bar_beginning(timestamptz, interval, timestamptz, timestamptz, timestamptz, timestamptz) is
  'Part of the views of bars: when the bar of an instant begins.';

-- Five minutes of the clock, but behind a close of any minute they are counted from there.
create or replace function five_minutes(at timestamptz, close_at timestamptz) returns timestamptz language sql immutable parallel safe as $$
  select date_bin('5 minutes', $1, case when $1 >= $2 then $2 else '2000-01-01 00:00+00' end)
$$;
comment on function five_minutes(timestamptz, timestamptz) is
  'Part of bars of five minutes: when the one of an instant begins, on a date whose session closes at a time.';

-- The simulated market never closes, and its bars say so: each date is a regular session of its own, from midnight to midnight in New
-- York. Bars of all other sources are as they were.
-- When a session opens: source 2, the simulated market, at midnight. It has no other hours: whoever joins the sessions of its
-- dates leaves them out.
create or replace function opens_at(source_id smallint, date date, open_at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select case when $1 = 2 then $2::timestamp at time zone 'America/New_York' else $3 end
$$;
comment on function opens_at(smallint, date, timestamptz) is
  'When the session of a source opens on a date: open_at of the exchange''s calendar, but for the simulated market midnight in New York.';

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
  'The close at which contracts of an expiration date end that are settled at a close: of that date''s session, or of the last one before; NULL: sessions has nothing of that year.';

-- A root's opening prices settle it on its monthly date, the last session up to the third Friday, or (VIX) on each. The roots and where
-- they come from: SETTLEMENT_OF_ROOT in src/market/settlement.ts.
create or replace function expires_at(symbol text, expiration date, root text) returns timestamptz language sql stable parallel safe as $$
  select (
    select case
             when r.root in ('VIX', 'VIXW', 'XSPAM')
               or r.root in (
                 'SPX', 'NDX', 'RUT', 'DJX', 'RUI', 'RLG', 'RLV', 'MNX', 'RMN', 'CBTX', 'MBTX', 'SIXB', 'SIXC', 'SIXE', 'SIXI', 'SIXM',
                 'SIXR', 'SIXRE', 'SIXT', 'SIXU', 'SIXV', 'SIXY'
               ) and s.date <= r.friday and not exists (select 1 from sessions m where m.date > s.date and m.date <= r.friday)
               then s.open_at
             else s.close_at
           end
    from sessions s
    cross join (
      select coalesce($3, ltrim($1, '$^.')) as root, f.first + 14 + (12 - extract(dow from f.first)::integer) % 7 as friday
      from (select date_trunc('month', $2::timestamp)::date as first) f
    ) r
    where s.date between $2 - 7 and $2
      and exists (
        select 1 from sessions y
        where y.date between date_trunc('year', $2::timestamp)::date and date_trunc('year', $2::timestamp)::date + 10
      )
    order by s.date desc
    limit 1
  )
$$;
comment on function expires_at(text, date, text) is
  'When a contract of an underlying, an expiration and a root ends: at the open where that settles it (SPX on third Fridays, VIX), else as expires_at(date). Without a root (NULL) it has the underlying''s.';

-- The setting quotekeeper.as_of, for archives that are read years later.
create or replace function as_of() returns timestamptz language sql stable parallel safe as $$
  select nullif(current_setting('quotekeeper.as_of', true), '')::timestamptz
$$;
comment on function as_of() is 'The instant of the setting quotekeeper.as_of; NULL where it is not set.';

-- Whether bars are put together of dates; an error where dates cannot make such bars.
create or replace function is_of_dates(width interval) returns boolean language plpgsql immutable strict parallel safe as $$
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

-- Bars of five minutes know their return: whoever asked for it sorted the bars of all series at each question.
-- By two logarithms, whose difference is never too large; prices that no float can hold have none, and no load fails for them.
create or replace function log_return(close numeric, before numeric) returns numeric language sql immutable parallel safe as $$
  select case
           when $1 between 1e-300 and 1e300 and $2 between 1e-300 and 1e300
             then round((ln($1::double precision) - ln($2::double precision))::numeric, 12)
         end
$$;
comment on function log_return(numeric, numeric) is 'Natural logarithm of a close by the close before it, to 12 places.';

-- An instrument as people write it: AAPL, or AAPL:2026-12-18:CALL:150.
create or replace function instrument_name(symbol text, expiration date, option_type text, strike numeric) returns text
language sql stable parallel safe as $$
  select $1 || coalesce(':' || to_char($2, 'YYYY-MM-DD') || ':' || $3 || ':' || trim_scale($4), '')
$$;
comment on function instrument_name(text, date, text, numeric) is
  'AAPL, or AAPL:2026-12-18:CALL:150: the name without a root.';

create or replace function instrument_name(symbol text, expiration date, option_type text, strike numeric, root text) returns text
language sql stable parallel safe as $$
  select $1 || coalesce('/' || $5, '') || coalesce(':' || to_char($2, 'YYYY-MM-DD') || ':' || $3 || ':' || trim_scale($4), '')
$$;
comment on function instrument_name(text, date, text, numeric, text) is
  'AAPL, AAPL:2026-12-18:CALL:150, or with a root SPX/SPXW:2026-12-18:CALL:5000.';

create or replace function instruments_named(name text) returns setof instruments language sql stable parallel safe as $$
  select i.*
  from instruments i
  where i.symbol = any (array[split_part($1, ':', 1), regexp_replace(split_part($1, ':', 1), '/[^/]*$', '')])
    and instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root) = $1
$$;
comment on function instruments_named(text) is
  'Instruments of a name, AAPL, AAPL:2026-12-18:CALL:150 or SPX/SPXW:2026-12-18:CALL:5000: one for each security type that has it.';
