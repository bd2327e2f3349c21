-- A contract has a root: SPX and SPXW, AAPL and AAPL1 may share underlying, expiration, type and strike. And what an archive says of
-- instruments no longer depends on the order in which it was loaded.

alter table instruments add column root text;
comment on column instruments.root is
  'Of an option: the root of its OCC symbol where that is another than the underlying''s, such as SPXW of SPX; else NULL. Origin: an OCC symbol, sym of instrument beside underlying, or a column of an imported file.';
alter table instruments drop constraint instruments_identity;
alter table instruments add constraint instruments_identity
  unique nulls not distinct (security_type, symbol, expiration, option_type, strike, root);

-- By its root alone, as one finds a contract whose underlying is not said.
create index instruments_contracts on instruments (coalesce(root, symbol), expiration, option_type, strike);

alter table instruments add column exchange_at timestamptz;
alter table instruments add column description_at timestamptz;
alter table instruments add column contract_size_at timestamptz;
comment on column instruments.exchange_at is
  'When exchange was said last, UTC; NULL: at last_seen_at, or never. Origin: the program.';
comment on column instruments.description_at is
  'When description was said last, UTC; NULL: at last_seen_at, or never. Origin: the program.';
comment on column instruments.contract_size_at is
  'When contract_size was said last, UTC; NULL: at last_seen_at, or never. Origin: the program.';
comment on column instruments.underlying_id is
  'Of an option: instruments.id of its underlying, whichever of the two was there first; NULL: the archive has none. Else NULL. Origin: the program.';

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

create function instrument_name(symbol text, expiration date, option_type text, strike numeric, root text) returns text
language sql stable parallel safe as $$
  select $1 || coalesce('/' || $5, '') || coalesce(':' || to_char($2, 'YYYY-MM-DD') || ':' || $3 || ':' || trim_scale($4), '')
$$;
comment on function instrument_name(text, date, text, numeric, text) is
  'AAPL, AAPL:2026-12-18:CALL:150, or with a root SPX/SPXW:2026-12-18:CALL:5000.';
comment on function instrument_name(text, date, text, numeric) is
  'AAPL, or AAPL:2026-12-18:CALL:150: the name without a root.';

create or replace function instruments_named(name text) returns setof instruments language sql stable parallel safe as $$
  select i.*
  from instruments i
  where i.symbol = any (array[split_part($1, ':', 1), regexp_replace(split_part($1, ':', 1), '/[^/]*$', '')])
    and instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root) = $1
$$;
comment on function instruments_named(text) is
  'Instruments of a name, AAPL, AAPL:2026-12-18:CALL:150 or SPX/SPXW:2026-12-18:CALL:5000: one for each security type that has it.';

create or replace function asof(at timestamptz, symbols text[]) returns table (
  instrument text, instrument_id integer, source text, source_name text, delayed boolean, observed_at timestamptz, age interval,
  bid numeric, ask numeric, last numeric, volume bigint
) language sql stable parallel safe as $$
  select instrument_name(q.symbol, q.expiration, q.option_type, q.strike, i.root), q.instrument_id,
         q.source, q.source_name, q.delayed, q.observed_at, $1 - q.observed_at, q.bid, q.ask, q.last, q.volume
  from quotes_at($1) q
  join instruments i on i.id = q.instrument_id
  where q.symbol = any (array(
      select unnest(array[split_part(s, ':', 1), regexp_replace(split_part(s, ':', 1), '/[^/]*$', '')]) from unnest($2) s
    ))
    and instrument_name(q.symbol, q.expiration, q.option_type, q.strike, i.root) = any ($2)
$$;
comment on function asof(timestamptz, text[]) is
  'What was known of some instruments at an instant, and how old it was: AAPL, or a contract as AAPL:2026-12-18:CALL:150.';

create or replace view latest_quotes as
select i.id as instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       i.description,
       s.kind as source,
       q.delayed,
       q.observed_at,
       q.bid,
       q.ask,
       q.last,
       q.change,
       q.pct_change,
       e.bid_size,
       e.ask_size,
       e.volume,
       e.delta,
       s.name as source_name,
       i.root
from instruments i
cross join sources s
cross join (values (false), (true)) as d (delayed)
cross join lateral (
  select b.last_at
  from session_bars b
  where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed
  order by b.date desc
  limit 1
) b
cross join lateral (
  (select * from quotes q
   where q.instrument_id = i.id and q.observed_at = b.last_at and q.source_id = s.id
     and q.observed_at >= now() - interval '14 days'
   limit 1)
  union all
  (select * from quotes q
   where q.instrument_id = i.id and q.observed_at = b.last_at and q.source_id = s.id
     and b.last_at < now() - interval '14 days'
   limit 1)
) q
left join lateral (
  (select * from extended_quotes e
   where e.instrument_id = i.id and e.observed_at = b.last_at and e.source_id = s.id
     and e.observed_at >= now() - interval '14 days'
   limit 1)
  union all
  (select * from extended_quotes e
   where e.instrument_id = i.id and e.observed_at = b.last_at and e.source_id = s.id
     and b.last_at < now() - interval '14 days'
   limit 1)
) e on true;
comment on column latest_quotes.root is 'As instruments.root: of an option the root of its OCC symbol where that is another than the underlying''s; else NULL. Origin: instruments.root.';

-- With the contracts and the quotes of an instant that is set, as option_surface has them. The type of a view's column stays: tables
-- of TimescaleDB have another name for numeric.
do $$
begin
  execute format($view$
    create or replace view option_chain_latest as
    select c.underlying, c.expiration, c.strike, c.source, c.delayed, c.underlying_id,
           c.call_instrument_id, c.call_observed_at, c.call_bid, c.call_ask, c.call_mid, c.call_spread, c.call_last, c.call_delta,
           c.call_volume,
           c.put_instrument_id, c.put_observed_at, c.put_bid, c.put_ask, c.put_mid, c.put_spread, c.put_last, c.put_delta, c.put_volume,
           c.source_name,
           u.last::%s as underlying_last,
           nullif(u.last, 0) / nullif(c.strike, 0) as moneyness,
           c.root
    from (
      select q.symbol as underlying,
             q.expiration,
             q.strike,
             q.source,
             q.delayed,
             max(q.underlying_id) as underlying_id,
             max(q.instrument_id) filter (where q.option_type = 'CALL') as call_instrument_id,
             max(q.observed_at) filter (where q.option_type = 'CALL') as call_observed_at,
             max(q.bid) filter (where q.option_type = 'CALL') as call_bid,
             max(q.ask) filter (where q.option_type = 'CALL') as call_ask,
             max((q.bid + q.ask) / 2) filter (where q.option_type = 'CALL' and q.ask > 0) as call_mid,
             max(q.ask - q.bid) filter (where q.option_type = 'CALL' and q.ask > 0) as call_spread,
             max(q.last) filter (where q.option_type = 'CALL') as call_last,
             max(q.delta) filter (where q.option_type = 'CALL') as call_delta,
             max(q.volume) filter (where q.option_type = 'CALL') as call_volume,
             max(q.instrument_id) filter (where q.option_type = 'PUT') as put_instrument_id,
             max(q.observed_at) filter (where q.option_type = 'PUT') as put_observed_at,
             max(q.bid) filter (where q.option_type = 'PUT') as put_bid,
             max(q.ask) filter (where q.option_type = 'PUT') as put_ask,
             max((q.bid + q.ask) / 2) filter (where q.option_type = 'PUT' and q.ask > 0) as put_mid,
             max(q.ask - q.bid) filter (where q.option_type = 'PUT' and q.ask > 0) as put_spread,
             max(q.last) filter (where q.option_type = 'PUT') as put_last,
             max(q.delta) filter (where q.option_type = 'PUT') as put_delta,
             max(q.volume) filter (where q.option_type = 'PUT') as put_volume,
             q.source_name,
             i.root
      from quotes_at(coalesce(as_of(), 'infinity')) q
      join instruments i on i.id = q.instrument_id
      where q.option_type is not null and expires_at(q.expiration) > coalesce(as_of(), now())
      group by q.symbol, i.root, q.expiration, q.strike, q.source, q.source_name, q.delayed
    ) c
    left join lateral (
      select q.last
      from quotes_at(coalesce(as_of(), 'infinity')) q
      where q.instrument_id = c.underlying_id and q.source = c.source and q.source_name = c.source_name
        and q.delayed = c.delayed
    ) u on true
  $view$, (
    select format_type(atttypid, atttypmod) from pg_attribute
    where attrelid = 'option_chain_latest'::regclass and attname = 'underlying_last'
  ));
end
$$;
comment on view option_chain_latest is
  'One row per underlying, root, expiration and strike, until the expiration''s close: now, or at the instant of the setting quotekeeper.as_of. moneyness is the underlying''s last over the strike.';
comment on column option_chain_latest.root is 'Root of the contracts'' OCC symbols where that is another than the underlying''s; else NULL: a strike has a row for each root. Origin: instruments.root.';

create or replace view option_surface as
select s.*, i.root
from (select coalesce(as_of(), now()) as at) n
cross join (select distinct symbol from instruments where option_type is not null) u
cross join lateral surface_at(u.symbol, n.at) s
join instruments i on i.id = s.instrument_id;
comment on column option_surface.root is 'Root of the contract''s OCC symbol where that is another than the underlying''s; else NULL. Origin: instruments.root.';
