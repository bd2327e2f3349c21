-- Stooq, daily files for everything (d_us_txt). <TIME> is 000000 there, and a volume that is adjusted for splits has decimals.
select file, row,
  class_share(regexp_replace("<TICKER>", '\.US$', '')) as instrument,
  session_close(iso_date("<DATE>", '%Y%m%d')) as observed_at,
  "<OPEN>" as open, "<HIGH>" as high, "<LOW>" as low, "<CLOSE>" as last, whole("<VOL>") as volume
from input
