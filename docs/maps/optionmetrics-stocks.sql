-- OptionMetrics, secprd with the ticker: the stocks of optionmetrics.sql, at the same moment.
-- source: optionmetrics
-- input: nullstr = '-99.99'
select file, row,
  ticker as instrument,
  session_close(iso_date(date, '%Y%m%d')) as observed_at,
  open, high, low, close as last, volume
from input
