-- Which account did what: several may share the slots of a job, and the source stays the market.

create table accounts (
  id         smallint primary key,
  name       text not null unique,
  call_limit integer,
  window_ms  integer,
  wanted     text check (wanted in ('active', 'drained')),
  state      text check (state in ('active', 'drained', 'refused', 'gone'))
);
comment on table accounts is 'Who polls, by the names in the journal. An account without a name is default. No secrets: these stay on the machines.';
comment on column accounts.call_limit is 'Calls in a window of window_ms; NULL: no collector has said it.';
comment on column accounts.wanted is 'What the operator has said last; NULL: nothing.';
comment on column accounts.state is 'What is so, as its collector has said last; NULL: none has.';

insert into accounts (id, name) values (1, 'default');

-- A constant default rewrites no row, not even a compressed one.
alter table responses add column account_id smallint not null default 1;
alter table slots add column account_id smallint not null default 1 references accounts (id);
alter table open_slots add column account_id smallint not null default 1 references accounts (id);
alter table misses add column account_id smallint not null default 1;
alter table fills add column account_id smallint not null default 1;

alter table slots drop constraint slots_pkey, add primary key (job, slot_at, source_id, account_id);
alter table open_slots drop constraint open_slots_pkey, add primary key (job, slot_at, source_id, account_id);
alter table misses drop constraint misses_pkey, add primary key (job, slot_at, source_id, account_id, instrument);
alter table fills drop constraint fills_pkey, add primary key (job, slot_at, source_id, account_id, instrument);

comment on column slots.account_id is 'A slot has a row for the share of each account: add them up.';

-- As before, and a miss is of the share in which its instrument was due.
create or replace view coverage_daily as
with expected as (
  select s.date, s.source_id, name as instrument, sum(s.n)::bigint as expected
  from (
    select (slot_at at time zone 'America/New_York')::date as date, source_id, due_set_id, count(*) as n
    from slots
    group by 1, 2, 3
  ) s
  join due_sets d on d.id = s.due_set_id
  cross join unnest(d.instruments) as name
  group by 1, 2, 3
), lost as (
  select (m.slot_at at time zone 'America/New_York')::date as date, m.source_id, name as instrument, m.reason, count(*) as n
  from misses m
  join slots s
    on s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id and s.account_id = m.account_id
  join due_sets d on d.id = s.due_set_id
  cross join unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as name
  group by 1, 2, 3, 4
)
select e.date,
       o.kind as source,
       e.instrument,
       e.expected,
       e.expected - coalesce(sum(l.n), 0)::bigint as stored,
       coalesce(sum(l.n), 0)::bigint as missed,
       coalesce(jsonb_object_agg(l.reason, l.n) filter (where l.reason is not null), '{}') as reasons
from expected e
join sources o on o.id = e.source_id
left join lost l on l.date = e.date and l.source_id = e.source_id and l.instrument = e.instrument
group by e.date, o.kind, e.instrument, e.expected;

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
