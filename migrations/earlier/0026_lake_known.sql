-- The archive knows which lake its quotes were dropped behind, and which files of that lake have them: another directory in the
-- lake's place, or a lake without one of these files, is found out.

create table archive_lake (
  id     uuid primary key,
  set_at timestamptz not null
);
alter table dropped_days add column files jsonb;
