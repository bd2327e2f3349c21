/** How much of each account's budget the answers in the archive have used. */
import type { Queryable } from "../connect/transaction.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
import { inArrays } from "../schema/tableRows.ts";

/** Whose calls are counted: answers of its market, or of a simulated one behind its address; what was imported was no call. */
type Caller = { name: string; limitWindowMs: number; feed: { kind: LedgerSource } };

type BudgetUse = {
  calls: number;
  /** Calls used, allowed and left by the newest answer; null where it does not say it. */
  serviceUsed: number | null;
  serviceLimit: number | null;
  serviceRemaining: number | null;
};

const UNUSED: BudgetUse = { calls: 0, serviceUsed: null, serviceLimit: null, serviceRemaining: null };

/**
 * What each account has used in its last window. Where the market has changed within it, of the newest answer's.
 *
 * @param now by the wall clock, which may have been set back: then answers bear later times than it
 * @returns in their order
 */
export async function readBudgetUse(
  pool: Queryable,
  callers: readonly Caller[],
  now: Date,
): Promise<BudgetUse[]> {
  const { rows } = await pool.query<BudgetUse & { name: string }>(
    `select distinct on (w.name) w.name,
       count(*) over (partition by w.name, r.source_id)::int as calls,
       r.rate_limit_used as "serviceUsed", r.rate_limit_limit as "serviceLimit", r.rate_limit_remaining as "serviceRemaining"
     from unnest($1::text[], $2::int[], $3::text[]) as w (name, window_ms, market)
     join accounts a using (name)
     join responses r on r.account_id = a.id
     join sources o on o.id = r.source_id and o.kind in ('simulated', w.market)
     where r.observed_at > $4::timestamptz - (select max(ms) from unnest($2::int[]) as ms) * interval '1 ms'
       and r.observed_at > $4::timestamptz - w.window_ms * interval '1 ms'
       and r.requested_at between $4::timestamptz - (w.window_ms + 60000) * interval '1 ms' and $4::timestamptz + interval '1 min'
     order by w.name, r.observed_at desc`,
    [...inArrays(callers, "name", "limitWindowMs"), callers.map(({ feed }) => feed.kind), now.toISOString()],
  );
  const known = new Map(rows.map(({ name, ...use }) => [name, use]));
  return callers.map(({ name }) => known.get(name) ?? UNUSED);
}

/** How long a call may be under way: what is younger, the archive may not know whole yet. In ms. */
const UNDER_WAY_MS = 20_000;

/** What is seen in so many windows in a row comes back; a run that was killed leaves calls that nobody answered in two. */
const WINDOWS = 3;

/** Assumed: up to two calls a window are our own that were counted, failed on the way, and succeeded when tried again. */
const LEAST_CALLS = 3;

/**
 * Calls a window that other programs make on each account, by the service's own count: what it counted above all calls of ours
 * that it can have counted, by the least of the last windows. Never more than there are.
 *
 * @returns by account; one of which none are seen for sure has none
 */
export async function readOtherCalls(
  pool: Queryable,
  callers: readonly Omit<Caller, "feed">[],
  now: Date,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; calls: number }>(
    `with asked as (
       select a.id, name, w.window_ms from unnest($4::text[], $5::int[]) as w (name, window_ms) join accounts a using (name)
     ), ours as materialized (
       select requested_at, observed_at, account_id, asked.name, window_ms, rate_limit_used as used
       from responses join sources on sources.id = source_id join asked on asked.id = account_id
       where kind = 'account' and observed_at > $1::timestamptz - (select max(window_ms) from asked) * ($2::int + 2) * interval '1 ms' - $3::int * interval '1 ms'
         and observed_at > $1::timestamptz - window_ms * ($2::int + 2) * interval '1 ms' - $3::int * interval '1 ms'
     ), counted as (
       select name, extract(epoch from max(observed_at) over (partition by name) - $3::int * interval '1 ms' - observed_at) * 1000 / window_ms as windows_ago,
         used - (select count(*) from ours o
                 where o.account_id = a.account_id and o.observed_at >= a.requested_at - a.window_ms * interval '1 ms' and o.requested_at <= a.observed_at) as above
       from ours a where used is not null
     ), most as (
       select name, floor(windows_ago), max(above) as above from counted
       where windows_ago >= 0 and windows_ago < $2::int group by 1, 2
     )
     select name, min(above)::int as calls from most
     where not exists (
       select from misses where reason = 'transport' and slot_at > $1::timestamptz - (select max(window_ms) from asked) * ($2::int + 2) * interval '1 ms'
     )
     group by name having count(*) = $2::int`,
    [now.toISOString(), WINDOWS, UNDER_WAY_MS, ...inArrays(callers, "name", "limitWindowMs")],
  );
  return new Map(rows.filter(({ calls }) => calls >= LEAST_CALLS).map(({ name, calls }) => [name, calls]));
}
