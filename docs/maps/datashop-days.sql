-- Cboe DataShop, option end of day summary: the day, and the quotes at its end. Of indexes and of some funds it ends at 16:15:
-- for a file of those write at_close(quote_date, 15).
-- source: datashop
-- input: nullstr = '0.0000'
select file, row,
  ltrim(underlying_symbol, '^') as symbol, root, expiration, call_or_put(option_type) as option_type, strike,
  session_close(quote_date) as observed_at,
  open, high, low, close as last, trade_volume as volume,
  bid_eod as bid, ask_eod as ask, bid_size_eod as bid_size, ask_size_eod as ask_size, open_interest
from input
