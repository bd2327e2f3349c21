/** Accounts and collectors, as the archive's tables say it to a dashboard without a collector. */
import { expect, test } from "@jest/globals";
import type { AccountsView } from "../../src/archive/ask/accountsTypes.ts";
import { readAccountsView } from "../../src/archive/ask/accountsView.ts";
import type { NowView } from "../../src/web/api/types.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { openDashboard } from "./dashboard.ts";

/** Leases are measured by the database's clock, answers by the dashboard's: these agree. */
async function world() {
  const { pool, url } = await freshDatabase();
  const { rows } = await pool.query<{ now: string }>(
    `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now`,
  );
  const clock = createTestClock(rows[0]?.now ?? "");
  const reader = poolOn(url, { readOnly: true, max: 2 });
  const { get } = await openDashboard({ pool: reader, clock });
  const ask = (): Promise<AccountsView> => readAccountsView(reader, "simulated", clock.now());
  const told = async (): Promise<AccountsView | null> =>
    ((await (await get("/api/now")).json()) as NowView).fleet;
  return { pool, ask, told, clock };
}

const ANSWER = `insert into responses (observed_at, source_id, account_id, request_id, requested_at, job, request, http_status, outcome,
  rate_limit_used, rate_limit_remaining, rate_limit_limit, body_bytes, journal_segment, journal_offset)
  select now() - n * interval '10 s' - interval '5 s', 2, $1, gen_random_uuid(), now() - n * interval '10 s' - interval '5 s', 'us', '{}', 200, 'quotes',
    30 - n, 10 + n, 40, 1, 'a', 0 from generate_series(1, $2::int) n`;

test("before the first call there is no account and no collector, and Now tells of none", async () => {
  const { ask, told } = await world();

  expect(await ask()).toMatchObject({ accounts: [], collectors: [], takeOvers: [] });
  expect(await told()).toBeNull();
});

test("one account without a fleet has its calls, the service's own count, and its jobs", async () => {
  const { pool, ask } = await world();
  await pool.query(ANSWER, [1, 8]);
  await pool.query("insert into due_sets (id, digest, instruments) values (1, 'a', '{AAPL,GE}')");
  await pool.query(`insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id) values
    ('us', now() - interval '1 min', 2, 2, 1, 1, 1), ('us', now() - interval '2 min', 2, 2, 2, 0, 1), ('us', now() - interval '2 hours', 2, 2, 0, 2, 1)`);

  const { accounts } = await ask();

  // Of eight answers, ten seconds apart, five are younger than a minute.
  expect(accounts).toEqual([
    {
      name: "default",
      state: "active",
      limit: null,
      windowMs: 60_000,
      calls: 5,
      serviceUsed: 29,
      serviceLimit: 40,
      serviceRemaining: 11,
      owner: null,
      fence: null,
      renewedAgoMs: null,
      takeOvers: 0,
      takesPart: false,
      shares: [{ job: "us", slots: 2, due: 4, stored: 3, missed: 1 }],
    },
  ]);
});

test("several accounts stand side by side with who calls them, and what changes hands is there at the next look", async () => {
  const { pool, ask, clock } = await world();
  await pool.query(`insert into accounts (id, name, call_limit, window_ms, wanted, state) values
    (2, 'second', 120, 60000, null, 'active'), (3, 'third', 40, 60000, 'drained', 'active'), (4, 'old', 60, 60000, null, 'gone')`);
  await pool.query("update accounts set call_limit = 60, window_ms = 60000, state = 'active' where id = 1");
  await pool.query(ANSWER, [2, 3]);
  const one = await joinFleet(pool, { number: 1 });
  const two = await joinFleet(pool, { number: 2, seen: "5 min" });
  await joinFleet(pool, { number: 3, stopped: true });
  await pool.query(
    `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released) values
       (1, 4, $1, 'r', 0, now(), now(), now() + interval '1 day', false), (2, 7, $2, 'r', 0, now(), now(), now(), true)`,
    [one, two],
  );

  const before = await ask();
  await pool.query(
    `insert into lease_history values (2, 8, clock_timestamp(), $1, 'quotes-1', 'expired', 'quotes-2')`,
    [one],
  );
  await pool.query(
    "update leases set fence = 8, holder = $1, released = false, expires_at = now() + interval '1 day' where account_id = 2",
    [one],
  );
  clock.advance(1_000);
  const after = await ask();

  const told = ({ accounts }: AccountsView): unknown[] =>
    accounts.map(({ name, state, limit, calls, owner, fence, takeOvers }) => [
      name,
      state,
      limit,
      calls,
      owner,
      fence,
      takeOvers,
    ]);
  expect(told(before)).toEqual([
    ["default", "active", 60, 0, "quotes-1", 4, 0],
    ["old", "gone", 60, 0, null, null, 0],
    ["second", "active", 120, 3, null, 7, 0],
    ["third", "drained", 40, 0, null, null, 0],
  ]);
  expect(told(after)[2]).toEqual(["second", "active", 120, 3, "quotes-1", 8, 1]);
  expect(after.takeOvers).toMatchObject([
    { account: "second", collector: "quotes-1", previous: "quotes-2", how: "expired" },
  ]);
  expect(after.collectors.map(({ name, state }) => [name, state])).toEqual([
    ["quotes-1", "running"],
    ["quotes-2", "gone"],
    ["quotes-3", "stopped"],
  ]);
});
