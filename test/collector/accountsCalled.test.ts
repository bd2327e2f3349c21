/** The accounts that a collector calls: they come and go with their leases, and with the files. */
import { afterEach, expect, jest, test } from "@jest/globals";
import type { Account, Accounts } from "../../src/accounts/account.ts";
import { Shares } from "../../src/accounts/shares.ts";
import { keepAccounts, wantAccount } from "../../src/archive/ledger/accountRows.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { accountSharer, AccountsCalled, calledAccount } from "../../src/collector/accountsCalled.ts";
import type { Acquisition } from "../../src/accounts/lease/caller.ts";
import { followOperator } from "../../src/collector/operatorsWord.ts";
import { Collector } from "../../src/collector/collector.ts";
import { type AccountStations, openStations } from "../../src/collector/stations.ts";
import { credentialsOf } from "../support/accounts.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { symbolsCall } from "../support/journal.ts";
import { startSimulatedService } from "../support/simulatedService.ts";
import { steppedClock } from "../support/steppedClock.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import type { OptionValues } from "../../src/services/service.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const { pool } = await freshDatabase();

const account = (name: string, limit = 60): Account => ({
  ...{ name, limit, limitGiven: true, limitWindowMs: 60_000, service: REFERENCE },
  feed: { kind: "account", baseUrl: "http://127.0.0.1:9", credentials: credentialsOf(name) },
});

const NEW: Acquisition = { granted: null, listens: false };

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A collector without jobs: these accounts share them, and it calls those of `called`. */
async function collecting(
  names: readonly string[],
  called = names,
  accountOf: (name: string) => Account = account,
) {
  const dataDir = tempDir();
  const { clock } = steppedClock();
  const stations = await openStations(loadConfig({ QUOTEKEEPER_DATA_DIR: dataDir }, dataDir), {
    ...{ clock, bootId: null, upkeep: false, tell: () => undefined },
  });
  closers.push(stations.close);
  const loader = { notify: () => undefined };
  const lease = { confirm: () => Promise.resolve(() => true) };
  /** All that were opened, also those that were closed again. */
  const opened: AccountStations[] = [];
  const open = async (one: Account): Promise<AccountStations> => {
    opened.push(await stations.open(one));
    return opened.at(-1) as AccountStations;
  };
  const accounts = new AccountsCalled({
    ...{ stations: { open }, accounts: names.map((name) => accountOf(name)) as unknown as Accounts },
    called: (open) => calledAccount(open, { clock, stations, loader, lease, metered: (send) => send }),
  });
  closers.push(() => accounts.close());
  const first = await accounts.open(new Map(called.map((name) => [name, NEW])));
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const { batch } = accounts.service;
  const isCalled = (name: string) => accounts.isCalled(name);
  const collector = new Collector({
    batch,
    ...{ accounts: first, jobs: [], run: "run", earlier: null, clock, log, onNote: () => undefined },
    shares: new Shares(accounts.sharing.map(accountSharer), isCalled, batch.first),
    ...{ calendar: createCalendar(), exchange: createCalendar() },
  });
  const calledNow = (): string[] => collector.status().accounts.map(({ name }) => name);
  return { dataDir, accounts, opened, collector, log, calledNow, clock };
}

const storedIn = () => Promise.resolve(new Set<string>());

test("they are called from when they are taken until they are left, in the order of the file", async () => {
  const { accounts, collector, calledNow } = await collecting(["main", "second", "third"], ["third"]);

  await accounts.startCalling("main", NEW, { collector, storedIn });
  await accounts.startCalling("main", NEW, { collector, storedIn });
  const both = [accounts.all.map((open) => open.account.name), calledNow().sort()];
  await accounts.stopCalling("third", { collector });

  expect(both).toEqual([
    ["main", "third"],
    ["main", "third"],
  ]);
  expect(calledNow()).toEqual(["main"]);
  expect(["main", "second", "third"].map((name) => accounts.isCalled(name))).toEqual([true, false, false]);
});

test("slots that are settled after the last one was left are of the market that it called", async () => {
  const { accounts, collector } = await collecting(["main"]);
  accounts.all[0]?.sourceOf({
    status: 200,
    headers: { "x-quotekeeper-source": "simulated market" },
    request: symbolsCall("AAPL"),
  });

  await accounts.stopCalling("main", { collector });

  expect(accounts.sourceOf("main")).toBe("simulated");
});

test("one whose limit changed comes anew; one that is as before is not touched, nor one that is not called", async () => {
  const { accounts, collector, calledNow } = await collecting(
    ["main", "second", "other"],
    ["main", "second"],
  );
  const [main] = accounts.all;
  const shared: unknown[] = [];
  const shareAmong: typeof collector.shareAmong = (gone, come) => {
    shared.push([gone, come.map(({ name }) => name)]);
    collector.shareAmong(gone, come);
  };
  const watched = {
    ...{ shareAmong, replaceAccounts: collector.replaceAccounts.bind(collector) },
    ...{
      startCalling: collector.startCalling.bind(collector),
      stopCalling: collector.stopCalling.bind(collector),
    },
  };

  await accounts.replace([account("main"), account("second", 30), account("other", 30)], watched);

  // What they had a share of is shared out anew, by their new limits.
  const changed = ["second", "other"];
  expect(shared).toEqual([[changed, changed]]);
  expect(accounts.all[0]).toBe(main);
  expect(collector.status().accounts.map(({ name, budget }) => [name, budget.limit])).toEqual([
    ["main", 60],
    ["second", 30],
  ]);
  expect(calledNow()).toEqual(["main", "second"]);
});

test("one whose feed or trading address changed comes anew with it; one that names its default now is not touched", async () => {
  const alpaca =
    (options?: OptionValues) =>
    (name: string): Account => ({
      ...{ ...account(name), service: ALPACA },
      feed: {
        ...{ kind: "account", baseUrl: "http://127.0.0.1:9", credentials: credentialsOf(name) },
        ...(options && { options }),
      },
    });
  const names = ["default", "feed", "address"] as const;
  const { accounts, collector } = await collecting(names, names, alpaca());
  const [before] = accounts.all;
  const changed: OptionValues[] = [
    { stockFeed: "delayed_sip" },
    { stockFeed: "sip" },
    { tradingUrl: "https://api.alpaca.markets" },
  ];

  const [first, second, third] = changed.map((options, place) => alpaca(options)(names[place] ?? ""));
  if (first && second && third) await accounts.replace([first, second, third], collector);

  expect(accounts.all[0]).toBe(before);
  expect(accounts.all.map((open) => open.account)).toMatchObject([alpaca()("default"), ...[second, third]]);
  expect(collector.status().accounts.map(({ name }) => name)).toEqual(names);
});

test("where one of the changed accounts cannot be opened, those before go on, and what was opened before it is closed", async () => {
  const { accounts, opened, collector, calledNow } = await collecting(["main", "second"]);
  const before = accounts.all;
  const service = await startSimulatedService(systemClock, { keys: [credentialsOf("main")] });
  const changed = account("main", 30);
  const unreadable = account("second", 30);

  const replaced = accounts.replace(
    [
      { ...changed, feed: { ...changed.feed, baseUrl: service.baseUrl } as Account["feed"] },
      { ...unreadable, feed: { ...unreadable.feed, baseUrl: "nowhere" } as Account["feed"] },
    ],
    collector,
  );

  await expect(replaced).rejects.toThrow(/nowhere|URL/);
  expect(accounts.all).toBe(before);
  expect(calledNow()).toEqual(["main", "second"]);
  expect(opened).toHaveLength(3);
  await expect(opened[2]?.fetchQuotes(symbolsCall("AAPL"))).rejects.toThrow();
});

test("an account that is opened while the program ends is closed again", async () => {
  const service = await startSimulatedService(systemClock, { keys: [credentialsOf("main")] });
  const { accounts, opened, collector } = await collecting(["main"], []);
  const main = account("main");
  await accounts.replace(
    [{ ...main, feed: { ...main.feed, baseUrl: service.baseUrl } as Account["feed"] }],
    collector,
  );

  const taken = accounts.startCalling("main", NEW, { collector, storedIn });
  await accounts.close();
  await taken;

  await expect(opened[0]?.fetchQuotes(symbolsCall("AAPL"))).rejects.toThrow();
});

test("what the job files say of single days is told to the archive, and that it has changed, as soon as the archive takes it", async () => {
  const { dataDir, accounts, collector, log, clock } = await collecting(["main"]);
  const told = { pool, dataDir, accounts, collector, log, clock };
  const closes = async (): Promise<unknown[]> => {
    const { rows } = await pool.query<{ at: string }>(
      "select close_at as at from sessions where date between '2026-11-24' and '2026-11-25' order by 1",
    );
    return rows.map(({ at }) => at);
  };

  (
    await followOperator({ ...told, calendar: () => [{ date: "2026-11-24", kind: "early", close: "13:03" }] })
  )();
  const early = await closes();
  (await followOperator({ ...told, calendar: () => [{ date: "2026-11-25", kind: "closed" }] }))();

  const closed = await closes();
  await pool.query("alter table calendar_days rename to elsewhere");
  const intervals = new Set<() => void>();
  jest.spyOn(globalThis, "setInterval").mockImplementation(((look: () => void) => {
    intervals.add(look);
  }) as never);
  const again = [{ date: "2026-11-24", kind: "early" as const, close: "13:03" }];
  const stop = await followOperator({ ...told, calendar: () => again });
  jest.restoreAllMocks();
  await pool.query("alter table elsewhere rename to calendar_days");
  await until(async () => {
    intervals.forEach((look) => look());
    return (await closes()).length === 2;
  }, "the days of the job files");
  stop();

  expect(early).toEqual(["2026-11-24 18:03:00+00", "2026-11-25 21:00:00+00"]);
  expect(closed).toEqual(["2026-11-24 21:00:00+00"]);
  expect(await closes()).toEqual(early);
});

test("the operator's word is taken up, told back, and known to the next run while the database is away", async () => {
  const { dataDir, accounts, collector, log, clock } = await collecting(["main", "second"]);
  await keepAccounts(pool, [{ name: "elsewhere", callLimit: 60, windowMs: 60_000, state: "active" }]);
  await wantAccount(pool, "second", "drained");
  const told = { pool, dataDir, accounts, collector, clock, log, calendar: () => [] };

  (await followOperator(told))();
  const away = (await freshDatabase({ migrated: false })).pool;
  const next = await collecting(["main", "second"]);
  (await followOperator({ ...told, pool: away, collector: next.collector }))();

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
});
