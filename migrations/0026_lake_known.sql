-- The archive knows which lake its quotes were dropped behind, and which files of that lake have them: another directory in the
-- lake's place, or a lake without one of these files, is found out.

create table archive_lake (
  id     uuid primary key,
  set_at timestamptz not null
);
comment on table archive_lake is 'One row: the lake of this archive. None: no lake was begun.';
comment on column archive_lake.id is 'The lake''s id, as its file lake.json has it: a UUID by chance. Origin: the program.';
comment on column archive_lake.set_at is 'Since when this is the archive''s lake. UTC. Origin: the program.';

alter table dropped_days add column files jsonb;
comment on column dropped_days.files is
  'The lake''s files that have these quotes: for each the table, the path in the lake, the revision, the bytes and the SHA-256. NULL: dropped by a release that did not say; the next `quotekeeper lake` does. Origin: the program.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    execute format('grant select on all tables in schema %I to quotekeeper_reader', current_schema());
  end if;
end
$$;
