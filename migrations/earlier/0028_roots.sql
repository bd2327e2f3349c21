-- A contract has a root: SPX and SPXW, AAPL and AAPL1 may share underlying, expiration, type and strike. And what an archive says of
-- instruments no longer depends on the order in which it was loaded.

alter table instruments add column root text;
alter table instruments drop constraint instruments_identity;
alter table instruments add constraint instruments_identity
  unique nulls not distinct (security_type, symbol, expiration, option_type, strike, root);

-- By its root alone, as one finds a contract whose underlying is not said.
create index instruments_contracts on instruments (coalesce(root, symbol), expiration, option_type, strike);

alter table instruments add column exchange_at timestamptz;
alter table instruments add column description_at timestamptz;
alter table instruments add column contract_size_at timestamptz;
-- Contracts that came before their underlying.
update instruments i
set underlying_id = (
  select u.id from instruments u
  where u.symbol = i.symbol and u.option_type is null
  order by u.type_assumed, u.security_type collate "C"
  limit 1
)
where i.option_type is not null and i.underlying_id is null
  and exists (select from instruments u where u.symbol = i.symbol and u.option_type is null);
