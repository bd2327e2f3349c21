/** Collectors and owners as the tables have them, by the database's clock. */
import { beforeEach, expect, test } from "@jest/globals";
import { readFleet } from "../../src/archive/ledger/fleetRows.ts";
import { placeAccounts } from "../../src/archive/ledger/accountRows.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query("truncate collectors, leases, lease_history, epochs");
});

test("a collector runs, has stopped, or is gone; one that was seen in the future is gone as well", async () => {
  await pool.query(
    `insert into epochs values (1, now() - interval '1 hour', 'old', '{}', 'null', 'x'), (2, now() - interval '1 min', 'files', '{}', 'null', 'x'),
       (3, now() + interval '10 s', 'new', '{}', 'null', 'x')`,
  );
  await joinFleet(pool, { number: 1, lag: 5_000_000_000, offsetMs: -2_147_483_648 });
  await joinFleet(pool, { number: 2, seen: "59 s", digest: "new" });
  await joinFleet(pool, { number: 3, seen: "61 s" });
  await joinFleet(pool, { number: 4, seen: "1 hour", stopped: true });
  await joinFleet(pool, { number: 5, seen: "-1 hour" });
  await joinFleet(pool, { number: 6, name: "n".repeat(5_000) });

  const { collectors } = await readFleet(pool);

  expect(collectors.map(({ name, state, filesDiffer }) => [name.length, state, filesDiffer])).toEqual([
    [8, "running", false],
    [8, "running", true],
    [8, "gone", false],
    [8, "stopped", false],
    [8, "gone", false],
    [100, "running", false],
  ]);
  expect(collectors[0]).toMatchObject({ journalLag: 5_000_000_000, clockOffsetMs: -2_147_483_648 });
  expect(collectors[4]).toMatchObject({ seenAgoMs: 0, journalLag: null, clockOffsetMs: null });
});

test("an account is collected by who renews it; one that takes part and nobody has ever taken is there too", async () => {
  const holder = await joinFleet(pool, { number: 1 });
  const names = ["held", "away", "released", "of the future", "of one forgotten", "never", "of others"];
  const places = await inTransaction(pool, (client) => placeAccounts(client, names));
  await pool.query(
    `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
     select id, fence, holder, 'r', 0, now(), clock_timestamp() - age, clock_timestamp() - age + interval '1 hour', released
     from unnest($1::int[], array[3, 8, 1, 2, 4], array['0 s', '2 hours', '0 s', '-1 hour', '0 s']::interval[],
       array[false, false, true, false, false], $2::uuid[]) as l (id, fence, age, released, holder)`,
    [places.slice(0, 5), [...Array<string>(4).fill(holder), "00000000-0000-4000-8000-000000000009"]],
  );
  await pool.query(
    "insert into epochs values (1, now() - interval '1 hour', '', array['held', 'never'], 'null', 'x')",
  );
  await pool.query(
    `insert into lease_history select $1, fence, now() - ago, $2, 'quotes-1', how, null
     from unnest(array[1, 2, 3, 4], array['25 hours', '23 hours', '1 hour', '0 s']::interval[], array['expired', 'expired', 'expired', 'released'])
       as h (fence, ago, how)`,
    [places[0], holder],
  );

  const { accounts } = await readFleet(pool);

  const told = accounts.map(({ account, owner, fence, takeOvers, takesPart }) => [
    ...[account, owner, fence, takeOvers, takesPart],
  ]);
  expect(told).toEqual([
    ["away", null, 8, 0, false],
    ["held", "quotes-1", 3, 2, true],
    ["never", null, null, 0, true],
    ["of one forgotten", "00000000-0000-4000-8000-000000000009", 4, 0, false],
    ["of the future", null, 2, 0, false],
    ["released", null, 1, 0, false],
  ]);
  const [away, held, never] = accounts;
  expect(away?.renewedAgoMs).toBeGreaterThanOrEqual(7_200_000);
  expect(held?.renewedAgoMs).toBeGreaterThanOrEqual(0);
  expect(never?.renewedAgoMs).toBeNull();

  // Until their first agreement is in force, all share the jobs.
  await pool.query("update epochs set from_at = now() + interval '14 seconds'");
  const before = (await readFleet(pool)).accounts;
  expect(before.map(({ takesPart }) => takesPart)).toEqual([true, true, true, true, true]);
});
