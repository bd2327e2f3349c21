/** How much of the account's budget the answers in the archive have used. */
import { and, between, desc, eq, gt, sql } from "drizzle-orm";
import type pg from "pg";
import type { LedgerSource } from "../journal/ledger.ts";
import { responses, sources } from "./schema.ts";
import { tablesOn } from "./tableRows.ts";

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
  const minutesFrom = (at: Date, minutes: number) => new Date(at.getTime() + minutes * 60_000).toISOString();
  const [newest] = await tablesOn(pool)
    .select({
      calls: sql`count(*) over ()`.mapWith(Number),
      serviceUsed: responses.rateLimitUsed,
      serviceLimit: responses.rateLimitLimit,
      serviceRemaining: responses.rateLimitRemaining,
    })
    .from(responses)
    .innerJoin(sources, eq(sources.id, responses.sourceId))
    .where(
      and(
        gt(responses.observedAt, since.toISOString()),
        between(responses.requestedAt, minutesFrom(since, -1), minutesFrom(now, 1)),
        eq(sources.kind, market),
      ),
    )
    .orderBy(desc(responses.observedAt))
    .limit(1);
  return newest ?? { calls: 0, serviceUsed: null, serviceLimit: null, serviceRemaining: null };
}

/** How long a call may be under way: what is younger, the archive may not know whole yet. In ms. */
const UNDER_WAY_MS = 20_000;

/** What is seen in so many windows in a row comes back; a run that was killed leaves calls that nobody answered in two. */
const WINDOWS = 3;

/** Assumed: up to two calls a window are our own that were counted, failed on the way, and succeeded when tried again. */
const LEAST_CALLS = 3;

/**
 * Calls a window that other programs make on the account, by the service's own count: what it counted above all calls of ours
 * that it can have counted, by the least of the last windows. Never more than there are.
 *
 * @returns 0 when none are seen for sure
 */
export async function readOtherCalls(
  pool: Pick<pg.Pool, "query">,
  { now, windowMs }: { now: Date; windowMs: number },
): Promise<number> {
  const { rows } = await pool.query<{ calls: number | null }>(
    `with ours as materialized (
       select requested_at, observed_at, account_id, rate_limit_used as used
       from responses join sources on sources.id = source_id
       where kind = 'account' and observed_at > $1::timestamptz - $2::int * ($3::int + 2) * interval '1 ms' - $4::int * interval '1 ms'
     ), counted as (
       select extract(epoch from max(observed_at) over () - $4::int * interval '1 ms' - observed_at) * 1000 / $2::int as windows_ago,
         used - (select count(*) from ours o
                 where o.account_id = a.account_id and o.observed_at >= a.requested_at - $2::int * interval '1 ms' and o.requested_at <= a.observed_at) as above
       from ours a where used is not null
     ), most as (
       select floor(windows_ago), max(above) as above from counted
       where windows_ago >= 0 and windows_ago < $3::int group by 1
     )
     select min(above)::int as calls from most
     where not exists (
       select from misses where reason = 'transport' and slot_at > $1::timestamptz - $2::int * ($3::int + 2) * interval '1 ms'
     )
     having count(*) = $3::int`,
    [now.toISOString(), windowMs, WINDOWS, UNDER_WAY_MS],
  );
  const calls = rows[0]?.calls ?? 0;
  return calls >= LEAST_CALLS ? calls : 0;
}
