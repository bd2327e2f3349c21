-- Bars are made from the rows a moment after these were stored, not by triggers: session_bars says which rows a bar has.

alter table session_bars add column made_to timestamptz;
create index session_bars_due on session_bars (date) where made_to is not null;

do $$
declare
  gone text;
begin
  for gone in
    select format('drop function %s cascade', oid::regprocedure) from pg_proc
    where (pronamespace, proowner) = (select relnamespace, relowner from pg_class where oid = 'session_bars'::regclass)
      and proname in ('keep_session_bars', 'keep_bars', 'follow_lost_quotes', 'follow_lost_volumes', 'follow_calendar', 'follow_rows',
        'admit_quotes', 'add_bar_parts', 'keep_ended_bars', 'keep_intraday_bars', 'refresh_session_bars', 'refresh_daily_bars',
        'refresh_intraday_bars', 'fill_log_returns')
    union all
    select 'drop type bar_part' from pg_type
    where (typnamespace, typowner) = (select relnamespace, relowner from pg_class where oid = 'session_bars'::regclass)
      and typname = 'bar_part'
  loop
    execute gone;
  end loop;
end
$$;
