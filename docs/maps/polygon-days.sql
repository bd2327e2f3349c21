-- Polygon, flat files of day aggregates. Import them under another name than polygon-minutes.sql: the day's last price is not
-- that of its last minute, which may be of the hours after the close.
select file, row,
  occ(ticker) as instrument,
  session_close(exchange_date(epoch(window_start, 'ns'))) as observed_at,
  open, high, low, close as last, whole(volume) as volume
from input
