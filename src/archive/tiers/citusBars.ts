/** Bars on Citus: the hours of a row's session as workers know them, and the lock that one worker's statement cannot take of several shards. */

import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";

/** Joins the hours `t` of a row's date: the simulated market has none of the exchange's. */
export const sessionsOf = (row: string): string =>
  `left join sessions t on t.date = ${row}.date and ${row}.source_id <> ${SIMULATED_SOURCE}`;

/** These hours, for `session_of` and `bar_beginning`. As `opens_at`, which workers need not have. */
export const hoursOf = (row: string): string =>
  `t.pre_at, case when ${row}.source_id = ${SIMULATED_SOURCE}
             then ${row}.date::timestamp at time zone 'America/New_York' else t.open_at end, t.close_at, t.post_at`;

/**
 * Citus has no `for update` over several shards: an update that changes nothing locks. It also waits for transactions that are committed
 * here and not yet on their workers, so that what is read next has their rows.
 */
export const LOCK_DUE_BARS = `
create or replace function lock_due_bars(most integer) returns table (instrument_id integer, source_id smallint, delayed boolean, date date)
language plpgsql as $$
#variable_conflict use_column
begin
  update session_bars b set made_to = b.made_to where b.made_to is not null;
  return query
  select b.instrument_id, b.source_id, b.delayed, b.date from session_bars b where b.made_to is not null limit most;
  -- Dates that their series has ended.
  return query
  select distinct p.instrument_id, p.source_id, p.delayed, p.date
  from session_bars p
  join session_bars d
    on d.instrument_id = p.instrument_id and d.source_id = p.source_id and d.delayed = p.delayed and d.date > p.date
  where d.made_to is not null and p.made_to is null and p.bars_to is distinct from 'infinity';
end
$$`;
