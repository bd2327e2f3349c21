-- Tiingo, end of day, of one symbol. Write your symbol in place of BRK.B.
-- source: tiingo
select file, row,
  'BRK.B' as instrument,
  session_close(date) as observed_at,
  open, high, low, close as last, volume
from input
