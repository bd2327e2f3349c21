/** Several accounts, each with a service of its own: who asks for what, and what the ledger says of each share. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { PROBED_EVERY_MS, REFUSED_FOR_MS, Shares } from "../../src/accounts/shares.ts";
import type { SlotEntry } from "../../src/journal/ledger.ts";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { contractsOf, symbolsNamed } from "./due.ts";
import {
  entriesOf,
  failure,
  jobOf,
  mostInWindow,
  quotesFor,
  startWorld,
  type SeenCall,
  type World,
  type WorldOptions,
} from "./world.ts";
import { runs } from "../support/runs.ts";

const START = "2026-11-20T14:30:00Z";
const NAMES = ["main", "second", "third", "fourth"];

type Fleet = World & { shares: Shares };

/** A world of several accounts of 60 calls a minute. */
function startFleet(options: Partial<WorldOptions> & Pick<WorldOptions, "jobs">, names = NAMES): Fleet {
  const shares = new Shares(names.map((name) => ({ name, limit: 60, windowMs: 60_000 })));
  return Object.assign(startWorld({ start: START, accounts: names, shares, ...options }), { shares });
}

/** Who asked for each name, at the slots of a minute. */
function askers(world: World, minute: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { planned, names, account } of world.calls)
    if (planned.slotAt?.slice(11).startsWith(minute))
      for (const name of names) found.set(name, [...(found.get(name) ?? []), account]);
  return found;
}

/** The shares of a slot. */
function sharesAt(world: World, minute: string, job: string): SlotEntry[] {
  return entriesOf(world.notes, job).filter(({ slotAt }) => slotAt.slice(11).startsWith(minute));
}

/**
 * Counts anew, from the calls that were answered: each name is due in one share of a slot, and missed there where no answer
 * that was asked for within the slot holds it.
 */
function expectRecounted(world: World, slotMs = 60_000): void {
  const slots = new Map<string, SlotEntry[]>();
  for (const entry of entriesOf(world.notes)) {
    const key = `${entry.slotAt} ${entry.job}`;
    slots.set(key, [...(slots.get(key) ?? []), entry]);
  }
  for (const shares of slots.values()) {
    const due = shares.flatMap((share) => share.due);
    expect(new Set(due).size).toBe(due.length);
    expect(new Set(shares.map(({ account }) => account)).size).toBe(shares.length);
    const from = Date.parse(shares[0]?.slotAt ?? "");
    const stored = new Set(world.calls.flatMap((call) => storedBy(call, { from, to: from + slotMs })));
    for (const share of shares)
      expect(new Set(share.misses.map(([name]) => name))).toEqual(
        new Set(share.due.filter((name) => !stored.has(name))),
      );
  }
}

function storedBy(call: SeenCall, { from, to }: { from: number; to: number }): string[] {
  return call.observedAt !== null && call.brought && call.sentAt >= from && call.sentAt < to
    ? call.names
    : [];
}

test("1,500 symbols and 150 contracts: each asked by one account, all within their limits, in shares that add up", async () => {
  const jobs = [
    jobOf({ name: "list", symbols: symbolsNamed(1_500) }),
    jobOf({ name: "chain", options: contractsOf(150) }),
    jobOf({ name: "again", symbols: symbolsNamed(300), options: contractsOf(20), priority: 3 }),
  ];
  const world = startFleet({ jobs });

  await world.until("2026-11-20T14:33:30Z");

  for (const minute of ["14:31", "14:32"]) {
    const found = askers(world, minute);
    expect(found.size).toBe(1_650);
    expect([...found.values()].every((accounts) => accounts.length === 1)).toBe(true);
    expect(sharesAt(world, minute, "list").map(({ account }) => account)).toEqual(
      expect.arrayContaining(NAMES),
    );
    expect(sharesAt(world, minute, "list").flatMap(({ due }) => due)).toHaveLength(1_500);
    expect(sharesAt(world, minute, "chain").flatMap(({ misses }) => misses)).toEqual([]);
  }
  for (const name of NAMES) {
    const calls = world.calls.filter(({ account }) => account === name);
    expect(mostInWindow(calls, 60_000)).toBeLessThanOrEqual(60);
    expect(calls.length).toBeGreaterThan(100);
  }
  expectRecounted(world);
});

describe("accounts that come and go while it runs", () => {
  const jobs = [
    jobOf({ name: "list", symbols: symbolsNamed(800) }),
    jobOf({ name: "chain", options: contractsOf(100) }),
  ];

  test("an account that is added has its share from the next slot on, and an account that is removed has none", async () => {
    const world = startFleet({ jobs }, ["main", "second"]);
    await world.until("2026-11-20T14:31:58Z");

    const left = world.collector.replaceAccounts(["second"], [world.account("third")]);
    await world.until("2026-11-20T14:33:30Z");
    await left;

    for (const [minute, names] of [
      ["14:31", ["main", "second"]],
      ["14:32", ["main", "third"]],
    ] as const) {
      expect(sharesAt(world, minute, "list").map(({ account }) => account)).toEqual(
        expect.arrayContaining([...names]),
      );
      const found = [...askers(world, minute).values()];
      expect(found).toHaveLength(900);
      expect(found.every((accounts) => accounts.length === 1)).toBe(true);
      expect([...new Set(found.flat())].toSorted()).toEqual([...names]);
    }
    expect(world.collector.status().accounts.map(({ name }) => name)).toEqual(["main", "third"]);
    expectRecounted(world);
  });

  test("the other accounts ask in the same slot for what a removed account has not asked for", async () => {
    const few = [jobOf({ name: "list", symbols: symbolsNamed(100), options: contractsOf(40) })];
    const world = startFleet({ jobs: few, latencyMs: () => 2_000 }, ["main", "second"]);
    await world.until("2026-11-20T14:31:01Z");

    const left = world.collector.replaceAccounts(["second"], []);
    await world.until("2026-11-20T14:32:30Z");
    await left;

    const asked = world.calls.filter(({ planned }) => planned.slotAt?.slice(11, 16) === "14:31");
    expect(asked.filter(({ account }) => account === "second").length).toBe(6);
    expect(askers(world, "14:31").size).toBe(140);
    expect(sharesAt(world, "14:31", "list").map(({ account }) => account)).toContain("second");
    expectRecounted(world);
  });

  test("an account with a changed limit goes on with what waits, and counts what it has sent", async () => {
    const world = startFleet({ jobs, latencyMs: () => 1_000 }, ["main", "second"]);
    await world.until("2026-11-20T14:31:02Z");

    const changed = { ...world.account("second"), governor: { limit: 30, windowMs: 60_000 } };
    void world.collector.replaceAccounts(["second"], [changed]);
    await world.until("2026-11-20T14:34:30Z");

    const { accounts } = world.collector.status();
    expect(accounts.map(({ name, budget }) => `${name} ${budget.limit}`)).toEqual(["main 60", "second 30"]);
    const later = world.calls.filter(({ planned }) => planned.slotAt?.slice(11, 16) === "14:33");
    expect(later.filter(({ account }) => account === "second").length).toBeLessThanOrEqual(30);
    expectRecounted(world);
  });
});

describe("an account that is drained", () => {
  const jobs = [jobOf({ name: "list", symbols: symbolsNamed(800), options: contractsOf(80) })];

  test("a drained account makes no calls from the next slot on, and the others have its share", async () => {
    const world = startFleet({ jobs });
    await world.until("2026-11-20T14:31:30Z");

    world.shares.drain(["second"]);
    await world.until("2026-11-20T14:34:30Z");

    for (const minute of ["14:32", "14:33"]) {
      const found = askers(world, minute);
      expect(found.size).toBe(880);
      expect([...found.values()].every((accounts) => accounts.length === 1)).toBe(true);
      expect([...found.values()].flat()).not.toContain("second");
    }
    expect(entriesOf(world.notes).flatMap(({ misses }) => misses)).toEqual([]);
    expectRecounted(world);

    world.shares.drain([]);
    await world.until("2026-11-20T14:36:30Z");
    expect([...askers(world, "14:35").values()].flat()).toContain("second");
  });

  test("a watchlist that is pinned to a drained account is missed", async () => {
    const lists = [jobOf({ name: "mine", watchlist: "MINE", account: "second" })];
    const world = startFleet({ jobs: lists });
    await world.until("2026-11-20T14:30:30Z");
    world.shares.drain(["second"]);

    await world.until("2026-11-20T14:32:30Z");

    expect(sharesAt(world, "14:31", "mine")).toEqual([
      expect.objectContaining({ account: "second", misses: [["watchlist MINE", "down"]] }),
    ]);
    expect(world.calls.map(({ account }) => account)).toEqual(["second"]);
  });
});

describe("an account that the service refuses", () => {
  const jobs = [jobOf({ name: "list", symbols: symbolsNamed(800), options: contractsOf(80) })];

  test("an account that the service refuses loses nothing: others ask in the same slot, then have its share; it is tried again, and comes back", async () => {
    let [from, to] = [Infinity, Infinity];
    const world = startFleet({
      jobs,
      respond: ({ planned, account }) =>
        account === "second" && Date.now() >= from && Date.now() < to
          ? failure("unauthorized")
          : quotesFor(planned),
    });
    await world.until("2026-11-20T14:31:30Z");
    [from, to] = [Date.now(), Date.now() + 8 * 60_000];
    await world.pass(8 * 60_000);
    const refusedAfter = world.calls.filter(
      ({ account, sentAt }) => account === "second" && sentAt >= from + REFUSED_FOR_MS + 60_000,
    );
    await world.pass(PROBED_EVERY_MS + 120_000);

    expect(entriesOf(world.notes).flatMap(({ misses }) => misses)).toEqual([]);
    // Those of the first slot had left before the first answer; then one call a slot.
    const refusedFirst = world.calls.filter(
      ({ account, sentAt }) => account === "second" && sentAt >= from && sentAt < from + REFUSED_FOR_MS,
    );
    expect(refusedFirst.length).toBeLessThanOrEqual(6 + 2);
    // One call at a time, to see whether it is refused still.
    expect(refusedAfter.length).toBeGreaterThan(0);
    expect(refusedAfter.length).toBeLessThanOrEqual(5);
    const last = world.calls.filter(({ sentAt }) => sentAt > to + PROBED_EVERY_MS + 60_000);
    expect(last.filter(({ account }) => account === "second").length).toBeGreaterThan(15);
    expectRecounted(world);
  });

  test("a refused account makes its calls again as soon as it has other credentials", async () => {
    let right = false;
    const world = startFleet({
      jobs,
      respond: ({ planned, account }) =>
        account === "second" && !right ? failure("unauthorized") : quotesFor(planned),
    });
    await world.until("2026-11-20T14:35:30Z");

    right = true;
    void world.collector.replaceAccounts(["second"], [world.account("second")]);
    const atOnce = world.collector.status().accounts.map(({ state }) => state);
    await world.until("2026-11-20T14:36:30Z");

    expect(atOnce).not.toContain("refused");
    expect(world.collector.status().accounts.map(({ state }) => state)).not.toContain("refused");
    expect([...new Set([...askers(world, "14:36").values()].flat())].toSorted()).toEqual(
      [...NAMES].toSorted(),
    );
    expectRecounted(world);
  });

  test("everything is missed as unauthorized while the service refuses all accounts, and all go on trying", async () => {
    const world = startFleet({ jobs, respond: () => failure("unauthorized") });

    await world.until("2026-11-20T14:35:30Z");

    const entries = sharesAt(world, "14:34", "list");
    expect(entries.flatMap(({ misses }) => misses.map(([, reason]) => reason))).toEqual(
      Array.from({ length: 880 }, () => "unauthorized"),
    );
    expectRecounted(world);
  });
});

test("whatever happens to accounts and jobs, and however long nothing runs, every slot's shares add up to what was answered", async () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant("drain" as const), names: fc.subarray(NAMES) }),
    fc.record({ kind: fc.constant("refuse" as const), names: fc.subarray(NAMES) }),
    fc.record({ kind: fc.constant("jobs" as const), symbols: fc.nat(400), contracts: fc.nat(40) }),
    fc.record({ kind: fc.constant("stall" as const), ms: fc.nat(100_000) }),
    fc.record({
      kind: fc.constant("accounts" as const),
      stay: fc.subarray(NAMES, { minLength: 1 }),
      anew: fc.subarray(NAMES),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(90_000), event), { maxLength: 6 }), async (events) => {
      let refused: readonly string[] = [];
      const jobsOf = (symbols: number, contracts: number) => [
        jobOf({ name: "list", symbols: symbolsNamed(symbols + 1), options: contractsOf(contracts) }),
        jobOf({ name: "other", symbols: symbolsNamed(90, "T"), options: contractsOf(10), account: "third" }),
      ];
      const world = startFleet({
        jobs: jobsOf(300, 30),
        respond: ({ planned, account }) =>
          refused.includes(account) ? failure("unauthorized") : quotesFor(planned),
      });
      let present: readonly string[] = NAMES;
      for (const [afterMs, happens] of events) {
        await world.pass(afterMs);
        if (happens.kind === "drain") world.shares.drain(happens.names);
        else if (happens.kind === "refuse") refused = happens.names;
        else if (happens.kind === "stall") world.stall(happens.ms);
        else if (happens.kind === "accounts") {
          const { stay, anew } = happens;
          const come = stay.filter((name) => !present.includes(name) || anew.includes(name));
          const gone = present.filter((name) => !stay.includes(name) || anew.includes(name));
          void world.collector.replaceAccounts(gone, come.map(world.account));
          present = stay;
        } else
          world.collector.replaceJobs(
            jobsOf(happens.symbols, happens.contracts),
            alwaysOpen,
            createCalendar(),
          );
      }
      await world.pass(90_000);
      await world.end(0);
      expectRecounted(world);
    }),
    { numRuns: runs(12) },
  );
});
