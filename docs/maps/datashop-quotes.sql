-- Cboe DataShop, option end of day summary: the quotes of 15:45; on days that close early, since 2020-02-05, of 12:45.
-- Each row has two moments and a whole day: datashop-underlyings.sql and datashop-days.sql read the same file, into one source.
-- source: datashop
-- input: nullstr = '0.0000'
select file, row,
  ltrim(underlying_symbol, '^') as symbol, root, expiration, call_or_put(option_type) as option_type, strike,
  at_close(quote_date, -15) as observed_at,
  bid_1545 as bid, ask_1545 as ask, bid_size_1545 as bid_size, ask_size_1545 as ask_size, open_interest
from input
