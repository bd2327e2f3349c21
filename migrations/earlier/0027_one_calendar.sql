-- One calendar: what the operator says of single days reaches the sessions, and what is made of them. Bars end at a close of any minute,
-- contracts at a close that the calendar knows; bars of dates say which session they are of.

create table calendar_days (
  date   date primary key,
  kind   text not null check (kind in ('closed', 'early', 'regular')),
  close  text,
  reason text
);
