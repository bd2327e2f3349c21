/** Several collectors in virtual time: who calls which account, whatever happens to them. The tables are in memory. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Epoch, LeaseStore } from "../../src/accounts/lease/leaseStore.ts";
import type { Clock } from "../../src/ground/clock.ts";
import { filesSaid } from "../../src/accounts/lease/filesDigest.ts";
import { Fleet } from "../../src/accounts/lease/fleet.ts";
import type { Caller } from "../../src/accounts/lease/caller.ts";
import { type KnownLeases, newCollector } from "../../src/accounts/lease/leaseFile.ts";
import { type LeaseFaults, memoryLeases } from "../support/memoryLeases.ts";
import { runs } from "../support/runs.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const START = Date.parse("2026-11-24T15:00:00Z");

/** A process of the test. What arrives at one that is stopped is read when it goes on. */
type Process = { stopped: boolean; wallMs?: number; arrived?: (() => void)[] };

/** Time for several processes, each of which can be stopped: when it goes on its timers fire, then it reads its sockets. */
function sharedTime() {
  let nowMs = 0;
  type Sleeper = { untilMs: number; wake: () => void; process: Process };
  const sleepers = new Set<Sleeper>();
  const stopped = new Set<Process>();
  /** Told between a process's timers and its sockets. */
  let onTimers: () => void = () => undefined;
  const clockOf = (process: Process): Clock => ({
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
  /** Resolves at once, or when a process that is stopped goes on and has fired its timers. */
  const reads = async (process: Process): Promise<void> => {
    if (!process.stopped) return;
    stopped.add(process);
    await new Promise<void>((resolve) => (process.arrived ??= []).push(resolve));
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = async (ms: number): Promise<void> => {
    const endMs = nowMs + ms;
    await settle();
    for (;;) {
      const going = [...stopped].filter((process) => !process.stopped);
      for (const sleeper of sleepers)
        if (going.includes(sleeper.process) && sleeper.untilMs <= nowMs) {
          sleepers.delete(sleeper);
          sleeper.wake();
        }
      if (going.length > 0) {
        await settle();
        onTimers();
      }
      for (const process of going) {
        stopped.delete(process);
        for (const read of process.arrived?.splice(0) ?? []) read();
        await settle();
      }
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
  return { clockOf, reads, pass, now: () => nowMs, onTimers: (act: () => void) => void (onTimers = act) };
}

const files = (names: readonly string[], job = "quotes") =>
  filesSaid({
    jobs: [{ name: job } as never],
    calendar: [],
    accounts: names.map((name) => ({
      ...{ name, limit: 60, limitGiven: true, limitWindowMs: 60_000, service: REFERENCE },
      feed: { kind: "simulated" as const },
    })),
  });

const ACCOUNTS = ["one", "two", "three", "four"];

/** A call that nobody cuts off. */
const GOES_ON = new AbortController().signal;

function world(accounts: readonly string[] = ACCOUNTS) {
  const time = sharedTime();
  const database = memoryLeases(time.clockOf({ stopped: false }));
  const all: Member[] = [];
  let runs = 0;

  type Member = {
    name: string;
    fleet: Fleet;
    process: Process;
    faults: LeaseFaults;
    /** Accounts that it calls, and those for which it listens first. */
    calls: Set<string>;
    listens: Set<string>;
    /** How long before each account was acquired its holder was heard of last, in ms, as far as is known. */
    agoMs: Map<string, number | null>;
    /** Accounts whose calls it is ending. */
    stopping: Set<string>;
    log: string[];
    /** Questions to the database that it has not read the answers to. */
    inFlight: () => number;
    lost: string | null;
    forgets: number;
    known: () => KnownLeases;
  };

  /** A store whose answers a process reads. */
  const readBy = (process: Process, store: LeaseStore, flight: { count: number }): LeaseStore => {
    const read =
      <A extends unknown[], R>(ask: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        flight.count += 1;
        return ask(...given).finally(async () => {
          await time.reads(process);
          flight.count -= 1;
        });
      };
    const { look, join, round, claim, release, propose } = store;
    return {
      ...{ look: read(look), join: read(join), round: read(round) },
      ...{ claim: read(claim), release: read(release), propose: read(propose) },
    };
  };

  const start = async (
    name: string,
    given: {
      known?: KnownLeases;
      dead?: string[];
      files?: ReturnType<typeof files>;
      opensMs?: number;
      /** How long it takes to end the calls of an account. */
      stopsMs?: number;
      patienceMs?: number;
      process?: Process;
      faults?: LeaseFaults;
      onOpened?: (fleet: Fleet) => void;
      /** Accounts that somebody has logged in to on its machine; absent: none wants a login. */
      loggedIn?: Set<string>;
    } = {},
  ): Promise<Member> => {
    const process: Process = given.process ?? { stopped: false };
    const faults: LeaseFaults = given.faults ?? {};
    const clock = time.clockOf(process);
    let known = given.known ?? newCollector(clock);
    runs += 1;
    const flight = { count: 0 };
    const [calls, listens] = [new Set<string>(), new Set<string>()];
    const [agoMs, stopping] = [new Map<string, number | null>(), new Set<string>()];
    const log: string[] = [];
    const say = (fields: object, message: string): void =>
      void log.push(`${message} ${JSON.stringify(fields)}`);
    const fleet = new Fleet({
      ...{
        store: readBy(process, database.client(faults), flight),
        clock,
        dead: given.dead ?? [],
        known,
        address: "db/quotes",
      },
      forgetDead: async () => void (member.forgets += 1),
      self: { id: known.id, run: String(runs).padStart(16, "0"), host: name, pid: runs, version: "1" },
      persist: (now) => (known = now),
      files: given.files ?? files(accounts),
      log: { debug: () => undefined, info: say, warn: say, error: say },
      close: () => Promise.resolve(),
    });
    given.onOpened?.(fleet);
    const member: Member = {
      ...{ name, fleet, process, faults, calls, listens, agoMs, stopping, log, lost: null, forgets: 0 },
      inFlight: () => flight.count,
      known: () => known,
    };
    const taken = await fleet.join(given.patienceMs);
    for (const [account, how] of taken) {
      calls.add(account);
      if (how.listens) listens.add(account);
    }
    const caller: Caller = {
      startCalling: async (account, { granted }) => {
        calls.add(account);
        agoMs.set(account, granted?.agoMs ?? null);
      },
      stopCalling: async (account) => {
        stopping.add(account);
        if (given.stopsMs !== undefined) await clock.sleep(given.stopsMs);
        stopping.delete(account);
        calls.delete(account);
      },
      handOver: (account) => ({ of: account, by: name }),
      beUnsure: () => undefined,
      listen: () => calls.forEach((account) => listens.add(account)),
      knows: () => ({ refused: [], prices: null, ...(given.loggedIn && { loggedIn: [...given.loggedIn] }) }),
      isLoggedIn: (account) => given.loggedIn?.has(account) ?? null,
      journalLag: () => 0,
      useNumber: () => undefined,
    };
    if (given.opensMs === undefined) fleet.begin(caller);
    else void clock.sleep(given.opensMs).then(() => fleet.begin(caller));
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
            ({ calls, fleet, process }) => !process.stopped && calls.has(account) && fleet.mayCall(account),
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

test("a collector that is alone calls all accounts, and hands them over one at a time to collectors that join, until each has its share", async () => {
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

test("accounts are handed over one at a time, however long the calls under way take", async () => {
  const { time, start, callers } = world();
  const a = await start("a", { stopsMs: 5_000 });
  await start("b");
  const stopping: number[] = [];
  for (let passed = 0; passed < 30_000; passed += 250) {
    await time.pass(250);
    stopping.push(a.stopping.size);
  }

  expect(Math.max(...stopping)).toBe(1);
  expect(counts(callers())).toEqual({ a: 2, b: 2 });
});

test("an account belongs to the collector on whose machine somebody has logged in to it, whoever held it, and is not evened out", async () => {
  const { time, start, callers } = world();
  const [onA, onB] = [new Set<string>(), new Set<string>()];
  await start("a", { loggedIn: onA });
  await start("b", { loggedIn: onB });
  await time.pass(20_000);
  const nobody = counts(callers());

  for (const account of ACCOUNTS) onB.add(account);
  await time.pass(10_000);
  const allOnB = counts(callers());
  onB.clear();
  onA.add("one");
  await time.pass(30_000);
  const [oneOnA] = callers()["one"] ?? [];
  onB.add("one");
  await time.pass(30_000);

  expect([nobody, allOnB]).toEqual([{ a: 2, b: 2 }, { b: 4 }]);
  // Of two logins the holder's stays.
  expect([oneOnA, callers()["one"]]).toEqual(["a", ["a"]]);
  expect(Object.values(callers()).every((names) => names.length === 1)).toBe(true);
});

test("a collector that takes an account over without a login says so, and gives it to whose login comes back", async () => {
  const { time, start, callers } = world(["one"]);
  const onA = new Set(["one"]);
  const a = await start("a", { loggedIn: onA });
  const b = await start("b", { loggedIn: new Set() });
  await time.pass(20_000);
  const before = callers();

  a.process.stopped = true;
  await time.pass(20_000);
  const meanwhile = callers();
  a.process.stopped = false;
  await time.pass(20_000);

  expect([before, meanwhile, callers()]).toEqual([{ one: ["a"] }, { one: ["b"] }, { one: ["a"] }]);
  expect(b.log.filter((line) => line.includes("nobody is logged in to here"))).toHaveLength(1);
});

test("a collector that the operator has forgotten joins again and keeps its accounts", async () => {
  const { time, start, callers, database } = world();
  const [a, b] = [await start("a"), await start("b")];
  await time.pass(20_000);
  const [before, grants] = [callers(), database.history.length];

  database.forget(a.known().id);
  await time.pass(6_000);

  expect(b.fleet.state.collectors.running).toBe(2);
  expect(callers()).toEqual(before);
  expect(database.history.length).toBe(grants);
});

test("the other collectors take over the accounts of a killed collector within twelve seconds", async () => {
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

test("a collector that joins while the database is slow does not presume accounts to be free", async () => {
  const { time, database, start, callers, all } = world(["one"]);
  await start("a");
  database.faults.silent = true;

  const joining = start("b", { patienceMs: 15_000 });
  await time.pass(6_000);
  const meanwhile = callers();
  database.faults.silent = false;
  await time.pass(8_000);
  await joining;

  expect(meanwhile).toEqual({ one: ["a"] });
  expect(callers()).toEqual({ one: ["a"] });
  expect(all.map(({ lost }) => lost)).toEqual([null, null]);
});

test("a collector that joins a database which has stopped answering calls all accounts after a while", async () => {
  const { time, database, start, callers } = world(["one"]);
  database.faults.silent = true;

  const joining = start("a", { patienceMs: 15_000 });
  await time.pass(14_000);
  const meanwhile = callers();
  await time.pass(4_000);
  await joining;

  expect([meanwhile, callers()]).toEqual([{ one: [] }, { one: ["a"] }]);
});

test("the next run acquires a dead run's accounts at once, and forgets that run only then", async () => {
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

test("a collector acquires the accounts of a run that died while the database was away when the database is back, and then forgets that run", async () => {
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

test("a collector that was paused for an hour does not call its former accounts when it wakes up, and goes on with its share", async () => {
  const { time, start, callers, database } = world();
  const [a] = [await start("a"), await start("b")];
  await time.pass(10_000);
  const before = [...a.calls];

  a.process.stopped = true;
  await time.pass(3_600_000);
  a.process.stopped = false;
  const atOnce = before.filter((account) => a.fleet.mayCall(account));
  await time.pass(20_000);

  expect(before.length).toBe(2);
  expect(atOnce).toEqual([]);
  expect(counts(callers())).toEqual({ a: 2, b: 2 });
  expect(a.lost).toBeNull();
  expect(database.history.every(({ fence }) => fence > 0)).toBe(true);
});

test("a collector keeps its accounts while its journal takes long to open, and does not call what it loses meanwhile", async () => {
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

test("another collector acquires within two seconds the accounts that a collector releases at its end", async () => {
  const { time, start, callers } = world();
  const [a] = [await start("a"), await start("b")];
  await time.pass(10_000);

  const released = a.fleet.release();
  a.calls.clear();
  await time.pass(2_000);

  expect(await released).toBe(true);
  expect(counts(callers())).toEqual({ b: 4 });
});

test("all collectors go on without the database, unsure, for as long as it takes, and none acquires an account when it is back", async () => {
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

test("a collector without a database that was never among others calls all accounts, and is not unsure", async () => {
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

test("a start without the database goes on with its own accounts, and gives up those that others hold when it hears of it", async () => {
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

test("a collector that alone is cut off is replaced, and gives up the accounts of others when it is back", async () => {
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

test.each([60_000, -60_000, 3_600_000])(
  "a jump of the database's clock by %i ms steals no account",
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

test.each([60_000, -60_000])(
  "a dead collector is replaced in time after a jump of the database's clock by %i ms",
  async (jump) => {
    const { time, start, callers, database } = world();
    const [a, b] = [await start("a"), await start("b")];
    await time.pass(10_000);
    const own = [...a.calls];

    a.process.stopped = true;
    database.skewMs += jump;
    await time.pass(12_000);

    expect(counts(callers())).toEqual({ b: 4 });
    // Calls of the killed collector count as long as they may have been made: the jump makes them no older.
    expect(own.filter((account) => (b.agoMs.get(account) ?? Infinity) > 12_000)).toEqual([]);
  },
);

test.each([3_600_000, -3_600_000])("a collector's own clock may be moved by %i ms", async (jump) => {
  const { time, start, callers } = world();
  const [a] = [await start("a"), await start("b")];
  await time.pass(10_000);
  const before = callers();

  (a.process as { wallMs?: number }).wallMs = jump;
  await time.pass(5_000);

  expect(callers()).toEqual(before);
});

test("a collector whose files differ from those of a running collector stays out, and says what differs", async () => {
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

test("changed files are in force from one instant on, when all collectors have them", async () => {
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

/** Stops a member's process while a round of it is in flight: asked, done, and not read. */
async function stopInFlight(
  { time }: Pick<ReturnType<typeof world>, "time">,
  member: { process: Process; faults: LeaseFaults; inFlight: () => number },
): Promise<void> {
  member.faults.answersMs = 200;
  for (let passed = 0; member.inFlight() === 0 && passed < 5_000; passed += 50) await time.pass(50);
  expect(member.inFlight()).toBeGreaterThan(0);
  member.process.stopped = true;
}

test("a process that was paused while a round was in flight lets no call leave when it goes on, neither before nor after it reads its sockets", async () => {
  const { time, start, callers } = world();
  const [a, b] = [await start("a"), await start("b")];
  await time.pass(10_000);
  const own = [...a.calls];
  await stopInFlight({ time }, a);
  await time.pass(14_000);
  const late: string[] = [];
  const look = (): void => void late.push(...own.filter((account) => a.fleet.mayCall(account)));
  const asked = own.map((account) =>
    a.fleet.confirm(account, GOES_ON).catch(({ code }: { code: string }) => code),
  );

  time.onTimers(look);
  a.process.stopped = false;
  for (let passed = 0; passed < 1_000; passed += 50) {
    await time.pass(50);
    look();
  }

  expect(own.length).toBe(2);
  expect(late).toEqual([]);
  expect(await Promise.all(asked)).toEqual(["LEASE_UNSURE", "LEASE_UNSURE"]);
  expect(b.calls.size).toBe(4);
  await time.pass(20_000);
  expect(counts(callers())).toEqual({ a: 2, b: 2 });
});

test("a process that was paused while it joined lets no call leave when it goes on", async () => {
  const { time, start, database } = world(["one"]);
  const process: Process = { stopped: false };
  const joining = start("a", { process, faults: { answersMs: 200 }, patienceMs: 15_000 });
  await time.pass(700);
  expect(database.history).toHaveLength(1);
  process.stopped = true;
  await time.pass(1_000);
  const b = await start("b");
  await time.pass(14_000);
  expect(b.fleet.held).toEqual(["one"]);

  process.stopped = false;
  await time.pass(0);
  const a = await joining;
  const late: boolean[] = [];
  for (let passed = 0; passed < 5_000; passed += 50) {
    late.push(a.fleet.mayCall("one"));
    await time.pass(50);
  }

  expect(late.filter(Boolean)).toEqual([]);
  expect([a.fleet.held, b.fleet.held]).toEqual([[], ["one"]]);
});

test("a process that was paused for longer than a lease, and that the database refuses at once, withholds the calls under way and listens first", async () => {
  const { time, start } = world();
  const [a] = [await start("a"), await start("b")];
  await time.pass(10_000);
  const [account = ""] = a.calls;
  const before = await a.fleet.confirm(account, GOES_ON);
  a.process.stopped = true;
  await time.pass(14_000);
  a.faults.away = true;
  const waiting = a.fleet.confirm(account, GOES_ON).catch(({ code }: { code: string }) => code);

  a.process.stopped = false;
  await time.pass(1_000);

  expect([before(), await waiting]).toEqual([false, "LEASE_UNSURE"]);
  expect(a.listens).toEqual(a.calls);
  // What leaves after it has listened leaves with care.
  expect([(await a.fleet.confirm(account, GOES_ON))(), a.fleet.isUnsure]).toEqual([true, true]);
});

test.each([
  ["each question half a second", { slowMs: 250, answersMs: 250 }],
  ["each question for a second", { slowMs: 500, answersMs: 500 }],
  ["each question for three seconds", { slowMs: 1_500, answersMs: 1_500 }],
  ["each write for 1.6 seconds", { writesMs: 1_600 }],
  ["everything for ever", { silent: true }],
])("a slow database that keeps %s holds up no start of a collector that is alone", async (_, faults) => {
  const { time, start, database } = world();
  const a = await start("a");
  await time.pass(5_000);
  await a.fleet.release();
  Object.assign(database.faults, faults);

  const starting = start("a", { known: a.known(), patienceMs: 15_000 });
  await time.pass(6_000);
  const again = await starting;
  const called: number[] = [];
  for (let passed = 0; passed < 60_000; passed += 250) {
    called.push(ACCOUNTS.filter((account) => again.fleet.mayCall(account)).length);
    await time.pass(250);
  }

  expect(called.filter((count) => count < 4)).toEqual([]);
  expect([again.fleet.isUnsure, again.lost]).toEqual([false, null]);
});

test.each([
  [350, 15],
  [1_000, 15],
  [3_000, 30],
])(
  "a database that is slow by %i ms a question lets a dead collector's account be called again in %i s",
  async (slowMs, seconds) => {
    const { time, start, callers, database } = world();
    const [a] = [await start("a"), await start("b"), await start("c")];
    await time.pass(20_000);
    database.faults.answersMs = slowMs;
    await time.pass(10_000);

    a.process.stopped = true;
    await time.pass(1_000 * seconds);

    expect(counts(callers())).toEqual({ b: 2, c: 2 });
    expect(database.history.filter(({ how }) => how === "expired")).toHaveLength(2);
  },
);

test("a database that is slow by four seconds a question allows calls for a second more: a claim counts as of when it was sent", async () => {
  const { time, start } = world(["one"]);
  const starting = start("a", { faults: { answersMs: 4_000 }, patienceMs: 15_000 });
  await time.pass(16_000);
  const { fleet } = await starting;
  const atOnce = fleet.mayCall("one");
  await time.pass(900);
  const soon = fleet.mayCall("one");
  await time.pass(200);

  expect([atOnce, soon, fleet.mayCall("one")]).toEqual([true, true, false]);
});

test.each([350, 2_500])(
  "a database that is slow by %i ms a question lets no two collectors call an account that join at the same moment and know of nobody",
  async (slowMs) => {
    const { time, start, database, all } = world();
    database.faults.answersMs = slowMs;
    const starting = ["a", "b", "c"].map((name) => start(name, { patienceMs: 15_000 }));
    const twice: string[] = [];
    for (let passed = 0; passed < 40_000; passed += 250) {
      await time.pass(250);
      for (const account of ACCOUNTS)
        if (all.filter(({ fleet }) => fleet.mayCall(account)).length > 1) twice.push(`${account} ${passed}`);
    }
    await Promise.all(starting);

    expect(twice).toEqual([]);
    expect(all.flatMap(({ fleet }) => fleet.held).sort()).toEqual(ACCOUNTS.toSorted());
  },
);

test("a slow database grants a collector of many accounts all of them by one claim, and loses none", async () => {
  const accounts = Array.from({ length: 14 }, (_, place) => `account-${place + 10}`);
  const { time, start, database } = world(accounts);
  database.faults.answersMs = 200;

  const starting = start("a", { patienceMs: 15_000 });
  await time.pass(3_000);
  const a = await starting;
  const beside = start("b", { patienceMs: 15_000 });
  await time.pass(4_000);
  await beside;

  expect(a.fleet.held.length).toBeGreaterThan(10);
  expect(database.history.filter(({ how }) => how !== "new" && how !== "released")).toEqual([]);
});

test("a slow database that is back as the collector ends confirms the calls under way, and holds up no call that is cut off", async () => {
  const { time, start, database } = world(["one"]);
  database.faults.away = true;
  const { fleet, process } = await start("a");
  await time.pass(6_000);
  expect([fleet.held, fleet.state.accounts[0]?.fence]).toEqual([["one"], null]);
  process.stopped = true;
  await time.pass(20_000);
  process.stopped = false;
  database.faults.away = false;
  fleet.stopAcquiring();
  const cut = new AbortController();
  const answers: string[] = [];
  const ask = (name: string, signal: AbortSignal): void =>
    void fleet.confirm("one", signal).then(
      () => answers.push(`${name} leaves`),
      ({ code }: { code: string }) => answers.push(`${name} ${code}`),
    );

  ask("one under way", GOES_ON);
  await time.pass(1_000);
  database.faults.silent = true;
  process.stopped = true;
  await time.pass(20_000);
  process.stopped = false;
  ask("one cut off", cut.signal);
  cut.abort();
  await time.pass(0);

  expect(answers).toEqual(["one under way leaves", "one cut off LEASE_UNSURE"]);
});

test.each([{ silent: true }, { slowMs: 30_000 }])(
  "a collector ends no later with a slow database than with another: %p",
  async (faults) => {
    const { time, start, database } = world();
    const { fleet } = await start("a");
    await time.pass(5_000);
    Object.assign(database.faults, faults);
    await time.pass(5_000);

    const released = fleet.release();
    let known: boolean | null = null;
    void released.then((found) => (known = found));
    await time.pass(1_000);

    expect(known).toBe(false);
  },
);

test("a slow database holds up an end for no longer where a start waits for it", async () => {
  const { time, start, database } = world();
  const a = await start("a");
  await start("b");
  await time.pass(5_000);
  a.process.stopped = true;
  database.faults.silent = true;
  let fleet: Fleet | null = null;
  const starting = start("a", {
    known: a.known(),
    patienceMs: 15_000,
    onOpened: (opened) => (fleet = opened),
  });
  await time.pass(3_000);

  (fleet as Fleet | null)?.stopAcquiring();
  let joined = false;
  void starting.then(() => (joined = true));
  await time.pass(0);

  expect(joined).toBe(true);
});

test("an account that nobody calls is named in the log once, in the state, and in the file that status reads", async () => {
  const { time, start } = world();
  const [a, b] = [await start("a"), await start("b")];
  await time.pass(10_000);
  const own = [...a.calls].sort();

  a.process.stopped = true;
  // It looks, and no claim of it comes through.
  b.faults.writesMs = 60_000;
  await time.pass(60_000);

  const said = b.log.filter((line) => line.startsWith("nobody calls the account"));
  const uncalled = b.fleet.state.accounts.filter(({ uncalledMs }) => (uncalledMs ?? 0) >= 15_000);
  expect(said).toHaveLength(2);
  expect(uncalled.map(({ name, caller }) => [name, caller])).toEqual(own.map((name) => [name, null]));
  expect(Object.keys(b.known().uncalled).sort()).toEqual(own);
  b.faults.writesMs = 0;
  await time.pass(70_000);
  expect([b.known().uncalled, b.fleet.held]).toEqual([{}, ACCOUNTS.toSorted()]);
  expect(b.log.filter((line) => line.startsWith("the account is called again"))).toHaveLength(2);
});

test.each([
  ["an answer is late by 1.2 s", 0, 0, 1_200],
  ["the database's clock is 10 s ahead", 10_000, 0, 0],
  ["the database's clock is an hour behind", -3_600_000, 0, 0],
  ["a collector's clock is 5 s ahead, and its answers are late", 0, 5_000, 1_200],
  ["a collector's clock is 40 s ahead", 0, 40_000, 0],
  ["a collector's clock is 5 s behind", 0, -5_000, 0],
])(
  "a slot has the same shares for all collectors while %s and the accounts that take part change",
  async (_, skewMs, wallMs, answersMs) => {
    const { time, start, database } = world();
    database.skewMs = skewMs;
    const slow: Process = { stopped: false, wallMs };
    const starting = start("a", { process: slow, faults: { answersMs } });
    await time.pass(5_000);
    const members = [await starting, await start("b")];
    await time.pass(20_000);
    const opened = new Map<number, Set<number | undefined>>();
    for (let second = 0; second < 240; second += 1) {
      if (second % 60 === 10) database.drained.add("two");
      if (second % 60 === 40) database.drained.delete("two");
      for (const member of members) {
        const slot = START + time.now() + (member.process.wallMs ?? 0);
        const shares = opened.get(slot) ?? new Set();
        opened.set(slot, shares.add(member.fleet.agreedAt(new Date(slot))?.number));
      }
      await time.pass(1_000);
    }

    const numbers = new Set([...opened.values()].flatMap((all) => [...all]));
    expect(numbers.size).toBeGreaterThan(4);
    expect([...opened.values()].filter((all) => all.size > 1)).toEqual([]);
    const [a] = members;
    // What is slow is not taken for a clock that is wrong.
    if (wallMs === 0 && skewMs === 0) expect(a?.fleet.state.clockOffsetMs).toBe(0);
  },
);

test("a database that is restored from a dump costs no healthy collector its life: each claims its accounts anew", async () => {
  const { time, start, callers, database, all } = world();
  const [a] = [await start("a"), await start("b"), await start("c")];
  await time.pass(20_000);
  const restore = database.dump();
  await a.fleet.release();
  a.calls.clear();
  a.process.stopped = true;
  const again = await start("a", { known: a.known() });
  await time.pass(20_000);

  restore();
  await time.pass(20_000);

  expect(all.map(({ lost }) => lost)).toEqual([null, null, null, null]);
  expect(Object.values(callers()).map((names) => names.length)).toEqual([1, 1, 1, 1]);
  expect(again.calls.size).toBeGreaterThan(0);
});

test("a collector on a copied data directory says who calls the account while it waits", async () => {
  const { time, start } = world(["one"]);
  const a = await start("a");
  await time.pass(5_000);

  const copy = await start("a", { known: a.known() });
  await time.pass(30_000);

  expect([a.lost, copy.lost, copy.fleet.held]).toEqual([null, null, []]);
  expect(copy.fleet.state.accounts).toMatchObject([
    { name: "one", held: false, caller: "a", uncalledMs: null },
  ]);
  expect(copy.log.filter((line) => line.includes("copy of this data directory"))).toHaveLength(1);
});

test("at no moment two may call an account but for one that the database does not answer, whatever happens; and each is called again in 15 s", async () => {
  const event = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    what: fc.constantFrom("stop", "stop in flight", "cut", "jump", "slow"),
    ms: fc.integer({ min: 500, max: 40_000 }),
    gap: fc.integer({ min: 0, max: 20_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 6 }), async (events) => {
      const { time, start, callers, all, database } = world();
      for (const name of ["a", "b", "c"]) await start(name);
      await time.pass(20_000);
      // By the test's own knowledge: the collector's word is what is tried.
      const cutUntilMs = new Map<string, number>();
      const look = (): void => {
        for (const names of Object.values(callers()))
          expect(names.filter((name) => (cutUntilMs.get(name) ?? 0) < time.now()).length).toBeLessThanOrEqual(
            1,
          );
      };
      time.onTimers(look);
      for (const { who, what, ms, gap } of events) {
        const member = all[who];
        if (!member) continue;
        if (what === "stop") member.process.stopped = true;
        else if (what === "stop in flight") await stopInFlight({ time }, member);
        else if (what === "cut") member.faults.silent = true;
        else if (what === "slow") member.faults.slowMs = 1_000;
        else database.skewMs += ms;
        // A round, and its answer, after the way is free.
        if (what === "cut") cutUntilMs.set(member.name, time.now() + ms + 4_000);
        for (let passed = 0; passed < ms; passed += 500) {
          await time.pass(500);
          look();
        }
        Object.assign(member.process, { stopped: false });
        Object.assign(member.faults, { silent: false, slowMs: 0, answersMs: 0 });
        look();
        for (let passed = 0; passed < gap; passed += 500) {
          await time.pass(500);
          look();
        }
      }
      await time.pass(15_000);
      expect(Object.values(callers()).map((names) => names.length)).toEqual([1, 1, 1, 1]);
    }),
    {
      numRuns: runs(16),
      // Stopped in a round twice in a row: when it goes on, its timers say that no answer came, and its sockets have it.
      examples: [
        [
          [
            { who: 0, what: "stop in flight" as const, ms: 6_001, gap: 1 },
            { who: 0, what: "stop in flight" as const, ms: 1_501, gap: 0 },
          ],
        ],
      ],
    },
  );
}, 60_000);
