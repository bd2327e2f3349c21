-- A service may want a person's login each day: what is due without one is missed for that.

alter table misses drop constraint misses_reason_check, add constraint misses_reason_check check (reason in (
  'closed', 'budget', 'overrun', 'refused', 'unknown_symbol', 'absent_from_answer', 'malformed', 'transport', 'unauthorized', 'login', 'down'
));
