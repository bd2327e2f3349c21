-- yfinance, Ticker("BRK-B").history().to_csv(), whose dates are midnights in New York. Write your symbol in place of BRK.B.
-- source: yahoo
select file, row,
  'BRK.B' as instrument,
  session_close(Date) as observed_at,
  Open as open, High as high, Low as low, Close as last, Volume as volume
from input
