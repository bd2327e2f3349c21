/**
 * The views and functions that read cut tables, made of the texts in force (`migrations/repeat/`), with their columns and rows.
 * - PostgreSQL puts the body of a function in SQL into the statement that calls it. Citus looks for tables before that: here the body
 *   is put there as text, and what a program calls is PL/pgSQL, which gives Citus the values of arguments.
 * - A worker joins and groups by instrument alone, and looks for the rows of a series only where the look begins at `session_bars`.
 */
import { type Change, changed, functionOf, inlined, type SqlFunction, viewOf } from "../sqlText.ts";

/** Says a function in PL/pgSQL. There a column is meant where an argument has its name. */
const inPlpgsql = ({ name, args, returns, body }: SqlFunction): string => `
create or replace function ${name}(${args}) returns ${returns} language plpgsql stable as $$
#variable_conflict use_column
begin
  return ${/^(setof|table)/u.test(returns) ? `query ${body}` : `(${body})`};
end
$$`;

/** The instruments of the name that a function is asked for. */
const NAMED = "array(select n.id from instruments_named($1) n)";

const NAMES = `q.instrument_id, q.security_type, q.symbol, q.expiration, q.option_type, q.strike, q.description, q.source, q.delayed,
  q.observed_at, q.bid, q.ask, q.last, q.change, q.pct_change, q.bid_size, q.ask_size, q.volume, q.delta, q.source_name`;

/** The columns of `latest_quotes` behind the root. */
const SAID = `q.quoted_at, q.traded_at, q.open_interest, q.implied_volatility, q.bid_iv, q.ask_iv, q.gamma, q.theta, q.vega, q.rho,
  q.greeks_at`;

const NO_FENCE: Change = [/ +offset 0\n/gu, ""];

/** Bars are grouped by their instrument too. */
const SERIES_BARS: readonly Change[] = [
  ["group by 1, 2\n", "group by 1, 2, 3\n"],
  ["partition by b.shown is null", "partition by b.instrument_id, b.shown is null"],
  ["select p.session,", "select p.instrument_id, p.session,"],
  ["select session_of(r.at", "select r.instrument_id, session_of(r.at"],
  ["select k.bar_at as at", "select k.instrument_id, k.bar_at as at"],
  ["select q.observed_at, p.price", "select q.instrument_id, q.observed_at, p.price"],
  ["select e.observed_at, e.volume", "select e.instrument_id, e.observed_at, e.volume"],
  [
    "on e.observed_at = q.observed_at",
    "on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at",
  ],
  NO_FENCE,
];

/** No kept bars: Citus cannot plan a half of a union that the comparison with NULL leaves out. */
const NONE_KEPT: Change = [/d\.date, null,/gu, "d.date, 'infinity',"];

const BARS_5M: readonly Change[] = [
  NONE_KEPT,
  ["partition by n.close", "partition by n.instrument_id, n.close"],
];

const BARS: readonly Change[] = [
  ["'-infinity'::timestamptz end", "'-infinity'::timestamptz else 'infinity' end"],
  ["from instruments_named($1) i\n  join session_bars d on d.instrument_id = i.id", "from session_bars d"],
  ["where not is_of_dates($2) and", `where d.instrument_id = any (${NAMED}) and not is_of_dates($2) and`],
  [/from instruments_named\(\$1\) i\n.*?lateral \(/gsu, "from ("],
  ["where d.instrument_id = i.id", `where d.instrument_id = any (${NAMED})`],
  NO_FENCE,
];

const SPREAD_STATS: readonly Change[] = [
  ["from instruments_named($1) i\n  join quotes q on q.instrument_id = i.id", "from quotes q"],
  ["where q.observed_at >= $2", `where q.instrument_id = any (${NAMED}) and q.observed_at >= $2`],
];

/** The look begins at the newest bar of each series. */
const QUOTES_AT: readonly Change[] = [
  [
    /from instruments i.*?\) b\n/gsu,
    `from session_bars b
  join instruments i on i.id = b.instrument_id
  join sources s on s.id = b.source_id
`,
  ],
  ["d.delayed", "b.delayed"],
  ["= i.id and", "= b.instrument_id and"],
  ["= s.id and", "= b.source_id and"],
  [
    "  ) e on true",
    `  ) e on true
  where b.first_at <= $1 and b.date <= ($1 at time zone 'America/New_York')::date and not exists (
    select from session_bars l
    where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed
      and l.date > b.date and l.first_at <= $1 and l.date <= ($1 at time zone 'America/New_York')::date
  )`,
  ],
];

/** An underlying lies on another worker than its contracts: the quotes that they look for come to the coordinator first. */
const CHAIN_AT: readonly Change[] = [
  [
    "  select q.instrument_id",
    `with c as materialized (
    select * from quotes_at($2) q where q.symbol = $1 and q.option_type is not null
  ), times as materialized (
    select c.underlying_id, m.spot_id as source_id, c.delayed, c.observed_at as until, max(u.observed_at) as at
    from c
    join sources_beside m on m.id = c.source_id
    join quotes u on u.instrument_id = c.underlying_id and u.source_id = m.spot_id and (m.is_apart or u.delayed = c.delayed)
     and u.observed_at <= c.observed_at and u.observed_at > c.observed_at - interval '1 day'
     and (u.last > 0 or u.bid > 0 and u.ask > 0)
    group by 1, 2, 3, 4
  ), quotes as materialized (
    select distinct u.* from times t
    join quotes u on u.instrument_id = t.underlying_id and u.observed_at = t.at and u.source_id = t.source_id
  )
  select q.instrument_id`,
  ],
  ["from quotes_at($2) q\n  join", "from c q\n  join"],
];

/**
 * Citus has no `for update` over several shards: an update that changes nothing locks. It also waits for transactions that are committed
 * here and not yet on their workers, so that what is read next has their rows.
 */
const LOCK_DUE_BARS = `
create or replace function lock_due_bars(most integer) returns table (instrument_id integer, source_id smallint, delayed boolean, date date)
language plpgsql as $$
#variable_conflict use_column
begin
  update session_bars b set made_to = b.made_to where b.made_to is not null;
  return query
  select b.instrument_id, b.source_id, b.delayed, b.date from session_bars b where b.made_to is not null limit most;
  -- Dates that their series has ended.
  return query
  select distinct p.instrument_id, p.source_id, p.delayed, p.date
  from session_bars p
  join session_bars d
    on d.instrument_id = p.instrument_id and d.source_id = p.source_id and d.delayed = p.delayed and d.date > p.date
  where d.made_to is not null and p.made_to is null and coalesce(isfinite(p.bars_to), true);
end
$$`;

/**
 * Joined with a table of which each node has a copy (`sources`), a union is pushed down only where its halves are joined by the
 * instrument as a whole.
 */
const joinable = (view: string): string =>
  view.replace(
    /^(.*? as\n)(.*)$/su,
    "$1select b.* from (\n$2\n) b join instruments x on x.id = b.instrument_id",
  );

/** All of them, in the order in which they can be made. @param texts those of `migrations/repeat/` */
export function citusTexts(texts: string): string[] {
  const made = (name: string, changes: readonly Change[]): SqlFunction => {
    const one = functionOf(texts, name);
    return { ...one, body: changed(one.body, changes) };
  };
  const expiresAt = functionOf(texts, "expires_at", "symbol");
  const quotesAt = made("quotes_at", QUOTES_AT);
  const [asof, chainAt] = [functionOf(texts, "asof"), made("chain_at", CHAIN_AT)];
  const chainRows = { ...chainAt, name: "chain_rows", args: "text, timestamptz" };
  const ofSeries = made("series_bars", SERIES_BARS);
  const seriesBars = { ...ofSeries, columns: `instrument_id, ${ofSeries.columns}` };
  const bars = made("bars", BARS);
  return [
    LOCK_DUE_BARS,
    inPlpgsql(functionOf(texts, "expires_at", "expiration")),
    inPlpgsql(expiresAt),
    inPlpgsql(functionOf(texts, "instruments_named")),
    inPlpgsql(functionOf(texts, "newest_interest")),
    inPlpgsql(quotesAt),
    inPlpgsql({ ...asof, body: inlined(asof.body, quotesAt) }),
    // PL/pgSQL has no argument and column of one name.
    inPlpgsql({ ...chainRows, body: inlined(inlined(chainRows.body, quotesAt), expiresAt) }),
    `create or replace function chain_at(${chainAt.args}) returns ${chainAt.returns} language sql stable as $$
  select * from chain_rows($1, $2)
$$`,
    "comment on function chain_rows(text, timestamptz) is 'The rows of chain_at, which has an argument and a column of one name.'",
    inlined(
      `create or replace view latest_quotes as
select ${NAMES}, i.root, ${SAID} from quotes_at('infinity'::timestamptz) q join instruments i on i.id = q.instrument_id`,
      quotesAt,
    ),
    inlined(changed(viewOf(texts, "bars_1m"), [NONE_KEPT]), seriesBars),
    joinable(inlined(changed(viewOf(texts, "bars_5m"), BARS_5M), seriesBars)),
    joinable(inlined(viewOf(texts, "bars_1h"), seriesBars)),
    inPlpgsql({ ...bars, body: inlined(bars.body, seriesBars) }),
    inPlpgsql(made("spread_stats", SPREAD_STATS)),
  ];
}
