-- Cboe DataShop, option end of day summary: the underlyings at the moment of datashop-quotes.sql. Without them no contract has
-- an implied volatility. All rows of an underlying say the same, and count as repeated.
-- source: datashop
-- input: nullstr = '0.0000'
select file, row,
  ltrim(underlying_symbol, '^') as instrument,
  at_close(quote_date, -15) as observed_at,
  underlying_bid_1545 as bid, underlying_ask_1545 as ask
from input
