-- Nasdaq, historical data of one symbol from nasdaq.com. Write your symbol in place of AAPL.
-- input: nullstr = ['N/A', '--']
select file, row,
  'AAPL' as instrument,
  session_close(iso_date(Date, '%m/%d/%Y')) as observed_at,
  plain_number(Open) as open, plain_number(High) as high, plain_number(Low) as low, plain_number("Close/Last") as last,
  plain_number(Volume) as volume
from input
