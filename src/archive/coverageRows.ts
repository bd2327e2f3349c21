/** What the ledger says, for people: coverage by instrument and day, and what the service does not know. */
import type pg from "pg";
import type { LedgerSource } from "../journal/ledger.ts";
import { LEDGER_SOURCE_IDS } from "./ledgerRows.ts";

/** One instrument on one day of the exchange. expected = stored + missed. */
export type CoverageRow = {
  /** Exchange date, `YYYY-MM-DD`. */
  date: string;
  /** Which market it was polled from. */
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
  const { rows } = await pool.query<
    Record<"date" | "instrument" | "expected" | "stored" | "missed", string> & {
      source: LedgerSource;
      reasons: Record<string, number>;
    }
  >(
    `select date, source, instrument, expected, stored, missed, reasons
     from coverage_daily
     where date between $1 and $2
     order by stored::numeric / expected, missed desc, date, instrument, source`,
    [from, to],
  );
  return rows.map(({ date, source, instrument, expected, stored, missed, reasons }) => ({
    ...{ date, source, instrument, reasons },
    ...{ expected: Number(expected), stored: Number(stored), missed: Number(missed) },
  }));
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
  const sums = await pool.query<{ due: string }>(
    "select coalesce(sum(due), 0) as due from slots where slot_at >= $1 and source_id = $2",
    of,
  );
  const misses = await pool.query<Record<"job" | "reason" | "account" | "n" | "last_at", string>>(
    `select m.job, m.reason, a.name as account, sum(case when m.instrument = '*' then s.due else 1 end) as n, max(m.slot_at) as last_at
     from misses m join slots s using (job, slot_at, source_id, account_id) join accounts a on a.id = s.account_id
     where m.slot_at >= $1 and m.source_id = $2
     group by m.job, m.reason, a.name
     order by n desc, m.job, m.reason, a.name`,
    of,
  );
  const newest = await pool.query<{ job: string; slot_at: string | null }>(
    `select w.job, (select max(slot_at) from slots where slots.job = w.job) as slot_at
     from unnest($1::text[]) as w (job)`,
    [jobs.length > 0 ? jobs : [...new Set(misses.rows.map(({ job }) => job))]],
  );
  return {
    due: Number(sums.rows[0]?.due ?? 0),
    misses: misses.rows.map(({ job, reason, account, n, last_at }) => ({
      ...{ job, reason, account, count: Number(n), lastAt: new Date(last_at) },
    })),
    newest: new Map(newest.rows.flatMap(({ job, slot_at }) => (slot_at ? [[job, new Date(slot_at)]] : []))),
  };
}
