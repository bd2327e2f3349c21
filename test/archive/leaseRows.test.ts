/** The fleet in the database: who takes which account when, and what others see. */
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import pg from "pg";
import {
  type HeldLease,
  type LeaseStore,
  leaseStore,
  type Look,
  type Self,
  type Telling,
} from "../../src/archive/leaseRows.ts";
import { freshDatabase } from "../support/database.ts";
import { expectSame } from "../support/expectSame.ts";
import { memoryLeases } from "../support/memoryLeases.ts";

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
const telling = (more: Partial<Telling> = {}): Telling => ({
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

describe("the fleet in memory", () => {
  const accounts = ["a", "b", "default"];
  const process = (number: number, run: number): Self =>
    self(number, `run-${number}-${run}`, number === 3 ? "quotes-1" : undefined);
  const processes = [1, 2, 3].flatMap((number) => [process(number, 1), process(number, 2)]);
  /** Null: whoever holds an account that it is about. */
  const who = fc.option(fc.constantFrom(...processes));
  const account = fc.constantFrom(...accounts);
  const prices = fc.constantFrom(null, { date: "2026-11-20", of: { AAPL: "271.5" } });
  const told = fc.record({
    jobsDigest: fc.constantFrom("d", "e"),
    files: fc.constant(telling().files),
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
      ...{ accounts: fc.subarray(accounts), leadMs: fc.constantFrom(0, 14_000) },
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
        return at.claim(given.account, by, { dead: given.dead, seen: watched });
      }
      case "release":
        return at.release(by, mine(given.leases), given.stops);
      case "propose": {
        const epoch = { jobsDigest: "d", accounts: given.accounts, prices: given.prices };
        return at.propose(given.after, epoch, { leadMs: given.leadMs, by: "quotes-1" });
      }
      default:
        return null;
    }
  }

  test("does and says what that in the database does and says", async () => {
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
            const { how = "refused" } = (answer as { how?: string } | null) ?? {};
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
      { numRuns: 40 },
    );
    // It was not compared on nothing.
    expect(Object.keys(done).toSorted()).toEqual(["expired", "new", "refused", "released", "restarted"]);
  });
});
