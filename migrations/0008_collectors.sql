-- Which process collects which account into this database, so that a second one notices, and a dead one can be replaced.

create table collectors (
  account    text primary key,
  holder     text not null,
  fence      bigint not null,
  beat       bigint not null,
  pid        integer not null,
  host       text not null,
  granted_at timestamptz not null,
  renewed_at timestamptz not null,
  released   boolean not null
);
comment on table collectors is 'One row for each account, of the collector that holds it or held it last. It renews the row every 2 seconds; what is not renewed for 7 seconds, on the clock of whoever waits, is free.';
comment on column collectors.account is 'simulated, or a keyed digest of the service''s address and the account''s credentials: nothing can be derived from it.';
comment on column collectors.holder is 'The run of a process, by a name of chance.';
comment on column collectors.fence is 'Counts the holders.';
comment on column collectors.beat is 'Counts the renewals. The times beside it are for people: nothing is decided by them.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
