-- A service may have several feeds, each a source of its own; answer in pages; and say open interest without a quote.

-- The names of the sources of the same kind that have the prices of this one's underlyings, and the open interest of its contracts;
-- NULL: it has them itself.
alter table sources
  add column if not exists spot text,
  add column if not exists interest text;

-- Whether the answer named a further page of the same; NULL: it did not.
alter table responses add column if not exists has_more boolean;

-- At the end of which date so many contracts were open, where the service says it; NULL: it does not.
alter table extended_quotes add column if not exists open_interest_date date;

-- Functions of an instant return more columns, and PostgreSQL replaces no function by one that returns others. They come back with
-- the texts in force. A view of somebody's own that is made of them would be lost with them: it is named instead.

do $$
declare
  others text;
begin
  select string_agg(distinct r.ev_class::regclass::text, ', ') into others
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  where d.classid = 'pg_rewrite'::regclass
    and r.ev_class <> all (array[to_regclass('option_surface'), to_regclass('option_chain_latest')]::oid[])
    and (
      d.refclassid = 'pg_class'::regclass
      and d.refobjid = any (array[to_regclass('option_surface'), to_regclass('option_chain_latest')]::oid[])
      or d.refclassid = 'pg_proc'::regclass
      and d.refobjid = any (array[
        to_regprocedure('surface_at(text, timestamptz)'), to_regprocedure('chain_at(text, timestamptz)'),
        to_regprocedure('asof(timestamptz, text[])'), to_regprocedure('quotes_at(timestamptz)')
      ]::oid[])
    );
  if others is not null then
    raise exception '% is made of a function or view that this migration replaces: drop it, migrate, and make it again', others
      using errcode = 'dependent_objects_still_exist';
  end if;
end
$$;

drop view if exists option_surface, option_chain_latest;
drop function if exists surface_at(text, timestamptz);
drop function if exists chain_at(text, timestamptz), chain_rows(text, timestamptz);
