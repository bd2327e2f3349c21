/** What the ledger says, for people: coverage by instrument and day, and what the service does not know. */
import type pg from "pg";

/** One instrument on one day of the exchange. expected = stored + missed. */
export type CoverageRow = {
  /** Exchange date, `YYYY-MM-DD`. */
  date: string;
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
      reasons: Record<string, number>;
    }
  >(
    `select date, instrument, expected, stored, missed, reasons
     from coverage_daily
     where date between $1 and $2
     order by stored::numeric / expected, missed desc, date, instrument`,
    [from, to],
  );
  return rows.map(({ date, instrument, expected, stored, missed, reasons }) => ({
    ...{ date, instrument, reasons },
    ...{ expected: Number(expected), stored: Number(stored), missed: Number(missed) },
  }));
}

/** Instruments that the service did not know at the newest slots of these jobs, or was not asked for therefore. */
export async function readUnknownInstruments(pool: pg.Pool, jobs: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ instrument: string }>(
    `select distinct m.instrument
     from unnest($1::text[]) as w (job)
     cross join lateral (
       select job, slot_at from slots where slots.job = w.job order by slot_at desc limit 1
     ) newest
     join misses m on m.job = newest.job and m.slot_at = newest.slot_at
     where m.reason = 'unknown_symbol'
     order by 1`,
    [jobs],
  );
  return rows.map(({ instrument }) => instrument);
}
