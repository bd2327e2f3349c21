-- Tiingo, IEX: nanoseconds in ISO 8601, which are cut to microseconds.
select file, row,
  class_share(upper(ticker)) as instrument,
  utc(timestamp) as observed_at,
  last, prevClose as previous_close, open, high, low, volume,
  bidSize as bid_size, bidPrice as bid, askSize as ask_size, askPrice as ask
from input
