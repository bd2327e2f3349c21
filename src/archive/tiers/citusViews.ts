/**
 * The views over distributed tables, with the columns and rows of every tier. A look for the rows of a series may begin at
 * `session_bars`, which lies beside them on their worker, and nowhere else: not at `instruments`, and not within a function.
 */

import { hoursOf, sessionsOf } from "./citusBars.ts";

const SERIES = `d.instrument_id,
       i.security_type,
       i.symbol,
       i.expiration,
       i.option_type,
       i.strike,
       s.kind as source,
       d.delayed,
       d.date`;

const OF_SESSION_BARS = `from session_bars d
join instruments i on i.id = d.instrument_id
left join sources s on s.id = d.source_id`;

/** Bars of five minutes that are kept, of a session bar `d`, those of which a condition holds; quotes follow. */
export const keptPieces = (
  which: string,
  join = "",
): string => `select k.instrument_id, k.bar_at as at, k.open, k.high, k.low, k.close, k.spread_sum, k.spread_count,
               k.quote_count, k.volume_before as first_shown, k.volume as shown
        from intraday_bars k
        ${join}
        where k.instrument_id = d.instrument_id and k.date = d.date and k.source_id = d.source_id and k.delayed = d.delayed
          and k.minutes = 5
          and k.bar_at ${which}
        union all
        `;

/** Those of an hour that goes on: `newest_bars` reads them beside the quotes. */
const KEPT_PIECES = keptPieces(
  `>= bar_beginning(coalesce(d.bars_to, d.first_at), interval '1 hour', ${hoursOf("k")})`,
  sessionsOf("k"),
);

const KEPT_BEFORE = `(
               select k.volume from intraday_bars k
               where k.instrument_id = b.instrument_id and k.date = d.date and k.source_id = d.source_id
                 and k.delayed = d.delayed and k.minutes = 5 and k.volume is not null and k.bar_at < b.bar_at
               order by k.bar_at desc
               limit 1
             )`;

/** Which bars of a session bar `d` are made when they are asked for; the parts are SQL. */
type Made = { width: string; from: string; pieces?: string; before?: string };

/** What `newest_bars` and `quote_bars` are elsewhere. */
export const made = ({ width, from, pieces = "", before = "null" }: Made): string => `
  select p.instrument_id, p.session, p.bar_at, p.open, p.high, p.low, p.close, p.mean_spread, p.quote_count,
         case when p.shown < p.before then p.shown else p.shown - p.before end as volume
  from (
    select b.*, coalesce(
             lag(b.shown) over (partition by b.instrument_id, b.shown is null order by b.bar_at), ${before}, b.first_shown
           ) as before
    from (
      select r.instrument_id, session_of(r.at, ${hoursOf("d")}) as session,
             bar_beginning(r.at, ${width}, ${hoursOf("d")}) as bar_at,
             (array_agg(r.open order by r.at) filter (where r.open is not null))[1] as open,
             max(r.high) as high,
             min(r.low) as low,
             (array_agg(r.close order by r.at desc) filter (where r.close is not null))[1] as close,
             sum(r.spread_sum) / nullif(sum(r.spread_count), 0) as mean_spread,
             sum(r.quote_count)::bigint as quote_count,
             (array_agg(r.first_shown order by r.at) filter (where r.first_shown is not null))[1] as first_shown,
             (array_agg(r.shown order by r.at desc) filter (where r.shown is not null))[1] as shown
      from (
        ${pieces}select q.instrument_id, q.observed_at, p.price, p.price, p.price, p.price,
               case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end,
               case when q.bid > 0 and q.ask > 0 then 1 else 0 end, 1, e.volume, e.volume
        from quotes q
        cross join lateral (select case when q.last > 0 then q.last end as price) p
        left join extended_quotes e
          on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
         and e.observed_at between ${from} and d.last_at
        where q.instrument_id = d.instrument_id and q.source_id = d.source_id and q.delayed = d.delayed
          and q.observed_at between ${from} and d.last_at
      ) r (instrument_id, at, open, high, low, close, spread_sum, spread_count, quote_count, first_shown, shown)
      ${sessionsOf("d")}
      group by 1, 2, 3
    ) b
  ) p`;

const VALUES = `b.session,
       b.bar_at,
       b.open,
       b.high,
       b.low,
       b.close`;

const NEWEST_FROM = "coalesce(d.bars_to, d.first_at)";

/** Bars that are kept, of so many minutes. */
const kept = (minutes: 5 | 60): string => `select ${SERIES.replaceAll("d.", "b.")},
       ${VALUES},
       b.spread_sum / nullif(b.spread_count, 0) as mean_spread,
       b.quote_count,
       case when b.volume < b.volume_before then b.volume else b.volume - b.volume_before end as volume,
       s.name as source_name${minutes === 5 ? ", b.log_return" : ""}
from intraday_bars b
join instruments i on i.id = b.instrument_id
left join sources s on s.id = b.source_id
where b.minutes::integer = ${minutes}`;

const LATEST_QUOTES = `
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
from session_bars b
join instruments i on i.id = b.instrument_id
join sources s on s.id = b.source_id
join quotes q on q.instrument_id = b.instrument_id and q.observed_at = b.last_at and q.source_id = b.source_id
left join extended_quotes e
  on e.instrument_id = b.instrument_id and e.observed_at = b.last_at and e.source_id = b.source_id
where not exists (
  select from session_bars l
  where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
)`;

const BARS_1M = `
create or replace view bars_1m as
select ${SERIES},
       ${VALUES},
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name as source_name
${OF_SESSION_BARS}
cross join lateral (${made({ width: "interval '1 minute'", from: "d.first_at" })}) b`;

const LOG_RETURN = `case
           when lag(n.session) over closes = n.session then log_return(n.close, lag(n.close) over closes)
           when lag(n.session) over closes is null then (
             select case when k.session = n.session then log_return(n.close, k.close) end
             from intraday_bars k
             where k.instrument_id = n.instrument_id and k.date = d.date and k.source_id = d.source_id
               and k.delayed = d.delayed and k.minutes = 5 and k.close is not null and k.bar_at < n.bar_at
             order by k.bar_at desc
             limit 1
           )
         end as log_return`;

const BARS_5M = `
create or replace view bars_5m as
${kept(5)}
union all
select ${SERIES},
       ${VALUES},
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name,
       b.log_return
${OF_SESSION_BARS}
cross join lateral (
  select n.*,
         ${LOG_RETURN}
  from (${made({ width: "interval '5 minutes'", from: NEWEST_FROM, before: KEPT_BEFORE })}) n
  window closes as (partition by n.instrument_id, n.close is null order by n.bar_at)
) b
where d.bars_to is distinct from 'infinity'`;

const BARS_1H = `
create or replace view bars_1h as
${kept(60)}
union all
select ${SERIES},
       ${VALUES},
       b.mean_spread,
       b.quote_count,
       b.volume,
       s.name
${OF_SESSION_BARS}
cross join lateral (${made({ width: "interval '1 hour'", from: NEWEST_FROM, pieces: KEPT_PIECES, before: KEPT_BEFORE })}) b
where d.bars_to is distinct from 'infinity'`;

const SIDE_COLUMNS = [
  "instrument_id",
  "observed_at",
  "bid",
  "ask",
  "mid",
  "spread",
  "last",
  "delta",
  "volume",
];

const CHAIN_COLUMNS = [
  ...["underlying", "expiration", "strike", "source", "delayed", "underlying_id"],
  ...["call", "put"].flatMap((side) => SIDE_COLUMNS.map((column) => `${side}_${column}`)),
  "source_name",
]
  .map((column) => `c.${column}`)
  .join(", ");

/** Of `quotes_at` it reads the options' for their sides, and those of the underlyings beside them. */
const OPTION_CHAIN_LATEST = `
create or replace view option_chain_latest as
select ${CHAIN_COLUMNS},
       u.last as underlying_last,
       nullif(u.last, 0) / nullif(c.strike, 0) as moneyness,
       c.root
from (
  select q.symbol as underlying,
         q.expiration,
         q.strike,
         q.source,
         q.delayed,
         max(q.underlying_id) as underlying_id,
         ${sideOf("CALL")},
         ${sideOf("PUT")},
         q.source_name,
         i.root
  from quotes_at(coalesce(as_of(), 'infinity')) q
  join instruments i on i.id = q.instrument_id
  where q.option_type is not null and expires_at(q.expiration) > coalesce(as_of(), now())
  group by q.symbol, i.root, q.expiration, q.strike, q.source, q.source_name, q.delayed
) c
left join quotes_at(coalesce(as_of(), 'infinity')) u
  on u.instrument_id = c.underlying_id and u.source = c.source and u.source_name = c.source_name and u.delayed = c.delayed`;

function sideOf(type: "CALL" | "PUT"): string {
  const name = type.toLowerCase();
  const of = (column: string, value: string, quoted = ""): string =>
    `max(${value}) filter (where q.option_type = '${type}'${quoted}) as ${name}_${column}`;
  return [
    ...[of("instrument_id", "q.instrument_id"), of("observed_at", "q.observed_at")],
    ...[of("bid", "q.bid"), of("ask", "q.ask")],
    ...[of("mid", "(q.bid + q.ask) / 2", " and q.ask > 0"), of("spread", "q.ask - q.bid", " and q.ask > 0")],
    ...[of("last", "q.last"), of("delta", "q.delta"), of("volume", "q.volume")],
  ].join(",\n         ");
}

/** All of them, in the order in which they can be made. `bars_1d` is that of every tier. */
export const CITUS_VIEWS: readonly string[] = [LATEST_QUOTES, BARS_1M, BARS_5M, BARS_1H, OPTION_CHAIN_LATEST];
