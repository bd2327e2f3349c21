/** The table of accounts: what the operator wants, what collectors say, and who collects what. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import {
  accountState,
  forgetCollector,
  type KeptAccount,
  keepAccounts,
  readAccountRows,
  wantAccount,
  placeAccounts,
} from "../../src/archive/ledger/accountRows.ts";
import { readBudgetUse } from "../../src/archive/ledger/budgetUse.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query(
    "truncate collectors, leases, responses; delete from accounts where id > 1; update accounts set wanted = null, state = null",
  );
});

const kept = (name: string, state: KeptAccount["state"] = "active"): KeptAccount => ({
  ...{ name, callLimit: 60, windowMs: 60_000, state },
});

const states = async (): Promise<string[]> =>
  (await readAccountRows(pool)).map(({ name, wanted, state }) => `${name} ${wanted ?? "-"} ${state ?? "-"}`);

test("a collector keeps limit and state of its accounts: new names get numbers of their own, accounts that left its files are gone, another collector's stay", async () => {
  await keepAccounts(pool, [kept("main"), { ...kept("second", "refused"), callLimit: 30, windowMs: 5_000 }]);
  await keepAccounts(pool, [kept("of another collector")]);
  await keepAccounts(pool, [kept("second"), kept("third")], ["main", "second"]);

  expect(await readAccountRows(pool)).toEqual([
    { name: "default", callLimit: null, windowMs: null, wanted: null, state: null },
    { name: "main", callLimit: 60, windowMs: 60_000, wanted: null, state: "gone" },
    { name: "of another collector", callLimit: 60, windowMs: 60_000, wanted: null, state: "active" },
    { name: "second", callLimit: 60, windowMs: 60_000, wanted: null, state: "active" },
    { name: "third", callLimit: 60, windowMs: 60_000, wanted: null, state: "active" },
  ]);
  expect(await rowsOfQuery(pool, "select id from accounts order by id")).toEqual(
    [1, 2, 3, 4, 5].map((id) => ({ id })),
  );
});

test("an account that comes back to a collector's files is no longer gone", async () => {
  await keepAccounts(pool, [kept("default"), kept("second")]);
  await keepAccounts(pool, [kept("default")], ["default", "second"]);
  await keepAccounts(pool, [kept("default"), kept("second", "drained")]);

  expect(await states()).toEqual(["default - active", "second - drained"]);
});

test("a collector changes nothing of what the operator wants of an account, even of one that the operator named first", async () => {
  await wantAccount(pool, "second", "drained");
  await keepAccounts(pool, [kept("default"), kept("second", "drained")]);
  await keepAccounts(pool, [kept("default")], ["default", "second"]);
  await wantAccount(pool, "default", "drained");
  await wantAccount(pool, "default", "active");

  expect(await states()).toEqual(["default active active", "second drained gone"]);
});

test("an account is drained as soon as the operator has said so, and is not when it was resumed", () => {
  const row = { name: "a", callLimit: null, windowMs: null };

  expect(accountState(undefined)).toBe("active");
  expect(accountState({ ...row, wanted: "drained", state: "refused" })).toBe("drained");
  expect(accountState({ ...row, wanted: "active", state: "drained" })).toBe("active");
  expect(accountState({ ...row, wanted: null, state: "refused" })).toBe("refused");
  expect(accountState({ ...row, wanted: null, state: "gone" })).toBe("active");
});

test("a collector that has stopped, or was silent for 10 s, is forgotten by its name or its id", async () => {
  await joinFleet(pool, { number: 1, stopped: true });
  const id = await joinFleet(pool, { number: 2, seen: "11 s" });
  await joinFleet(pool, { number: 3, seen: "-1 hour" });

  expect(await forgetCollector(pool, "quotes-1")).toEqual({
    ...{ id: "00000000-0000-4000-8000-000000000001", number: 1, name: "quotes-1" },
  });
  expect(await forgetCollector(pool, id.toUpperCase())).toMatchObject({ number: 2 });
  // The database's clock was set back.
  expect(await forgetCollector(pool, "quotes-3")).toMatchObject({ number: 3 });
  expect((await pool.query("select from collectors")).rowCount).toBe(0);
});

test("a collector that is alive is not forgotten, and neither is one that never joined", async () => {
  await expect(forgetCollector(pool, "quotes-1")).rejects.toMatchObject({
    ...{ code: "COLLECTOR_UNKNOWN", exitCode: 2 },
  });
  await joinFleet(pool, { number: 1, seen: "0 s" });
  await joinFleet(pool, { number: 2, stopped: true });

  await expect(forgetCollector(pool, "quotes-1")).rejects.toMatchObject({
    ...{ code: "COLLECTOR_ALIVE", exitCode: 2 },
  });
  await expect(forgetCollector(pool, "quotes-3")).rejects.toThrow(
    "quotes-3 is no collector of quotes-1, quotes-2",
  );
  expect((await pool.query("select from collectors")).rowCount).toBe(2);
});

describe("the calls that accounts have used", () => {
  const now = new Date("2026-11-20T15:00:00Z");
  const caller = (name: string, limitWindowMs = 60_000, kind: "account" | "simulated" = "account") => ({
    ...{ name, limitWindowMs, feed: { kind } },
  });
  /** An answer so many seconds ago, with the service's count. */
  const answered = async (
    account: string,
    secondsAgo: number,
    used: number | null = null,
    kind = "account",
  ) => {
    const [id] = await inTransaction(pool, (client) => placeAccounts(client, [account]));
    await pool.query(
      `insert into sources (id, name, kind) values (1, 'account', 'account'), (2, 'simulated', 'simulated') on conflict do nothing`,
    );
    await pool.query(
      `insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
         journal_segment, journal_offset, rate_limit_used, account_id)
       select at, (select id from sources where kind = $4), gen_random_uuid(), at, '{}', 200, 'quotes', 0, 's', 0, $3, $1
       from (select $2::timestamptz as at) w`,
      [id, new Date(now.getTime() - secondsAgo * 1_000 + (id ?? 0)), used, kind],
    );
  };

  test("the calls that an account has used are those of its own name within its own window", async () => {
    for (const second of [1, 2, 59, 61]) await answered("main", second, 100 - second);
    for (const second of [1, 4, 6]) await answered("second", second);
    await answered("elsewhere", 1);

    const used = await readBudgetUse(pool, [caller("second", 5_000), caller("main"), caller("default")], now);

    expect(used.map(({ calls, serviceUsed }) => [calls, serviceUsed])).toEqual([
      [2, null],
      [3, 99],
      [0, null],
    ]);
    const [counted] = await rowsOfQuery(
      pool,
      `select count(*)::int as n from responses join accounts a on a.id = account_id
       where observed_at > '2026-11-20T14:59:00Z' and a.name in ('main', 'second')`,
    );
    const both = await readBudgetUse(pool, [caller("main"), caller("second")], now);
    expect(both.reduce((sum, { calls }) => sum + calls, 0)).toBe(counted?.["n"]);
  });

  test("the calls that an account has used are those in the market of its newest answer", async () => {
    await answered("main", 3);
    await answered("main", 2, null, "simulated");
    await answered("default", 4, null, "simulated");
    await answered("default", 1);

    const calls = async (kind: "account" | "simulated") =>
      (await readBudgetUse(pool, [caller("main", 60_000, kind), caller("default", 60_000, kind)], now)).map(
        (use) => use.calls,
      );

    expect(await calls("account")).toEqual([1, 1]);
    await answered("default", 0.5);
    expect(await calls("account")).toEqual([1, 2]);
    expect(await calls("simulated")).toEqual([1, 1]);
  });
});
