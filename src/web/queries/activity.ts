/** What the archive shows of the collector's work: answers by minute, misses of the last day, the service's count. */
import type pg from "pg";
import { readBudgetUse } from "../../archive/budgetUse.ts";
import { isoOf } from "../../archive/queries.ts";
import type { NowView } from "../api/types.ts";

/** How far back minutes are shown, ms. */
export const MINUTES_SHOWN_MS = 30 * 60_000;

const DAY_MS = 86_400_000;

/** @param kind which market's calls count towards the budget */
export async function readActivity(
  pool: pg.Pool,
  { kind, now, windowMs }: { kind: "account" | "simulated"; now: Date; windowMs: number },
): Promise<NonNullable<NowView["archive"]>> {
  const since = (ms: number): string => new Date(now.getTime() - ms).toISOString();
  const minutes = await pool.query<{ at: string; outcome: string; calls: string }>(
    `select date_trunc('minute', requested_at) as at, outcome, count(*) as calls
     from responses
     where observed_at >= date_trunc('minute', $1::timestamptz) and requested_at >= date_trunc('minute', $1::timestamptz)
     group by 1, 2 order by 1, 2`,
    [since(MINUTES_SHOWN_MS)],
  );
  const missed = await pool.query<{ reason: string; count: string }>(
    `select m.reason, sum(case when m.instrument = '*' then s.due else 1 end) as count
     from misses m join slots s on s.job = m.job and s.slot_at = m.slot_at and s.source_id = m.source_id
     where m.slot_at >= $1
     group by m.reason order by count desc, m.reason`,
    [since(DAY_MS)],
  );
  const due = await pool.query<{ due: string | null }>(
    "select sum(due) as due from slots where slot_at >= $1",
    [since(DAY_MS)],
  );
  const budget = await readBudgetUse(pool, kind, new Date(now.getTime() - windowMs));
  return {
    minutes: minutes.rows.map(({ at, outcome, calls }) => ({ at: isoOf(at), outcome, calls: Number(calls) })),
    missed: missed.rows.map(({ reason, count }) => ({ reason, count: Number(count) })),
    due: Number(due.rows[0]?.due ?? 0),
    serviceUsed: budget.serviceUsed,
    calls: budget.calls,
  };
}
