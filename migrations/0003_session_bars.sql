-- Sessions as a table, and a bar for each instrument and session, kept exact while rows arrive: what the views stand on.

create table sessions (
  date     date primary key,
  kind     text not null check (kind in ('regular', 'early')),
  pre_at   timestamptz not null,
  open_at  timestamptz not null,
  close_at timestamptz not null,
  post_at  timestamptz not null,
  reason   text
);
comment on table sessions is 'The exchange''s calendar, written by the program at each migration. A date that is not here has no session.';

-- Everything on one exchange date, also before the open and after the close. Mean spread = spread_sum / spread_count.
create table session_bars (
  instrument_id integer not null,
  source_id     smallint not null,
  delayed       boolean not null,
  date          date not null,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  open          numeric,
  high          numeric,
  low           numeric,
  close         numeric,
  open_at       timestamptz,
  close_at      timestamptz,
  spread_sum    numeric not null,
  spread_count  bigint not null,
  quote_count   bigint not null,
  volume        bigint,
  primary key (instrument_id, source_id, delayed, date)
) with (fillfactor = 70);
create index session_bars_date on session_bars (date);
comment on table session_bars is 'Kept by a trigger on quotes, in the transaction that inserts them. Rows that are there already count once.';
comment on column session_bars.date is 'The exchange''s, America/New_York.';
comment on column session_bars.volume is 'NULL while extended_quotes has the row of last_at; written down before retention drops that row.';

-- Rows that were truly inserted, and only they, are in the transition table: a replay adds nothing. In the order of
-- the key, so that two loaders do not wait for each other in a circle.
create function keep_session_bars() returns trigger language plpgsql as $$
begin
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low,
    close, open_at, close_at, spread_sum, spread_count, quote_count)
  select n.instrument_id, n.source_id, n.delayed, n.date, n.first_at, n.last_at, o.last, n.high, n.low,
         c.last, n.open_at, n.close_at, n.spread_sum, n.spread_count, n.quote_count
  from (
    select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date as date,
           min(observed_at) as first_at, max(observed_at) as last_at, max(last) as high, min(last) as low,
           min(observed_at) filter (where last is not null) as open_at,
           max(observed_at) filter (where last is not null) as close_at,
           coalesce(sum(ask - bid) filter (where bid > 0 and ask > 0), 0) as spread_sum,
           count(*) filter (where bid > 0 and ask > 0) as spread_count,
           count(*) as quote_count
    from inserted
    group by 1, 2, 3, 4
  ) n
  left join inserted o
    on o.instrument_id = n.instrument_id and o.source_id = n.source_id and o.observed_at = n.open_at
  left join inserted c
    on c.instrument_id = n.instrument_id and c.source_id = n.source_id and c.observed_at = n.close_at
  order by n.instrument_id, n.source_id, n.delayed, n.date
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = least(kept.first_at, excluded.first_at),
    last_at = greatest(kept.last_at, excluded.last_at),
    open = case when kept.open_at < excluded.open_at or excluded.open_at is null then kept.open else excluded.open end,
    close = case when kept.close_at > excluded.close_at or excluded.close_at is null then kept.close else excluded.close end,
    open_at = least(kept.open_at, excluded.open_at),
    close_at = greatest(kept.close_at, excluded.close_at),
    high = greatest(kept.high, excluded.high),
    low = least(kept.low, excluded.low),
    spread_sum = kept.spread_sum + excluded.spread_sum,
    spread_count = kept.spread_count + excluded.spread_count,
    quote_count = kept.quote_count + excluded.quote_count;
  return null;
end
$$;

create trigger keep_session_bars after insert on quotes
  referencing new table as inserted for each statement execute function keep_session_bars();

-- The same bars from the rows themselves, for dates whose quotes somebody changed or deleted by hand.
create function recompute_session_bars(from_date date, to_date date) returns bigint language plpgsql as $$
declare
  made bigint;
begin
  delete from session_bars where date between from_date and to_date;
  insert into session_bars (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low, close,
    open_at, close_at, spread_sum, spread_count, quote_count)
  select instrument_id, source_id, delayed, (observed_at at time zone 'America/New_York')::date,
         min(observed_at), max(observed_at),
         (array_agg(last order by observed_at) filter (where last is not null))[1], max(last), min(last),
         (array_agg(last order by observed_at desc) filter (where last is not null))[1],
         min(observed_at) filter (where last is not null), max(observed_at) filter (where last is not null),
         coalesce(sum(ask - bid) filter (where bid > 0 and ask > 0), 0),
         count(*) filter (where bid > 0 and ask > 0), count(*)
  from quotes
  where observed_at >= from_date::timestamp at time zone 'America/New_York'
    and observed_at < (to_date + 1)::timestamp at time zone 'America/New_York'
  group by 1, 2, 3, 4;
  get diagnostics made = row_count;
  return made;
end
$$;
revoke execute on function recompute_session_bars(date, date) from public;
