-- What living services say of a quote beyond the specification: when it was quoted and traded, and what they reckon of an option.

alter table quotes
  add column quoted_at timestamptz,
  add column traded_at timestamptz;
alter table extended_quotes
  add column open_interest bigint,
  add column average_volume bigint,
  add column implied_volatility numeric,
  add column bid_iv numeric,
  add column ask_iv numeric,
  add column gamma numeric,
  add column theta numeric,
  add column vega numeric,
  add column rho numeric,
  add column greeks_at timestamptz;
