/** The accounts of two collectors on one database: each account is one's, and a file that wants another's changes nothing. */
import { afterEach, expect, test } from "@jest/globals";
import type { Account } from "../../src/accounts/account.ts";
import { keepAccounts, wantAccount } from "../../src/archive/accountRows.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { AccountsCalled } from "../../src/run/accountsCalled.ts";
import { followOperator } from "../../src/run/operatorsWord.ts";
import { type Leases, openLeases } from "../../src/run/leases.ts";
import { calledAccount, openCollector } from "../../src/run/pipeline.ts";
import { openStations } from "../../src/run/stations.ts";
import { credentialsOf } from "../support/accounts.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { outcome, type Stepped, steppedClock } from "../support/steppedClock.ts";
import { tempDir } from "../support/tempDir.ts";

const { pool } = await freshDatabase();

const account = (name: string, limit = 60): Account => ({
  ...{ name, limit, limitGiven: true, limitWindowMs: 60_000 },
  feed: { kind: "account", baseUrl: "http://127.0.0.1:9", credentials: credentialsOf(name) },
});

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await pool.query("truncate account_holders");
});

/** A collector's leases, of a process of this number. */
function leasesOf(pid: number, time: Stepped): Leases {
  const leases = openLeases(
    { pool, address: "127.0.0.1/quotes" },
    {
      ...{ lock: { id: `run-${pid}`, dead: [] }, self: { pid, host: "quotes-1", kernel: "k" } },
      ...{ clock: time.clock, interrupted: new Promise(() => undefined), warn: () => undefined },
    },
  );
  closers.push(leases.release);
  return leases;
}

/** A collector without jobs that calls these accounts. */
async function collecting(leases: Leases, time: Stepped, names: readonly string[]) {
  const dataDir = tempDir();
  const { clock } = time;
  const stations = await openStations(loadConfig({ QUOTEKEEPER_DATA_DIR: dataDir }, dataDir), {
    ...{ clock, bootId: null, upkeep: false, tell: () => undefined },
  });
  closers.push(stations.close);
  const loader = { notify: () => undefined };
  const accounts = new AccountsCalled({
    ...{ stations, leases },
    called: (open) =>
      calledAccount(open, { stations, loader, mayCall: leases.sure, metered: (send) => send }),
  });
  closers.push(() => accounts.close());
  const called = await accounts.open(names.map((name) => account(name)));
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const collector = openCollector({
    ...{ accounts: called, jobs: [], run: "run", earlier: null, clock, log, onNote: () => undefined },
    ...{ calendar: createCalendar(), exchange: createCalendar() },
  });
  const names_ = (): string[] => collector.status().accounts.map(({ name }) => name);
  return { dataDir, accounts, collector, log, names: names_, stations };
}

test("one that another collector has is refused by its name, and the accounts before go on until it is free", async () => {
  const time = steppedClock();
  const [first, second] = [leasesOf(1, time), leasesOf(2, time)];
  await Promise.all(["main", "shared"].map((name) => first.take(account(name))));
  await second.take(account("other"));
  const { accounts, collector, names } = await collecting(second, time, ["other"]);
  const renewed = (): Promise<unknown> => pool.query("update account_holders set beat = beat + 1");

  const wanted = [account("other"), account("shared")];
  const refused = await outcome(accounts.replace(wanted, collector), time, renewed);
  const before = names();
  await first.giveUp(account("shared"));
  await outcome(accounts.replace(wanted, collector), time);

  expect(refused.done).toMatchObject({
    code: "COLLECTOR_RUNNING",
    message: expect.stringContaining(
      "the account shared at http://127.0.0.1:9 in 127.0.0.1/quotes is collected by",
    ),
  });
  expect(before).toEqual(["other"]);
  expect(names()).toEqual(["other", "shared"]);
  expect(
    await rowsOfQuery(
      pool,
      "select holder, count(*)::int from account_holders where not released group by 1 order by 1",
    ),
  ).toEqual([
    { holder: "run-1", count: 1 },
    { holder: "run-2", count: 2 },
  ]);
});

test("one whose limit changed comes anew without ever being free for others; one that is as before is not touched", async () => {
  const time = steppedClock();
  const leases = leasesOf(3, time);
  await Promise.all(["main", "second"].map((name) => leases.take(account(name))));
  const { accounts, collector } = await collecting(leases, time, ["main", "second"]);
  const [main] = accounts.all;

  await accounts.replace([account("main"), account("second", 30)], collector);

  expect(accounts.all[0]).toBe(main);
  expect(collector.status().accounts.map(({ name, budget }) => [name, budget.limit])).toEqual([
    ["main", 60],
    ["second", 30],
  ]);
  const fences = await rowsOfQuery(
    pool,
    "select fence::int from account_holders where holder = 'run-3' and not released",
  );
  expect(fences).toEqual([{ fence: 1 }, { fence: 1 }]);
});

test("the operator's word is taken up, told back, and known to the next run while the database is away", async () => {
  const time = steppedClock();
  const leases = leasesOf(4, time);
  const world = await collecting(leases, time, ["main", "second"]);
  const { dataDir, accounts, collector, log } = world;
  await keepAccounts(pool, [{ name: "elsewhere", callLimit: 60, windowMs: 60_000, state: "active" }]);
  await wantAccount(pool, "second", "drained");
  const numbers: number[] = [];
  const told = { pool, dataDir, accounts, collector, clock: time.clock, log };

  const stop = await followOperator({ ...told, beNumber: (number) => void numbers.push(number) });
  stop();
  const away = (await freshDatabase({ migrated: false })).pool;
  const next = await collecting(leases, time, ["main", "second"]);
  (await followOperator({ ...told, pool: away, collector: next.collector, beNumber: () => undefined }))();

  const drained = [
    ["main", "active"],
    ["second", "drained"],
  ];
  for (const { status } of [collector, next.collector].map((one) => ({ status: one.status() })))
    expect(status.accounts.map(({ name, state }) => [name, state])).toEqual(drained);
  const rows = await rowsOfQuery(pool, "select id, name, state from accounts order by name");
  expect(rows.filter(({ state }) => state !== null).map(({ name, state }) => [name, state])).toEqual([
    ["elsewhere", "active"],
    ...drained,
  ]);
  const ours = rows.filter(({ name }) => name === "main" || name === "second").map(({ id }) => Number(id));
  expect(numbers).toEqual([Math.min(...ours)]);
});
