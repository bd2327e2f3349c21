/**
 * The archive's tables and views by their own names in DuckDB, above the tables of the schema `parts` (duckFiles.ts). The views
 * are those of migrations/repeat/, in DuckDB's words.
 */
import type { Instant } from "../../clock.ts";
import { readHistory } from "../schema/history.ts";
import { functionOf, inlined, type SqlFunction, viewOf } from "../tiers/sqlText.ts";
import { BARS_1M } from "./duckBars.ts";
import { quoted } from "./duckFiles.ts";
import { DUCK_TABLES } from "./duckTables.ts";

/** All names that can be asked, in the order in which people read them. */
export const DUCK_NAMES: readonly string[] = [
  ...DUCK_TABLES.map(({ name }) => name),
  "bars_1m",
  "bars_1d_regular",
  "option_chain_latest",
  "dividend_calendar",
  "coverage_daily",
];

/** Views whose text in migrations/repeat/ is DuckDB's as well. */
const SAME = ["bars_1d_regular", "dividend_calendar"];

/** The archive's tables and views by their own names. @param asOf see `quotekeeper.as_of`; null: now */
export async function publicViews(asOf: Instant | null): Promise<string[]> {
  const { repeated } = await readHistory();
  const texts = repeated.map(({ sql }) => sql).join("\n");
  const tables = DUCK_TABLES.map(({ name, columns }) => {
    const list = columns.map((column) => `"${column.name}"`).join(", ");
    return `create view ${name} as select ${list} from parts.${name}`;
  });
  return [
    ...tables,
    BARS_1M,
    chain(asOf, functionOf(texts, "expires_at", "symbol")),
    COVERAGE_DAILY,
    ...SAME.map((name) => viewOf(texts, name)),
  ];
}

/** PostgreSQL's own text. */
/** The middle of two decimals is a decimal: half of their sum has one more place. */
function side(type: "CALL" | "PUT"): string {
  const name = type.toLowerCase();
  const of = (value: string, more = ""): string =>
    `max(${value}) filter (where q.option_type = '${type}'${more})`;
  return `${of("q.instrument_id")} as ${name}_instrument_id,
         ${of("q.observed_at")} as ${name}_observed_at,
         ${of("q.bid")} as ${name}_bid,
         ${of("q.ask")} as ${name}_ask,
         ${of("(q.bid + q.ask) * 0.5", " and q.ask > 0")} as ${name}_mid,
         ${of("q.ask - q.bid", " and q.ask > 0")} as ${name}_spread,
         ${of(`q."last"`)} as ${name}_last,
         ${of("q.delta")} as ${name}_delta,
         ${of("q.volume")} as ${name}_volume,
         ${SAID.map((column) => `${of(`q.${column}`)} as ${name}_${column}`).join(", ")}`;
}

/** What living services say of a contract beyond the specification, as far as the chain shows it. */
const SAID = ["quoted_at", "traded_at", "open_interest", "implied_volatility"];

/** The newest quotes at or before an instant, as far as the chain needs them; `parts.latest_quotes` has those of now. */
const latestAt = (at: string): string => `(
  select q.instrument_id, i.symbol, i.expiration, i.option_type, i.strike, s.kind as source, s.name as source_name, q.delayed,
         q.observed_at, q.bid, q.ask, q."last", e.volume, e.delta, q.quoted_at, q.traded_at, e.open_interest, e.implied_volatility
  from parts.quotes q
  join parts.instruments i on i.id = q.instrument_id
  join parts.sources s on s.id = q.source_id
  left join parts.extended_quotes e
    on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id and e.date = q.date
  where q.observed_at <= ${at}
  qualify row_number() over (partition by q.instrument_id, q.source_id, q.delayed order by q.observed_at desc) = 1
)`;

function chain(asOf: Instant | null, expiresAt: SqlFunction): string {
  const at = asOf === null ? "now()" : `timestamptz ${quoted(asOf)}`;
  const latest = asOf === null ? "parts.latest_quotes" : latestAt(at);
  return `create view option_chain_latest as
select c.underlying, c.expiration, c.strike, c.source, c.delayed, c.underlying_id,
       c.call_instrument_id, c.call_observed_at, c.call_bid, c.call_ask, c.call_mid, c.call_spread, c.call_last, c.call_delta,
       c.call_volume,
       c.put_instrument_id, c.put_observed_at, c.put_bid, c.put_ask, c.put_mid, c.put_spread, c.put_last, c.put_delta,
       c.put_volume,
       c.source_name,
       u."last" as underlying_last,
       nullif(u."last", 0) / nullif(c.strike, 0) as moneyness,
       c.root,
       ${["call", "put"].flatMap((side) => SAID.map((column) => `c.${side}_${column}`)).join(", ")}
from (
  select q.symbol as underlying, q.expiration, q.strike, q.source, q.delayed, max(i.underlying_id) as underlying_id,
         ${side("CALL")},
         ${side("PUT")},
         q.source_name,
         i.root
  from ${latest} q
  join parts.instruments i on i.id = q.instrument_id
  where q.option_type is not null and q.instrument_id in (
    select x.id from parts.instruments x where ${inlined("expires_at(x.symbol, x.expiration, x.root)", expiresAt)} > ${at}
  )
  group by q.symbol, i.root, q.expiration, q.strike, q.source, q.source_name, q.delayed
) c
left join ${latest} u
  on u.instrument_id = c.underlying_id and u.source = c.source and u.source_name = c.source_name and u.delayed = c.delayed`;
}

const COVERAGE_DAILY = `create view coverage_daily as
with expected as (
  select s.date, s.source_id, name as instrument, sum(s.n)::bigint as expected
  from (select date, source_id, due_set_id, count(*) as n from parts.slots group by 1, 2, 3) s
  join (select id, unnest(instruments) as name from parts.due_sets) d on d.id = s.due_set_id
  group by 1, 2, 3
), lost as (
  select m.date, m.source_id, name as instrument, m.reason, count(*) as n
  from (
    select m.date, m.source_id, m.reason,
           unnest(case when m.instrument = '*' then d.instruments else [m.instrument] end) as name
    from parts.misses m
    join parts.slots s
      on s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id and s.account_id = m.account_id and s.date = m.date
    join parts.due_sets d on d.id = s.due_set_id
  ) m
  group by 1, 2, 3, 4
)
select e.date, o.kind as source, e.instrument, e.expected,
       e.expected - coalesce(sum(l.n), 0)::bigint as stored,
       coalesce(sum(l.n), 0)::bigint as missed,
       coalesce(to_json(map(
         list(l.reason order by length(l.reason), l.reason) filter (where l.reason is not null),
         list(l.n order by length(l.reason), l.reason) filter (where l.reason is not null)
       )), '{}'::json) as reasons
from expected e
join parts.sources o on o.id = e.source_id
left join lost l on l.date = e.date and l.source_id = e.source_id and l.instrument = e.instrument
group by e.date, o.kind, e.instrument, e.expected`;
