/** Whole chains and listed expirations: an expiration is one call and one entry of the ledger, and the list is asked for once a day. */
import { expect, test } from "@jest/globals";
import { partition } from "../../src/accounts/partition.ts";
import { Shares } from "../../src/accounts/shares.ts";
import { wantedOf } from "../../src/collect/asks.ts";
import { EarlierRuns } from "../../src/collect/earlierRuns.ts";
import { option, type OptionContract, security } from "../../src/market/instrument.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { describeCall } from "../../src/quotes/call.ts";
import { type InstrumentQuote, NO_QUOTE, unknownQuote } from "../../src/quotes/document.ts";
import type { Job } from "../../src/schedule/readJobs.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  type SeenCall,
  startWorld,
  type World,
} from "./world.ts";

const DATES = ["2026-11-27", "2026-12-04", "2026-12-18"];

const LISTED: Job["chains"][number] = {
  underlying: "SPX",
  expirations: "listed",
  strikes: "all",
  types: ["CALL", "PUT"],
};

function job(chains: Job["chains"] = [LISTED], more: Partial<Job> = {}): Job {
  return jobOf({ name: "chain", chains, schedule: "*/10 * * * *", ...more });
}

const answerOf = (items: InstrumentQuote[], expirations?: readonly string[]): Answer => ({
  outcome: "quotes",
  document: {
    ...{ id: null, error: null, hasQuotes: true },
    items: items.map((item) => ({ ok: true, item, oddFields: [], fragment: "" })),
    ...(expirations && { expirations }),
  },
});

function quoted(contract: OptionContract): InstrumentQuote {
  return { ...unknownQuote(option(contract)), quote: { ...NO_QUOTE, last: "1.5" }, unknownSymbol: false };
}

const stock = (symbol: string): InstrumentQuote => ({
  ...unknownQuote(security(symbol)),
  quote: { ...NO_QUOTE, last: "100" },
  unknownSymbol: false,
});

/** Answers as Tradier does; a chain has two contracts of its date. */
function market({ planned: { call } }: SeenCall, dates: readonly string[] = DATES): Answer {
  if (call.form === "expirations") return answerOf([], dates);
  if (call.form === "option") return answerOf([quoted(call.contract)]);
  if (call.form !== "chain") return answerOf(call.form === "symbols" ? call.symbols.map(stock) : []);
  const { underlying, expiration } = call;
  return answerOf(
    (["CALL", "PUT"] as const).map((optionType) =>
      quoted({ underlying, root: "SPXW", expiration, optionType, strike: "5000" }),
    ),
  );
}

const asked = (world: World): string[] => world.calls.map(({ planned }) => describeCall(planned.call));

const nameOf = (date: string): string => `chain SPX:${date}`;

test("the list is asked for first, then each expiration by one call; the ledger has an entry for each, and none for the list", async () => {
  const world = startWorld({ start: "2026-11-20T15:00:00Z", jobs: [job()], respond: market });

  await world.until("2026-11-20T15:00:30Z");

  expect(asked(world)).toEqual(["expirations of SPX", ...DATES.map(nameOf)]);
  expect(entryAt(world.notes, "15:00")).toMatchObject({ due: DATES.map(nameOf), misses: [] });
});

test("eighteen expirations and the stock are nineteen calls at each slot after the first", async () => {
  const dates = Array.from({ length: 18 }, (_, place) => `2027-01-${String(place + 10)}`);
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job([LISTED], { symbols: ["SPX"] })],
    respond: (call) => market(call, dates),
  });

  await world.until("2026-11-20T15:30:00Z");

  const counts = ["15:00", "15:10", "15:20"].map(
    (slot) => world.calls.filter(({ planned }) => planned.slotAt?.slice(11, 16) === slot).length,
  );
  expect(counts).toEqual([20, 19, 19]);
});

test("the list is asked for once a day, from 16:00 New York on for the next one", async () => {
  const world = startWorld({ start: "2026-11-20T20:00:00Z", jobs: [job()], respond: market });

  await world.until("2026-11-20T21:55:00Z");

  const lists = world.calls.filter(({ planned }) => planned.call.form === "expirations");
  expect(lists.map(({ planned }) => planned.slotAt?.slice(11, 16))).toEqual(["20:00", "21:00"]);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("a restart reads the list of the day back, and one of the day before says nothing", async () => {
  const request = { form: "expirations" as const, underlying: "SPX", delayed: false };
  const body = Buffer.from(JSON.stringify({ expirations: { date: DATES } }));
  const callsAfter = async (requestedAt: string): Promise<string[]> => {
    const earlier = new EarlierRuns(Date.parse("2026-11-20T15:00:00Z"));
    earlier.add({ service: "tradier", request, requestedAt, status: 200, headers: {}, body });
    const world = startWorld({ start: "2026-11-20T15:00:05Z", jobs: [job()], respond: market, earlier });
    await world.until("2026-11-20T15:01:00Z");
    await world.end(0);
    return asked(world);
  };

  expect(await callsAfter("2026-11-19T21:00:00.000000Z")).toEqual(DATES.map(nameOf));
  expect(await callsAfter("2026-11-19T20:59:59.999999Z")).toEqual([
    "expirations of SPX",
    ...DATES.map(nameOf),
  ]);
});

test("a list that does not come makes the chain missed for its reason, and is asked for again at the next slot", async () => {
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job()],
    respond: (call) => (call.sentAt < Date.parse("2026-11-20T15:09:00Z") ? failure("refused") : market(call)),
  });

  await world.until("2026-11-20T15:15:00Z");

  expect(entryAt(world.notes, "15:00")).toMatchObject({
    due: ["chain of SPX as listed"],
    misses: [["chain of SPX as listed", "refused"]],
  });
  expect(entryAt(world.notes, "15:10")).toMatchObject({ due: DATES.map(nameOf), misses: [] });
});

test("an underlying without expirations is unknown, and rests as an unknown symbol does", async () => {
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job([LISTED], { schedule: "* * * * *" })],
    respond: (call) => market(call, []),
  });

  await world.until("2026-11-20T15:30:00Z");

  expect(entryAt(world.notes, "15:00")?.misses).toEqual([["chain of SPX as listed", "unknown_symbol"]]);
  expect(entryAt(world.notes, "15:01")?.misses).toEqual([["chain of SPX as listed", "unknown_symbol"]]);
  expect(world.calls.length).toBeLessThan(8);
  expect(world.logged.filter(({ message }) => /expirations of SPX/.test(message))).toHaveLength(1);
});

test("a chain whose answer has nothing that belongs to it is missed: as absent where it is empty, else as malformed", async () => {
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job()],
    respond: (call) => {
      const { call: form } = call.planned;
      if (form.form !== "chain" || form.expiration === DATES[0]) return market(call);
      return form.expiration === DATES[1]
        ? answerOf([])
        : answerOf([
            quoted({ underlying: "SPX", expiration: "2027-01-15", optionType: "CALL", strike: "1" }),
          ]);
    },
  });

  await world.until("2026-11-20T15:01:00Z");

  expect(entryAt(world.notes, "15:00")).toMatchObject({
    due: DATES.map(nameOf),
    misses: [
      [nameOf(DATES[1] ?? ""), "absent_from_answer"],
      [nameOf(DATES[2] ?? ""), "malformed"],
    ],
  });
});

test("a chain that needs a price and a list waits for both, and one that needs the price alone does not wait for the list", async () => {
  const around = { around: "last", percent: "1", step: "1" } as const;
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [
      job([
        { ...LISTED, strikes: around, types: ["CALL"] },
        { ...LISTED, expirations: ["2027-06-18"], strikes: around, types: ["CALL"] },
      ]),
    ],
    respond: (call) => (call.planned.call.form === "expirations" ? failure("refused") : market(call)),
  });

  await world.until("2026-11-20T15:01:00Z");

  const entry = entryAt(world.notes, "15:00");
  expect(entry?.due.filter((name) => name.startsWith("SPX:2027-06-18"))).toHaveLength(3);
  expect(entry?.due).toContain("chain of SPX as listed by price");
  expect(entry?.misses).toEqual([["chain of SPX as listed by price", "refused"]]);
});

test("whole chains that do not fit are asked for in turn: the longest unseen first", async () => {
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job([LISTED], { schedule: "* * * * *" })],
    governor: { limit: 2, windowMs: 60_000 },
    respond: market,
  });

  await world.until("2026-11-20T15:06:00Z");

  const counts = DATES.map((date) => asked(world).filter((name) => name === nameOf(date)).length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  expect(addsUp(entriesOf(world.notes))).toBe(true);
});

test("several accounts share the expirations of a chain, and the list is asked for by one of them", async () => {
  const shares = new Shares(["one", "two"].map((name) => ({ name, limit: 60, windowMs: 60_000 })));
  const dates = Array.from({ length: 20 }, (_, place) => `2027-01-${String(place + 10)}`);
  const world = startWorld({
    start: "2026-11-20T15:00:00Z",
    jobs: [job()],
    accounts: ["one", "two"],
    shares,
    respond: (call) => market(call, dates),
  });

  await world.until("2026-11-20T15:09:00Z");

  const of = (account: string): number =>
    world.calls.filter((call) => call.account === account && call.planned.call.form === "chain").length;
  expect(world.calls.filter(({ planned }) => planned.call.form === "expirations")).toHaveLength(1);
  expect([of("one"), of("two")]).toEqual([10, 10]);
  const entries = entriesOf(world.notes);
  expect(entries.flatMap(({ due }) => due).sort()).toEqual(dates.map(nameOf));
  expect(entries.flatMap(({ misses }) => misses)).toEqual([]);
});

test("an expiration is a call of its own where calls are given out to accounts", () => {
  const due = {
    job: { name: "chain", delayed: false, priority: 0, watchlist: null },
    symbols: [],
    contracts: DATES.map((expiration) => ({ underlying: "SPX", expiration, strikes: "all" as const })),
  };

  const ownerOf = partition(
    wantedOf([due]),
    ["one", "two", "three"].map((name) => ({ name, limit: 60, windowMs: 60_000 })),
  );

  expect(DATES.map((date) => ownerOf(nameOf(date), false)).sort()).toEqual(["one", "three", "two"]);
});
