/** How much of the account's budget the answers in the archive have used. */
import type pg from "pg";
import type { LedgerSource } from "../ledger.ts";

/** Calls of one window, and what the service said of its own count at the newest of them. */
export type BudgetUse = {
  /** Answers that arrived in the window. */
  calls: number;
  /** `X-RateLimit-Used`, `-Limit` and `-Remaining` of the newest answer; null where it had none. */
  serviceUsed: number | null;
  serviceLimit: number | null;
  serviceRemaining: number | null;
};

/**
 * @param market whose calls are counted; what was imported was no call
 * @param window [since, now] by the wall clock, which may have been set back: then answers bear later times than it
 */
export async function readBudgetUse(
  pool: Pick<pg.Pool, "query">,
  market: LedgerSource,
  { since, now }: { since: Date; now: Date },
): Promise<BudgetUse> {
  const { rows } = await pool.query<{
    calls: string;
    used: number | null;
    limit: number | null;
    remaining: number | null;
  }>(
    `select count(*) over () as calls, rate_limit_used as used, rate_limit_limit as limit,
            rate_limit_remaining as remaining
     from responses join sources on sources.id = source_id
     where observed_at > $1 and requested_at between $1::timestamptz - interval '1 minute' and $3::timestamptz + interval '1 minute' and kind = $2
     order by observed_at desc limit 1`,
    [since.toISOString(), market, now.toISOString()],
  );
  const [newest] = rows;
  return {
    calls: Number(newest?.calls ?? 0),
    serviceUsed: newest?.used ?? null,
    serviceLimit: newest?.limit ?? null,
    serviceRemaining: newest?.remaining ?? null,
  };
}
