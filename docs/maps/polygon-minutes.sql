-- Polygon, flat files of minute aggregates, stocks and options: window_start is the beginning of a bar, and the volume is the
-- bar's own.
-- source: polygon
with bars as (
  select file, row,
    occ(ticker) as instrument,
    bar_end(epoch(window_start, 'ns'), interval 1 minute) as observed_at,
    open, high, low, close as last, whole(volume) as volume
  from input
)
from day_volumes(bars)
