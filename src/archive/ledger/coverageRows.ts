/** What the ledger says, for people: coverage by instrument and day, and what the service does not know. */
import type pg from "pg";
import type { LedgerSource } from "../../journal/ledger.ts";
import { isOnDates } from "../schema/tableRows.ts";
import { LEDGER_SOURCE_IDS } from "./ledgerNames.ts";

/** One instrument on one day of the exchange. expected = stored + missed. */
export type CoverageRow = {
  date: string;
  source: LedgerSource;
  instrument: string;
  expected: number;
  stored: number;
  missed: number;
  /** How often it was missed, by reason. */
  reasons: Record<string, number>;
};

/** Coverage of the days from one exchange date to another, both included; worst first. */
export async function readCoverage(pool: pg.Pool, from: string, to: string): Promise<CoverageRow[]> {
  const { rows } = await pool.query<CoverageRow>(
    `select date, source, instrument, expected::float8, stored::float8, missed::float8, reasons
     from coverage_daily
     where date between $1 and $2
     order by coverage_daily.stored::numeric / coverage_daily.expected, missed desc, date, instrument, source`,
    [from, to],
  );
  return rows;
}

export type CoverageShare = CoverageRow & { account: string };

/**
 * The same by the shares of accounts; they add up to what `readCoverage` gives.
 *
 * @param account only this one's; null: all, and none where the archive knows of one account alone
 */
export async function readCoverageShares(
  pool: pg.Pool,
  { from, to, account = null }: { from: string; to: string; account?: string | null },
): Promise<CoverageShare[]> {
  const { rows } = await pool.query<CoverageShare>(
    `with shares as (
       select (slot_at at time zone 'America/New_York')::date as date, job, slot_at, source_id, account_id, name as account, due_set_id
       from slots join accounts a on a.id = account_id
       where ${isOnDates("slot_at", "$1", "$2")}
         and (a.name = $3 or ($3::text is null and (select count(*) from accounts) > 1))
     ), due as (
       select s.date, s.source_id, s.account, name as instrument, sum(s.n)::bigint as expected
       from (select date, source_id, account, due_set_id, count(*) as n from shares group by 1, 2, 3, 4) s
       join due_sets d on d.id = s.due_set_id
       cross join unnest(d.instruments) as name
       group by 1, 2, 3, 4
     ), lost as (
       select s.date, s.source_id, s.account, name as instrument, m.reason, count(*) as n
       from misses m join shares s using (job, slot_at, source_id, account_id)
       join due_sets d on d.id = s.due_set_id
       cross join unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as name
       group by 1, 2, 3, 4, 5
     ), counted as (
       select e.date, o.kind as source, e.account, e.instrument, e.expected, coalesce(sum(l.n), 0)::bigint as missed,
         coalesce(jsonb_object_agg(l.reason, l.n) filter (where l.reason is not null), '{}') as reasons
       from due e
       join sources o on o.id = e.source_id
       left join lost l on (l.date, l.source_id, l.account, l.instrument) = (e.date, e.source_id, e.account, e.instrument)
       group by e.date, o.kind, e.account, e.instrument, e.expected
     )
     select account, date, source, instrument, expected::float8, (expected - missed)::float8 as stored, missed::float8, reasons
     from counted c order by (c.expected - c.missed)::numeric / c.expected, c.missed desc, date, instrument, source, account`,
    [from, to, account],
  );
  return rows;
}

export type AccountCoverage = Omit<CoverageShare, "date" | "instrument">;

/** The sums of shares, by account; none where all are of one. */
export function sumByAccount(shares: readonly CoverageShare[]): AccountCoverage[] {
  const sums = new Map<string, AccountCoverage>();
  for (const { account, source, expected, stored, missed, reasons } of shares) {
    const key = `${account} ${source}`;
    const sum = sums.get(key) ?? { account, source, expected: 0, stored: 0, missed: 0, reasons: {} };
    sums.set(key, sum);
    sum.expected += expected;
    sum.stored += stored;
    sum.missed += missed;
    for (const [reason, n] of Object.entries(reasons)) sum.reasons[reason] = (sum.reasons[reason] ?? 0) + n;
  }
  const parts = [...sums.values()].sort((one, other) => (one.account < other.account ? -1 : 1));
  return new Set(parts.map(({ account }) => account)).size > 1 ? parts : [];
}

/** Instruments that the service did not know at the newest slots of these jobs, or was not asked for therefore. */
export async function readUnknownInstruments(
  pool: pg.Pool,
  jobs: readonly string[],
  source: LedgerSource,
): Promise<string[]> {
  const { rows } = await pool.query<{ instrument: string }>(
    `select distinct m.instrument
     from unnest($1::text[]) as w (job)
     cross join lateral (
       select job, slot_at, source_id from slots
       where slots.job = w.job and slots.source_id = $2 order by slot_at desc limit 1
     ) newest
     join misses m on m.job = newest.job and m.slot_at = newest.slot_at and m.source_id = newest.source_id
     where m.reason = 'unknown_symbol'
     order by 1`,
    [jobs, LEDGER_SOURCE_IDS[source]],
  );
  return rows.map(({ instrument }) => instrument);
}

export async function readSymbols(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ symbol: string }>("select distinct symbol from instruments");
  return rows.map(({ symbol }) => symbol);
}

/** How often a job missed for one reason in the shares of an account, and the newest slot at which it did. */
export type JobMisses = { job: string; reason: string; account: string; count: number; lastAt: Date };

/**
 * What was due and missed in one market since an instant, and the newest slot of jobs, whichever market it was of.
 *
 * @param options.jobs whose newest slots are looked for; none: those that missed something
 * @returns misses, the job, reason and account with the most of them first
 */
export async function readSlotsSince(
  pool: pg.Pool,
  { jobs, source, since }: { jobs: readonly string[]; source: LedgerSource; since: Date },
): Promise<{ due: number; misses: JobMisses[]; newest: Map<string, Date> }> {
  const of = [since.toISOString(), LEDGER_SOURCE_IDS[source]];
  const sums = await pool.query<{ due: number }>(
    "select coalesce(sum(due), 0)::float8 as due from slots where slot_at >= $1 and source_id = $2",
    of,
  );
  const misses = await pool.query<Omit<JobMisses, "lastAt"> & { lastAt: string }>(
    `select m.job, m.reason, a.name as account, sum(case when m.instrument = '*' then s.due else 1 end)::float8 as count,
       max(m.slot_at) as "lastAt"
     from misses m join slots s using (job, slot_at, source_id, account_id) join accounts a on a.id = s.account_id
     where m.slot_at >= $1 and m.source_id = $2
     group by m.job, m.reason, a.name
     order by count desc, m.job, m.reason, a.name`,
    of,
  );
  const newest = await pool.query<{ job: string; slot_at: string | null }>(
    `select w.job, (select max(slot_at) from slots where slots.job = w.job) as slot_at
     from unnest($1::text[]) as w (job)`,
    [jobs.length > 0 ? jobs : [...new Set(misses.rows.map(({ job }) => job))]],
  );
  return {
    due: sums.rows[0]?.due ?? 0,
    misses: misses.rows.map((row) => ({ ...row, lastAt: new Date(row.lastAt) })),
    newest: new Map(newest.rows.flatMap(({ job, slot_at }) => (slot_at ? [[job, new Date(slot_at)]] : []))),
  };
}
