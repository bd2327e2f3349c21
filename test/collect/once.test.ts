/** One-off jobs beside the jobs of the files: when their calls leave, what the ledger says, and what they leave to the others. */
import { describe, expect, test } from "@jest/globals";
import type { OnceCalls } from "../../src/collect/once/onceCalls.ts";
import { EarlierRuns } from "../../src/collect/earlierRuns.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { describeCall, type QuoteCall } from "../../src/quotes/call.ts";
import type { ReadDocument } from "../../src/quotes/document.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { answerXml, optionXml } from "../support/xml.ts";
import { contractsOf } from "./due.ts";
import {
  entriesOf,
  failure,
  jobOf,
  mostInWindow,
  quotesFor,
  type SeenCall,
  startWorld,
  type World,
} from "./world.ts";

const START = "2026-11-20T14:30:00Z";

const symbols = (count: number): string[] =>
  Array.from({ length: count }, (_, place) => `ONE${String(place).padStart(4, "0")}`);

/** Asks for symbols once, by the only account. @returns the slot */
function askOnce(
  { collector, clock }: World,
  {
    priority = -1000,
    single = false,
    ...asked
  }: Partial<Pick<Parameters<OnceCalls["poll"]>[0], "symbols" | "options" | "chains">> & {
    priority?: number;
    single?: boolean;
  },
): { job: string; slotAt: string } {
  const slotAt = instantFromDate(new Date(clock.now().getTime() - 1));
  const job = { name: "once:test", delayed: false, priority, watchlist: null };
  collector.once.poll(
    { job, slotAt, symbols: [], options: [], chains: [], known: new Set(), ...asked },
    { single, accounts: ["default"], ownerOf: () => "default" },
  );
  return { job: "once:test", slotAt };
}

const ofOnce = ({ calls }: World) => calls.filter(({ planned }) => planned.jobs.includes("once:test"));
const ofOthers = ({ calls }: World) => calls.filter(({ planned }) => !planned.jobs.includes("once:test"));

test("one of the highest priority goes before a queue that needs every call, and together they keep within the limit", async () => {
  const world = startWorld({ start: START, jobs: [jobOf({ name: "all", options: contractsOf(200) })] });
  await world.pass(90_000);
  const askedAt = Date.now();

  askOnce(world, { priority: 1000, single: true, symbols: ["ONE"] });
  await world.pass(240_000);

  const [sent] = ofOnce(world);
  expect((sent?.sentAt ?? Infinity) - askedAt).toBeLessThan(3_000);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(60);
});

test("its slot stands under its own name, without an end, and its answers are stored at the open slots of others", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "some", symbols: ["IBM"] })],
    latencyMs: (call) => (call === 0 ? 40_000 : 200),
  });
  await world.pass(1_000);

  const slot = askOnce(world, { priority: 1000, symbols: ["IBM", "NOSUCH"] });
  await world.pass(2_000);

  const opened = world.notes.find((note) => note.type === "opened" && note.job === slot.job);
  expect(opened).toMatchObject({ ...slot, endsAt: null, due: ["IBM", "NOSUCH"] });
  expect(entriesOf(world.notes, slot.job)).toMatchObject([{ ...slot, due: ["IBM", "NOSUCH"], misses: [] }]);
  expect(entriesOf(world.notes, "some")).toMatchObject([{ due: ["IBM"], misses: [] }]);
  expect(world.collector.once.isOpen(slot)).toBe(false);
});

test("the expirations of a list in pages are known with its last page, and no chain is asked for by a part of them", async () => {
  const list = { form: "expirations" as const, underlying: "SPX", delayed: false };
  const document = (expirations: string[], nextPage?: string): ReadDocument => ({
    ...{ id: null, error: null, hasQuotes: true, items: [], expirations },
    ...(nextPage !== undefined && { nextPage }),
  });
  const chains = [
    { underlying: "SPX", expirations: "listed" as const, strikes: "all" as const, types: ["CALL" as const] },
  ];
  const askedAfter = async (...pages: (readonly [QuoteCall, ReadDocument])[]): Promise<string[]> => {
    const world = startWorld({ start: START, jobs: [] });
    for (const [call, page] of pages) world.collector.once.know(call, page, world.clock.now());
    askOnce(world, { chains });
    await world.pass(5_000);
    const asked = world.calls.map(({ planned }) => describeCall(planned.call));
    await world.end(0);
    return asked;
  };
  const first = [list, document(["2026-11-27"], "2")] as const;
  const last = [{ ...list, page: "2" }, document(["2026-12-18", "2026-11-27"])] as const;

  expect((await askedAfter(first))[0]).toBe("expirations of SPX");
  expect((await askedAfter(last))[0]).toBe("expirations of SPX");
  expect(await askedAfter(first, last)).toEqual(["chain SPX:2026-11-27", "chain SPX:2026-12-18"]);
});

test("what the service does not know is missed at its slot alone, and a later answer to others changes nothing of it", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "some", symbols: ["IBM"] })],
    respond: ({ planned }) =>
      quotesFor(planned, { unknown: planned.jobs.includes("once:test") ? ["IBM"] : [] }),
  });
  await world.pass(1_000);

  const slot = askOnce(world, { symbols: ["IBM"] });
  await world.pass(180_000);

  expect(entriesOf(world.notes, slot.job)).toMatchObject([{ misses: [["IBM", "unknown_symbol"]] }]);
  expect(entriesOf(world.notes, "some").length).toBeGreaterThan(1);
  expect(entriesOf(world.notes, "some").flatMap(({ misses }) => misses)).toEqual([]);
});

test("a single call that fails is not made again, and one of many is", async () => {
  const failing = startWorld({ start: START, jobs: [], respond: () => failure("server_error") });
  const slot = askOnce(failing, { single: true, priority: 1000, symbols: ["ONE"] });
  await failing.pass(60_000);

  expect(ofOnce(failing)).toHaveLength(1);
  expect(entriesOf(failing.notes, slot.job)).toMatchObject([{ misses: [["ONE", "transport"]] }]);
  await failing.end(0);

  let count = 0;
  const world = startWorld({
    start: START,
    jobs: [],
    respond: ({ planned }) => ((count += 1) === 1 ? failure("server_error") : quotesFor(planned)),
  });
  const again = askOnce(world, { symbols: ["ONE"] });
  await world.pass(60_000);
  expect(entriesOf(world.notes, again.job)).toMatchObject([{ misses: [] }]);
});

test("a service that fails six times in a row is asked nothing more of it", async () => {
  const world = startWorld({ start: START, jobs: [], respond: () => failure("server_error") });

  const slot = askOnce(world, { symbols: [], options: contractsOf(40) });
  await world.pass(900_000);

  expect(world.collector.once.isOpen(slot)).toBe(false);
  expect(ofOnce(world).length).toBeLessThan(40);
  expect(entriesOf(world.notes, slot.job)[0]?.misses).toHaveLength(40);
});

test("what was taken back is asked no more, and what is left of it was missed", async () => {
  const world = startWorld({ start: START, jobs: [], governor: { limit: 10, windowMs: 60_000 } });
  const slot = askOnce(world, { options: contractsOf(40) });
  await world.pass(5_000);
  const before = ofOnce(world).length;

  world.collector.once.withdraw(slot);
  await world.pass(300_000);

  expect(before).toBeGreaterThan(0);
  expect(ofOnce(world).length).toBe(before);
  const [entry] = entriesOf(world.notes, slot.job);
  expect(entry?.due).toHaveLength(40);
  expect(entry?.misses.length).toBeGreaterThan(40 - before - 7);
});

test.each([
  [20, { calls: 1, spare: 17, limit: 60, windowMs: 60_000 }],
  [45, { calls: 30, spare: 0, limit: 60, windowMs: 60_000 }],
])(
  "beside jobs of %d calls a minute a one-off job that waits for room tells how much the jobs leave it",
  async (count, room) => {
    const world = startWorld({ start: START, jobs: [jobOf({ name: "busy", options: contractsOf(count) })] });
    await world.pass(61_000);

    const slot = askOnce(world, { symbols: symbols(3_000) });
    const first = world.collector.once.room(slot);
    world.collector.once.withdraw(slot);

    expect(first).toMatchObject({ ...room, calls: expect.any(Number) });
    expect(world.collector.once.room(slot)).toBeNull();
  },
);

/** How long after its slot a call of the jobs left, in ms, ascending. */
function delays(...worlds: readonly World[]): number[] {
  return worlds
    .flatMap(ofOthers)
    .map(({ sentAt, planned }) => sentAt - Date.parse(planned.slotAt ?? ""))
    .sort((a, b) => a - b);
}

const at99 = (sorted: readonly number[]): number => sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Infinity;

test.each([
  ["2026-11-20T20:50:00Z", 20, 60],
  ["2026-11-20T20:50:00Z", 20, 45],
  ["2026-11-20T20:50:00Z", 20, 30],
  ["2026-11-20T20:50:00Z", 20, 10],
])(
  "3,000 symbols from %s on for %d minutes beside jobs of %d calls a minute: no miss more, and each call of the jobs as early as without them, those at the close too",
  async (start, minutes, count) => {
    const jobs = [jobOf({ name: "busy", options: contractsOf(count), session: "regular" })];
    const calendar = createCalendar();
    const outcome = async (asks: boolean) => {
      const world = startWorld({ start, jobs, calendar });
      await world.pass(61_000);
      const slot = asks ? askOnce(world, { symbols: symbols(3_000) }) : null;
      await world.pass(minutes * 60_000);
      const found = {
        delays: delays(world),
        missed: entriesOf(world.notes, "busy").flatMap(({ misses }) => misses),
        once: ofOnce(world).flatMap(({ names }) => names),
        most: mostInWindow(world.calls, 60_000),
        isOver: slot === null || !world.collector.once.isOpen(slot),
      };
      await world.end(0);
      return found;
    };

    const without = await outcome(false);
    const beside = await outcome(true);

    expect(beside.isOver).toBe(true);
    expect(beside.once.toSorted()).toEqual(symbols(3_000));
    expect(beside.missed).toEqual(without.missed);
    expect(beside.delays).toHaveLength(without.delays.length);
    expect(at99(beside.delays)).toBeLessThanOrEqual(at99(without.delays) + 250);
    expect(beside.delays.at(-1)).toBeLessThanOrEqual((without.delays.at(-1) ?? 0) + 250);
    expect(beside.most).toBeLessThanOrEqual(60);
  },
);

describe("3,000 symbols asked once, the collector killed three times", () => {
  const KILLS = ["20:53:20.300Z", "20:56:40Z", "21:00:02.500Z"].map((time) => `2026-11-20T${time}`);

  /** What a run after others knows of their calls, by the notes of calls and the journal. */
  function knownOf(ended: readonly World[], start: string) {
    const calls = ended.flatMap((world) => world.calls);
    const nowMs = Date.parse(start);
    const earlier = new EarlierRuns(Math.floor(nowMs / 60_000) * 60_000);
    for (const { sentAt, answeredAt, planned } of calls)
      if (answeredAt !== null && planned.call.form === "option")
        earlier.add({
          ...{ request: planned.call, requestedAt: new Date(sentAt).toISOString(), status: 200, headers: {} },
          body: Buffer.from(answerXml(optionXml({ ...planned.call.contract, putcall: "1" }))),
        });
    const ages = calls.map(({ sentAt, answeredAt }) => ({
      sentAgoMs: nowMs - sentAt,
      answeredAgoMs: answeredAt === null ? null : nowMs - answeredAt,
    }));
    return { earlier, history: { calls: ages, certain: true } };
  }

  async function passed(count: number, asks: boolean) {
    const jobs = [jobOf({ name: "busy", options: contractsOf(count), session: "regular" })];
    const ended: World[] = [];
    let start = "2026-11-20T20:50:00Z";
    for (const end of [...KILLS, "2026-11-20T21:10:00Z"]) {
      const calendar = createCalendar();
      const world = startWorld({ start, jobs, calendar, ...(ended.length > 0 && knownOf(ended, start)) });
      const answered = ended.flatMap((one) => ofOnce(one)).filter(({ brought }) => brought);
      const known = new Set(answered.flatMap(({ names }) => names));
      const left = symbols(3_000).filter((symbol) => !known.has(symbol));
      if (asks && left.length > 0) askOnce(world, { symbols: left });
      await world.until(end);
      await world.end(0);
      ended.push(world);
      start = new Date(Date.parse(end) + 1_500).toISOString();
    }
    // One that was cut off has been answered all the same.
    const cut = (call: SeenCall): SeenCall => ({ ...call, answeredAt: call.answeredAt ?? call.sentAt + 200 });
    const calls = ended.flatMap((world) => world.calls).map(cut);
    const brought = ended.flatMap((world) => ofOthers(world)).filter((call) => call.brought);
    const all = delays(...ended);
    return {
      once: ended.flatMap((one) => ofOnce(one)).filter((call) => call.brought),
      // What the journal holds of each slot.
      stored: brought.map(({ planned, names }) => `${planned.slotAt} ${names.join()}`).toSorted(),
      at99Ms: at99(all),
      lastMs: all.at(-1) ?? Infinity,
      most: mostInWindow(calls, 60_000),
    };
  }

  test.each([10, 30, 45, 55, 60])(
    "beside jobs of %d calls a minute until the close: no refusal, no doubled quote, no miss more, and 99 of 100 calls of the jobs as early as without, those of the closing slot too",
    async (count) => {
      const without = await passed(count, false);
      const beside = await passed(count, true);

      expect(beside.once.flatMap(({ names }) => names).toSorted()).toEqual(symbols(3_000));
      expect(beside.stored).toEqual(without.stored);
      expect(beside.at99Ms).toBeLessThanOrEqual(without.at99Ms + 250);
      expect(beside.lastMs).toBeLessThanOrEqual(without.lastMs + 250);
      expect(beside.most).toBeLessThanOrEqual(60);
    },
  );
});
