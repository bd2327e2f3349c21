/** What became of the schedule: calls by the minute, expected against stored by session, and why something is missing. */
import type pg from "pg";
import { readCoverage, readCoverageShares, sumByAccount } from "../coverageRows.ts";
import { isoOf, readPolledMarket } from "../queries.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
import type { CoverageView, MinuteCalls, MissRow, SourceKind } from "./dashboardTypes.ts";

/** Coverage of exchange dates, both ends included. */
export async function readCoverageView(pool: pg.Pool, from: string, to: string): Promise<CoverageView> {
  const { rows } = await pool.query<{ date: string }>(
    "select date from sessions where date between $1 and $2 order by date",
    [from, to],
  );
  const cells = await readCoverage(pool, from, to);
  // The simulated market never closes.
  const simulated = cells.filter(({ source }) => source === "simulated");
  const sessions = new Set([...rows, ...simulated].map(({ date }) => date));
  const dates = [...new Set([...sessions, ...cells.map(({ date }) => date)])].sort();
  const accounts = sumByAccount(await readCoverageShares(pool, { from, to }));
  return { dates: dates.map((date) => ({ date, session: sessions.has(date) })), cells, accounts };
}

/** Which cell of the heat map. */
type MissQuery = { date: string; instrument: string; source: SourceKind };

/** By job and reason, most frequent first. */
export async function readMisses(pool: pg.Pool, { date, instrument, source }: MissQuery): Promise<MissRow[]> {
  const { rows } = await pool.query<{
    job: string;
    reason: string;
    count: string;
    first_at: string;
    last_at: string;
  }>(
    `select m.job, m.reason, count(*) as count, min(m.slot_at) as first_at, max(m.slot_at) as last_at
     from misses m
     join slots s using (job, slot_at, source_id, account_id)
     join due_sets d on d.id = s.due_set_id
     join sources o on o.id = m.source_id
     where o.kind = $3
       and m.slot_at >= $1::date::timestamp at time zone 'America/New_York'
       and m.slot_at < ($1::date + 1)::timestamp at time zone 'America/New_York'
       and (m.instrument = $2 or (m.instrument = '*' and $2 = any (d.instruments)))
     group by m.job, m.reason
     order by count(*) desc, m.job, m.reason`,
    [date, instrument, source],
  );
  return rows.map(({ job, reason, count, first_at, last_at }) => ({
    ...{ job, reason, count: Number(count) },
    ...{ firstAt: isoOf(first_at), lastAt: isoOf(last_at) },
  }));
}

/** How far back minutes are shown, ms. */
const MINUTES_SHOWN_MS = 30 * 60_000;

/**
 * Answers of the market that is polled, by the minute in which their calls were sent. What was imported was no call.
 *
 * @param configured which market the configuration names
 */
export async function readMinutes(
  pool: pg.Pool,
  configured: LedgerSource,
  now: Date,
): Promise<MinuteCalls[]> {
  const { answers } = await readPolledMarket(pool, configured);
  const { rows } = await pool.query<{ at: string; outcome: string; calls: string }>(
    `select date_trunc('minute', requested_at) as at, outcome, count(*) as calls
     from responses join sources on sources.id = source_id
     where observed_at >= date_trunc('minute', $1::timestamptz) and requested_at >= date_trunc('minute', $1::timestamptz)
       and kind = $2
     group by 1, 2 order by 1, 2`,
    [new Date(now.getTime() - MINUTES_SHOWN_MS).toISOString(), answers],
  );
  return rows.map(({ at, outcome, calls }) => ({ at: isoOf(at), outcome, calls: Number(calls) }));
}
