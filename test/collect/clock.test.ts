/** A machine whose clock is moved, that sleeps or is too busy: polling goes on, and every slot has its account. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import type { LedgerNote, SlotEntry } from "../../src/journal/ledger.ts";
import { contractsOf, MINUTE_MS, symbolsNamed } from "./due.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  quotesFor,
  reasonsOf,
  type SeenCall,
  startWorld,
  type World,
} from "./world.ts";
import { runs } from "../support/runs.ts";

const START = "2026-11-20T14:30:00Z";
const HOUR = 60 * MINUTE_MS;
const PAIR = [jobOf({ name: "pair", symbols: ["AAPL", "GE"] })];

/** By how much may be exceeded what a job's period allows: the watch looks each second. */
const WITHIN_MS = 2_000;

function stepsOf(
  notes: readonly LedgerNote[],
): Omit<Extract<LedgerNote, { type: "clock" }>, "type" | "at">[] {
  return notes.flatMap((note) => (note.type === "clock" ? [{ kind: note.kind, stepMs: note.stepMs }] : []));
}

/** What all accounts of a slot say together: what either of them has stored is stored. */
function merged(entries: readonly SlotEntry[]): Map<string, { due: Set<string>; missed: Set<string> }> {
  const slots = new Map<string, { due: Set<string>; stored: Set<string> }>();
  for (const { job, slotAt, due, misses } of entries) {
    const key = `${job} ${slotAt.slice(0, 19)}`;
    const slot = slots.get(key) ?? { due: new Set(), stored: new Set() };
    slots.set(key, slot);
    const missed = new Set(misses.map(([name]) => name));
    for (const name of due) {
      slot.due.add(name);
      if (!missed.has(name)) slot.stored.add(name);
    }
  }
  return new Map(
    [...slots].map(([key, { due, stored }]) => [
      key,
      { due, missed: new Set([...due].filter((name) => !stored.has(name))) },
    ]),
  );
}

/** Which minutes, by the wall clock, the service answered in, and which instruments: from its own log alone. */
function answeredMinutes(calls: readonly SeenCall[]): Map<string, Set<string>> {
  const minutes = new Map<string, Set<string>>();
  for (const { sentAt, answeredAt, names } of calls) {
    if (answeredAt === null) continue;
    const minute = new Date(Math.floor(sentAt / MINUTE_MS) * MINUTE_MS).toISOString().slice(0, 19);
    const known = minutes.get(minute) ?? new Set();
    names.forEach((name) => known.add(name));
    minutes.set(minute, known);
  }
  return minutes;
}

function longestPauseMs(calls: readonly SeenCall[], untilMs: number): number {
  const sent = [...calls.map(({ afterMs }) => afterMs), untilMs];
  return Math.max(...sent.slice(1).map((at, place) => at - (sent[place] ?? 0)));
}

/** Holds the ledger of a job of one slot a minute against the service's own log. */
function expectRecount({ calls, notes }: World, job: string): void {
  const answered = answeredMinutes(calls);
  for (const [key, { due, missed }] of merged(entriesOf(notes, job))) {
    const stored = [...due].filter((name) => !missed.has(name));
    const truly = answered.get(key.slice(job.length + 1)) ?? new Set();
    expect({ key, stored: stored.sort() }).toEqual({ key, stored: [...truly].sort() });
  }
}

function repeats(instants: readonly unknown[]): number {
  return instants.length - new Set(instants).size;
}

test.each([60_000, 90_000, HOUR])(
  "a wall clock set back by %d ms: a call leaves within two seconds, polling keeps its pace, and every slot has its account",
  async (backMs) => {
    const world = startWorld({ start: START, jobs: PAIR });
    await world.pass(10.5 * MINUTE_MS);

    world.moveClock(-backMs);
    const movedMs = world.clock.monotonicMs();
    await world.pass(70 * MINUTE_MS + 30_500);

    const next = world.calls.find(({ afterMs }) => afterMs >= movedMs);
    expect((next?.afterMs ?? Infinity) - movedMs).toBeLessThanOrEqual(WITHIN_MS);
    expect(longestPauseMs(world.calls, world.clock.monotonicMs())).toBeLessThanOrEqual(MINUTE_MS + WITHIN_MS);
    expect(stepsOf(world.notes)).toEqual([{ kind: "set_back", stepMs: -backMs }]);
    expectRecount(world, "pair");
    const slots = [...merged(entriesOf(world.notes)).values()];
    expect(slots.every(({ missed }) => missed.size === 0)).toBe(true);
    expect(slots.length).toBeGreaterThanOrEqual(80 - Math.ceil(backMs / MINUTE_MS));
    expect(repeats(world.calls.map(({ observedAt }) => observedAt))).toBe(0);
  },
);

test("a job of every ten seconds keeps its pace when the wall clock is set back by an hour", async () => {
  const jobs = [jobOf({ name: "often", symbols: ["AAPL"], schedule: "*/10 * * * * *" })];
  const world = startWorld({ start: START, jobs });
  await world.pass(95_000);

  world.moveClock(-HOUR);
  await world.pass(5 * MINUTE_MS);

  expect(longestPauseMs(world.calls, world.clock.monotonicMs())).toBeLessThanOrEqual(10_000 + WITHIN_MS);
  expect(entryAt(world.notes, "13:31:40")).toMatchObject({ due: ["AAPL"], misses: [] });
});

test("setting the wall clock back counts what had not left for slots that lie ahead now as down at once; what is under way still counts", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(150) })];
  const world = startWorld({ start: START, jobs, latencyMs: () => 3_000 });
  await world.pass(20_000);
  const left = world.calls.length;

  world.moveClock(-HOUR);
  await world.pass(5_000);

  const entry = entryAt(world.notes, "14:30");
  const sent = world.calls.filter(({ planned }) => planned.slotAt?.includes("T14:30"));
  expect(left).toBeGreaterThan(6);
  expect(reasonsOf(entry)).toEqual({ down: 150 - sent.length });
  expect(sent.some(({ answeredAt }) => (answeredAt ?? Infinity) < Date.parse(START))).toBe(true);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
  expect(world.calls.slice(left).length).toBeGreaterThan(0);
});

test("setting the wall clock back records at once what was refused and waits for the budget", async () => {
  const jobs = [jobOf({ name: "daily", options: contractsOf(3), schedule: "*/30 * * * *" })];
  const world = startWorld({ start: START, jobs, respond: () => failure("quota_fault") });
  await world.pass(5_000);

  world.moveClock(-48 * HOUR);
  await world.pass(2_000);

  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ down: 3 });
});

test.each([
  { first: "fails before the second is answered", firstMs: 25_000, secondMs: 10_000 },
  { first: "fails after the second is answered", firstMs: 25_000, secondMs: 200 },
])(
  "a slot that comes again by a clock set back, while its first call is under way, which $first, has one account, stored",
  async (its) => {
    const isFirst = ({ afterMs }: SeenCall): boolean => afterMs > 29_000 && afterMs < 31_000;
    const world = startWorld({
      ...{ start: "2026-11-20T14:30:30Z", jobs: [jobOf({ name: "one", symbols: ["AAPL"] })] },
      latencyMs: (call) => ({ 1: its.firstMs, 3: its.secondMs })[call] ?? 200,
      respond: (call) => (isFirst(call) ? failure("malformed") : quotesFor(call.planned)),
    });
    await world.until("2026-11-20T14:31:10Z");

    world.moveClock(-20_000);
    await world.until("2026-11-20T14:31:50Z");

    const accounts = entriesOf(world.notes).filter(({ slotAt }) => slotAt.includes("14:31"));
    expect(accounts).toEqual([
      { job: "one", slotAt: "2026-11-20T14:31:00.000000Z", due: ["AAPL"], misses: [] },
    ]);
  },
);

test("an unknown instrument rests no longer when the clock is set back, and no instrument is passed over for having been seen", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(25) })];
  const lost = "AAPL:2026-12-18:CALL:1";
  const world = startWorld({
    ...{ start: START, jobs, governor: { limit: 10, windowMs: MINUTE_MS } },
    respond: ({ planned }) => quotesFor(planned, { unknown: [lost] }),
  });
  await world.pass(5.5 * MINUTE_MS);
  const before = world.calls.length;

  world.moveClock(-HOUR);
  await world.pass(10 * MINUTE_MS);

  const asked = new Map<string, number>();
  for (const { names } of world.calls.slice(before)) {
    const [name = ""] = names;
    asked.set(name, (asked.get(name) ?? 0) + 1);
  }
  expect(asked.get(lost)).toBeGreaterThanOrEqual(1);
  asked.delete(lost);
  expect(asked.size).toBe(24);
  // What was answered in the second before anybody noticed may come once more.
  expect(Math.max(...asked.values()) - Math.min(...asked.values())).toBeLessThanOrEqual(2);
});

test("a symbol that makes its call fail is looked for no later when the clock is set back", async () => {
  const jobs = [jobOf({ name: "list", symbols: ["BAD", ...symbolsNamed(3)] })];
  let recovered = false;
  const world = startWorld({
    ...{ start: START, jobs },
    respond: ({ planned, names }) =>
      recovered && !names.includes("BAD") ? quotesFor(planned) : failure("malformed"),
  });
  await world.pass(30_000);
  recovered = true;

  world.moveClock(-HOUR);
  await world.pass(10 * MINUTE_MS);

  expect(reasonsOf(entryAt(world.notes, "13:39"))).toEqual({ malformed: 1 });
});

test("a service that refuses the timestamps of a clock set back is asked once more at once, by its own clock", async () => {
  let refused = 0;
  const world = startWorld({
    ...{ start: START, jobs: PAIR },
    respond: ({ planned, sentAt }) =>
      sentAt < Date.parse(START) && (refused += 1) === 1 ? failure("unauthorized") : quotesFor(planned),
    headers: ({ afterMs }) => ({ date: new Date(Date.parse(START) + afterMs).toUTCString() }),
  });
  await world.pass(2.5 * MINUTE_MS);

  world.moveClock(-HOUR);
  await world.pass(2 * MINUTE_MS);

  expect(refused).toBeGreaterThan(1);
  expect(reasonsOf(entryAt(world.notes, "13:32"))).toEqual({});
  expectRecount(world, "pair");
});

test("polling goes on when job files change before the collector notices that the clock was set back", async () => {
  const world = startWorld({ start: START, jobs: PAIR });
  await world.pass(2.5 * MINUTE_MS);

  world.moveClock(-HOUR);
  world.collector.replaceJobs(
    [jobOf({ name: "other", symbols: ["IBM"], schedule: "*/10 * * * * *" })],
    alwaysOpen,
    createCalendar(),
  );
  await world.pass(2 * MINUTE_MS);

  expect(stepsOf(world.notes)).toEqual([{ kind: "set_back", stepMs: -HOUR }]);
  expect(entryAt(world.notes, "13:33:00", "other")).toMatchObject({ misses: [] });
  // What became due before they came was the jobs' before.
  expect(entriesOf(world.notes, "other").every(({ misses }) => misses.length === 0)).toBe(true);
});

test.each([90_000, HOUR])(
  "a wall clock set forward by %d ms: the slots in between are down, and polling goes on within two seconds",
  async (onMs) => {
    const world = startWorld({ start: START, jobs: PAIR });
    await world.pass(2.5 * MINUTE_MS);

    world.moveClock(onMs);
    const movedMs = world.clock.monotonicMs();
    await world.pass(5 * MINUTE_MS);

    const next = world.calls.find(({ afterMs }) => afterMs >= movedMs);
    expect((next?.afterMs ?? Infinity) - movedMs).toBeLessThanOrEqual(WITHIN_MS);
    expect(stepsOf(world.notes)).toEqual([{ kind: "set_forward", stepMs: onMs }]);
    expectRecount(world, "pair");
    const slots = merged(entriesOf(world.notes));
    const down = [...slots.values()].filter(({ missed }) => missed.size === 2).length;
    expect(down).toBe(Math.floor((30_000 + onMs) / MINUTE_MS) - 1);
    const endMs = world.clock.now().getTime();
    for (let at = Date.parse(START); at < endMs - MINUTE_MS; at += MINUTE_MS)
      expect([...slots.keys()]).toContain(`pair ${new Date(at).toISOString().slice(0, 19)}`);
  },
);

test("what was signed before the clock was set forward, and refused, is asked once more at once, and only then", async () => {
  let refusals = 0;
  let revoked = false;
  const world = startWorld({
    ...{ start: START, jobs: PAIR },
    respond: ({ planned, sentAt }) =>
      revoked || (sentAt > Date.parse("2026-11-20T15:00:00Z") && (refusals += 1) === 1)
        ? failure("unauthorized")
        : quotesFor(planned),
  });
  await world.pass(2.5 * MINUTE_MS);
  world.moveClock(HOUR);
  await world.pass(2 * MINUTE_MS);
  revoked = true;
  const before = world.calls.length;
  await world.pass(5 * MINUTE_MS);

  expect(reasonsOf(entryAt(world.notes, "15:32"))).toEqual({});
  expect(world.calls.slice(before)).toHaveLength(5);
});

test("polling goes on when the clock is set forward by decades, as on a machine without a battery, and a year of slots is down", async () => {
  const jobs = [jobOf({ name: "hourly", symbols: ["AAPL"], schedule: "0 * * * *" })];
  const world = startWorld({ start: "1970-01-01T00:00:20Z", jobs });
  await world.pass(10_000);

  world.moveClock(Date.parse("2026-11-20T14:00:30Z") - world.clock.now().getTime());
  await world.pass(10_000);

  expect(world.calls).toHaveLength(2);
  const down = entriesOf(world.notes).filter((entry) => reasonsOf(entry).down === 1);
  expect(down).toHaveLength(400 * 24 - 1);
});

test("a busy machine, one that sleeps and a clock that is moved are told apart, in the log and in the ledger", async () => {
  const world = startWorld({ start: START, jobs: PAIR });
  await world.pass(30_000);

  world.stall(7_000);
  await world.pass(30_000);
  world.sleepMachine(HOUR);
  await world.pass(30_000);
  world.moveClock(-90_000);
  await world.pass(30_000);

  expect(stepsOf(world.notes)).toEqual([
    { kind: "stopped", stepMs: 7_000 },
    { kind: "slept", stepMs: HOUR },
    { kind: "set_back", stepMs: -90_000 },
  ]);
  expect(world.logged.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    "the program could not run: the machine was busy, or the program was stopped",
    "the machine slept",
    expect.stringContaining("the machine's clock was set back"),
  ]);
});

test("a step while nothing ran is told at the start", () => {
  const world = startWorld({ start: START, jobs: PAIR, away: { kind: "set_back", stepMs: -HOUR } });

  expect(world.notes[0]).toEqual({
    ...{ type: "clock", kind: "set_back", stepMs: -HOUR },
    at: "2026-11-20T14:30:00.000000Z",
  });
  expect(world.logged[0]).toMatchObject({ level: "warn" });
});

test("whatever happens to the clocks, polling keeps its pace, every slot has its account, and no observed_at repeats", async () => {
  const span = fc.integer({ min: 5, max: 600 });
  const moved = fc.oneof(
    fc.integer({ min: -2 * 3_600_000, max: -2_000 }),
    fc.integer({ min: 2_000, max: 2 * 3_600_000 }),
  );
  const event = fc.record({
    kind: fc.constantFrom("moveClock" as const, "moveClock" as const, "sleepMachine" as const),
    afterSeconds: span,
    afterMs: fc.integer({ min: 0, max: 999 }),
    ms: moved,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 5 }), async (events) => {
      const world = startWorld({ start: START, jobs: PAIR });
      /** The minutes that began while the clock ran, or that it was set past. */
      const begun = new Set<number>();
      const note = (fromMs: number, toMs: number): void => {
        for (let at = Math.floor(fromMs / MINUTE_MS) + 1; at * MINUTE_MS <= toMs; at++) begun.add(at);
      };
      const run = async (ms: number): Promise<void> => {
        const fromMs = world.clock.now().getTime();
        await world.pass(ms);
        note(fromMs, world.clock.now().getTime());
      };

      for (const { kind, afterSeconds, afterMs, ms } of events) {
        await run(afterSeconds * 1_000 + afterMs);
        const fromMs = world.clock.now().getTime();
        world[kind](kind === "sleepMachine" ? Math.abs(ms) : ms);
        note(fromMs, world.clock.now().getTime());
      }
      await run(90_000);
      // What is under way ends, and with it the slots before the present one.
      const present = Math.floor(world.clock.now().getTime() / MINUTE_MS);
      const pauseMs = longestPauseMs(world.calls, world.clock.monotonicMs());
      await world.end(1_000);

      expect(pauseMs).toBeLessThanOrEqual(MINUTE_MS + WITHIN_MS);
      expectRecount(world, "pair");
      const slots = merged(entriesOf(world.notes));
      const accounted = [...slots.keys()].map((key) => Date.parse(`${key.slice(5)}Z`) / MINUTE_MS);
      expect([...begun].filter((at) => at !== present && !accounted.includes(at))).toEqual([]);
      expect(repeats(world.calls.flatMap(({ observedAt }) => observedAt ?? []))).toBe(0);
    }),
    { numRuns: runs(6) },
  );
});

describe("a start", () => {
  const instants = [-1_000, -300, -20, -10, -5, -1, 0, 1, 300];
  const readings = [1, 2, 3, 4, 5, 6];

  test("a start at any instant polls the slot under way, though time passes while the ticks are being set up", async () => {
    for (const instant of instants)
      for (const slow of readings) {
        const world = startWorld({
          ...{ start: new Date(Date.parse(START) + instant).toISOString(), jobs: PAIR },
          // Looking at the clock for the nth time takes 12 ms.
          clockOf: (time) => {
            let looks = 0;
            const now = (): Date => {
              const at = time.clock.now();
              if ((looks += 1) === slow) time.stall(12);
              return at;
            };
            return { ...time.clock, now };
          },
        });

        await world.until("2026-11-20T14:30:03Z");

        const minute = answeredMinutes(world.calls).get("2026-11-20T14:30:00");
        expect({ instant, slow, asked: [...(minute ?? [])] }).toEqual({
          instant,
          slow,
          asked: ["AAPL", "GE"],
        });
        await world.end(0);
        expect(entryAt(world.notes, "14:30")).toMatchObject({ misses: [] });
      }
  });
});
