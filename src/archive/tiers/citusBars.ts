/**
 * The functions that keep bars, as Citus can run them. The tables they read and write are cut by instrument, and no trigger
 * stands on them: the loader gives the bars of its rows, and whoever writes rows in another way asks for theirs (`followRows`).
 * Each statement joins on the instrument, so every worker does its own part of it. Nothing is remembered between transactions:
 * bars of five minutes are made from the rows.
 *
 * Whoever changes bars locks them first, by an update that changes nothing: Citus has no `for update` over several shards. It
 * also waits for transactions that are committed here and not yet on their workers, so that what is read next has their rows.
 */

import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";

/** Joins the hours `t` of a row's date: the simulated market has none of the exchange's. */
export const sessionsOf = (row: string): string =>
  `left join sessions t on t.date = ${row}.date and ${row}.source_id <> ${SIMULATED_SOURCE}`;

/** These hours, for `session_of` and `bar_beginning`. As `opens_at`, which workers need not have. */
export const hoursOf = (row: string): string =>
  `t.pre_at, case when ${row}.source_id = ${SIMULATED_SOURCE}
             then ${row}.date::timestamp at time zone 'America/New_York' else t.open_at end, t.close_at, t.post_at`;

/** As `five_minutes`, which workers need not have: `t` are the hours. */
const fiveMinutes = (at: string): string =>
  `date_bin('5 minutes', ${at}, case when ${at} >= t.close_at then t.close_at else '2000-01-01 00:00+00' end)`;

/** The bars of arrays, one for each place. */
const ASKED =
  "unnest(instrument_ids, source_ids, delayed_flags, dates) as a (instrument_id, source_id, delayed, date)";

/** Whether a bar is one of those. */
const IS_ASKED =
  "b.instrument_id = a.instrument_id and b.source_id = a.source_id and b.delayed = a.delayed and b.date = a.date";

/** Times of all dates that are asked for, so that partitions of other times are passed over. */
const DAYS = `day_from timestamptz := (select min(d)::timestamp at time zone 'America/New_York' from unnest(dates) d);
  day_to timestamptz := (select (max(d) + 1)::timestamp at time zone 'America/New_York' from unnest(dates) d);`;

/** What a bar of five minutes or more becomes when it is made again. */
const REPLACED = [
  ...[
    "session",
    "open",
    "high",
    "low",
    "close",
    "spread_sum",
    "spread_count",
    "quote_count",
    "volume",
    "volume_before",
  ],
  "log_return",
]
  .map((column) => `${column} = excluded.${column}`)
  .join(", ");

const ARRAYS = `array_agg(b.instrument_id) as instrument_ids, array_agg(b.source_id) as source_ids,
         array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates`;

/**
 * The highest and the lowest of a group's values, as the latest of equal ones was written: `0.10` and `0.100` are equal, and min()
 * takes that of them which comes to it last. Workers read rows in any order.
 */
const highest = (value: string, at: string, where = `${value} is not null`): string =>
  `(array_agg(${value} order by ${value} desc, ${at} desc) filter (where ${where}))[1]`;
const lowest = (value: string, at: string, where = `${value} is not null`): string =>
  `(array_agg(${value} order by ${value}, ${at} desc) filter (where ${where}))[1]`;

const ADD_BAR_PARTS = `
create or replace function add_bar_parts(parts bar_part[]) returns table (
  instrument_id integer, source_id smallint, delayed boolean, written_by text
) language plpgsql as $$
#variable_conflict use_column
declare
  added record;
  late record;
  instrument_ids integer[] := '{}';
  source_ids smallint[] := '{}';
  delayed_flags boolean[] := '{}';
  dates date[] := '{}';
begin
  for added in
    insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low,
      close, open_at, close_at, spread_sum, spread_count, quote_count)
    select p.instrument_id, p.source_id, p.delayed, (p.first_at at time zone 'America/New_York')::date,
           min(p.first_at), max(p.last_at),
           (array_agg(p.open order by p.open_at) filter (where p.open is not null))[1],
           ${highest("p.high", "p.first_at")}, ${lowest("p.low", "p.first_at")},
           (array_agg(p.close order by p.close_at desc) filter (where p.close is not null))[1],
           min(p.open_at), max(p.close_at), sum(p.spread_sum), sum(p.spread_count), sum(p.quote_count)
    from unnest(parts) p
    group by 1, 2, 3, 4
    on conflict (instrument_id, source_id, delayed, date) do update set
      last_at = excluded.last_at,
      open = coalesce(kept.open, excluded.open),
      close = coalesce(excluded.close, kept.close),
      open_at = coalesce(kept.open_at, excluded.open_at),
      close_at = coalesce(excluded.close_at, kept.close_at),
      high = greatest(excluded.high, kept.high),
      low = least(excluded.low, kept.low),
      spread_sum = kept.spread_sum + excluded.spread_sum,
      spread_count = kept.spread_count + excluded.spread_count,
      quote_count = kept.quote_count + excluded.quote_count
    where kept.last_at < excluded.first_at and kept.bars_to is distinct from 'infinity'
    returning kept.instrument_id, kept.source_id, kept.delayed, kept.date
  loop
    instrument_ids := instrument_ids || added.instrument_id;
    source_ids := source_ids || added.source_id;
    delayed_flags := delayed_flags || added.delayed;
    dates := dates || added.date;
  end loop;
  select ${ARRAYS}
  into late
  from (
    select p.instrument_id, p.source_id, p.delayed, (p.first_at at time zone 'America/New_York')::date from unnest(parts) p
    except
    select * from unnest(instrument_ids, source_ids, delayed_flags, dates)
  ) b (instrument_id, source_id, delayed, date);
  if late.dates is not null then
    perform refresh_session_bars(late.instrument_ids, late.source_ids, late.delayed_flags, late.dates);
  end if;
  return query
    select l.*, null from unnest(late.instrument_ids, late.source_ids, late.delayed_flags) as l
    union all
    select a.*, 'rows' from unnest(instrument_ids, source_ids, delayed_flags) as a;
end
$$`;

const REFRESH_DAILY_BARS = `
create or replace function refresh_daily_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  ${DAYS}
begin
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, open, high, low, close,
    open_at, close_at, spread_sum, spread_count, quote_count)
  select q.instrument_id, q.source_id, q.delayed, a.date, min(q.observed_at), max(q.observed_at),
         (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1],
         ${highest("q.last", "q.observed_at", "q.last > 0")}, ${lowest("q.last", "q.observed_at", "q.last > 0")},
         (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1],
         min(q.observed_at) filter (where q.last > 0), max(q.observed_at) filter (where q.last > 0),
         coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0),
         count(*) filter (where q.bid > 0 and q.ask > 0), count(*)
  from quotes q
  join ${ASKED}
    on q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
   and q.observed_at >= a.date::timestamp at time zone 'America/New_York'
   and q.observed_at < (a.date + 1)::timestamp at time zone 'America/New_York'
  where q.observed_at >= day_from and q.observed_at < day_to
  group by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = excluded.first_at, last_at = excluded.last_at, open = excluded.open, high = excluded.high,
    low = excluded.low, close = excluded.close, open_at = excluded.open_at, close_at = excluded.close_at,
    spread_sum = excluded.spread_sum, spread_count = excluded.spread_count, quote_count = excluded.quote_count,
    volume = null, quotes_dropped = false
  where not kept.quotes_dropped or excluded.quote_count >= kept.quote_count;

  delete from session_bars b
  using ${ASKED}
  where ${IS_ASKED} and not b.quotes_dropped
    and not exists (
      select from quotes q
      where q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
        and q.observed_at >= b.date::timestamp at time zone 'America/New_York'
        and q.observed_at < (b.date + 1)::timestamp at time zone 'America/New_York'
        and q.observed_at >= day_from and q.observed_at < day_to
    );
end
$$`;

const REFRESH_INTRADAY_BARS = `
create or replace function refresh_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[]
) returns void language plpgsql as $$
#variable_conflict use_column
begin
  delete from intraday_bars b
  using ${ASKED}
  where ${IS_ASKED}
    and not exists (
      select from session_bars s
      where s.instrument_id = b.instrument_id and s.source_id = b.source_id and s.delayed = b.delayed and s.date = b.date
        and s.quotes_dropped
    );
  update session_bars b set bars_to = null
  from ${ASKED}
  where ${IS_ASKED} and not b.quotes_dropped;
  perform keep_intraday_bars(instrument_ids, source_ids, delayed_flags, dates);
end
$$`;

/** The last bar of five minutes that each series has, of what is asked for: `column` is not NULL in it. */
const lastKept = (column: string): string => `left join lateral (
      select k.volume, k.close, k.session from intraday_bars k
      where k.instrument_id = b.instrument_id and k.date = b.date and k.source_id = b.source_id and k.delayed = b.delayed
        and k.minutes = 5 and k.${column} is not null
      order by k.bar_at desc
      limit 1
    )`;

const KEEP_INTRADAY_BARS = `
create or replace function keep_intraday_bars(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], dates date[], all_are_over boolean default false,
  parts bar_part[] default '{}', written text[] default '{}'
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  ${DAYS}
  asked record;
begin
  select ${ARRAYS}, array_agg(b.bars_to) as froms, array_agg(b.until) as untils
  into asked
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date, b.bars_to, b.first_at,
           case when all_are_over or l.later then 'infinity' else ${fiveMinutes("b.last_at")} end as until
    from session_bars b
    join ${ASKED} on ${IS_ASKED}
    ${sessionsOf("b")}
    left join lateral (
      select true as later from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
      limit 1
    ) l on true
    where not b.quotes_dropped
  ) b
  where b.until > coalesce(b.bars_to, b.first_at);
  if asked.dates is null then
    return;
  end if;

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before, log_return)
  select n.instrument_id, n.source_id, n.delayed, n.date, 5, n.bar_at, n.session, n.open, n.high, n.low, n.close,
         n.spread_sum, n.spread_count, n.quote_count, n.volume,
         case when n.volume is not null then coalesce(
           lag(n.volume) over (partition by n.instrument_id, n.source_id, n.delayed, n.date, n.volume is null order by n.bar_at),
           k.volume, n.first_volume) end,
         log_return(n.close, case
           when coalesce(lag(n.session) over closes, k.session) = n.session then coalesce(lag(n.close) over closes, k.close) end)
  from (
    select q.instrument_id, q.source_id, q.delayed, a.date,
           ${fiveMinutes("q.observed_at")} as bar_at,
           session_of(q.observed_at, ${hoursOf("a")}) as session,
           (array_agg(q.last order by q.observed_at) filter (where q.last > 0))[1] as open,
           ${highest("q.last", "q.observed_at", "q.last > 0")} as high,
           ${lowest("q.last", "q.observed_at", "q.last > 0")} as low,
           (array_agg(q.last order by q.observed_at desc) filter (where q.last > 0))[1] as close,
           coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0) as spread_sum,
           count(*) filter (where q.bid > 0 and q.ask > 0) as spread_count,
           count(*) as quote_count,
           (array_agg(e.volume order by q.observed_at) filter (where e.volume is not null))[1] as first_volume,
           (array_agg(e.volume order by q.observed_at desc) filter (where e.volume is not null))[1] as volume
    from quotes q
    join unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils)
      as a (instrument_id, source_id, delayed, date, from_at, until)
      on q.instrument_id = a.instrument_id and q.source_id = a.source_id and q.delayed = a.delayed
     and q.observed_at >= coalesce(a.from_at, a.date::timestamp at time zone 'America/New_York')
     and q.observed_at < least(a.until, (a.date + 1)::timestamp at time zone 'America/New_York')
    left join extended_quotes e
      on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
     and e.observed_at >= day_from and e.observed_at < day_to
    ${sessionsOf("a")}
    where q.observed_at >= day_from and q.observed_at < day_to
    group by 1, 2, 3, 4, 5, 6
  ) n
  left join (
    select b.instrument_id, b.source_id, b.delayed, b.date, v.volume, c.close, c.session
    from session_bars b
    join unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms)
      as a (instrument_id, source_id, delayed, date, from_at) on ${IS_ASKED} and a.from_at is not null
    ${lastKept("volume")} v on true
    ${lastKept("close")} c on true
  ) k on k.instrument_id = n.instrument_id and k.source_id = n.source_id and k.delayed = n.delayed and k.date = n.date
  window closes as (partition by n.instrument_id, n.source_id, n.delayed, n.date, n.close is null order by n.bar_at)
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set ${REPLACED};

  insert into intraday_bars (instrument_id, source_id, delayed, date, minutes, bar_at, session, open, high, low, close,
    spread_sum, spread_count, quote_count, volume, volume_before)
  select b.instrument_id, b.source_id, b.delayed, b.date, 60,
         bar_beginning(b.bar_at, interval '1 hour', ${hoursOf("a")}), b.session,
         (array_agg(b.open order by b.bar_at) filter (where b.open is not null))[1], ${highest("b.high", "b.bar_at")}, ${lowest("b.low", "b.bar_at")},
         (array_agg(b.close order by b.bar_at desc) filter (where b.close is not null))[1],
         sum(b.spread_sum), sum(b.spread_count), sum(b.quote_count),
         (array_agg(b.volume order by b.bar_at desc) filter (where b.volume is not null))[1],
         (array_agg(b.volume_before order by b.bar_at) filter (where b.volume is not null))[1]
  from intraday_bars b
  join unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.froms, asked.untils)
    as a (instrument_id, source_id, delayed, date, from_at, until) on ${IS_ASKED}
  ${sessionsOf("a")}
  where b.minutes = 5
    and b.bar_at >= coalesce(bar_beginning(a.from_at, interval '1 hour', ${hoursOf("a")}), '-infinity')
    and (a.until = 'infinity'
      or b.bar_at < bar_beginning(a.until, interval '1 hour', ${hoursOf("a")}))
  group by 1, 2, 3, 4, 6, 7
  on conflict (instrument_id, date, source_id, delayed, minutes, bar_at) do update set ${REPLACED};

  update session_bars b set bars_to = a.until
  from unnest(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, asked.untils)
    as a (instrument_id, source_id, delayed, date, until)
  where ${IS_ASKED};
end
$$`;

/** Bars that rows have ended, and that are not kept yet. */
const HAVE_ENDED = `b.date between from_date and to_date
      and (b.bars_to is null or date_bin('5 minutes', b.last_at, '2000-01-01 00:00+00') > b.bars_to)`;

const KEEP_ENDED_BARS = `
create or replace function keep_ended_bars(
  from_date date, to_date date, parts bar_part[] default '{}', written text[] default '{}', others_too boolean default true
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  touched record;
begin
  update session_bars b set bars_to = b.bars_to where ${HAVE_ENDED};
  -- A date that begins ends the one before.
  select ${ARRAYS}
  into touched
  from (
    select b.instrument_id, b.source_id, b.delayed, b.date from session_bars b where ${HAVE_ENDED}
    union
    select b.instrument_id, b.source_id, b.delayed, p.date
    from session_bars b
    cross join lateral (
      select p.date, p.bars_to from session_bars p
      where p.instrument_id = b.instrument_id and p.source_id = b.source_id and p.delayed = b.delayed and p.date < b.date
      order by p.date desc
      limit 1
    ) p
    where ${HAVE_ENDED} and p.bars_to is distinct from 'infinity'
  ) b (instrument_id, source_id, delayed, date);
  if touched.dates is not null then
    perform keep_intraday_bars(touched.instrument_ids, touched.source_ids, touched.delayed_flags, touched.dates);
  end if;
end
$$`;

const RECOMPUTE_SESSION_BARS = `
create or replace function recompute_session_bars(from_date date, to_date date) returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  asked record;
begin
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, spread_sum,
    spread_count, quote_count)
  select q.instrument_id, q.source_id, q.delayed, (q.observed_at at time zone 'America/New_York')::date,
         min(q.observed_at), max(q.observed_at), 0, 0, 0
  from quotes q
  where q.observed_at >= from_date::timestamp at time zone 'America/New_York'
    and q.observed_at < (to_date + 1)::timestamp at time zone 'America/New_York'
  group by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set quote_count = kept.quote_count where false;
  update session_bars b set bars_to = b.bars_to where b.date between from_date and to_date;
  select ${ARRAYS} into asked from session_bars b where b.date between from_date and to_date;
  if asked.dates is not null then
    perform refresh_session_bars(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates);
  end if;
  return (select count(*) from session_bars where date between from_date and to_date);
end
$$`;

const KEEP_BARS_OF_DROPPED = `
create or replace function keep_bars_of_dropped(from_at timestamptz, to_at timestamptz) returns void language plpgsql as $$
#variable_conflict use_column
declare
  asked record;
begin
  update session_bars b set bars_to = b.bars_to where not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
  select ${ARRAYS} into asked from session_bars b where not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
  if asked.dates is null then
    return;
  end if;
  perform keep_intraday_bars(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates, true);
  update session_bars b set volume = coalesce(b.volume, v.volume)
  from (
    select distinct on (b.instrument_id, b.source_id, b.delayed, b.date)
           b.instrument_id, b.source_id, b.delayed, b.date, e.volume
    from session_bars b
    join quotes q on q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
      and q.observed_at between b.first_at and b.last_at
    join extended_quotes e
      on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
    where e.volume is not null and not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at
    order by b.instrument_id, b.source_id, b.delayed, b.date, e.observed_at desc
  ) v
  where v.instrument_id = b.instrument_id and v.source_id = b.source_id and v.delayed = b.delayed and v.date = b.date
    and not b.quotes_dropped;
  update session_bars b set quotes_dropped = true
  where not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
end
$$`;

/** The bars of rows that were stored, changed or taken out, one for each place of the arrays: where no loader gives them. */
const FOLLOW_ROWS = `
create or replace function follow_rows(
  instrument_ids integer[], source_ids smallint[], delayed_flags boolean[], times timestamptz[]
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  asked record;
begin
  insert into session_bars as kept (instrument_id, source_id, delayed, date, first_at, last_at, spread_sum,
    spread_count, quote_count)
  select a.instrument_id, a.source_id, a.delayed, (a.at at time zone 'America/New_York')::date, min(a.at), max(a.at), 0, 0, 0
  from unnest(instrument_ids, source_ids, delayed_flags, times) as a (instrument_id, source_id, delayed, at)
  group by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set quote_count = kept.quote_count where false;
  select ${ARRAYS}
  into asked
  from (
    select distinct a.instrument_id, a.source_id, a.delayed, (a.at at time zone 'America/New_York')::date as date
    from unnest(instrument_ids, source_ids, delayed_flags, times) as a (instrument_id, source_id, delayed, at)
  ) b;
  if asked.dates is not null then
    perform refresh_session_bars(asked.instrument_ids, asked.source_ids, asked.delayed_flags, asked.dates);
  end if;
  -- A date that begins ends the one before.
  perform keep_ended_bars((min(at) at time zone 'America/New_York')::date - 7, (max(at) at time zone 'America/New_York')::date)
  from unnest(times) at;
end
$$`;

/** All of them, in the order in which they can be made. */
export const CITUS_FUNCTIONS: readonly string[] = [
  KEEP_INTRADAY_BARS,
  REFRESH_INTRADAY_BARS,
  REFRESH_DAILY_BARS,
  ADD_BAR_PARTS,
  KEEP_ENDED_BARS,
  FOLLOW_ROWS,
  RECOMPUTE_SESSION_BARS,
  KEEP_BARS_OF_DROPPED,
];
