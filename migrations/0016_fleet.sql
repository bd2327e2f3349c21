-- Several collectors on one archive: who is there, who calls which account, and what they have agreed on.

-- Until now each account had one collector, which renewed a row here. One of an older version that still does would not see
-- the new leases: it has to end first, and one that was killed is waited for until that is sure.
do $$
declare
  running text;
begin
  for waited in 0..12 loop
    select format('process %s on %s', pid, host) into running from collectors
    where not released and renewed_at > clock_timestamp() - interval '10 seconds' limit 1;
    exit when running is null;
    perform pg_sleep(1);
  end loop;
  if running is not null then
    raise exception 'a collector of an older version is running: %', running
      using hint = 'End it, then start this version.';
  end if;
end
$$;
drop table collectors;

create table collectors (
  id              uuid primary key,
  number          smallint not null unique check (number between 0 and 255),
  name            text not null unique,
  run             text not null,
  pid             integer not null,
  host            text not null,
  version         text not null,
  started_at      timestamptz not null,
  seen_at         timestamptz not null,
  beat            bigint not null,
  stopped         boolean not null,
  jobs_digest     text not null,
  files           jsonb not null,
  knows           jsonb not null,
  journal_lag     bigint,
  clock_offset_ms integer
);
comment on table collectors is 'Every collector that has ever joined, until an operator forgets it. It tells of itself every 2 seconds.';
comment on column collectors.id is 'Stands in the data directory: a collector is the same after a restart.';
comment on column collectors.number is 'What its receive times, in microseconds, leave as the rest by 256: so no two collectors give an answer the same one.';
comment on column collectors.run is 'The run of its process, by a name of chance.';
comment on column collectors.beat is 'Counts what it has told. Whoever waits for it to die looks at this, on a clock of its own.';
comment on column collectors.stopped is 'Whether it has said that it ends.';
comment on column collectors.jobs_digest is 'A digest of its job files and accounts: all collectors have the same.';
comment on column collectors.files is 'The digests of these one by one, to say what differs. No secrets.';
comment on column collectors.knows is 'What it wants in the next epoch: accounts that the service refuses, and prices that chains hang on.';
comment on column collectors.journal_lag is 'Bytes of its journal that the archive has not loaded; NULL: not known.';
comment on column collectors.clock_offset_ms is 'How far its clock is ahead of the database''s, in ms.';

create table leases (
  account_id smallint primary key references accounts (id),
  fence      bigint not null,
  holder     uuid not null,
  run        text not null,
  beat       bigint not null,
  granted_at timestamptz not null,
  renewed_at timestamptz not null,
  expires_at timestamptz not null,
  released   boolean not null,
  governor   jsonb
);
comment on table leases is 'Which collector calls an account. It renews this every 2 seconds; what was not renewed for 7 seconds another one takes.';
comment on column leases.fence is 'Counts the holders: who renews with an older number has lost it.';
comment on column leases.beat is 'Counts the renewals. A jump of the database''s clock takes nothing from a holder whose beat goes on.';
comment on column leases.governor is 'What the holder knows of the account''s budget, for whoever comes after it.';

create table lease_history (
  account_id smallint not null references accounts (id),
  fence      bigint not null,
  taken_at   timestamptz not null,
  holder     uuid not null,
  collector  text not null,
  how        text not null check (how in ('new', 'released', 'restarted', 'expired')),
  previous   text,
  primary key (account_id, fence)
);
comment on table lease_history is 'Who took each account when, and from whom.';
comment on column lease_history.how is 'new: nobody had it; released: it was given back; restarted: the run before on the same data directory was dead; expired: its holder was not heard of.';

create table epochs (
  number      integer primary key,
  from_at     timestamptz not null,
  jobs_digest text not null,
  accounts    text[] not null,
  prices      jsonb not null,
  proposed_by text not null
);
comment on table epochs is 'What all collectors go by, from the first slot at from_at or later on: else an instrument would be two accounts'' or none''s.';
comment on column epochs.accounts is 'The accounts that share the jobs, by name.';
comment on column epochs.prices is 'The prices that chains were expanded by: {"date": exchange date, "of": {symbol: price}}.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
