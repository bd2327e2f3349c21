-- OptionMetrics, opprcd: strikes times 1000, and quotes of the last minute before the close. Theta is a year's there and vega
-- per 1 of volatility; the archive has a day's theta, and vega per point.
-- source: optionmetrics
-- input: nullstr = '-99.99'
select file, row,
  ticker as symbol, split_part(symbol, ' ', 1) as root, iso_date(exdate, '%Y%m%d') as expiration, call_or_put(cp_flag) as option_type,
  scaled(strike_price, 0.001) as strike,
  session_close(iso_date(date, '%Y%m%d')) as observed_at,
  best_bid as bid, best_offer as ask, volume, open_interest, contract_size,
  impl_volatility as implied_volatility, delta, gamma, scaled(theta, 0.002739726) as theta, scaled(vega, 0.01) as vega
from input
