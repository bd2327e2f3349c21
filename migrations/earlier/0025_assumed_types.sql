-- A security whose type was only assumed is told from one whose type was said: a later answer corrects it in place, and no
-- symbol becomes two instruments by an assumption.

alter table instruments add column type_assumed boolean not null default false;

-- Securities are few beside the options of their symbols.
create index instruments_securities on instruments (symbol) where option_type is null;

-- Nobody knows any more whether an answer has said these. The next answer of each says so.
update instruments set type_assumed = true where option_type is null and security_type in ('CS', 'UNKNOWN');

-- Symbols that an assumption has made two instruments become one: the rows of the assumed one go to the one whose type was said.
-- Rows keep their values, and late_days tells the lake. Bars follow the rows by the triggers on quotes; hypertables have no such
-- triggers. Left as they are: instruments of which an answer to a call for symbols was stored, those with quotes that are in the lake
-- alone, or were dropped, and distributed tables (`backfill --journal --rebuild` makes such an archive anew).
do $$
declare
  pair record;
  bars record;
begin
  if exists (select from pg_extension where extname = 'citus') then
    return;
  end if;
  for pair in
    select a.id as assumed, min(b.id) as said
    from instruments a
    join instruments b on b.symbol = a.symbol and b.option_type is null and not b.type_assumed
    where a.type_assumed
      and not exists (
        select from responses r
        where r.observed_at in (a.first_seen_at, a.last_seen_at)
          and r.request ->> 'form' in ('symbols', 'watchlist', 'saved')
      )
      and not exists (select from session_bars s where s.instrument_id in (a.id, b.id) and s.quotes_dropped)
    group by a.id
    having count(*) = 1
  loop
    -- A row of the same time from the same source is of the same answer: it cannot move.
    continue when exists (
      select from quotes a join quotes b using (observed_at, source_id)
      where a.instrument_id = pair.assumed and b.instrument_id = pair.said
    );
    insert into late_days (date, changed_by, changed_at)
    select b.date, pg_current_xact_id(), clock_timestamp()
    from (select distinct date from session_bars where instrument_id = pair.assumed) b
    where b.date < (clock_timestamp() at time zone 'America/New_York')::date
    on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at;
    select array_agg(i.id) as instrument_ids, array_agg(b.source_id) as source_ids,
           array_agg(b.delayed) as delayed_flags, array_agg(b.date) as dates
    into bars
    from session_bars b cross join unnest(array[pair.assumed, pair.said]) as i (id)
    where b.instrument_id = pair.assumed;
    update extended_quotes set instrument_id = pair.said where instrument_id = pair.assumed;
    update quotes set instrument_id = pair.said where instrument_id = pair.assumed;
    if (select relkind from pg_class where oid = 'quotes'::regclass) <> 'p' and bars.dates is not null then
      perform refresh_session_bars(bars.instrument_ids, bars.source_ids, bars.delayed_flags, bars.dates);
    end if;
    update dividends set instrument_id = pair.said where instrument_id = pair.assumed;
    -- A row is there when a dividend is first seen, or differs from the one before.
    delete from dividends d
    using (
      select observed_at, source_id,
             (ex_date, amount, yield) is not distinct from
             lag((ex_date, amount, yield)) over (partition by source_id order by observed_at) as same
      from dividends where instrument_id = pair.said
    ) s
    where d.instrument_id = pair.said and d.observed_at = s.observed_at and d.source_id = s.source_id and s.same;
    update derived_closes set instrument_id = pair.said where instrument_id = pair.assumed and not exists (
      select from derived_closes o where o.instrument_id = pair.said and o.date = derived_closes.date
        and o.source_id = derived_closes.source_id
    );
    delete from derived_closes where instrument_id = pair.assumed;
    update instruments set underlying_id = pair.said where underlying_id = pair.assumed;
    update instruments i
    set first_seen_at = least(i.first_seen_at, a.first_seen_at), last_seen_at = greatest(i.last_seen_at, a.last_seen_at)
    from instruments a where i.id = pair.said and a.id = pair.assumed;
    delete from instruments where id = pair.assumed;
  end loop;
end
$$;
