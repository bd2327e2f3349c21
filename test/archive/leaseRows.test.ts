/** The fleet in the database: who takes which account when, and what others see. */
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import pg from "pg";
import type {
  Grant,
  HeldLease,
  LeaseStore,
  Look,
  Self,
  CollectorReport,
} from "../../src/accounts/lease/leaseStore.ts";
import { leaseStore } from "../../src/archive/ledger/leaseRows.ts";
import { freshDatabase } from "../support/database.ts";
import { expectSame } from "../support/expectSame.ts";
import { memoryLeases } from "../support/memoryLeases.ts";
import { startPooler } from "../support/pooler.ts";
import { runs } from "../support/runs.ts";

type Claim = Parameters<LeaseStore["claim"]>[0][number];

const { pool, url } = await freshDatabase();

/** The database's clock is a row that the test moves: the function of that name is found before PostgreSQL's own. */
await pool.query(
  `create table virtual_clock (at timestamptz not null);
   create function clock_timestamp() returns timestamptz language sql volatile as 'select at from virtual_clock';
   insert into virtual_clock values ('2026-11-20T14:30:00Z')`,
);
const timed = new pg.Pool({ connectionString: url, options: "-c search_path=public,pg_catalog" });
// Its idle connections are cut when the database is dropped.
timed.on("error", () => undefined);
const store = leaseStore(timed);
afterAll(() => timed.end());

const START_MS = Date.parse("2026-11-20T14:30:00.250Z");
let nowMs = START_MS;
const setClock = async (ms: number): Promise<void> => {
  nowMs = ms;
  await timed.query("update virtual_clock set at = to_timestamp($1::float8 / 1000)", [ms]);
};
const clock = { now: () => new Date(nowMs), sleep: async () => undefined };

const empty = async (): Promise<void> => {
  await timed.query(
    "delete from collectors; delete from leases; delete from lease_history; delete from epochs; delete from accounts where id > 1; update accounts set wanted = null",
  );
  await setClock(START_MS);
};
beforeEach(empty);

const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const self = (number: number, run = `run-${number}`, host = `quotes-${number}`): Self => ({
  ...{ id: uuid(number), run, host, pid: 4_000 + number, version: "1" },
});
const telling = (more: Partial<CollectorReport> = {}): CollectorReport => ({
  ...{ jobsDigest: "d", files: { jobs: { a: "1" }, accounts: { main: "2" }, calendar: "3" } },
  ...{ knows: { refused: [], prices: null }, journalLag: 0, clockOffsetMs: 0 },
  ...more,
});
const held = (account: string, fence: number, governor: unknown = null): HeldLease => ({
  account,
  fence,
  governor,
});
const history = async (): Promise<unknown[]> => {
  const { rows } = await timed.query<object>(
    `select a.name as account, fence::int, collector, how, previous, (extract(epoch from taken_at) * 1000)::float8 as "takenAtMs"
     from lease_history h join accounts a on a.id = account_id order by taken_at, account, fence`,
  );
  return rows;
};

/** Claims one account. @returns what was granted; null: nothing */
const claim = async (
  account: string,
  by: Self,
  { dead = [], seen = null }: { dead?: string[]; seen?: Claim["seen"] } = {},
  at = store,
): Promise<Grant | null> => (await at.claim([{ account, seen }], by, dead))[0] ?? null;

test("a collector that joins gets the lowest free number, and its host's name or one that says its number", async () => {
  const first = await store.join(self(1), telling());
  const beside = await store.join(self(2, "r", "quotes-1"), telling());
  const elsewhere = await store.join(self(3, "r", "quotes-1-3"), telling());
  const third = await store.join(self(4, "r", "quotes-1"), telling());
  await timed.query("delete from collectors where id = $1", [uuid(2)]);
  const again = await store.join(self(5, "r", "quotes-3"), telling());

  expect([first, beside, elsewhere, third, again]).toMatchObject([
    { number: 0, name: "quotes-1" },
    { number: 1, name: "quotes-1-1" },
    { number: 2, name: "quotes-1-3" },
    { number: 3, name: `quotes-1-${uuid(4)}` },
    { number: 1, name: "quotes-3" },
  ]);
});

test("twenty collectors that join at the same time get numbers of their own, and a 257th is refused", async () => {
  const joined = await Promise.all(
    Array.from({ length: 20 }, (_, place) => store.join(self(place, "r", "quotes"), telling())),
  );
  await timed.query(
    `insert into collectors select gen_random_uuid(), n, 'other ' || n, run, pid, host, version, started_at, seen_at, beat, stopped,
       jobs_digest, files, knows from collectors, generate_series(20, 255) n where number = 0`,
  );

  expect(joined.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(
    joined.map((_, place) => place),
  );
  expect(new Set(joined.map(({ name }) => name)).size).toBe(20);
  await expect(store.join(self(999), telling())).rejects.toMatchObject({ code: "COLLECTORS_TOO_MANY" });
  expect(await store.join(self(3), telling())).toEqual(joined[3]);
});

test("a collector may have a clock that is off by years, and a journal of terabytes", async () => {
  await store.join(self(1), telling({ clockOffsetMs: -1e13, journalLag: 5e12 }));

  expect((await timed.query("select journal_lag, clock_offset_ms from collectors")).rows).toEqual([
    { journal_lag: "5000000000000", clock_offset_ms: -2147483647 },
  ]);
});

test("a lease gets a fence that was never granted before, even after its row was deleted", async () => {
  await claim("main", self(1));
  await claim("main", self(2), { dead: ["run-1"], seen: null });
  await timed.query("delete from leases");

  expect(await claim("main", self(1))).toMatchObject({
    fence: 3,
    how: "new",
    governor: null,
  });
});

test("the history of a lease is kept for 400 days", async () => {
  await store.join(self(1), telling());
  await claim("main", self(1));
  await setClock(nowMs + 399 * 86_400_000);
  await claim("main", self(2), { dead: ["run-1"], seen: null });
  await setClock(nowMs + 2 * 86_400_000);
  await claim("main", self(1), { dead: ["run-2"], seen: null });

  expect(await history()).toMatchObject([
    { account: "main", fence: 2, collector: "quotes-2", how: "restarted", previous: "quotes-1" },
    { account: "main", fence: 3, collector: "quotes-1", how: "restarted", previous: null },
  ]);
});

describe("an epoch", () => {
  const next = { jobsDigest: "d", accounts: ["b", "a"], prices: null };
  const from = (fromMs: number) => ({ ...next, fromMs });

  test("an epoch is proposed once, and is in force from its instant on", async () => {
    const first = await store.propose(0, from(START_MS), "quotes-1");
    const proposed = await Promise.all(
      Array.from({ length: 8 }, () => store.propose(1, from(START_MS + 14_000.5), "quotes-2")),
    );
    const { epochs } = await store.look();

    expect(first).toBe(true);
    expect(proposed.filter(Boolean)).toHaveLength(1);
    expect(epochs).toEqual([
      { number: 1, ...from(START_MS) },
      { number: 2, ...from(START_MS + 14_000) },
    ]);
    await setClock(START_MS + 14_001);
    expect((await store.look()).epochs).toMatchObject([{ number: 2 }]);
  });

  test("a collector that joins hears of the epochs that were in force within a day", async () => {
    for (const number of [0, 1, 2, 3]) {
      await store.propose(number, from(number < 3 ? nowMs : nowMs + 14_000), "quotes-1");
      await setClock(nowMs + 13 * 3_600_000);
    }
    await setClock(nowMs - 13 * 3_600_000);

    const { epochs } = await store.join(self(1), telling());

    expect(epochs.map(({ number }) => number)).toEqual([2, 3, 4]);
    expect(epochs[2]).toEqual({ ...(await store.look()).epochs.at(-1) });
  });

  test("an epoch is kept for 400 days, and for as long as it is in force", async () => {
    await store.propose(0, from(nowMs), "quotes-1");
    await setClock(nowMs + 1);
    await store.propose(1, from(nowMs), "quotes-1");
    await setClock(nowMs + 401 * 86_400_000);
    await store.propose(2, from(nowMs + 14_000), "quotes-1");
    await store.propose(3, from(nowMs + 14_000), "quotes-1");

    expect((await timed.query("select number from epochs order by number")).rows).toEqual(
      [2, 3, 4].map((number) => ({ number })),
    );
  });
});

test("through a pooler in transaction mode, on one connection, all is done as without, and a round is one question", async () => {
  const pooler = await startPooler(url, "transaction");
  const one = new pg.Pool({ connectionString: pooler.url, max: 1 });
  try {
    let asked = 0;
    const counted: Parameters<typeof leaseStore>[0] = {
      query: ((...given: Parameters<pg.Pool["query"]>) =>
        [(asked += 1), one.query(...given)][1]) as pg.Pool["query"],
    };
    const pooled = leaseStore(counted);
    await Promise.all([pooled.join(self(1), telling()), pooled.join(self(2), telling())]);
    const epoch = { fromMs: START_MS, jobsDigest: "d", accounts: ["main"], prices: null };
    await pooled.propose(0, epoch, "quotes-1");
    const granted = await Promise.all([
      claim("main", self(1), {}, pooled),
      claim("main", self(2), {}, pooled),
      claim("second", self(2), {}, pooled),
    ]);
    asked = 0;
    const large = { sent: Array.from({ length: 1_000 }, (_, place) => place + 0.25) };
    const round = await pooled.round(self(1), telling(), [held("main", 1, large)]);
    expect(asked).toBe(1);

    expect(granted.map((one_) => one_?.fence ?? null)).toEqual([1, null, 1]);
    expect(round).toMatchObject({ renewed: ["main"], isKnown: true, epochs: [{ number: 1 }] });
    expect(await pooled.release(self(1), [held("main", 1, large)], { journalLag: null })).toEqual(["main"]);
    expect(await claim("main", self(2), {}, pooled)).toMatchObject({
      governor: large,
      previous: "quotes-1",
    });
    expect((await pooled.look()).leases.map(({ holder }) => holder)).toEqual([uuid(2), uuid(2)]);
  } finally {
    await one.end();
    await pooler.close();
  }
});

test("a claim is one statement: a collector that is paused behind it has the lease, and keeps no row from the others", async () => {
  const client = new pg.Client({ connectionString: url, options: "-c search_path=public,pg_catalog" });
  client.on("error", () => undefined);
  await client.connect();
  let pause: () => void = () => undefined;
  const paused = new Promise<void>((resolve) => (pause = resolve));
  const query = async (...given: Parameters<pg.Client["query"]>): Promise<unknown> => {
    await client.query(...given);
    pause();
    return new Promise(() => undefined);
  };
  await claim("main", self(1));
  await claim("second", self(1));
  const pausing = { query };
  const both = ["main", "second"].map((account) => ({ account, seen: null }));
  void leaseStore(pausing as unknown as pg.Pool).claim(both, self(2), ["run-1"]);
  await paused;

  const { renewed } = await store.round(self(1), telling(), [held("main", 1), held("second", 1)]);
  const granted = await store.claim(both, self(3), ["run-1", "run-2"]);

  expect(renewed).toEqual([]);
  expect(granted).toMatchObject([
    { account: "main", fence: 3, how: "restarted" },
    { account: "second", fence: 3, how: "restarted" },
  ]);
  await client.end();
});

test("a claim of several accounts takes those that are free, also one that the database has never heard of", async () => {
  await claim("main", self(1));
  await claim("second", self(1));
  await store.release(self(1), [held("second", 1, "left")], null);

  const wanted = ["third", "main", "second", "fourth"].map((account) => ({ account, seen: null }));
  const granted = await store.claim(wanted, self(2), []);

  expect(granted.map(({ account, fence, how }) => [account, fence, how]).toSorted()).toEqual([
    ["fourth", 1, "new"],
    ["second", 2, "released"],
    ["third", 1, "new"],
  ]);
  expect((await store.look()).leases.map(({ account, holder }) => [account, holder])).toEqual([
    ["fourth", uuid(2)],
    ["main", uuid(1)],
    ["second", uuid(2)],
    ["third", uuid(2)],
  ]);
});

describe("twelve contenders for eight accounts", () => {
  const accounts = Array.from({ length: 8 }, (_, place) => `account-${place}`);

  /** Claims what it has seen unchanged for seven seconds, renews all that it was ever granted, and stalls at any time. */
  function contender(
    number: number,
    { stall, grants }: { stall: () => number; grants: Map<string, number> },
  ) {
    const me = self(number);
    const granted = new Map<string, number>();
    const watched = new Map<string, { fence: number; beat: number; since: number }>();
    let awakeAt = 0;

    const renew = async (): Promise<string[]> => {
      const before = new Map(grants);
      const mine = [...granted].map(([account, fence]) => held(account, fence));
      const { renewed } = await store.round(me, telling(), mine);
      // Whoever asks after somebody else was granted it is refused.
      for (const account of renewed)
        expect(granted.get(account)).toBeGreaterThanOrEqual(before.get(account) ?? 0);
      return renewed;
    };
    const act = async (tick: number): Promise<void> => {
      if (tick < awakeAt) return;
      awakeAt = tick + stall();
      const { leases } = await store.look();
      await renew();
      const claims = accounts.flatMap((account): Claim[] => {
        const lease = leases.find((one) => one.account === account);
        const seen = watched.get(account);
        const isSame = lease && seen?.fence === lease.fence && seen.beat === lease.beat;
        if (lease && !isSame) watched.set(account, { ...lease, since: tick });
        const isHeld = lease && !(isSame && lease.expired && tick - seen.since >= 7);
        return isHeld ? [] : [{ account, seen: lease ?? null }];
      });
      for (const { account, fence } of await store.claim(claims, me, [])) {
        expect(grants.get(account) ?? 0).not.toBe(fence);
        grants.set(account, Math.max(grants.get(account) ?? 0, fence));
        granted.set(account, fence);
      }
    };
    return { act, renew, granted };
  }

  test("two contenders never both renew a lease, and every grant has its own fence, however they stall and however the database's clock jumps", async () => {
    let takenOver = 0;
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (chance) => {
        await empty();
        const draw = (below: number): number => (chance.next().value as number) % below;
        // A third of the time it sleeps; for up to 25 s.
        const stall = (): number => (draw(12) === 0 ? 5 + draw(20) : 1);
        const grants = new Map<string, number>();
        const all = Array.from({ length: 12 }, (_, number) => contender(number, { stall, grants }));
        for (let tick = 0; tick < 60; tick += 1) {
          const jump = [60_000, -60_000][draw(40)] ?? 0;
          await setClock(nowMs + 1_000 + jump);
          await Promise.all(all.map(({ act }) => act(tick)));
          if (tick % 10 !== 9) continue;
          // All that were ever granted one try at once, also those that slept.
          const renewed = (await Promise.all(all.map(({ renew }) => renew()))).flat();
          expect(renewed.toSorted()).toEqual([...grants.keys()].toSorted());
        }
        const told = (await history()) as { account: string; fence: number }[];
        expect(new Set(told.map(({ account, fence }) => `${account} ${fence}`)).size).toBe(told.length);
        // Of each account they count up without a gap.
        expect(told).toHaveLength([...grants.values()].reduce((sum, fence) => sum + fence, 0));
        takenOver += told.length - accounts.length;
      }),
      { numRuns: runs(3) },
    );
    expect(takenOver).toBeGreaterThan(0);
  });
});

describe("the fleet in memory", () => {
  const accounts = ["a", "b", "default"];
  const process = (number: number, run: number): Self =>
    self(number, `run-${number}-${run}`, number === 3 ? "quotes-1" : undefined);
  const processes = [1, 2, 3].flatMap((number) => [process(number, 1), process(number, 2)]);
  /** Null: whoever holds an account that it is about. */
  const who = fc.option(fc.constantFrom(...processes));
  const account = fc.constantFrom(...accounts);
  const prices = fc.constantFrom(null, {
    ...{ date: "2026-11-20", of: { AAPL: "271.5" } },
    listed: { SPX: ["2026-12-18"] },
  });
  const told = fc.record({
    jobsDigest: fc.constantFrom("d", "e"),
    files: fc.constantFrom(telling().files, { ...telling().files, calendar: "4" }),
    knows: fc.record({ refused: fc.subarray(accounts), prices }),
    journalLag: fc.constantFrom(null, 0, 5_000_000_000),
    clockOffsetMs: fc.constantFrom(null, -3, 0.25, 1e12),
  });
  const governor = fc.constantFrom(null, 3, "x", { sent: [1.25, 2], used: null });
  /** `off` by how much its fence or beat is wrong. */
  const off = fc.constantFrom(0, 0, 0, 0, 1, -1);
  const leases = fc.uniqueArray(fc.record({ account, off, governor }), {
    selector: (one) => one.account,
    minLength: 1,
  });
  const command = fc.oneof(
    fc.record({ does: fc.constant("join" as const), who, told }),
    { arbitrary: fc.record({ does: fc.constant("round" as const), who, told, leases }), weight: 4 },
    {
      arbitrary: fc.record({
        ...{ does: fc.constant("claim" as const), who, account, off, watched: fc.boolean() },
        dead: fc.subarray(["run-1-1", "run-2-1", "run-3-2"], { maxLength: 1 }),
      }),
      weight: 5,
    },
    {
      arbitrary: fc.record({ does: fc.constant("release" as const), who, leases, stops: fc.boolean() }),
      weight: 2,
    },
    fc.record({
      ...{ does: fc.constant("propose" as const), prices, after: fc.integer({ min: 0, max: 4 }) },
      ...{ accounts: fc.subarray(accounts), aheadMs: fc.constantFrom(-500, 0, 14_000) },
    }),
    {
      arbitrary: fc.record({
        does: fc.constant("pass" as const),
        ms: fc.constantFrom(1, 250, 500, 1_999, 2_000, 5_000, 6_999, 7_000, 14_000, -1, -1_000, -60_000),
      }),
      weight: 3,
    },
    fc.record({ does: fc.constant("forget" as const), who }),
    fc.record({ does: fc.constant("drain" as const), account, drained: fc.boolean() }),
  );
  type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

  /** What comes of a command, in a store whose leases stand as `seen`. */
  async function ask(at: LeaseStore, given: Command, { leases: seen }: Look): Promise<unknown> {
    const lease = (name: string) => seen.find((one) => one.account === name);
    const mine = (wanted: { account: string; off: number; governor: unknown }[]) =>
      wanted.map((one) => held(one.account, (lease(one.account)?.fence ?? 1) + one.off, one.governor));
    const named =
      "account" in given ? [given.account] : "leases" in given ? given.leases.map((one) => one.account) : [];
    const holder = seen.find((one) => named.includes(one.account));
    const by =
      ("who" in given ? given.who : null) ??
      processes.find(({ run }) => run === holder?.run) ??
      process(1, 1);
    switch (given.does) {
      case "join":
        return at.join(by, given.told);
      case "round":
        return at.round(by, given.told, mine(given.leases));
      case "claim": {
        const { fence = 1, beat = 0 } = lease(given.account) ?? {};
        const watched = given.watched ? { fence, beat: beat + given.off } : null;
        return at.claim([{ account: given.account, seen: watched }], by, given.dead);
      }
      case "release":
        return at.release(by, mine(given.leases), given.stops ? { journalLag: 3 } : null);
      case "propose": {
        const fromMs = START_MS + given.aheadMs;
        const epoch = { fromMs, jobsDigest: "d", accounts: given.accounts, prices: given.prices };
        return at.propose(given.after, epoch, "quotes-1");
      }
      default:
        return null;
    }
  }

  /** One account is claimed in each way there is, and once in vain. */
  const claiming = { does: "claim", account: "a", off: 0, watched: true, dead: [] as string[] } as const;
  const eachWay: Command[] = [
    { ...claiming, who: process(1, 1) },
    { ...claiming, who: process(2, 1) },
    { does: "release", who: null, leases: [{ account: "a", off: 0, governor: null }], stops: false },
    { ...claiming, who: process(2, 1) },
    { does: "pass", ms: 7_000 },
    { ...claiming, who: process(1, 1) },
    { ...claiming, who: process(1, 2), dead: ["run-1-1"] },
  ];

  test("the fleet in memory does and says what the fleet in the database does and says", async () => {
    const done: Record<string, number> = {};
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60, size: "max" }), async (commands) => {
        await empty();
        const memory = memoryLeases(clock);
        const remembered = memory.client();
        let look = await store.look();
        for (const given of commands) {
          if (given.does === "pass") await setClock(nowMs + given.ms);
          if (given.does === "forget") {
            const { id } = given.who ?? process(1, 1);
            await timed.query("delete from collectors where id = $1", [id]);
            memory.forget(id);
          }
          if (given.does === "drain") {
            await timed.query(
              `insert into accounts (id, name, wanted) select coalesce((select id from accounts where name = $1), max(id) + 1), $1, $2
               from accounts on conflict (id) do update set wanted = excluded.wanted`,
              [given.account, given.drained ? "drained" : "active"],
            );
            memory.drained[given.drained ? "add" : "delete"](given.account);
          }
          const answer = await ask(store, given, look);
          expectSame(await ask(remembered, given, look), answer);
          if (given.does === "claim") {
            const [{ how } = { how: "refused" }] = answer as { how: string }[];
            done[how] = (done[how] ?? 0) + 1;
          }
          look = await store.look();
          expectSame(await remembered.look(), look);
        }
        const order = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted();
        const keys = (rows: unknown[]) =>
          rows.map((row) => Object.fromEntries(Object.entries(row as object).toSorted()));
        expectSame(order(keys(memory.history)), order(keys(await history())));
      }),
      { numRuns: runs(16), examples: [[eachWay]] },
    );
    // It was not compared on nothing.
    expect(Object.keys(done).toSorted()).toEqual(["expired", "new", "refused", "released", "restarted"]);
  });
});
