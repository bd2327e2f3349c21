-- Slots that have begun and are not settled yet. A run that is killed leaves its own behind; the next one settles them
-- by the answers that were asked for within them.
create table open_slots (
  job        text not null,
  slot_at    timestamptz not null,
  source_id  smallint not null references sources (id),
  ends_at    timestamptz,
  due_set_id integer not null references due_sets (id),
  run        uuid not null,
  primary key (job, slot_at, source_id)
);
comment on column open_slots.ends_at is 'When the slot is over; null when no other one comes.';
comment on column open_slots.run is 'The run of the collector that opened it.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
