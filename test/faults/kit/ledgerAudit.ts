/** Whether the ledger adds up: due = stored + missed at every slot, and what it calls stored is there. */
import type pg from "pg";
import { withNear } from "../../../src/archive/tiers/citus/door.ts";
import { inTransaction } from "../../../src/archive/connect/transaction.ts";
import type { DueJob } from "./jobs.ts";

/** What the ledger holds, and what is wrong with it. */
export type LedgerReport = { slots: number; due: number; missed: number; violations: string[] };

/** Looks at all of it. */
export async function auditLedger(
  pool: pg.Pool,
  jobs: readonly Pick<DueJob, "name" | "stepMs">[],
): Promise<LedgerReport> {
  const steps = [jobs.map(({ name }) => name), jobs.map(({ stepMs }) => stepMs)];
  const [totals] = (
    await pool.query<{ slots: number; due: number; missed: number }>(
      `select count(*)::int as slots, coalesce(sum(due), 0)::int as due, coalesce(sum(missed), 0)::int as missed from slots`,
    )
  ).rows;
  const violations = [
    ...(await listed(pool, "does not add up", SUMS, [])),
    // On Citus each claim is compared with quotes that lie near it.
    ...(await inTransaction(pool, (client) =>
      withNear(
        client,
        () => [{ table: "instruments" }, { table: "quotes" }],
        () => listed(client, "calls stored what is not there", CLAIMS, steps),
      ),
    )),
    ...(await listed(pool, "is not in the ledger", GAPS, steps)),
  ];
  return { slots: totals?.slots ?? 0, due: totals?.due ?? 0, missed: totals?.missed ?? 0, violations };
}

async function listed(
  db: pg.Pool | pg.PoolClient,
  what: string,
  sql: string,
  values: unknown[],
): Promise<string[]> {
  const { rows } = await (db as pg.Pool).query<{ job: string; slot_at: string; detail: string }>(sql, values);
  const found = rows.slice(0, 5).map(({ job, slot_at, detail }) => `${job} at ${slot_at} ${what} ${detail}`);
  return rows.length > 5 ? [...found, `${rows.length - 5} more: ${what}`] : found;
}

const SUMS = `
  select s.job, s.slot_at, format('(due %s, stored %s, missed %s, %s listed)', s.due, s.stored, s.missed, n) as detail
  from slots s join due_sets d on d.id = s.due_set_id
  cross join lateral (select count(*) as n, bool_or(instrument = '*') as star from misses m
                      where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id
                        and m.account_id = s.account_id) listed
  where s.due <> s.stored + s.missed or s.due <> cardinality(d.instruments)
     or (n <> s.missed and star is distinct from true)
  union all
  select m.job, m.slot_at, 'a miss without a slot' from misses m
  where not exists (select from slots s where s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id
                    and s.account_id = m.account_id)`;

/**
 * Stored at a slot: an answer that was asked for before the slot ended, and arrived after it had begun, has a quote; of a whole
 * chain, one of any of its contracts. `offset 0` has the quotes of each claim looked up by their key: joined all together they take longer than the run did.
 */
const CLAIMS = `
  with named as materialized (
    select array_agg(id) as ids, name
    from instruments, lateral (
      values (symbol || coalesce(':' || expiration || ':' || option_type || ':' || trim_scale(strike), '')),
             ('chain ' || symbol || ':' || expiration)) as names (name)
    where name is not null group by name
  ), claims as materialized (
    select s.job, s.slot_at, due.name, named.ids, steps.ms
    from slots s join due_sets d on d.id = s.due_set_id
    join unnest($1::text[], $2::int[]) as steps (job, ms) on steps.job = s.job
    cross join unnest(d.instruments) as due (name)
    left join named on named.name = due.name
    where not exists (select from misses m where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id
                      and m.account_id = s.account_id and m.instrument in (due.name, '*') offset 0)
  )
  select c.job, c.slot_at, c.name as detail
  from claims c
  where not exists (
    select from quotes q
    where q.instrument_id = any (c.ids) and q.observed_at >= c.slot_at
      and q.observed_at < c.slot_at + make_interval(secs => (c.ms + 30000) / 1000.0)
      and exists (
        select from responses r
        where r.observed_at = q.observed_at and r.source_id = q.source_id
          and r.requested_at < c.slot_at + make_interval(secs => c.ms / 1000.0)
        offset 0)
    offset 0)`;

/** Slots between the first and the last of a job that are missing altogether. */
const GAPS = `
  select steps.job, due_at as slot_at, '' as detail
  from unnest($1::text[], $2::int[]) as steps (job, ms)
  cross join lateral (select min(slot_at) as first, max(slot_at) as last from slots s where s.job = steps.job) span
  cross join lateral generate_series(first, last, make_interval(secs => ms / 1000.0)) as due_at
  where not exists (select from slots s where s.job = steps.job and s.slot_at = due_at)
  order by 2`;
