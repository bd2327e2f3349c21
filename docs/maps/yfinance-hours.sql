-- yfinance, bars of an hour (interval="60m"), which bear their beginning and their own volume; the last one of a day begins at
-- 15:30 and ends with the session. Write your symbol in place of AAPL. For interval="1m": bar_end(utc(Datetime), interval 1 minute).
-- source: yahoo-hours
with bars as (
  select file, row,
    'AAPL' as instrument,
    bar_end_by_close(utc(Datetime), interval 1 hour) as observed_at,
    Open as open, High as high, Low as low, Close as last, Volume as volume
  from input
)
from day_volumes(bars)
