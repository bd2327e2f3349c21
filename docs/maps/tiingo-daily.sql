-- Tiingo, end of day, of one symbol. Write the symbol in the third line.
-- source: tiingo
select file, row,
  'BRK.B' as instrument,
  session_close(date) as observed_at,
  open, high, low, close as last, volume
from input
