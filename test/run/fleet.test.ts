/** Several collectors in virtual time: who calls which account, whatever happens to them. The tables are in memory. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Epoch } from "../../src/archive/leaseRows.ts";
import type { Clock } from "../../src/clock.ts";
import { filesSaid } from "../../src/run/filesDigest.ts";
import { Fleet, type Holder } from "../../src/run/fleet.ts";
import { type KnownLeases, newCollector } from "../../src/run/leaseFile.ts";
import { type LeaseFaults, memoryLeases } from "../support/memoryLeases.ts";
import { runs } from "../support/runs.ts";

const START = Date.parse("2026-11-24T15:00:00Z");

/** Time for several processes, each of which can be stopped: its timers fire when it goes on. */
function sharedTime() {
  let nowMs = 0;
  type Sleeper = { untilMs: number; wake: () => void; process: { stopped: boolean } };
  const sleepers = new Set<Sleeper>();
  const clockOf = (process: { stopped: boolean; wallMs?: number }): Clock => ({
    now: () => new Date(START + nowMs + (process.wallMs ?? 0)),
    monotonicMs: () => nowMs,
    uptimeMs: () => nowMs,
    random: (length) => Uint8Array.from({ length }, () => Math.floor(256 * drawn())),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const onAbort = (): void => {
          sleepers.delete(sleeper);
          reject(signal?.reason as Error);
        };
        const sleeper: Sleeper = {
          untilMs: nowMs + ms,
          process,
          wake: () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        sleepers.add(sleeper);
      }),
  });
  let seed = 1;
  const drawn = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = async (ms: number): Promise<void> => {
    const endMs = nowMs + ms;
    await settle();
    for (;;) {
      const awake = [...sleepers].filter(({ process }) => !process.stopped);
      const next = Math.min(...awake.map(({ untilMs }) => untilMs));
      if (next > endMs) break;
      nowMs = Math.max(nowMs, next);
      for (const sleeper of awake)
        if (sleeper.untilMs <= nowMs) {
          sleepers.delete(sleeper);
          sleeper.wake();
        }
      await settle();
    }
    nowMs = endMs;
    await settle();
  };
  return { clockOf, pass, now: () => nowMs };
}

const files = (names: readonly string[], job = "quotes") =>
  filesSaid({
    jobs: [{ name: job } as never],
    calendar: [],
    accounts: names.map((name) => ({
      ...{ name, limit: 60, limitGiven: true, limitWindowMs: 60_000 },
      feed: { kind: "simulated" as const },
    })),
  });

const ACCOUNTS = ["one", "two", "three", "four"];

function world(accounts: readonly string[] = ACCOUNTS) {
  const time = sharedTime();
  const database = memoryLeases(time.clockOf({ stopped: false }));
  const all: Member[] = [];
  let runs = 0;

  type Member = {
    name: string;
    fleet: Fleet;
    process: { stopped: boolean; wallMs?: number };
    faults: LeaseFaults;
    calls: Set<string>;
    log: string[];
    lost: string | null;
    forgets: number;
    known: () => KnownLeases;
  };

  const start = async (
    name: string,
    given: {
      known?: KnownLeases;
      dead?: string[];
      files?: ReturnType<typeof files>;
      opensMs?: number;
      patienceMs?: number;
    } = {},
  ): Promise<Member> => {
    const process = { stopped: false };
    const faults: LeaseFaults = {};
    const clock = time.clockOf(process);
    let known = given.known ?? newCollector(clock);
    runs += 1;
    const calls = new Set<string>();
    const log: string[] = [];
    const say = (fields: object, message: string): void =>
      void log.push(`${message} ${JSON.stringify(fields)}`);
    const fleet = new Fleet({
      ...{ store: database.client(faults), clock, dead: given.dead ?? [], known, address: "db/quotes" },
      forgetDead: async () => void (member.forgets += 1),
      self: { id: known.id, run: String(runs).padStart(16, "0"), host: name, pid: runs, version: "1" },
      keep: (now) => (known = now),
      files: given.files ?? files(accounts),
      log: { debug: () => undefined, info: say, warn: say, error: say },
      close: () => Promise.resolve(),
    });
    const member: Member = {
      ...{ name, fleet, process, faults, calls, log, lost: null, forgets: 0 },
      known: () => known,
    };
    const taken = await fleet.join(given.patienceMs);
    for (const account of taken.keys()) calls.add(account);
    const holder: Holder = {
      take: async (account) => void calls.add(account),
      leave: async (account) => void calls.delete(account),
      handOver: (account) => ({ of: account, by: name }),
      beUnsure: () => undefined,
      knows: () => ({ refused: [], prices: null }),
      journalLag: () => 0,
      beNumber: () => undefined,
    };
    if (given.opensMs === undefined) fleet.begin(holder);
    else void clock.sleep(given.opensMs).then(() => fleet.begin(holder));
    void fleet.lost.then(({ code }) => (member.lost = code));
    all.push(member);
    return member;
  };
  /** Who may make a call of each account at this moment. */
  const callers = (): Record<string, string[]> =>
    Object.fromEntries(
      accounts.map((account) => [
        account,
        all
          .filter(
            ({ calls, fleet, process }) => !process.stopped && calls.has(account) && fleet.mayLeave(account),
          )
          .map(({ name }) => name),
      ]),
    );
  return { time, database, start, callers, all };
}

const counts = (callers: Record<string, string[]>): Record<string, number> => {
  const by: Record<string, number> = {};
  for (const [name] of Object.values(callers)) if (name !== undefined) by[name] = (by[name] ?? 0) + 1;
  return by;
};

describe("accounts", () => {
  test("are all one collector's that is alone, and shared evenly with those that join, one at a time", async () => {
    const { time, start, callers } = world();

    await start("a");
    const alone = callers();
    await start("b");
    await time.pass(15_000);
    const two = callers();
    await start("c");
    await time.pass(15_000);

    expect(counts(alone)).toEqual({ a: 4 });
    expect(counts(two)).toEqual({ a: 2, b: 2 });
    expect(Object.values(counts(callers())).sort()).toEqual([1, 1, 2]);
    expect(Object.values(callers()).every((names) => names.length === 1)).toBe(true);
  });

  test("of one that is killed are taken by the others within twelve seconds", async () => {
    const { time, start, callers, database, all } = world();
    const [a] = [await start("a"), await start("b"), await start("c")];
    await time.pass(20_000);

    a.process.stopped = true;
    await time.pass(12_000);

    expect(Object.values(callers()).map((names) => names.length)).toEqual([1, 1, 1, 1]);
    expect(counts(callers())).toEqual({ b: 2, c: 2 });
    const [, b, c] = all.map(({ fleet }) => fleet.state);
    expect((b?.takeOvers ?? 0) + (c?.takeOvers ?? 0)).toBe(2);
    expect(b?.accounts.filter(({ held, fence }) => held && fence !== null).length).toBe(2);
    expect(b).toMatchObject({ unsure: false, collectors: { running: 3, stopped: 0, gone: 0 }, differing: 0 });
    expect(b?.confirmedAgoMs).toBeLessThanOrEqual(2_000);
    await time.pass(60_000);
    expect(all[1]?.fleet.state.collectors).toEqual({ running: 2, stopped: 0, gone: 1 });
    expect(database.history.filter(({ how, previous }) => how === "expired" && previous === "a").length).toBe(
      2,
    );
  });

  test("are not presumed to be free by one that comes while the database is slow", async () => {
    const { time, database, start, callers, all } = world(["one"]);
    await start("a");
    database.faults.silent = true;

    const joining = start("b", { patienceMs: 15_000 });
    await time.pass(6_000);
    const meanwhile = callers();
    database.faults.silent = false;
    await time.pass(3_000);
    await joining;

    expect(meanwhile).toEqual({ one: ["a"] });
    expect(callers()).toEqual({ one: ["a"] });
    expect(all.map(({ lost }) => lost)).toEqual([null, null]);
  });

  test("are all of one that comes where the database has answered and does so no more, after a while", async () => {
    const { time, database, start, callers } = world(["one"]);
    database.faults.silent = true;

    const joining = start("a", { patienceMs: 15_000 });
    await time.pass(14_000);
    const meanwhile = callers();
    await time.pass(4_000);
    await joining;

    expect([meanwhile, callers()]).toEqual([{ one: [] }, { one: ["a"] }]);
  });

  test("of a run that died before are the next one's at once, and not before that is it forgotten", async () => {
    const { time, database, start, callers } = world(["one"]);
    const a = await start("a");
    a.process.stopped = true;
    const given = { known: a.known(), dead: ["0".repeat(15) + "1"] };
    database.faults.away = true;

    const killed = await start("b", given);
    await time.pass(3_000);
    killed.process.stopped = true;
    database.faults.away = false;
    const next = await start("c", given);

    expect([killed.forgets, next.forgets]).toEqual([0, 1]);
    expect(callers()).toEqual({ one: ["c"] });
    expect(database.history.map(({ how }) => how)).toEqual(["new", "restarted"]);
    await time.pass(10_000);
    expect(next.forgets).toBe(1);
  });

  test("of a run that died while the database was away are taken when it is back, and then that one is forgotten", async () => {
    const { time, database, start } = world(["one"]);
    const a = await start("a");
    a.process.stopped = true;
    database.faults.away = true;
    const next = await start("b", { known: a.known(), dead: ["0".repeat(15) + "1"] });
    await time.pass(5_000);
    const before = next.forgets;

    database.faults.away = false;
    await time.pass(5_000);

    expect([before, next.forgets]).toEqual([0, 1]);
    expect(database.history.map(({ how }) => how)).toEqual(["new", "restarted"]);
  });

  test("of one that is paused for an hour are not called by it when it wakes up, and it goes on with its share", async () => {
    const { time, start, callers, database } = world();
    const [a] = [await start("a"), await start("b")];
    await time.pass(10_000);
    const before = [...a.calls];

    a.process.stopped = true;
    await time.pass(3_600_000);
    a.process.stopped = false;
    const atOnce = before.filter((account) => a.fleet.mayLeave(account));
    await time.pass(20_000);

    expect(before.length).toBe(2);
    expect(atOnce).toEqual([]);
    expect(counts(callers())).toEqual({ a: 2, b: 2 });
    expect(a.lost).toBeNull();
    expect(database.history.every(({ fence }) => fence > 0)).toBe(true);
  });

  test("stay a collector's whose journal takes long to open; what it loses meanwhile it does not call", async () => {
    const { time, start, database } = world();
    const a = await start("a", { opensMs: 60_000 });
    const b = await start("b");
    await time.pass(30_000);
    const [opening, grants] = [a.fleet.held, database.history.length];
    a.process.stopped = true;
    await time.pass(12_000);
    a.process.stopped = false;

    await time.pass(3_000);
    const lost = [a.fleet.held, a.calls.size, b.fleet.held];
    await time.pass(35_000);

    expect([opening.length, grants]).toEqual([4, 4]);
    expect(lost).toEqual([[], 4, [...ACCOUNTS].sort()]);
    expect([...a.calls].sort()).toEqual(a.fleet.held);
    expect([a.calls.size, b.calls.size]).toEqual([2, 2]);
  });

  test("that are given back at an end are taken within two seconds", async () => {
    const { time, start, callers } = world();
    const [a] = [await start("a"), await start("b")];
    await time.pass(10_000);

    const released = a.fleet.release();
    a.calls.clear();
    await time.pass(2_000);

    expect(await released).toBe(true);
    expect(counts(callers())).toEqual({ b: 4 });
  });
});

describe("without the database", () => {
  test("all go on, unsure, for as long as it takes, and nobody takes anything when it is back", async () => {
    const { time, start, callers, database } = world();
    const [a, b] = [await start("a"), await start("b")];
    await time.pass(10_000);
    const before = callers();
    const grants = database.history.length;

    database.faults.away = true;
    await time.pass(600_000);
    const meanwhile = callers();
    const unsure = [a, b].map(({ fleet }) => fleet.isUnsure);
    const [since, told] = [a.known().unsureSince, a.fleet.state];
    database.faults.away = false;
    await time.pass(20_000);

    expect(meanwhile).toEqual(before);
    expect(unsure).toEqual([true, true]);
    expect(callers()).toEqual(before);
    expect([a, b].map(({ fleet }) => fleet.isUnsure)).toEqual([false, false]);
    expect(new Date(since ?? NaN).getTime() - START).toBeLessThan(20_000);
    expect(told).toMatchObject({ unsure: true, collectors: { running: 2, gone: 0 } });
    expect(told.confirmedAgoMs).toBeGreaterThan(590_000);
    expect(a.known().unsureSince).toBeNull();
    expect(database.history.length).toBe(grants);
  });

  test("one that was never among others has all, and is not unsure", async () => {
    const { time, start, callers, database } = world();
    database.faults.away = true;

    const a = await start("a");
    await time.pass(60_000);
    const unsure = a.fleet.isUnsure;
    database.faults.away = false;
    await time.pass(5_000);

    expect(unsure).toBe(false);
    expect(counts(callers())).toEqual({ a: 4 });
    expect(database.history.map(({ how }) => how)).toEqual(["new", "new", "new", "new"]);
  });

  test("a start goes on with what was its own, and gives up what others have taken when it hears of it", async () => {
    const { time, start, callers, database } = world();
    const [a] = [await start("a"), await start("b")];
    await time.pass(10_000);
    const own = [...a.calls].sort();
    a.process.stopped = true;
    await time.pass(1_000);

    a.calls.clear();
    database.faults.away = true;
    const starting = start("a", { known: a.known() });
    await time.pass(5_000);
    const again = await starting;
    await time.pass(30_000);
    const meanwhile = [...again.calls].sort();
    database.faults.away = false;
    await time.pass(30_000);

    expect(own.length).toBe(2);
    expect(meanwhile).toEqual(own);
    expect(Object.values(callers()).map((names) => names.length)).toEqual([1, 1, 1, 1]);
  });

  test("one that alone is cut off is replaced, and gives up what is another's when it is back", async () => {
    const { time, start, callers } = world();
    const [a, b] = [await start("a"), await start("b")];
    await time.pass(10_000);

    a.faults.silent = true;
    await time.pass(15_000);
    const [unsure, taken] = [a.fleet.isUnsure, b.calls.size];
    a.faults.silent = false;
    await time.pass(20_000);

    expect(unsure).toBe(true);
    expect(taken).toBe(4);
    expect(counts(callers())).toEqual({ a: 2, b: 2 });
  });
});

describe("clocks", () => {
  test.each([60_000, -60_000, 3_600_000])(
    "a jump of the database's by %i ms steals nothing",
    async (jump) => {
      const { time, start, callers, database } = world();
      await start("a");
      await start("b");
      await time.pass(10_000);
      const [before, grants] = [callers(), database.history.length];

      database.skewMs += jump;
      await time.pass(30_000);

      expect(callers()).toEqual(before);
      expect(database.history.length).toBe(grants);
    },
  );

  test.each([60_000, -60_000])("after a jump of %i ms a dead one is still replaced in time", async (jump) => {
    const { time, start, callers, database } = world();
    const [a] = [await start("a"), await start("b")];
    await time.pass(10_000);

    a.process.stopped = true;
    database.skewMs += jump;
    await time.pass(12_000);

    expect(counts(callers())).toEqual({ b: 4 });
  });

  test.each([3_600_000, -3_600_000])("a collector's own may be moved by %i ms", async (jump) => {
    const { time, start, callers } = world();
    const [a] = [await start("a"), await start("b")];
    await time.pass(10_000);
    const before = callers();

    (a.process as { wallMs?: number }).wallMs = jump;
    await time.pass(5_000);

    expect(callers()).toEqual(before);
  });
});

describe("files", () => {
  test("that differ from those of a collector that is there keep another one out, which says what differs", async () => {
    const { time, start } = world();
    await start("a");
    await time.pass(3_000);

    const refused = await start("b", { files: files(ACCOUNTS.slice(1), "bars") }).catch(
      (error: unknown) => error,
    );

    expect(refused).toMatchObject({
      code: "COLLECTOR_DIFFERS",
      message: expect.stringContaining(
        "db/quotes is collected by a with other files: the job bars (here alone), the job quotes (there alone), the account one (there alone)",
      ),
    });
  });

  test("that change are in force from one instant on, when all collectors have them", async () => {
    const { time, start } = world();
    const [a, b] = [await start("a"), await start("b")];
    await time.pass(20_000);
    const used: [string, number][] = [];
    const change = (member: typeof a): Promise<void> =>
      member.fleet.useFiles(
        files([...ACCOUNTS, "five"]),
        async () => void used.push([member.name, time.now()]),
      );

    await change(a);
    await time.pass(60_000);
    const early = used.length;
    await change(b);
    await time.pass(30_000);

    expect(early).toBe(0);
    expect(used.map(([name]) => name).sort()).toEqual(["a", "b"]);
    expect(used[0]?.[1]).toBe(used[1]?.[1]);
    const at = new Date(START + time.now());
    expect([a, b].map(({ fleet }) => fleet.agreedAt(at)?.accounts.length)).toEqual([5, 5]);
  });

  test("an account that is drained leaves the shares of all at one instant", async () => {
    const { time, start, database } = world();
    const [a, b] = [await start("a"), await start("b")];
    await time.pass(20_000);

    database.drained.add("two");
    await time.pass(4_000);
    const epochs: (Epoch["accounts"] | readonly string[] | undefined)[][] = [];
    for (let ms = 0; ms < 20_000; ms += 250) {
      const at = new Date(START + time.now() + ms);
      epochs.push([a, b].map(({ fleet }) => fleet.agreedAt(at)?.accounts));
    }

    expect(epochs.every(([one, other]) => JSON.stringify(one) === JSON.stringify(other))).toBe(true);
    expect(epochs[0]?.[0]).toContain("two");
    expect(epochs.at(-1)?.[0]).not.toContain("two");
  });
});

test("at no moment two may call an account but for one that is unsure, whatever happens; and each is called again in 15 s", async () => {
  const event = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    what: fc.constantFrom("stop", "cut", "jump", "slow"),
    ms: fc.integer({ min: 500, max: 40_000 }),
    gap: fc.integer({ min: 0, max: 20_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 6 }), async (events) => {
      const { time, start, callers, all, database } = world();
      for (const name of ["a", "b", "c"]) await start(name);
      await time.pass(20_000);
      const isSure = (name: string): boolean => all.some((one) => one.name === name && !one.fleet.isUnsure);
      const look = (): void => {
        for (const names of Object.values(callers()))
          expect(names.filter(isSure).length).toBeLessThanOrEqual(1);
      };
      for (const { who, what, ms, gap } of events) {
        const member = all[who];
        if (!member) continue;
        if (what === "stop") member.process.stopped = true;
        else if (what === "cut") member.faults.silent = true;
        else if (what === "slow") member.faults.slowMs = 1_000;
        else database.skewMs += ms;
        for (let passed = 0; passed < ms; passed += 500) {
          await time.pass(500);
          look();
        }
        Object.assign(member.process, { stopped: false });
        Object.assign(member.faults, { silent: false, slowMs: 0 });
        look();
        for (let passed = 0; passed < gap; passed += 500) {
          await time.pass(500);
          look();
        }
      }
      await time.pass(15_000);
      expect(Object.values(callers()).map((names) => names.length)).toEqual([1, 1, 1, 1]);
    }),
    { numRuns: runs(16) },
  );
}, 60_000);
