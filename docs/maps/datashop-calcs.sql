-- Cboe DataShop, option end of day summary "with calcs": in place of datashop-quotes.sql, which says more of the file.
-- Assumed: theta is a day's, and vega and rho are per point, as the archive has them.
-- source: datashop
-- input: nullstr = '0.0000'
select file, row,
  ltrim(underlying_symbol, '^') as symbol, root, expiration, call_or_put(option_type) as option_type, strike,
  at_close(quote_date, -15) as observed_at,
  bid_1545 as bid, ask_1545 as ask, bid_size_1545 as bid_size, ask_size_1545 as ask_size, open_interest,
  implied_volatility_1545 as implied_volatility, delta_1545 as delta, gamma_1545 as gamma, theta_1545 as theta,
  vega_1545 as vega, rho_1545 as rho
from input
