-- Yahoo, the history of one symbol as it was downloaded from the site. Write your symbol in place of BRK.B.
-- input: nullstr = 'null'
select file, row,
  'BRK.B' as instrument,
  session_close(Date) as observed_at,
  Open as open, High as high, Low as low, Close as last, Volume as volume
from input
