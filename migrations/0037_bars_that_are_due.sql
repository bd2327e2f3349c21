-- Bars of dates whose close is not at whole five minutes (2005-06-01, 15:56) are made again: earlier releases let one reach over the
-- close. What is kept of bars that are due goes. Date by date, so that TimescaleDB unpacks the chunks of these dates alone.
-- Earlier releases wrote bars to the lake that were not made yet: the next run compares every date once more.
do $$
declare
  due record;
begin
  for due in
    select distinct b.date from session_bars b left join sessions t on t.date = b.date
    where not b.quotes_dropped and (extract(epoch from t.close_at)::bigint % 300 <> 0 or b.made_to = '-infinity' and b.bars_to > '-infinity')
    order by 1
  loop
    update session_bars set made_to = '-infinity', bars_to = null where date = due.date and not quotes_dropped;
    execute format(
      'delete from intraday_bars k using session_bars b
       where b.instrument_id = k.instrument_id and b.source_id = k.source_id and b.delayed = k.delayed and b.date = k.date
         and k.date = %1$L and b.date = %1$L and k.bar_at >= %2$L and k.bar_at < %3$L and not b.quotes_dropped',
      due.date, due.date::timestamp at time zone 'America/New_York', (due.date + 1)::timestamp at time zone 'America/New_York'
    );
  end loop;
  insert into late_days (date, changed_by, changed_at)
  select d.date, pg_current_xact_id(), clock_timestamp() from (select distinct date from session_bars) d
  where d.date < (clock_timestamp() at time zone 'America/New_York')::date
  on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at;
end
$$;
