/** Chains: contracts around the last price, anew each session, until they expire. */
import { expect, test } from "@jest/globals";
import { ChainBook } from "../../src/collect/chainBook.ts";
import { dueOn } from "../../src/collect/dayPlan.ts";
import type { Job } from "../../src/schedule/readJobs.ts";
import { alwaysOpen, createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { addsUp, entriesOf, entryAt, jobOf, quotesFor, reasonsOf, startWorld, type World } from "./world.ts";

type Chain = Job["chains"][number];

function chain(fields: Partial<Chain> = {}): Chain {
  return {
    underlying: "AAPL",
    expirations: ["2026-12-18"],
    strikes: { around: "last", percent: "5", step: "5" },
    types: ["CALL"],
    ...fields,
  };
}

/** The strikes asked for between two instants, ascending. */
function strikesAsked(world: World, from: string, to: string): number[] {
  const calls = world.calls.filter(({ sentAt }) => sentAt >= Date.parse(from) && sentAt < Date.parse(to));
  const strikes = calls.flatMap(({ planned: { call } }) =>
    call.form === "option" ? [call.contract.strike] : [],
  );
  return [...new Set(strikes)].map(Number).sort((a, b) => a - b);
}

const priced =
  (prices: (sentAt: number) => string) =>
  ({ planned, sentAt }: World["calls"][number]) =>
    quotesFor(planned, { last: { AAPL: prices(sentAt) } });

test("the underlying's price is asked first, then its contracts in the same slot", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "chain", chains: [chain()] })],
    respond: priced(() => "230.00"),
  });

  await world.until("2026-11-20T14:30:30Z");

  expect(world.calls.map(({ names }) => names[0])).toEqual([
    "AAPL",
    ...["220", "225", "230", "235", "240"].map((strike) => `AAPL:2026-12-18:CALL:${strike}`),
  ]);
  expect(entryAt(world.notes, "14:30")).toMatchObject({ misses: [] });
  expect(entryAt(world.notes, "14:30")?.due).toHaveLength(5);
});

test("strikes stay through the session however the price moves and whatever is reloaded, and move at 16:00", async () => {
  const job = jobOf({ name: "chain", symbols: ["AAPL"], chains: [chain()], schedule: "*/10 * * * *" });
  const moved = Date.parse("2026-11-20T20:00:00Z");
  const world = startWorld({
    start: "2026-11-20T19:40:00Z",
    jobs: [job],
    respond: priced((sentAt) => (sentAt < moved ? "230.00" : "300.00")),
  });
  await world.until("2026-11-20T20:15:00Z");

  // The exchange's clocks show 15:15: job files are read anew, every chain is another object.
  world.collector.replaceJobs([structuredClone(job)], alwaysOpen, createCalendar());
  await world.until("2026-11-20T21:31:00Z");

  expect(strikesAsked(world, "2026-11-20T19:40:00Z", "2026-11-20T21:00:00Z")).toEqual([
    220, 225, 230, 235, 240,
  ]);
  expect(strikesAsked(world, "2026-11-20T21:00:00Z", "2026-11-20T21:31:00Z")).toEqual([
    285, 290, 295, 300, 305, 310, 315,
  ]);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("a chain that waits for its price goes on waiting when job files are reloaded", async () => {
  const job = jobOf({ name: "chain", chains: [chain()] });
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [job],
    respond: priced(() => "230.00"),
    latencyMs: () => 5_000,
  });
  await world.until("2026-11-20T14:30:02Z");

  world.collector.replaceJobs([structuredClone(job)], alwaysOpen, createCalendar());
  await world.until("2026-11-20T14:30:20Z");

  expect(entryAt(world.notes, "14:30")).toMatchObject({ misses: [] });
  expect(entryAt(world.notes, "14:30")?.due).toHaveLength(5);
});

test("a chain whose underlying is unknown is missed for that reason, and rests with it", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "chain", chains: [chain({ underlying: "XYZZY" })] })],
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY"] }),
  });

  await world.until("2026-11-20T14:33:30Z");

  expect(world.calls).toHaveLength(2);
  expect(entriesOf(world.notes).map((entry) => [entry.due, reasonsOf(entry)])).toEqual(
    Array(4).fill([["chain of XYZZY"], { unknown_symbol: 1 }]),
  );
});

test("a chain of two jobs whose underlying is unknown is missed for that reason at the slot of each", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: ["one", "two"].map((name) => jobOf({ name, chains: [chain({ underlying: "XYZZY" })] })),
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY"] }),
  });

  await world.until("2026-11-20T14:30:30Z");

  const told = ["one", "two"].map((job) => entriesOf(world.notes, job).map(reasonsOf));
  expect(told).toEqual([[{ unknown_symbol: 1 }], [{ unknown_symbol: 1 }]]);
});

test("a price of 0 is no price: the chain is missed, and expanded as soon as there is one", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "chain", chains: [chain()] })],
    respond: priced((sentAt) => (sentAt < Date.parse("2026-11-20T14:31:00Z") ? "0.00" : "230.00")),
  });

  await world.until("2026-11-20T14:31:30Z");

  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ absent_from_answer: 1 });
  expect(entryAt(world.notes, "14:31")?.due).toHaveLength(5);
});

test("a chain whose price is still under way when its slot ends is missed as overrun: no answer was without it", async () => {
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "chain", chains: [chain()] })],
    respond: priced(() => "230.00"),
    latencyMs: (call) => (call === 0 ? 61_000 : 50),
  });

  await world.until("2026-11-20T14:31:30Z");

  expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ overrun: 1 });
  expect(entryAt(world.notes, "14:31")?.due).toHaveLength(5);
});

test("a chain that stands for too many contracts is missed and said once, and costs no other job its slot", async () => {
  const wide = chain({ strikes: { around: "last", percent: "100", step: "0.01" } });
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "wide", chains: [wide] }), jobOf({ name: "list", symbols: ["GE"] })],
    respond: priced(() => "230.00"),
  });

  await world.until("2026-11-20T14:32:30Z");

  expect(entriesOf(world.notes, "wide").map(reasonsOf)).toEqual(Array(3).fill({ malformed: 1 }));
  expect(entriesOf(world.notes, "list").map(({ misses }) => misses)).toEqual([[], [], []]);
  expect(world.logged.filter(({ message }) => message.startsWith("CHAIN_INVALID"))).toHaveLength(1);
});

test("a contract that a job names, and one of its chains as well, is due once, asked once and missed once", async () => {
  const contract = {
    underlying: "AAPL",
    expiration: "2026-12-18",
    optionType: "CALL",
    strike: "110",
  } as const;
  const world = startWorld({
    start: "2026-11-20T14:30:00Z",
    jobs: [jobOf({ name: "twice", options: [contract], chains: [chain({ strikes: ["110", "120"] })] })],
  });
  await world.until("2026-11-20T14:30:30Z");

  world.sleepMachine(2 * 60_000);
  await world.pass(1_000);

  const due = ["AAPL:2026-12-18:CALL:110", "AAPL:2026-12-18:CALL:120"];
  expect(world.calls.slice(0, 2).map(({ names }) => names[0])).toEqual(due);
  expect(entryAt(world.notes, "14:30")).toMatchObject({ due, misses: [] });
  expect(entryAt(world.notes, "14:31")).toMatchObject({ due, misses: due.map((name) => [name, "down"]) });
  expect(world.collector.status().missed).toBe(2);
});

test("contracts are asked until 16:00 New York on the day they expire, a Saturday included, and not after it", async () => {
  // Until 2015 monthly options expired on the Saturday after the third Friday: 20 December 2014.
  const world = startWorld({
    start: "2014-12-19T14:30:00Z",
    jobs: [
      jobOf({
        name: "chain",
        schedule: "0 * * * *",
        chains: [
          chain({ expirations: ["2014-12-20"], strikes: ["110"] }),
          chain({ expirations: ["2015-01-17"], strikes: ["120"] }),
        ],
      }),
    ],
  });

  await world.until("2014-12-21T03:00:00Z");

  expect(strikesAsked(world, "2014-12-20T20:00:00Z", "2014-12-20T20:59:00Z")).toEqual([110, 120]);
  expect(strikesAsked(world, "2014-12-20T21:00:00Z", "2014-12-21T03:00:00Z")).toEqual([120]);
});

test("contracts that expire on a half day are asked until its close, at whatever hours the job polls", async () => {
  const world = startWorld({
    start: "2026-11-27T16:00:00Z",
    jobs: [
      jobOf({
        name: "chain",
        schedule: "*/30 * * * *",
        chains: [
          chain({ expirations: ["2026-11-27"], strikes: ["110"] }),
          chain({ expirations: ["2026-12-18"], strikes: ["120"] }),
        ],
      }),
    ],
  });

  await world.until("2026-11-27T21:00:00Z");

  expect(strikesAsked(world, "2026-11-27T17:30:00Z", "2026-11-27T18:00:00Z")).toEqual([110, 120]);
  expect(strikesAsked(world, "2026-11-27T18:00:00Z", "2026-11-27T21:00:00Z")).toEqual([120]);
});

test("the plan of a half day counts contracts that expire on it until its close", () => {
  const nyse = createCalendar();
  const job = jobOf({
    ...{ name: "chain", schedule: "30 12,13 * * *" },
    chains: [chain({ expirations: ["2026-11-27", "2026-12-18"], strikes: ["110"] })],
  });

  const due = dueOn(job, "2026-11-27", { calendar: nyse, chains: new ChainBook(nyse, () => undefined) });

  expect(due.map(({ slotAt, contracts }) => [slotAt.slice(11, 16), contracts.length])).toEqual([
    ["17:30", 2],
    ["18:30", 1],
  ]);
});
