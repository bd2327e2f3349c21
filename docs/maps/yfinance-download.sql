-- yfinance, download("AAPL").to_csv(): its three lines of header name columns only together. Write the symbol in the fourth line.
-- source: yahoo
-- input: skip = 3, header = false
select file, row,
  'AAPL' as instrument,
  session_close(column0) as observed_at,
  column4 as open, column2 as high, column3 as low, column1 as last, column5 as volume
from input
