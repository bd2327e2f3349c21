-- When the clock of the machine that collects was moved and by how much, and when it slept or the program could not run.

create table clock_steps (
  moved_at timestamptz not null,
  step_ms  bigint not null,
  kind     text not null check (kind in ('set_back', 'set_forward', 'slept', 'stopped')),
  primary key (moved_at, kind, step_ms)
);
comment on table clock_steps is 'What was amiss with the clock of the machine that collects: it was set back or set forward, the machine slept, or the program could not run (stopped).';
comment on column clock_steps.moved_at is 'What the clock said when it was noticed, within seconds after the step; before the step it said moved_at - step_ms.';
comment on column clock_steps.step_ms is 'By how many ms the clock was set, below 0: back; or for how long the machine slept, or the program could not run.';

do $$
begin
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    grant select on clock_steps to quotekeeper_reader;
  end if;
end
$$;
