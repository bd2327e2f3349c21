/** Who calls what: accounts with their budgets, leases and shares of the jobs, collectors, and what changed hands. */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import { type AccountRow, accountState, readAccountRows } from "../ledger/accountRows.ts";
import { readBudgetUse } from "../ledger/budgetUse.ts";
import { readFleet } from "../ledger/fleetRows.ts";
import type { LedgerSource } from "../../journal/ledger.ts";
import type { AccountsView, AccountView, JobShare, TakeOver } from "./accountsTypes.ts";
import { isoOf } from "./queries.ts";

const DAY_MS = 86_400_000;

/** The window of the service's specification, where no collector has said another one. In ms. */
const USUAL_WINDOW_MS = 60_000;

const MOST_TAKE_OVERS = 100;

const SHARES_OF = "interval '1 hour'";

/**
 * Accounts that a collector has told of, or that were called, and all collectors.
 *
 * @param configured which market the configuration names: whose calls count
 */
export async function readAccountsView(
  pool: pg.Pool,
  configured: LedgerSource,
  now: Date,
): Promise<AccountsView> {
  const [rows, fleet, shares] = [
    await readAccountRows(pool),
    await readFleet(pool),
    await readShares(pool, now),
  ];
  const leases = new Map(fleet.accounts.map((lease) => [lease.account, lease]));
  const feed = { kind: configured };
  const callers = rows.map(({ name, windowMs }) => ({
    name,
    limitWindowMs: windowMs ?? USUAL_WINDOW_MS,
    feed,
  }));
  const uses = await readBudgetUse(pool, callers, now);
  const accounts = rows.map((row, place): AccountView => {
    const lease = leases.get(row.name);
    const windowMs = row.windowMs ?? USUAL_WINDOW_MS;
    return {
      name: row.name,
      state: stateOf(row),
      limit: row.callLimit,
      windowMs,
      ...(uses[place] ?? { calls: 0, serviceUsed: null, serviceLimit: null, serviceRemaining: null }),
      owner: lease?.owner ?? null,
      fence: lease?.fence ?? null,
      renewedAgoMs: lease?.renewedAgoMs ?? null,
      takeOvers: lease?.takeOvers ?? 0,
      takesPart: lease?.takesPart ?? false,
      shares: shares.get(row.name) ?? [],
    };
  });
  // The first migration names an account `default`, whether there is one or not.
  const known = accounts.filter(
    ({ limit, fence, calls, shares: due }) => limit !== null || fence !== null || calls > 0 || due.length > 0,
  );
  return {
    at: now.toISOString(),
    accounts: known,
    collectors: fleet.collectors,
    takeOvers: await readTakeOvers(pool, new Date(now.getTime() - 7 * DAY_MS)),
  };
}

function stateOf(row: AccountRow): AccountView["state"] {
  return row.state === "gone" ? "gone" : accountState(row);
}

async function readShares(pool: Queryable, now: Date): Promise<Map<string, JobShare[]>> {
  const { rows } = await pool.query<JobShare & { account: string }>(
    `select a.name as account, job, count(*)::int as slots, sum(due)::float8 as due, sum(stored)::float8 as stored, sum(missed)::float8 as missed
     from slots join accounts a on a.id = account_id
     where slot_at > $1::timestamptz - ${SHARES_OF} and slot_at <= $1 group by 1, 2 order by 1, sum(due) desc, 2`,
    [now.toISOString()],
  );
  const shares = new Map<string, JobShare[]>();
  for (const { account, ...share } of rows) shares.set(account, [...(shares.get(account) ?? []), share]);
  return shares;
}

async function readTakeOvers(pool: Queryable, from: Date): Promise<TakeOver[]> {
  const { rows } = await pool.query<TakeOver>(
    `select taken_at as at, name as account, how, left(previous, 100) as previous, left(collector, 100) as collector, fence::float8 as fence
     from lease_history join accounts on accounts.id = account_id
     where taken_at >= $1 and how <> 'restarted' and previous <> collector order by taken_at desc, name limit ${MOST_TAKE_OVERS}`,
    [from.toISOString()],
  );
  return rows.map((row) => ({ ...row, at: isoOf(row.at) }));
}
