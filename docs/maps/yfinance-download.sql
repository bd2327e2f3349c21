-- yfinance, download("AAPL").to_csv(): its three lines of header name columns only together. Write your symbol in place of AAPL.
-- source: yahoo
-- input: skip = 3, header = false
select file, row,
  'AAPL' as instrument,
  session_close(column0) as observed_at,
  column4 as open, column2 as high, column3 as low, column1 as last, column5 as volume
from input
