-- What the lake needs to know: which archive this is, exchange dates whose rows came or were changed when the date was over, and
-- dates of which quotes were dropped behind a proven file.

create table archive_identity (
  id uuid primary key
);
comment on table archive_identity is 'One row: a name of chance, which tells this archive from others. A lake is of one archive.';
insert into archive_identity values (gen_random_uuid());

create table late_days (
  date       date primary key,
  changed_by xid8 not null,
  changed_at timestamptz not null
);
comment on table late_days is 'Exchange dates of which rows came or were changed after the date was over.';
comment on column late_days.changed_by is 'The last transaction that did so: a snapshot tells whether it has seen it.';
comment on column late_days.changed_at is 'When that was.';

create table dropped_days (
  date       date primary key,
  dropped_at timestamptz not null
);
comment on table dropped_days is 'Exchange dates of which quotes and extended quotes were dropped: the lake has all of them.';

-- What their rows alone knew is kept before quotes go: all bars of their sessions, and their last volumes. The bars are marked:
-- rows of theirs that come again make no bar anew before all are there.
create function keep_bars_of_dropped(from_at timestamptz, to_at timestamptz) returns void language plpgsql as $$
declare
  of_date date;
begin
  for of_date in
    select distinct date from session_bars where not quotes_dropped and first_at < to_at and last_at >= from_at order by 1
  loop
    perform from session_bars
    where date = of_date and not quotes_dropped and first_at < to_at and last_at >= from_at
    order by instrument_id, source_id, delayed
    for update;
    perform keep_intraday_bars(array_agg(instrument_id), array_agg(source_id), array_agg(delayed), array_agg(date), true)
    from session_bars
    where date = of_date and not quotes_dropped and first_at < to_at and last_at >= from_at;
  end loop;
  update session_bars b
  set quotes_dropped = true,
      volume = coalesce(b.volume, (
        select e.volume
        from extended_quotes e
        join quotes q
          on q.instrument_id = e.instrument_id and q.observed_at = e.observed_at and q.source_id = e.source_id
        where e.instrument_id = b.instrument_id and e.source_id = b.source_id and e.volume is not null
          and e.observed_at between b.first_at and b.last_at and q.delayed = b.delayed
        order by e.observed_at desc
        limit 1
      ))
  where not b.quotes_dropped and b.first_at < to_at and b.last_at >= from_at;
end
$$;
revoke execute on function keep_bars_of_dropped(timestamptz, timestamptz) from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
