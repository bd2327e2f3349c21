/**
 * The archive as it was at an instant: for each instrument asked for, the newest quote at or before it, with all that
 * came with that quote. Nothing that arrived later has any part in it, but for names and exchanges, of which the archive
 * keeps the newest only.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import type { InstrumentKey } from "../../market/instrument.ts";
import { DIVIDEND_FIELDS, EXTENDED_FIELDS, PRICE_FIELDS } from "../../quotes/fields.ts";
import { engineOf } from "../tiers/citus/door.ts";
import { inArrays, instantText } from "../schema/tableRows.ts";

export type SourceKind = "account" | "simulated" | "import";

export type Question = {
  key: InstrumentKey;
  /** The newest real-time quote at or before this instant; null: none. */
  realTimeAt: Instant | null;
  /** The newest quote that was asked for as delayed, at or before this instant; null: none. */
  delayedAt: Instant | null;
};

type ColumnName = (typeof COLUMNS)[keyof typeof COLUMNS][number]["column"];

/** A row of `quotes`, `extended_quotes` and `dividends`, as text. `found` is null where there is none. */
type Columns<Prefix extends string> = Record<`${Prefix}_${ColumnName}`, string | null> &
  Record<`${Prefix}_found` | `${Prefix}_dividend_found`, boolean | null>;

/** What was found for one of the questions; decimals are text as `numeric` gives it. */
export type PointInTimeRow = Columns<"q"> &
  Columns<"u"> & {
    /** Place of the question among what was asked, from 1. */
    place: number;
    /** Null: there is no such quote, and all else is null but the next three. */
    q_found: boolean | null;
    /**
     * By how much the question's instants may move on, both together, until a later quote answers it: given as
     * `delayedAt`, or else `realTimeAt`, would be then. Null: as far as they like.
     */
    next_at: Instant | null;
    state: string | null;
    security_type: string;
    symbol: string;
    root: string | null;
    exchange: string | null;
    description: string | null;
    expiration: string | null;
    option_type: "CALL" | "PUT" | null;
    strike: string | null;
    underlying_symbol: string | null;
    underlying_exchange: string | null;
    underlying_description: string | null;
  };

/** The columns of each table, by the first letter of its alias. */
const COLUMNS = { q: PRICE_FIELDS, e: EXTENDED_FIELDS, d: DIVIDEND_FIELDS } as const;

/**
 * Looks all questions up in one statement.
 *
 * @param kinds rows of these kinds of sources alone; of two that are equally new the one of the first kind counts
 * @returns one row for each question, in any order
 * @throws the database's errors as they are
 */
export async function readPointInTime(
  pool: pg.Pool,
  questions: readonly Question[],
  kinds: readonly SourceKind[],
): Promise<PointInTimeRow[]> {
  const asked = [
    questions.map(({ key }) => (key.kind === "option" ? key.underlying : key.symbol)),
    questions.map(({ key }) => (key.kind === "option" ? key.expiration : null)),
    questions.map(({ key }) => (key.kind === "option" ? key.optionType : null)),
    questions.map(({ key }) => (key.kind === "option" ? key.strike : null)),
    questions.map(({ key }) => (key.kind === "option" ? (key.root ?? null) : null)),
    ...inArrays(questions, "realTimeAt", "delayedAt"),
  ];
  const { nearFound } = await engineOf(pool);
  if (nearFound !== null) {
    const { rows: found } = await pool.query<{ place: number; id: number }>(FOUND_FIRST, asked);
    const { rows } = await pool.query<PointInTimeRow>(answeredNear(nearFound), [
      ...asked,
      kinds,
      ...inArrays(found, "place", "id"),
    ]);
    return rows;
  }
  const { rows } = await pool.query<PointInTimeRow>({
    name: "point in time",
    text: STATEMENT,
    values: [...asked, kinds],
  });
  return rows;
}

/**
 * What is visible in the database, as a text: while it is the same, nothing was committed, and every statement gives what
 * it gave before. It is the snapshot of the statement. Null where that cannot be told: the snapshot of a standby server
 * does not name all transactions that are under way, and that of a coordinator none of its workers'.
 */
const STATE = "case when pg_is_in_recovery() then null else pg_current_snapshot()::text end as state";

export async function readState(pool: pg.Pool): Promise<string | null> {
  if (!(await engineOf(pool)).hasOneSnapshot) return null;
  const { rows } = await pool.query<{ state: string | null }>({ name: "state", text: `select ${STATE}` });
  return rows[0]?.state ?? null;
}

const columnsOf = (prefix: "q" | "u"): string =>
  Object.entries(COLUMNS)
    .flatMap(([table, fields]) =>
      fields.map(({ column }) => `${prefix}${table}.${column} as ${prefix}_${column}`),
    )
    .join(", ");

/** The row of a table at the same time as a quote, found by its whole key. */
const beside = (table: string, alias: string, instrument: string): string =>
  `left join lateral (select true as found, t.* from ${table} t
     where t.instrument_id = ${instrument} and t.observed_at = q.observed_at and t.source_id = q.source_id
     limit 1) ${alias} on true`;

/** The dividend known at the time of a quote: a row is there only when it changed. */
const dividend = (alias: string, instrument: string): string =>
  `left join lateral (select true as found, t.* from dividends t
     where t.instrument_id = ${instrument} and t.observed_at <= q.observed_at and t.source_id = q.source_id
     order by t.observed_at desc
     limit 1) ${alias} on true`;

const KINDS_OF_QUOTES =
  "cross join lateral (values (false, f.real_time_at), (true, f.delayed_at)) as c (delayed, until)";

/*
 * Contracts are found by their roots, with their underlying and without it. Securities are found by their unique key, once for each
 * security type there is (a handful, found by skipping through the index): the symbol alone would find thousands of options. session_bars says on which day an
 * instrument was last seen, so that quotes are looked for between two times of one day, and servers pass over all
 * partitions but one. Where it names a day whose quotes have gone, nothing is said of a later quote: next_at is the
 * question's own instant.
 */
const ASKED = `asked as (
  select *, upper(symbol collate "C") as capitals from unnest($1::text[], $2::date[], $3::text[], $4::numeric[], $5::text[], $6::timestamptz[], $7::timestamptz[])
    with ordinality as a (symbol, expiration, option_type, strike, root, real_time_at, delayed_at, place)
)`;

const FOUND = `types (security_type) as (
  select min(security_type) from instruments
  union all
  select (select min(i.security_type) from instruments i where i.security_type > t.security_type)
  from types t where t.security_type is not null
),
${ASKED},
found as (
  select a.place, a.real_time_at, a.delayed_at, i.* from asked a join instruments i
    on coalesce(i.root, i.symbol) = any (array[coalesce(a.root, a.symbol), upper(coalesce(a.root, a.symbol) collate "C")])
   and (i.root is null or a.root is null or i.symbol = any (array[a.symbol, a.capitals]))
   and i.expiration = a.expiration and i.option_type = a.option_type and i.strike = a.strike
  union all
  select a.place, a.real_time_at, a.delayed_at, i.* from asked a cross join types t join instruments i
    on i.security_type = t.security_type and i.symbol = any (array[a.symbol, a.capitals])
   and i.expiration is null and i.option_type is null and i.strike is null
  where a.option_type is null
)`;

const ANSWERED = `answered as (
select distinct on (f.place)
       f.place::int as place, f.security_type, f.symbol, f.root, f.exchange, f.description,
       f.expiration, f.option_type, f.strike,
       w.symbol as underlying_symbol, w.exchange as underlying_exchange, w.description as underlying_description,
       true as q_found, qd.found as q_dividend_found, ${columnsOf("q")},
       uq.found as u_found, ud.found as u_dividend_found, ${columnsOf("u")}
from found f
cross join lateral (
  select q.*
  from sources s
  ${KINDS_OF_QUOTES}
  cross join lateral (
    select b.first_at, b.last_at
    from session_bars b
    where b.instrument_id = f.id and b.source_id = s.id and b.delayed = c.delayed
      and b.date <= (c.until at time zone 'America/New_York')::date and b.first_at <= c.until
    order by b.date desc
    limit 1
  ) b
  cross join lateral (
    select q.*
    from quotes q
    where q.instrument_id = f.id and q.source_id = s.id and q.delayed = c.delayed
      and q.observed_at between b.first_at and least(b.last_at, c.until)
    order by q.observed_at desc
    limit 1
  ) q
  where s.kind = any ($8::text[])
  order by q.observed_at desc, array_position($8::text[], s.kind), s.id
  limit 1
) q
cross join lateral (select q.*) qq
${beside("extended_quotes", "qe", "f.id")}
${dividend("qd", "case when f.option_type is null then f.id end")}
left join instruments w on w.id = f.underlying_id
${beside("quotes", "uq", "w.id")}
${beside("extended_quotes", "ue", "w.id")}
${dividend("ud", "w.id")}
order by f.place, q.observed_at desc, f.id
),
later as (
  select f.place, min(coalesce(f.delayed_at, f.real_time_at) + (coalesce(q.observed_at, c.until) - c.until)) as at
  from found f
  join sources s on s.kind = any ($8::text[])
  ${KINDS_OF_QUOTES}
  cross join lateral (
    select b.first_at, b.last_at
    from session_bars b
    where b.instrument_id = f.id and b.source_id = s.id and b.delayed = c.delayed
      and b.date >= (c.until at time zone 'America/New_York')::date and b.last_at > c.until
    order by b.date
    limit 1
  ) b
  left join lateral (
    select q.observed_at
    from quotes q
    where q.instrument_id = f.id and q.source_id = s.id and q.delayed = c.delayed
      and q.observed_at > c.until and q.observed_at between b.first_at and b.last_at
    order by q.observed_at
    limit 1
  ) q on true
  group by f.place
)
-- The last of two columns of one name is the one that is read.
select r.*, a.place::int as place, ${STATE},
       ${instantText("l.at")} as next_at
from asked a left join answered r on r.place = a.place left join later l on l.place = a.place`;

const STATEMENT = `with recursive ${FOUND}, ${ANSWERED}`;

/** The numbers of the instruments, by the places of their questions. */
const FOUND_FIRST = `with recursive ${FOUND} select f.place::int, f.id from found f`;

/** Answers questions whose instruments were found first: recursion goes to no worker. */
const answeredNear = (near: string): string => `with ${ASKED},
found as materialized (
  select a.place, a.real_time_at, a.delayed_at, i.*
  from unnest($9::int[], $10::int[]) as f (place, id) join asked a on a.place = f.place join instruments i on i.id = f.id
),
${near}, ${ANSWERED.replace(STATE, "null as state")}`;

export type Extent = { from: Instant; to: Instant };

/** The extent of rows of some kinds of sources. Reads a row for each instrument and day: for the start of a program. */
export async function readExtent(pool: pg.Pool, kinds: readonly SourceKind[]): Promise<Extent | null> {
  const { rows } = await pool.query<{ from: string | null; to: string | null }>(
    `select ${instantText("min(b.first_at)")} as from, ${instantText("max(b.last_at)")} as to
     from session_bars b join sources s on s.id = b.source_id
     where s.kind = any ($1::text[])`,
    [kinds],
  );
  const { from = null, to = null } = rows[0] ?? {};
  return from === null || to === null ? null : { from, to };
}
