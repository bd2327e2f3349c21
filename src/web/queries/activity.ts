/** What the archive shows of the collector's calls. */
import type pg from "pg";
import { isoOf, readPolledMarket } from "../../archive/queries.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
import type { MinuteCalls } from "../api/types.ts";

/** How far back minutes are shown, ms. */
export const MINUTES_SHOWN_MS = 30 * 60_000;

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
