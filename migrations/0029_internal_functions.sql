-- What stands among the documented functions in a tool's tree, and is not for people, says so.

comment on function add_bar_parts(bar_part[]) is
  'Internal, for the loader: adds what a load brought of session bars to those that are there.';
comment on function keep_ended_bars(date, date, bar_part[], text[], boolean) is
  'Internal, for the loader: writes the bars of five minutes and of an hour that have ended into intraday_bars.';
comment on function keep_intraday_bars(integer[], smallint[], boolean[], date[], boolean, bar_part[], text[]) is
  'Internal, part of keep_ended_bars(...) and of refresh_intraday_bars(...): writes rows of intraday_bars.';
comment on function keep_session_bars() is 'Internal, a trigger of quotes: adds new rows to session_bars.';
comment on function keep_bars() is
  'Internal, a trigger of extended_quotes: brings session_bars and intraday_bars up to new rows.';
comment on function follow_lost_quotes() is
  'Internal, a trigger of quotes: makes bars again from the rows that are left after an update, a delete or a truncate.';
comment on function follow_lost_volumes() is
  'Internal, a trigger of extended_quotes: makes bars again from the rows that are left after an update, a delete or a truncate.';
comment on function follow_calendar() is
  'Internal, a trigger of sessions: makes the bars of a date again when the hours of its session change.';
comment on function refresh_session_bars(integer[], smallint[], boolean[], date[]) is
  'Internal: makes rows of session_bars again from quotes. To do it by hand, call recompute_session_bars(from, to).';
comment on function refresh_daily_bars(integer[], smallint[], boolean[], date[]) is
  'Internal, part of refresh_session_bars(...): the rows of session_bars themselves.';
comment on function refresh_intraday_bars(integer[], smallint[], boolean[], date[]) is
  'Internal, part of refresh_session_bars(...): the rows of intraday_bars.';
comment on function keep_bars_of_dropped(timestamptz, timestamptz) is
  'Internal: completes and marks the bars of quotes that are about to be dropped, between two instants.';
comment on function fill_log_returns() is
  'Internal: fills log_return of intraday_bars where it is missing.';
comment on function recompute_session_bars(date, date) is
  'Makes the bars of exchange dates again from their quotes, both dates included, after somebody changed quotes by hand. Returns how many session bars the dates have.';
