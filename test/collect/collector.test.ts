/** What the collector asks, when and in what order, and that every slot comes to an end. */
import { expect, test } from "@jest/globals";
import { CONCURRENCY } from "../../src/collect/dispatcher.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { security } from "../../src/market/instrument.ts";
import { type ReadItem, unknownQuote } from "../../src/quotes/document.ts";
import { SLOT_ENDS } from "../support/slotEnds.ts";
import { contractsOf } from "./due.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  merged,
  mostInWindow,
  quotesFor,
  reasonsOf,
  startWorld,
} from "./world.ts";

const START = "2026-11-20T14:30:00Z";

test("jobs of one minute and of five share the calls of the minutes in which both are due", async () => {
  const jobs = [
    jobOf({ name: "minutely", symbols: ["AAPL", "GE"] }),
    jobOf({ name: "seldom", symbols: ["AAPL", "KO"], schedule: "*/5 * * * *" }),
  ];
  const world = startWorld({ start: "2026-11-20T14:32:10Z", jobs });

  await world.until("2026-11-20T14:35:30Z");

  // At the start the slot of 14:32 and that of 14:30 still last: one call serves both.
  expect(world.calls.map(({ names }) => names.join())).toEqual([
    "AAPL,GE,KO",
    "AAPL,GE",
    "AAPL,GE",
    "AAPL,GE,KO",
  ]);
  expect(entriesOf(world.notes, "seldom").map(({ slotAt }) => slotAt.slice(11, 16))).toEqual([
    "14:30",
    "14:35",
  ]);
});

test("a more urgent call that comes later leaves before those that wait for the budget", async () => {
  const jobs = [
    jobOf({ name: "many", options: contractsOf(10, "AAA"), schedule: "*/5 * * * *" }),
    jobOf({ name: "urgent", options: contractsOf(1, "ZZZ"), priority: 5, schedule: "1-59/5 * * * *" }),
  ];
  const world = startWorld({
    start: "2026-11-20T14:29:59Z",
    jobs,
    governor: { limit: 6, windowMs: 60_000 },
  });

  await world.until("2026-11-20T14:32:00Z");

  const sent = world.calls.filter(({ sentAt }) => sentAt >= Date.parse("2026-11-20T14:31:00Z"));
  expect(sent[0]?.names).toEqual(["ZZZ:2026-12-18:CALL:1"]);
  expect(sent.slice(1).every(({ names }) => names[0]?.startsWith("AAA"))).toBe(true);
});

test("when the budget is short, every contract has its turn: the one unseen for longest is next", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(25) })];
  const world = startWorld({ start: START, jobs, governor: { limit: 10, windowMs: 60_000 } });

  await world.until("2026-11-20T14:34:00Z");

  const asked = new Map<string, number>();
  for (const { names } of world.calls) asked.set(names[0] ?? "", (asked.get(names[0] ?? "") ?? 0) + 1);
  expect(asked.size).toBe(25);
  expect(Math.max(...asked.values()) - Math.min(...asked.values())).toBeLessThanOrEqual(1);
});

test("what the budget did not reach before the next slot is missed for that reason, and never queued behind", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(25) })];
  const world = startWorld({ start: START, jobs, governor: { limit: 10, windowMs: 60_000 } });

  await world.until("2026-11-20T14:33:30Z");

  const entries = entriesOf(world.notes);
  expect(entries.map(({ slotAt }) => slotAt.slice(11, 16))).toEqual(["14:30", "14:31", "14:32"]);
  expect(entries.every((entry) => entry.due.length === 25 && (reasonsOf(entry).budget ?? 0) >= 15)).toBe(
    true,
  );
  expect(addsUp(entries)).toBe(true);
  expect(world.collector.status().queued).toBeLessThanOrEqual(25);
});

test.each(SLOT_ENDS)(
  "a slot counts what is asked for before its end, and nothing from its end on: $name",
  async (slot) => {
    const jobs = [jobOf({ ...slot, name: "list", symbols: ["GE"] })];
    const endMs = Date.parse(slot.endsAt);
    const storedFor = async (startMs: number): Promise<boolean> => {
      const start = new Date(startMs).toISOString();
      const world = startWorld({ start, jobs, calendar: createCalendar() });
      await world.until(startMs + 500);
      const entry = entriesOf(world.notes).find(
        ({ slotAt }) => Date.parse(slotAt) === Date.parse(slot.slotAt),
      );
      await world.end(0);
      return entry?.misses.length === 0;
    };

    expect([await storedFor(endMs - 1), await storedFor(endMs)]).toEqual([true, false]);
  },
);

test("a slot that began before the program: what no longer fits in is down, and the next slot is whole", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(50) })];
  const world = startWorld({ start: "2026-11-20T14:30:46Z", jobs });

  await world.until("2026-11-20T14:31:59Z");

  const [first, next] = entriesOf(world.notes);
  expect(first).toMatchObject({ slotAt: "2026-11-20T14:30:00.000000Z" });
  expect(Object.keys(reasonsOf(first))).toEqual(["down"]);
  expect(first?.misses.length).toBeLessThan(25);
  expect(next).toMatchObject({ slotAt: "2026-11-20T14:31:00.000000Z", misses: [] });
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("what no longer fits in after the machine slept through most of the slot is down", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(50) })];
  const world = startWorld({ start: START, jobs });
  await world.until("2026-11-20T14:30:05Z");

  world.sleepMachine(45_000);
  await world.until("2026-11-20T14:31:05Z");
  world.sleepMachine(3 * 60_000 + 45_000);
  await world.until("2026-11-20T14:36:59Z");

  const reasons = ["14:30", "14:34", "14:35"].map((time) => reasonsOf(entryAt(world.notes, time)));
  expect(reasons).toEqual([{ down: expect.any(Number) }, { down: expect.any(Number) }, {}]);
});

test("what does not fit into a slot that lost less than a sixtieth of its time is missed for the budget", async () => {
  const jobs = [jobOf({ name: "options", schedule: "*/5 * * * *", options: contractsOf(60) })];
  const world = startWorld({
    ...{ start: "2026-11-20T14:30:03Z", jobs },
    governor: { limit: 10, windowMs: 60_000 },
  });

  await world.until("2026-11-20T14:35:30Z");

  expect(Object.keys(reasonsOf(entryAt(world.notes, "14:30")))).toEqual(["budget"]);
});

test("what the calls before it held up is missed as overrun, and calls under way may still end as stored", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(10) })];
  const world = startWorld({ start: START, jobs, latencyMs: () => 61_500 });

  await world.until("2026-11-20T14:31:02Z");

  const entry = entryAt(world.notes, "14:30");
  expect(reasonsOf(entry)).toEqual({ overrun: 10 - CONCURRENCY });
  expect(entry?.due).toHaveLength(10);
});

test("what waits when the session closes is missed as closed, though the next slot is a day away", async () => {
  const exchange = createCalendar();
  const jobs = [
    jobOf({ name: "close", session: "regular", schedule: "59 15 * * *", options: contractsOf(20) }),
  ];
  const world = startWorld({
    ...{ start: "2026-11-20T20:58:30Z", jobs, calendar: exchange },
    governor: { limit: 10, windowMs: 60_000 },
  });

  await world.until("2026-11-20T21:00:02Z");

  const entry = entryAt(world.notes, "20:59");
  expect(entry?.due).toHaveLength(20);
  expect(reasonsOf(entry).closed).toBeGreaterThanOrEqual(10);
  expect(world.calls.every(({ sentAt }) => sentAt < Date.parse("2026-11-20T21:00:00Z"))).toBe(true);
});

test("what may leave at the very instant at which its slot is over does not leave, and is missed", async () => {
  const openedAt = "2026-11-20T20:55:00Z";
  const world = startWorld({
    start: openedAt,
    jobs: [jobOf({ name: "close", session: "regular", schedule: "55 15 * * *", options: contractsOf(2) })],
    calendar: createCalendar(),
    latencyMs: () => 1_000,
    respond: () => failure("quota_fault"),
    // Until 21:00:00.000, which is when the session closes.
    headers: () => ({ "retry-after": "299" }),
  });

  await world.until("2026-11-20T21:00:30Z");

  expect(world.calls.map(({ sentAt }) => sentAt)).toEqual(Array(2).fill(Date.parse(openedAt)));
  expect(reasonsOf(entryAt(world.notes, "20:55"))).toEqual({ refused: 2 });
});

test("an answer that was asked for at the very instant at which the slot was over is not stored there", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE"] })],
    signedAfterMs: (call) => (call === 0 ? 60_000 : 0),
  });

  await world.until("2026-11-20T14:31:30Z");

  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ overrun: 1 });
  expect(entryAt(world.notes, "14:31")?.misses).toEqual([]);
});

test("a slot is missed when it ends, also when nothing has come since an earlier slot of another job ended", async () => {
  const world = startWorld({
    start: START,
    jobs: [
      jobOf({ name: "first", symbols: ["A"], schedule: "30,31 9 * * *" }),
      jobOf({ name: "second", options: contractsOf(1), schedule: "30,32 9 * * *" }),
    ],
    respond: () => failure("quota_fault"),
    headers: () => ({ "retry-after": "900" }),
  });

  await world.until("2026-11-20T14:32:30Z");

  expect(reasonsOf(entryAt(world.notes, "14:30", "first"))).toEqual({ refused: 1 });
  expect(reasonsOf(entryAt(world.notes, "14:30", "second"))).toEqual({ refused: 1 });
});

test("a patient job's polls wait on when an urgent job's slot, which shared their call, is over", async () => {
  const jobs = [
    jobOf({ name: "minutely", symbols: ["AAPL", "GE"] }),
    jobOf({ name: "seldom", symbols: ["AAPL", "KO"], schedule: "*/5 * * * *" }),
  ];
  const world = startWorld({
    start: START,
    jobs,
    respond: ({ planned, sentAt }) =>
      sentAt < Date.parse("2026-11-20T14:30:30Z") ? failure("quota_fault") : quotesFor(planned),
  });

  await world.until("2026-11-20T14:31:30Z");

  expect(reasonsOf(entryAt(world.notes, "14:30", "minutely"))).toEqual({ refused: 2 });
  expect(entryAt(world.notes, "14:30", "seldom")).toMatchObject({ due: ["AAPL", "KO"], misses: [] });
});

test.each([
  ["an answer that is not authorized", failure("unauthorized"), "unauthorized"],
  ["an answer that cannot be read", failure("malformed"), "malformed"],
  ["a 400", failure("refused"), "refused"],
  ["a 5xx that stays", failure("server_error"), "transport"],
  ["a 414 for a single symbol", failure("too_long"), "refused"],
] as const)(
  "%s ends the slots of symbols, watchlists, options and chains",
  async (_title, answer, reason) => {
    const jobs = [
      jobOf({ name: "list", symbols: ["GE", "KO"] }),
      jobOf({ name: "watched", watchlist: "DEFAULT" }),
      jobOf({ name: "options", options: contractsOf(1) }),
      jobOf({ name: "chains", chains: [aaplChain] }),
    ];
    const world = startWorld({ start: START, jobs, respond: () => answer });

    await world.until("2026-11-20T14:31:00.100Z");

    const entries = entriesOf(world.notes).filter(({ slotAt }) => slotAt.includes("T14:30"));
    expect(entries.map(({ job }) => job).sort()).toEqual(["chains", "list", "options", "watched"]);
    expect(entries.map((entry) => reasonsOf(entry)[reason])).toEqual(entries.map(({ due }) => due.length));
  },
);

test("a service that refuses every call, by a Date an hour off, is asked once more in a slot and no more", async () => {
  const date = new Date(Date.parse(START) + 3_600_000).toUTCString();
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE"] })],
    respond: () => failure("unauthorized"),
    headers: () => ({ date }),
  });

  await world.until("2026-11-20T14:30:59Z");

  expect(world.calls).toHaveLength(2);
  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ unauthorized: 1 });
});

test.each([
  ["that an answer lacks", [], "absent_from_answer"],
  ["whose item cannot be read", [unreadable("IBM")], "malformed"],
] as const)(
  "a symbol %s is missed as such, and the one beside it is stored",
  async (_what, items, reason) => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: ["GE", "IBM"] })],
      respond: ({ planned }) => {
        const answer = quotesFor(planned, { absent: ["IBM"] });
        if (answer.outcome === "quotes") answer.document.items.push(...items);
        return answer;
      },
    });

    await world.until("2026-11-20T14:30:30Z");

    expect(entryAt(world.notes, "14:30")?.misses).toEqual([["IBM", reason]]);
  },
);

test.each([
  ["items that cannot be read", [unreadable("GE"), unreadable(null)], { malformed: 1 }],
  ["unknown symbols", [unknown("GE")], { absent_from_answer: 1 }],
  ["unknown symbols and items that cannot be read", [unknown("GE"), unreadable("KO")], { malformed: 1 }],
  ["nothing", [], { absent_from_answer: 1 }],
])("a watchlist whose answer holds %s alone is missed", async (_what, items, reasons) => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "watched", watchlist: "DEFAULT" })],
    respond: () => ({ outcome: "quotes", document: { id: "r", error: null, hasQuotes: true, items } }),
  });

  await world.until("2026-11-20T14:30:30Z");

  expect(entryAt(world.notes, "14:30")?.due).toEqual(["watchlist DEFAULT"]);
  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual(reasons);
});

test.each([
  ["reaches to its very end", 59_000],
  ["reaches beyond it", 59_500],
])("a call that fails when the wait %s is missed at once", async (_when, failsAfterMs) => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE"] })],
    // Without jitter: the wait is one second.
    clockOf: ({ clock }) => ({ ...clock, random: (length) => new Uint8Array(length) }),
    latencyMs: () => failsAfterMs,
    respond: () => {
      throw new QuotekeeperError("SERVICE_UNREACHABLE", "as the test wants it");
    },
  });

  await world.until(Date.parse(START) + failsAfterMs + 1);

  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ transport: 1 });
});

test("a call that no answer comes to is made three times, then missed as transport; one that cannot be kept, as down", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE"] }), jobOf({ name: "options", options: contractsOf(1) })],
    respond: ({ planned }) => {
      const isList = planned.call.form === "symbols";
      throw new QuotekeeperError(isList ? "SERVICE_UNREACHABLE" : "JOURNAL_FULL", "as the test wants it");
    },
  });

  await world.until("2026-11-20T14:30:50Z");

  expect(world.calls.filter(({ names }) => names[0] === "GE")).toHaveLength(3);
  expect(reasonsOf(entryAt(world.notes, "14:30", "list"))).toEqual({ transport: 1 });
  expect(reasonsOf(entryAt(world.notes, "14:30", "options"))).toEqual({ down: 1 });
});

test("calls that wait to be made again do not hold up the others", async () => {
  const world = startWorld({
    start: START,
    jobs: [
      jobOf({ name: "bad", options: contractsOf(CONCURRENCY, "BAD"), priority: 5 }),
      jobOf({ name: "good", options: contractsOf(1, "GOOD") }),
    ],
    respond: ({ planned, names }) => {
      if (names[0]?.startsWith("BAD")) throw new QuotekeeperError("SERVICE_UNREACHABLE", "refused");
      return quotesFor(planned);
    },
  });

  await world.until("2026-11-20T14:30:01Z");

  expect(entryAt(world.notes, "14:30", "good")).toMatchObject({ misses: [] });
});

test("what is open when the program ends is down, what was under way is still stored", async () => {
  const jobs = [jobOf({ name: "options", options: contractsOf(30) })];
  const world = startWorld({
    start: START,
    jobs,
    governor: { limit: 10, windowMs: 60_000 },
    latencyMs: () => 900,
  });
  await world.until("2026-11-20T14:30:01.500Z");
  const sent = world.calls.length;

  const closed = world.collector.close(1_500);
  await world.pass(1_500);
  await closed;

  const entry = entryAt(world.notes, "14:30");
  expect(entry?.due).toHaveLength(30);
  expect(reasonsOf(entry)).toEqual({ down: 30 - sent });
  expect(world.calls).toHaveLength(sent);
});

test("a slot that began before the end is in the ledger, though its tick had not come", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:59.900Z",
    jobs: [jobOf({ name: "job", symbols: ["A"] })],
  });
  await world.pass(50);
  // Into the next slot: the process was busy.
  world.stall(60);

  await world.end(1_000);

  expect(entryAt(world.notes, "14:31")).toMatchObject({ due: ["A"] });
});

test("a slot that begins while the last calls are under way is in the ledger, with what they asked for within it", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:59.900Z",
    jobs: [jobOf({ name: "job", symbols: ["A"] })],
    signedAfterMs: () => 300,
  });
  await world.pass(50);

  await world.end(1_000);

  expect(world.calls.map(({ askedMs }) => askedMs)).toEqual([Date.parse("2026-11-20T14:31:00.200Z")]);
  expect(entryAt(world.notes, "14:31")).toMatchObject({ due: ["A"], misses: [] });
  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ overrun: 1 });
});

test("a refused call is not made again while the program ends", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE"] })],
    respond: () => failure("server_error"),
    latencyMs: () => 500,
  });
  await world.until("2026-11-20T14:30:00.300Z");

  const closed = world.collector.close(10_000);
  await world.pass(10_000);
  await closed;

  expect(world.calls).toHaveLength(1);
  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ down: 1 });
});

test("a call that left within its slot, and was asked for behind its end, counts as stored only at a slot that still lasts", async () => {
  const world = startWorld({
    start: START,
    jobs: [
      jobOf({ name: "minutely", symbols: ["GE"] }),
      jobOf({ name: "hourly", symbols: ["GE", "KO"], schedule: "30 * * * *" }),
    ],
    signedAfterMs: (call) => (call === 0 ? 61_000 : 0),
  });

  await world.until("2026-11-20T14:32:30Z");

  const at = (time: string, job: string) => reasonsOf(entryAt(world.notes, time, job));
  expect(at("14:30", "minutely")).toEqual({ overrun: 1 });
  expect(entryAt(world.notes, "14:31", "minutely")?.misses).toEqual([]);
  expect(entryAt(world.notes, "14:30", "hourly")?.misses).toEqual([]);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("what was asked for within a slot is stored there, though the process was busy until that slot was over", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00.900Z",
    jobs: [jobOf({ name: "job", symbols: ["A"], schedule: "* * * * * *" })],
    signedAfterMs: (call) => (call === 0 ? 60 : 0),
  });
  await world.pass(50);
  // Into the next slot, where the call is asked for before its tick comes, and past that slot.
  world.stall(60);
  await world.pass(15);
  world.stall(1_500);

  await world.until("2026-11-20T14:30:04.500Z");

  expect(world.calls[0]?.askedMs).toBe(Date.parse("2026-11-20T14:30:01.020Z"));
  const entries = merged(entriesOf(world.notes));
  expect(entries.find(({ slotAt }) => slotAt.includes("14:30:01"))).toMatchObject({ due: ["A"], misses: [] });
  expect(addsUp(entries)).toBe(true);
});

test("a change of job files loses neither a slot nor what is queued, and the new job begins at its next slot", async () => {
  const old = jobOf({ name: "old", options: contractsOf(12, "OLD") });
  const world = startWorld({ start: START, jobs: [old], governor: { limit: 10, windowMs: 60_000 } });
  await world.until("2026-11-20T14:30:30Z");

  const added = jobOf({ name: "new", symbols: ["GE"], priority: 9, schedule: "*/20 * * * * *" });
  world.collector.replaceJobs([old, added], alwaysOpen, createCalendar());
  await world.until("2026-11-20T14:32:05Z");

  expect(entriesOf(world.notes, "old").map(({ slotAt }) => slotAt.slice(11, 16))).toEqual(["14:30", "14:31"]);
  expect(entriesOf(world.notes, "new").map(({ slotAt }) => slotAt.slice(11, 19))).toEqual([
    ...["14:30:40", "14:31:00", "14:31:20", "14:31:40", "14:32:00"],
  ]);
  expect(world.calls.filter(({ names }) => names[0]?.startsWith("OLD")).length).toBeGreaterThan(10);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(10);
});

test("the slot of a job that is removed comes to its end, its chains without a price as well", async () => {
  const jobs = [jobOf({ name: "gone", chains: [aaplChain], options: contractsOf(1, "GE") })];
  const world = startWorld({
    start: START,
    jobs,
    respond: ({ planned }) => quotesFor(planned, { last: { AAPL: "0.00" } }),
  });
  await world.until("2026-11-20T14:30:10Z");

  world.collector.replaceJobs([jobOf({ name: "other", symbols: ["KO"] })], alwaysOpen, createCalendar());
  await world.until("2026-11-20T14:31:10Z");

  expect(entryAt(world.notes, "14:30", "gone")).toMatchObject({
    due: ["GE:2026-12-18:CALL:1", "chain of AAPL"],
    misses: [["chain of AAPL", "absent_from_answer"]],
  });
});

/** An item of an answer that cannot be read. */
function unreadable(symbol: string | null): ReadItem {
  return { ok: false, symbol, isOption: false, problem: "as the test wants it", fragment: "" };
}

function unknown(symbol: string): ReadItem {
  return { ok: true, item: unknownQuote(security(symbol)), oddFields: [], fragment: "" };
}

const aaplChain = {
  underlying: "AAPL",
  expirations: ["2026-12-18"],
  strikes: { around: "last" as const, percent: "5", step: "5" },
  types: ["CALL" as const],
};
