/** What became of the schedule: expected against stored by session, and why something is missing. */
import type pg from "pg";
import { isoOf } from "./queries.ts";
import { mapInTurns } from "./mapInTurns.ts";
import { LEDGER_SOURCE_IDS } from "../ledger/ledgerNames.ts";
import { isOnDates } from "../schema/tableRows.ts";
import type { AccountCoverage, CoverageView, MissRow, PackedCell, SourceKind } from "./dashboardTypes.ts";

/** Both ends are included. It begins with the first day of the ledger where that is later. */
export async function readCoverageView(pool: pg.Pool, first: string, to: string): Promise<CoverageView> {
  const begun = await pool.query<{ from: string }>(
    "select greatest($1::date, (min(slot_at) at time zone 'America/New_York')::date)::text as from from slots",
    [first],
  );
  const from = begun.rows[0]?.from ?? first;
  const open = await pool.query<{ date: string }>("select date from sessions where date between $1 and $2", [
    from,
    to,
  ]);
  const found = await pool.query<{ instrument: string; source: SourceKind; days: string }>(ROWS, [from, to]);
  const sessions = new Set(open.rows.map(({ date }) => date));
  const others = new Set<string>();
  const rows = await mapInTurns(found.rows, ({ days, ...row }) => {
    const counted = days.split(" ").map(dayOf);
    // The simulated market never closes.
    const its = row.source === "simulated" ? sessions : others;
    for (const { date } of counted) its.add(date);
    return { ...row, days: counted };
  });
  const dates = [...new Set([...sessions, ...others])].sort();
  const places = new Map(dates.map((date, place) => [date, place]));
  return {
    dates: dates.map((date) => ({ date, session: sessions.has(date) })),
    rows: await mapInTurns(rows, ({ days, ...row }) => {
      const cells: PackedCell[] = dates.map(() => null);
      for (const { date, expected, missed } of days)
        cells[places.get(date) ?? 0] = missed === 0 ? expected : [expected, missed];
      return { ...row, cells };
    }),
    sourceIds: LEDGER_SOURCE_IDS,
    accounts: await readAccounts(pool, from, to),
  };
}

/** @param text as ROWS writes it, `2026-11-20:390:2` */
function dayOf(text: string): { date: string; expected: number; missed: number } {
  const [date = "", expected, missed] = text.split(":");
  return { date, expected: Number(expected), missed: Number(missed) };
}

/**
 * What coverage_daily counts, without its reasons: these alone take seconds where thousands of instruments are due. The worst first;
 * securities before options where both are as bad. A miss of `*` is one of all that was due.
 */
const ROWS = `
  with s as materialized (
    select (slot_at at time zone 'America/New_York')::date as date, job, slot_at, source_id, account_id, due_set_id
    from slots where ${isOnDates("slot_at", "$1", "$2")}
  ), m as materialized (
    select * from misses where ${isOnDates("slot_at", "$1", "$2")}
  ), sets as (
    select s.date, s.source_id, s.due_set_id, count(*) as expected, count(m.job) as missed
    from s left join m on m.instrument = '*'
     and (m.job, m.slot_at, m.source_id, m.account_id) = (s.job, s.slot_at, s.source_id, s.account_id)
    group by 1, 2, 3
  ), days as (
    select date, source_id, instrument, sum(expected) as expected, sum(missed) as missed
    from (
      select date, source_id, unnest(instruments) as instrument, expected, missed
      from sets join due_sets d on d.id = due_set_id
      union all
      select s.date, source_id, m.instrument, 0, count(*)
      from m join s using (job, slot_at, source_id, account_id)
      where m.instrument <> '*'
      group by 1, 2, 3
    ) parts
    group by 1, 2, 3
  )
  select instrument, o.kind as source, string_agg(concat_ws(':', date, expected, missed), ' ') as days
  from days join sources o on o.id = source_id
  group by instrument, o.kind
  order by sum(missed) / sum(expected) desc, instrument like '%:%', instrument, o.kind`;

/** What was due to each account; none where all was due to one. */
async function readAccounts(pool: pg.Pool, from: string, to: string): Promise<AccountCoverage[]> {
  const { rows } = await pool.query<AccountCoverage>(ACCOUNTS, [from, to]);
  return new Set(rows.map(({ account }) => account)).size < 2 ? [] : rows;
}

/** A slot of which nothing was stored is one miss, whose instrument is `*`: it counts for all that was due. */
const ACCOUNTS = `
  with s as (
    select job, slot_at, source_id, account_id, due, missed from slots where ${isOnDates("slot_at", "$1", "$2")}
  ), lost as (
    select source_id, account_id, jsonb_object_agg(reason, n) as reasons
    from (
      select source_id, account_id, m.reason, sum(case when m.instrument = '*' then s.due else 1 end) as n
      from misses m join s using (job, slot_at, source_id, account_id)
      group by 1, 2, 3
    ) l
    group by 1, 2
  ), sums as (
    select source_id, account_id, sum(due)::float8 as expected, sum(missed)::float8 as missed from s group by 1, 2
  )
  select a.name as account, o.kind as source, expected, expected - missed as stored, missed, coalesce(reasons, '{}') as reasons
  from sums
  join accounts a on a.id = account_id
  join sources o on o.id = source_id
  left join lost using (source_id, account_id)
  where expected > 0
  order by a.name, o.kind`;

type MissQuery = { date: string; instrument: string; source: SourceKind };

/** By job and reason, most frequent first. */
export async function readMisses(pool: pg.Pool, { date, instrument, source }: MissQuery): Promise<MissRow[]> {
  const { rows } = await pool.query<MissRow>(
    `select ${COUNTED_MISSES}
     from misses m
     join slots s using (job, slot_at, source_id, account_id)
     join due_sets d on d.id = s.due_set_id
     join sources o on o.id = m.source_id
     where o.kind = $3 and ${isOnDates("m.slot_at", "$1", "$1")}
       and (m.instrument = $2 or (m.instrument = '*' and $2 = any (d.instruments)))
     group by m.job, m.reason
     order by count(*) desc, m.job, m.reason`,
    [date, instrument, source],
  );
  return rows.map(missRow);
}

/** What a row of misses `m`, put together by job and reason, says of them, for `missRow`. */
export const COUNTED_MISSES = `m.job, m.reason, count(*)::float8 as count, min(m.slot_at) as "firstAt", max(m.slot_at) as "lastAt"`;

export function missRow(row: MissRow): MissRow {
  return { ...row, firstAt: isoOf(row.firstAt), lastAt: isoOf(row.lastAt) };
}
