-- Class shares have one name, BRK.B, whoever wrote BRK/B: instruments, ledger and dead letters get it, and where both are there they become
-- one. On Citus a quote cannot change its instrument: there two stay two until a rebuild. chain_at and surface_at return the root, too.

do $$
declare
  others text;
begin
  select string_agg(distinct r.ev_class::regclass::text, ', ') into others
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  where d.classid = 'pg_rewrite'::regclass
    and r.ev_class is distinct from to_regclass('option_surface')
    and (
      d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass('option_surface')
      or d.refclassid = 'pg_proc'::regclass
      and d.refobjid = any (array[to_regprocedure('surface_at(text, timestamptz)'), to_regprocedure('chain_at(text, timestamptz)')]::oid[])
    );
  if others is not null then
    raise exception '% is made of a function or view that this migration replaces: drop it, migrate, and make it again', others
      using errcode = 'dependent_objects_still_exist';
  end if;
end
$$;

drop view if exists option_surface;
drop function if exists surface_at(text, timestamptz);
drop function if exists chain_at(text, timestamptz), chain_rows(text, timestamptz);

do $$
declare
  of_ledger constant text := '^(?!watchlist )([^/:]+)/([A-Za-z])(?=[: ]|$)';
  moves boolean := true;
  kept text;
  share record;
begin
  create temporary table class_shares on commit drop as
  select i.id, w.symbol, t.id as into_id
  from instruments i
  cross join lateral (select regexp_replace(i.symbol, '/(.)$', '.\1') as symbol) w
  left join lateral (
    select t.id from instruments t
    where t.root is not distinct from i.root
      and (t.expiration, t.option_type, t.strike) is not distinct from (i.expiration, i.option_type, i.strike)
      and case when i.option_type is null
            then t.symbol = w.symbol and (t.security_type = i.security_type or t.type_assumed or i.type_assumed)
            -- A contract may be known by its root alone.
            else t.symbol = w.symbol or i.root is null and t.symbol = replace(w.symbol, '.', '')
          end
    order by t.security_type <> i.security_type, t.symbol <> w.symbol, t.id
    limit 1
  ) t on true
  where i.symbol ~ '^[^/]+/[A-Za-z]$';

  if to_regclass('pg_dist_partition') is not null then
    execute 'select not exists (select from pg_dist_partition where logicalrelid = ''quotes''::regclass)' into moves;
  end if;
  if moves then
    -- Nor can a quote that the lake alone has.
    delete from class_shares c using class_shares d
    where d.symbol = c.symbol and d.into_id is not null and exists (
      select from session_bars b join dropped_days l on l.date = b.date where b.instrument_id = d.id
    );
  else
    delete from class_shares c using class_shares d where d.symbol = c.symbol and d.into_id is not null;
  end if;
  -- Without it the planner takes the few names for a thousand, and joins tables as a whole.
  analyze class_shares;

  if exists (select from class_shares where into_id is not null) then
    if exists (select from pg_settings where name = 'timescaledb.max_tuples_decompressed_per_dml_transaction') then
      perform set_config('timescaledb.max_tuples_decompressed_per_dml_transaction', '0', true);
    end if;
    -- One instrument at a time, so that its rows are found by the index, and TimescaleDB unpacks its rows alone.
    for share in select id, into_id from class_shares where into_id is not null loop
      foreach kept in array array['quotes', 'extended_quotes', 'dividends'] loop
        execute format(
          'delete from %1$I t where t.instrument_id = %2$s and exists (
             select from %1$I k where k.instrument_id = %3$s and k.observed_at = t.observed_at and k.source_id = t.source_id)',
          kept, share.id, share.into_id);
        execute format('update %1$I set instrument_id = %3$s where instrument_id = %2$s', kept, share.id, share.into_id);
      end loop;
    end loop;
    delete from derived_closes t using class_shares c, derived_closes k
    where t.instrument_id = c.id and k.instrument_id = c.into_id and k.date = t.date and k.source_id = t.source_id;
    update derived_closes t set instrument_id = c.into_id from class_shares c where t.instrument_id = c.id and c.into_id is not null;
    -- A date of both is made again from all its rows.
    update session_bars k set made_to = '-infinity', first_at = least(k.first_at, t.first_at), last_at = greatest(k.last_at, t.last_at)
    from class_shares c, session_bars t
    where t.instrument_id = c.id and k.instrument_id = c.into_id
      and (k.source_id, k.delayed, k.date) = (t.source_id, t.delayed, t.date);
    delete from intraday_bars t using class_shares c, session_bars k
    where t.instrument_id = c.id and k.instrument_id = c.into_id
      and (k.source_id, k.delayed, k.date) = (t.source_id, t.delayed, t.date);
    delete from session_bars t using class_shares c, session_bars k
    where t.instrument_id = c.id and k.instrument_id = c.into_id
      and (k.source_id, k.delayed, k.date) = (t.source_id, t.delayed, t.date);
    update intraday_bars t set instrument_id = c.into_id from class_shares c where t.instrument_id = c.id and c.into_id is not null;
    update session_bars t set instrument_id = c.into_id from class_shares c where t.instrument_id = c.id and c.into_id is not null;
    -- So is a date that was the last of one of the two.
    update session_bars t set made_to = '-infinity'
    from class_shares c where t.instrument_id = c.into_id and coalesce(isfinite(t.bars_to), true) and not t.quotes_dropped;
    update instruments o set underlying_id = c.into_id from class_shares c where o.underlying_id = c.id and c.into_id is not null;
    create temporary table class_words on commit drop as
    select c.into_id, c.symbol, i.security_type, i.type_assumed, i.first_seen_at, i.last_seen_at
    from class_shares c join instruments i on i.id = c.id where c.into_id is not null;
    delete from instruments i using class_shares c where i.id = c.id and c.into_id is not null;
    update instruments t
    set symbol = w.symbol, first_seen_at = least(t.first_seen_at, w.first_seen_at), last_seen_at = greatest(t.last_seen_at, w.last_seen_at),
        security_type = case when t.type_assumed and not w.type_assumed then w.security_type else t.security_type end,
        type_assumed = t.type_assumed and w.type_assumed
    from class_words w where t.id = w.into_id;
  end if;

  -- Citus updates what lies on every node by constants alone.
  for share in select id, symbol from class_shares where into_id is null loop
    update instruments set symbol = share.symbol where id = share.id;
  end loop;
  for share in
    select distinct on (i.symbol) i.symbol, i.id from instruments i
    where i.option_type is null and i.symbol in (select symbol from class_shares)
    order by i.symbol, i.type_assumed, i.security_type, i.id
  loop
    update instruments set underlying_id = share.id where symbol = share.symbol and option_type is not null and underlying_id is null;
  end loop;

  create temporary table class_sets on commit drop as
  select s.id, n.names, cardinality(s.instruments) > cardinality(n.names) as shrinks,
         encode(sha256(convert_to(array_to_string(n.names, E'\n'), 'UTF8')), 'hex') as digest
  from due_sets s
  cross join lateral (
    select array_agg(name order by name collate "C") as names
    from (select distinct regexp_replace(one, of_ledger, '\1.\2') as name from unnest(s.instruments) one) named
  ) n
  where exists (select from unnest(s.instruments) one where one ~ of_ledger);

  -- Of two names of one instrument in a slot it is missed where both are; the reason is the one that says more.
  create temporary table class_slots on commit drop as
  select s.job, s.slot_at, s.source_id, s.account_id, cardinality(c.names) as due
  from slots s join class_sets c on c.id = s.due_set_id where c.shrinks;
  delete from misses m using class_slots s, class_sets c, slots k, due_sets d
  where (m.job, m.slot_at, m.source_id, m.account_id) = (s.job, s.slot_at, s.source_id, s.account_id)
    and (k.job, k.slot_at, k.source_id, k.account_id) = (s.job, s.slot_at, s.source_id, s.account_id)
    and c.id = k.due_set_id and d.id = k.due_set_id
    and exists (
      select from unnest(d.instruments) twin
      where twin <> m.instrument and regexp_replace(twin, of_ledger, '\1.\2') = regexp_replace(m.instrument, of_ledger, '\1.\2')
        and not exists (
          select from misses o
          where (o.job, o.slot_at, o.source_id, o.account_id) = (m.job, m.slot_at, m.source_id, m.account_id) and o.instrument = twin
            and (o.reason = 'down', o.reason, o.instrument) > (m.reason = 'down', m.reason, m.instrument)
        )
    );
  update misses set instrument = regexp_replace(instrument, of_ledger, '\1.\2') where instrument ~ of_ledger;
  update slots k
  set due = s.due, missed = w.missed, stored = s.due - w.missed
  from class_slots s
  cross join lateral (
    select case when bool_or(m.instrument = '*') then s.due else count(*)::integer end as missed from misses m
    where (m.job, m.slot_at, m.source_id, m.account_id) = (s.job, s.slot_at, s.source_id, s.account_id)
  ) w
  where (k.job, k.slot_at, k.source_id, k.account_id) = (s.job, s.slot_at, s.source_id, s.account_id);

  create temporary table class_targets on commit drop as
  select c.id, coalesce((select d.id from due_sets d where d.digest = c.digest), min(c.id) over (partition by c.digest)) as into_id
  from class_sets c;
  update slots s set due_set_id = t.into_id from class_targets t where s.due_set_id = t.id and t.into_id <> t.id;
  update open_slots s set due_set_id = t.into_id from class_targets t where s.due_set_id = t.id and t.into_id <> t.id;
  delete from due_sets d using class_targets t where d.id = t.id and t.into_id <> t.id;
  update due_sets d set instruments = c.names, digest = c.digest
  from class_sets c join class_targets t on t.id = c.id and t.into_id = c.id where d.id = c.id;

  delete from fills f
  where f.instrument ~ of_ledger and exists (
    select from fills o
    where (o.job, o.slot_at, o.source_id, o.account_id) = (f.job, f.slot_at, f.source_id, f.account_id)
      and o.instrument = regexp_replace(f.instrument, of_ledger, '\1.\2')
  );
  update fills set instrument = regexp_replace(instrument, of_ledger, '\1.\2') where instrument ~ of_ledger;
  update dead_letters set instrument = regexp_replace(instrument, of_ledger, '\1.\2') where instrument ~ of_ledger;
end
$$;

-- A database that was migrated with an earlier text of this file is as this one leaves it; the earlier one took far longer.
-- formerly ccd8c9e331d25a283f8a3b9256d552dfabf99ac3ad62f09054d12fece9b3677d
