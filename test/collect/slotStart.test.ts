/** Thousands of instruments at a slot's start: what one turn of the event loop does of it, and what may come between two. */
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { contractsOf, symbolsNamed } from "./due.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  quotesFor,
  reasonsOf,
  startWorld,
  type World,
  type WorldOptions,
} from "./world.ts";

/** Instruments that a turn opens slots of until it ends, calls that a turn dispatches, and misses that a turn settles. */
const OPENED_AT_ONCE = 1_000;
const ADDED_AT_ONCE = 250;
const MISSED_AT_ONCE = 250;

const START = "2026-11-20T14:30:00Z";

/** Calls of one job, and how many jobs are due together. */
const CALLS = 300;
const JOBS = ["A", "B", "C", "D", "E"];
const jobs = JOBS.map((name) => jobOf({ name, options: contractsOf(CALLS, name) }));

afterEach(() => void jest.useRealTimers());

/** A world shortly before its second slot, of whose first one most waits. */
async function beforeSlot(options: Partial<WorldOptions> = {}): Promise<World> {
  const world = startWorld({ start: START, jobs, ...options });
  await world.until("2026-11-20T14:30:59.900Z");
  return world;
}

/** Into the next slot, as far as there is no other turn of the event loop. */
async function intoSlot(ms = 100): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets all turns of a slot's start pass: virtual time goes on without waiting for them. */
async function allTurns(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await nextTurn();
}

const openedAt = ({ notes }: World, time: string): string[] =>
  notes.flatMap((note) =>
    note.type === "opened" && note.slotAt.slice(11).startsWith(time) ? [note.job] : [],
  );

/** How many contracts of a slot are opened, and calls missed or waiting, by now. */
function countsOf(world: World): { opened: number; missed: number; queued: number } {
  return {
    opened: openedAt(world, "14:31").length * CALLS,
    missed: world.logged.filter(({ message }) => message.startsWith("missed")).length,
    queued: world.collector.status().queued,
  };
}

test("no turn of the event loop opens, misses or queues more than so much; nothing is queued before all is opened", async () => {
  const world = await beforeSlot();
  let before = countsOf(world);
  const waited = before.queued;

  await intoSlot();
  // What waited has left the queue at once; its misses are told of in pieces, by the tick and by the queue that awoke.
  before = { ...before, queued: 0 };
  const most = { opened: 0, missed: 0, queued: 0 };
  for (let turn = 0; turn < 40; turn++) {
    const now = countsOf(world);
    most.opened = Math.max(most.opened, now.opened - before.opened);
    most.missed = Math.max(most.missed, now.missed - before.missed);
    most.queued = Math.max(most.queued, now.queued - before.queued);
    if (now.opened > 0) expect(now.missed).toBe(waited);
    if (now.queued > 0) expect(now.opened).toBe(JOBS.length * CALLS);
    before = now;
    await nextTurn();
  }

  expect(before).toMatchObject({ opened: JOBS.length * CALLS, missed: waited });
  expect(before.queued).toBe(JOBS.length * CALLS);
  expect(most.opened).toBeLessThan(OPENED_AT_ONCE + CALLS);
  expect(most.missed).toBeLessThanOrEqual(2 * MISSED_AT_ONCE);
  expect(most.queued).toBeLessThanOrEqual(ADDED_AT_ONCE);
});

describe("between two turns of a slot's start", () => {
  const turns = [0, 1, 3, 5, 6, 8, 9, 11];
  /** Does something after so many turns, and lets time go on; every slot has one account that adds up. */
  const afterTurns = async (count: number, what: (world: World) => void): Promise<World> => {
    const world = await beforeSlot();
    await intoSlot();
    for (let turn = 0; turn < count; turn++) await nextTurn();
    what(world);
    return world;
  };

  test.each(turns)(
    "job files may change, after turn %d: the slots that have begun are the jobs' before",
    async (count) => {
      const world = await afterTurns(count, ({ collector }) =>
        collector.replaceJobs([jobOf({ name: "new", symbols: ["GE"] })], alwaysOpen, createCalendar()),
      );
      expect(openedAt(world, "14:31")).toEqual(JOBS);

      await world.until("2026-11-20T14:32:00.100Z");
      await allTurns();
      await world.until("2026-11-20T14:32:30Z");

      expect(openedAt(world, "14:32")).toEqual(["new"]);
      expect(entryAt(world.notes, "14:32", "new")).toMatchObject({ due: ["GE"], misses: [] });
      for (const job of JOBS) expect(entryAt(world.notes, "14:31", job)?.due).toHaveLength(CALLS);
      expect(addsUp(entriesOf(world.notes))).toBe(true);
    },
  );

  test.each(turns)(
    "the program may end, after turn %d: what was over has its reason, the rest is down",
    async (count) => {
      const world = await afterTurns(count, () => undefined);
      const asked = new Set(world.calls.map(({ planned }) => planned.slotAt));

      await world.end(0);

      expect(openedAt(world, "14:31")).toEqual(JOBS);
      expect(addsUp(entriesOf(world.notes))).toBe(true);
      for (const job of JOBS) {
        expect(Object.keys(reasonsOf(entryAt(world.notes, "14:30", job)))).not.toContain("down");
        expect(entryAt(world.notes, "14:31", job)?.due).toHaveLength(CALLS);
      }
      // After the end nothing leaves that was not under way.
      expect(new Set(world.calls.map(({ planned }) => planned.slotAt))).toEqual(asked);
    },
  );

  test.each(turns)("the clock may be set back, after turn %d: every slot has its account", async (count) => {
    const world = await afterTurns(count, ({ moveClock }) => moveClock(-90_000));

    await world.until("2026-11-20T14:32:30Z");
    await world.end(0);

    expect(openedAt(world, "14:31").slice(0, JOBS.length)).toEqual(JOBS);
    // The minutes from 14:29 on come again, or go on: none is lost, and none says more than was due.
    for (const time of ["14:29", "14:30", "14:31", "14:32"])
      for (const job of JOBS) expect(entryAt(world.notes, time, job)?.due).toHaveLength(CALLS);
    for (const { due, misses } of entriesOf(world.notes)) {
      expect(new Set(misses.map(([name]) => name)).size).toBe(misses.length);
      expect(misses.length).toBeLessThanOrEqual(due.length);
    }
  });

  test.each(turns)(
    "the next slot may come, after turn %d: both have their accounts, in order",
    async (count) => {
      const world = await afterTurns(count, () => undefined);

      // No turn of the event loop for a minute.
      world.stall(60_000);
      await world.until("2026-11-20T14:33:30Z");

      for (const time of ["14:30", "14:31", "14:32"])
        for (const job of JOBS) expect(entryAt(world.notes, time, job)?.due).toHaveLength(CALLS);
      expect(openedAt(world, "14:31")).toEqual(JOBS);
      expect(addsUp(entriesOf(world.notes))).toBe(true);
    },
  );
});

test("an answer that makes lists shorter, between two turns, does so for all that are planned: each symbol is asked once", async () => {
  const symbols = symbolsNamed(100 * (ADDED_AT_ONCE + 20));
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  const world = await beforeSlot({
    jobs: [jobOf({ name: "list", symbols })],
    governor: { limit: 100_000, windowMs: 60_000 },
    latencyMs: () => 20,
    respond: async (call) => {
      if (world.calls[0] !== call) return quotesFor(call.planned);
      await held;
      return failure("too_long");
    },
  });
  await intoSlot();
  while (world.collector.status().queued < ADDED_AT_ONCE) await nextTurn();

  answer();
  const before = world.calls.length;
  await world.until("2026-11-20T14:31:50Z");

  const asked = world.calls
    .slice(before - 6)
    .filter(({ planned }) => planned.slotAt?.startsWith("2026-11-20T14:31"));
  expect(asked.flatMap(({ names }) => names).sort()).toEqual([...symbols].sort());
  expect(entryAt(world.notes, "14:31", "list")).toMatchObject({ misses: [] });
});
