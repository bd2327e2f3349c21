/** Bars in DuckDB's words, made of quotes: those of a minute, and those that the lake's files leave out. */
import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";

/** What bars are made of, as SQL of tables. */
type Parts = {
  /** With `instrument_id`, `source_id`, `delayed`, `date`, `observed_at`, `bid`, `ask` and `last`. */
  quotes: string;
  /** With the key of quotes, `date` and `volume`. */
  extended: string;
};

/** A series of a date, with all that is said of it: a condition on these reaches the quotes, and others are not read. */
const INSTRUMENT = ["security_type", "symbol", "expiration", "option_type", "strike"];
const SERIES = `instrument_id, source, source_name, delayed, date, ${INSTRUMENT.join(", ")}`;

/** In which part of its session a quote lies, and from when the bars of that part are counted. The simulated market never closes. */
const PART = `case
           when q.source_id = ${SIMULATED_SOURCE} then 'regular'
           when q.observed_at >= t.post_at then 'closed'
           when q.observed_at >= t.close_at then 'post'
           when q.observed_at >= t.open_at then 'regular'
           when q.observed_at >= t.pre_at then 'pre'
           else 'closed'
         end`;
const BEGINNING = `case
           when q.source_id = ${SIMULATED_SOURCE} then q.date::timestamp at time zone 'America/New_York'
           when q.observed_at >= t.post_at then t.post_at
           when q.observed_at >= t.close_at then t.close_at
           when q.observed_at >= t.open_at then t.open_at
           else coalesce(t.pre_at, timestamptz '2000-01-01 00:00:00+00')
         end`;

/** As `series_bars` of PostgreSQL's: the bars of all series of some quotes. */
function barsOf(seconds: number, { quotes, extended }: Parts): string {
  const micros = seconds * 1_000_000;
  return `with seen as (
  select q.instrument_id, s.kind as source, s.name as source_name, q.delayed, q.date,
         ${INSTRUMENT.map((column) => `i.${column}`).join(", ")}, q.observed_at,
         case when q."last" > 0 then q."last" end as price,
         case when q.bid > 0 and q.ask > 0 then q.ask - q.bid end as spread,
         e.volume,
         ${PART} as session,
         ${BEGINNING} as part_at
  from ${quotes} q
  join parts.instruments i on i.id = q.instrument_id
  join parts.sources s on s.id = q.source_id
  left join ${extended} e
    on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id and e.date = q.date
  left join parts.sessions t on t.date = q.date
), bars as (
  select ${SERIES}, session,
         part_at + to_microseconds(${micros} * floor((epoch_us(observed_at) - epoch_us(part_at)) / ${micros})::bigint) as bar_at,
         arg_min(price, observed_at) filter (where price is not null) as open,
         max(price) as high,
         min(price) as low,
         arg_max(price, observed_at) filter (where price is not null) as close,
         sum(spread) as spread_sum,
         count(spread) as spread_count,
         count(*) as quote_count,
         arg_min(volume, observed_at) filter (where volume is not null) as first_shown,
         arg_max(volume, observed_at) filter (where volume is not null) as shown
  from seen
  group by all
), shown as (
  select *,
         coalesce(lag(shown) over (partition by ${SERIES}, shown is null order by bar_at), first_shown) as before,
         lag(close) over closes as close_before,
         lag(session) over closes as session_before
  from bars
  window closes as (partition by ${SERIES}, close is null order by bar_at)
)
select *, case when shown < before then shown else shown - before end as volume from shown`;
}

/** A view of the archive's. A quotient of decimals is DOUBLE. */
export const BARS_1M = `create view bars_1m as
select instrument_id, security_type, symbol, expiration, option_type, strike, source, delayed, date, session, bar_at,
       open, high, low, close, spread_sum / spread_count as mean_spread, quote_count, volume, source_name
from (${barsOf(60, { quotes: "parts.quotes", extended: "parts.extended_quotes" })})`;

/** Seconds of the bars that a lake's files have of some series alone. */
const WIDTHS: Readonly<Record<string, number>> = { bars_5m: 300, bars_1h: 3_600 };

/** Whether a lake's files of a table leave out bars that its quotes make. */
export function leavesOut(table: string): boolean {
  return WIDTHS[table] !== undefined;
}

/**
 * The bars of contracts of which some dates' files have none.
 *
 * @param table one that `leavesOut`
 * @param parts the rows of these dates' files: quotes, extended quotes, and bars of this width
 * @returns SQL of rows with the table's columns
 */
export function barsLeftOut(table: string, parts: Parts & { bars: string }): string {
  const bars = barsOf(WIDTHS[table] ?? NaN, parts);
  return `select *,
       case when spread_count = 1 then spread_sum::decimal(38,23) else round(spread_sum / spread_count, 16)::decimal(38,23) end as mean_spread,
       case when session_before = session and close between 1e-300 and 1e300 and close_before between 1e-300 and 1e300
         then round(ln(close::double) - ln(close_before::double), 12)::decimal(38,12) end as log_return
from (${bars}) b
where option_type is not null and not exists (
  select 1 from ${parts.bars} k
  where k.instrument_id = b.instrument_id and k.source = b.source and k.source_name = b.source_name and k.delayed = b.delayed
    and k.date = b.date
)`;
}
