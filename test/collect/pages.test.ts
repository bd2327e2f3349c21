/** Answers in pages, in virtual time: a chain is stored with its last page and by no other, and each page is a call of its own. */
import { expect, test } from "@jest/globals";
import { Shares } from "../../src/accounts/shares.ts";
import { EarlierRuns } from "../../src/collect/earlierRuns.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { option, type OptionContract } from "../../src/market/instrument.ts";
import { occSymbol, parseOccSymbol } from "../../src/market/occ.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { describeCall, type QuoteCall } from "../../src/quotes/call.ts";
import { type InstrumentQuote, NO_QUOTE, unknownQuote } from "../../src/quotes/document.ts";
import { ALPACA } from "../../src/services/alpaca/alpaca.ts";
import { contractsOf, symbolsNamed } from "./due.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  mostInWindow,
  quotesFor,
  type SeenCall,
  startWorld,
  type World,
} from "./world.ts";

const DATES = ["2026-11-27", "2026-12-04", "2026-12-18"];
const START = "2026-11-20T15:00:00Z";

const nameOf = (date: string): string => `chain AAPL:${date}`;
const CHAIN = nameOf("2026-11-27");

const job = (expirations: string[] | "listed" = DATES.slice(0, 1)) =>
  jobOf({
    name: "chain",
    chains: [{ underlying: "AAPL", expirations, strikes: "all", types: ["CALL", "PUT"] }],
    schedule: "* * * * *",
  });

/** Each strike is a page of a chain. */
const STRIKES = ["240", "250", "260"];

function quoted(contract: OptionContract): InstrumentQuote {
  return { ...unknownQuote(option(contract)), quote: { ...NO_QUOTE, last: "1.5" }, unknownSymbol: false };
}

const answerOf = (
  items: InstrumentQuote[],
  more: { nextPage?: string; expirations?: string[] } = {},
): Answer => ({
  outcome: "quotes",
  document: {
    ...{ id: null, error: null, hasQuotes: true, ...more },
    items: items.map((item) => ({ ok: true, item, oddFields: [], fragment: "" })),
  },
});

/** From 1. */
function pageOf(call: QuoteCall): number {
  return "page" in call && call.page !== undefined ? Number(call.page.split(" ")[1]) : 1;
}

/** As `ALPACA` names a page: by its root and the service's token. */
const named = (page: number): string => `AAPL ${page}`;

const further = (page: number, of: number) => (page < of ? { nextPage: named(page + 1) } : {});

/** Chains of three pages, a list of three expirations in three, a list of contracts with two of them in each answer. */
function market({ planned: { call } }: Pick<SeenCall, "planned">): Answer {
  const page = pageOf(call);
  if (call.form === "chain") {
    const { underlying, expiration } = call;
    const strike = STRIKES[page - 1] ?? "";
    return answerOf(
      [quoted({ underlying, expiration, optionType: "CALL", strike })],
      further(page, STRIKES.length),
    );
  }
  if (call.form === "expirations")
    return answerOf([], { expirations: DATES.slice(page - 1, page), ...further(page, DATES.length) });
  const contracts = call.form === "symbols" ? call.symbols.flatMap((one) => parseOccSymbol(one) ?? []) : [];
  return answerOf(contracts.slice(0, 2).map(quoted), contracts.length > 2 ? { nextPage: "2" } : {});
}

/** Each call with its page, `chain AAPL:2026-11-27 2`. */
const asked = ({ calls }: Pick<World, "calls">): string[] =>
  calls.map(({ planned: { call } }) => `${describeCall(call)} ${pageOf(call)}`);

const pagesOf = (name: string, ...pages: number[]): string[] => pages.map((page) => `${name} ${page}`);

function until(time: string, options: Partial<Parameters<typeof startWorld>[0]> = {}): Promise<World> {
  const world = startWorld({ start: START, jobs: [job()], respond: market, ...options });
  return world.until(`2026-11-20T${time}Z`).then(() => world);
}

test("a chain of three pages is three calls and one name of the ledger", async () => {
  const world = await until("15:00:30");

  expect(asked(world)).toEqual(pagesOf(CHAIN, 1, 2, 3));
  expect(entriesOf(world.notes)).toMatchObject([{ due: [CHAIN], misses: [] }]);
});

test.each([
  ["server_error", "transport"],
  ["refused", "refused"],
] as const)(
  "a second page that meets %s to the end of its slot leaves its chain due and missed as %s, and the next slot asks from the first page",
  async (outcome, reason) => {
    const world = await until("15:01:30", {
      respond: (call) =>
        pageOf(call.planned.call) === 2 && call.sentAt < Date.parse("2026-11-20T15:01:00Z")
          ? failure(outcome)
          : market(call),
    });

    const attempts = asked(world).lastIndexOf(`${CHAIN} 1`) - 1;
    expect(asked(world)).toEqual(pagesOf(CHAIN, 1, ...Array<number>(attempts).fill(2), 1, 2, 3));
    expect(entryAt(world.notes, "15:00")).toMatchObject({ due: [CHAIN], misses: [[CHAIN, reason]] });
    expect(entryAt(world.notes, "15:01")).toMatchObject({ due: [CHAIN], misses: [] });
  },
);

test("a page that fails once is asked for again by itself, and its chain is stored", async () => {
  let failed = 0;
  const world = await until("15:00:30", {
    respond: (call) =>
      pageOf(call.planned.call) === 2 && failed++ === 0 ? failure("server_error") : market(call),
  });

  expect(asked(world)).toEqual(pagesOf(CHAIN, 1, 2, 2, 3));
  expect(entriesOf(world.notes)).toMatchObject([{ due: [CHAIN], misses: [] }]);
});

test("a service that never ends its pages is stopped at forty, and the chain is missed as malformed", async () => {
  const world = await until("15:00:59", {
    respond: (call) =>
      answerOf([], { nextPage: named(pageOf(call.planned.call) + 1), expirations: DATES.slice(0, 1) }),
    jobs: [job()],
  });

  expect(asked(world)).toEqual(pagesOf(CHAIN, ...Array.from({ length: 40 }, (_, place) => place + 1)));
  expect(entriesOf(world.notes)).toMatchObject([{ due: [CHAIN], misses: [[CHAIN, "malformed"]] }]);
});

test("a page that names itself ends its chain at once, which is asked for less and less often", async () => {
  const world = await until("15:09:30", { respond: () => answerOf([], { nextPage: named(2) }) });

  const calls = world.calls.length;
  expect(asked(world).slice(0, 2)).toEqual(pagesOf(CHAIN, 1, 2));
  expect(calls).toBeLessThan(2 * 10);
  const missed = entriesOf(world.notes).map(({ misses }) => misses);
  expect(missed).toEqual(missed.map(() => [[CHAIN, "malformed"]]));
});

test("a chain whose pages hold nothing is absent, however many there are", async () => {
  const world = await until("15:00:30", {
    respond: ({ planned: { call } }) => answerOf([], further(pageOf(call), 3)),
  });

  expect(asked(world)).toEqual(pagesOf(CHAIN, 1, 2, 3));
  expect(entriesOf(world.notes)).toMatchObject([{ due: [CHAIN], misses: [[CHAIN, "absent_from_answer"]] }]);
});

test("a last page within a slot does not store a chain whose first page was asked for before it", async () => {
  const five = { ...job(), name: "five", schedule: "*/5 * * * *" };
  const isOfNext = ({ planned }: SeenCall): boolean =>
    [...planned.wants.values()].flat().some((want) => want.slotAt.startsWith("2026-11-20T15:01"));

  const world = await until("15:01:58", {
    jobs: [five, job()],
    latencyMs: () => 19_000,
    respond: (call) => {
      if (isOfNext(call) && pageOf(call.planned.call) === 2) return failure("refused");
      const { underlying, expiration } = { underlying: "AAPL", expiration: DATES[0] ?? "" };
      const page = pageOf(call.planned.call);
      const strike = String(240 + page);
      return answerOf([quoted({ underlying, expiration, optionType: "CALL", strike })], further(page, 5));
    },
  });

  expect(asked(world)).toContain(`${CHAIN} 5`);
  const ofMinute = entriesOf(world.notes, "chain").find(({ slotAt }) =>
    slotAt.startsWith("2026-11-20T15:01"),
  );
  expect(ofMinute?.misses ?? []).toEqual([[CHAIN, "refused"]]);
});

test("an account that takes a chain over in the midst of its pages begins with the first one: its feed may be another", async () => {
  const names = ["one", "two"];
  const sharers = names.map((name) => ({ name, limit: 60, windowMs: 60_000 }));
  let first = "";
  const world = await until("15:00:30", {
    accounts: names,
    shares: new Shares(sharers, () => true),
    respond: (call) => {
      first ||= call.account;
      const isRefused = pageOf(call.planned.call) > 1 && call.account === first;
      return isRefused ? failure("unauthorized") : market(call);
    },
  });

  const byAccount = names.map((name) =>
    asked({ calls: world.calls.filter((call) => call.account === name) }),
  );
  expect(byAccount.sort()).toEqual([pagesOf(CHAIN, 1, 2), pagesOf(CHAIN, 1, 2, 3)]);
  expect(entriesOf(world.notes).flatMap(({ misses }) => misses)).toEqual([]);
});

test("a one-off job that is withdrawn between two pages asks for no other", async () => {
  const world = startWorld({ start: START, jobs: [], respond: market, latencyMs: () => 1_000 });
  const slotAt = instantFromDate(new Date(START));
  const once = { name: "once:chain", delayed: false, priority: 1_000, watchlist: null };
  const wanted = { symbols: [], options: [], chains: job().chains, known: new Set<string>() };
  const given = { single: false, accounts: ["default"], ownerOf: () => "default" };
  world.collector.once.poll({ job: once, slotAt, ...wanted }, given);
  await world.pass(1_500);

  world.collector.once.withdraw({ job: once.name, slotAt });
  await world.pass(60_000);

  expect(asked(world)).toEqual(pagesOf(CHAIN, 1, 2));
});

test("a list of contracts that is too long leaves the lists of stocks as they are", async () => {
  const symbols = symbolsNamed(400);
  const world = await until("15:10:30", {
    jobs: [
      jobOf({ name: "stocks", symbols }),
      jobOf({ name: "contracts", options: contractsOf(200), optionsInList: "apart" }),
    ],
    service: ALPACA,
    governor: { limit: 200, windowMs: 60_000 },
    respond: ({ planned }) =>
      planned.call.form === "symbols" && planned.call.of && planned.call.symbols.length > 60
        ? failure("too_long")
        : quotesFor(planned),
  });

  const lengths = world.calls.flatMap(({ planned: { call } }) =>
    call.form === "symbols" && !call.of ? [call.symbols.length] : [],
  );
  expect(Math.min(...lengths)).toBeGreaterThan(60);
  expect(entriesOf(world.notes).flatMap(({ misses }) => misses)).toEqual([]);
});

test("pages count in the budget: one in 15 seconds makes a chain within its minute, one in 40 does not, and it is missed for the budget", async () => {
  const fits = await until("15:02:30", { governor: { limit: 1, windowMs: 15_000 } });
  const stored = entriesOf(fits.notes);
  await fits.end(0);

  const short = await until("15:02:30", { governor: { limit: 1, windowMs: 40_000 } });

  expect(stored).toMatchObject([
    { due: [CHAIN], misses: [] },
    { due: [CHAIN], misses: [] },
  ]);
  expect(mostInWindow(fits.calls, 15_000)).toBe(1);
  expect(entriesOf(short.notes)).toMatchObject([
    { due: [CHAIN], misses: [[CHAIN, "budget"]] },
    { due: [CHAIN], misses: [[CHAIN, "budget"]] },
  ]);
  expect(mostInWindow(short.calls, 40_000)).toBe(1);
});

test("a chain that is begun comes before one that is not: with five calls for three chains of three pages one is stored at each slot, and all in turn", async () => {
  const world = await until("15:06:30", {
    jobs: [job(DATES)],
    governor: { limit: 5, windowMs: 60_000 },
  });

  const entries = entriesOf(world.notes);
  const missed = entries.map(({ misses }) => misses.length);
  const storedOf = (name: string): number =>
    entries.filter(({ misses }) => !misses.some(([one]) => one === name)).length;
  expect(missed).toEqual(missed.map(() => 2));
  expect(missed.length).toBeGreaterThanOrEqual(5);
  expect(Math.min(...DATES.map((date) => storedOf(nameOf(date))))).toBeGreaterThanOrEqual(1);
  expect(addsUp(entries)).toBe(true);
});

test("the expirations of a list in pages are those of all its pages", async () => {
  const world = await until("15:00:30", { jobs: [job("listed")] });

  expect(asked(world).slice(0, 3)).toEqual(pagesOf("expirations of AAPL", 1, 2, 3));
  expect(entryAt(world.notes, "15:00")).toMatchObject({ due: DATES.map(nameOf), misses: [] });
});

test("a list of contracts whose answer has more asks for those that are missing, as a list of its own", async () => {
  const contracts = ["230", "240", "250", "260", "270"].map((strike) => ({
    ...{ underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL" as const, strike },
  }));
  const symbols = contracts.map((contract) => occSymbol(contract) ?? "");
  const world = await until("15:00:30", {
    jobs: [jobOf({ name: "list", options: contracts, optionsInList: "apart" })],
    service: ALPACA,
    start: START,
  });

  const lists = world.calls.map(({ planned: { call } }) => (call.form === "symbols" ? call.symbols : []));
  expect(lists).toEqual([symbols, symbols.slice(2), symbols.slice(4)]);
  expect(world.calls.map(({ planned: { call } }) => "page" in call)).toEqual([false, false, false]);
  const [entry] = entriesOf(world.notes);
  expect(entry?.due).toHaveLength(5);
  expect(entry?.misses).toEqual([]);
});

test("a restart between the pages of a chain asks it from the first one, and one behind its last asks nothing", async () => {
  /** Alpaca's own answers, as the journal has them. */
  const bodyOf = ({ planned: { call } }: SeenCall): string => {
    const page = pageOf(call);
    const symbol = `AAPL261127C00${STRIKES[page - 1]}000`;
    const token = page < STRIKES.length ? String(page + 1) : null;
    return JSON.stringify({
      snapshots: { [symbol]: { latestQuote: { bp: 1, ap: 2 } } },
      next_page_token: token,
    });
  };
  const restartedAfter = async (pages: number) => {
    const killed = await until("15:00:00", {
      latencyMs: (place) => (place < pages ? 200 : 60_000),
    });
    await killed.until("2026-11-20T15:00:20Z");
    await killed.end(0);
    const earlier = new EarlierRuns(Date.parse(START));
    for (const call of killed.calls.slice(0, pages))
      earlier.add({
        service: "alpaca",
        ...{ request: call.planned.call, requestedAt: new Date(call.sentAt).toISOString() },
        ...{ status: 200, headers: {}, body: Buffer.from(bodyOf(call)) },
      });
    const world = await until("15:00:50", { start: "2026-11-20T15:00:30Z", earlier });
    await world.end(0);
    return { asked: asked(world), entries: entriesOf(world.notes) };
  };

  expect(await restartedAfter(2)).toMatchObject({
    asked: pagesOf(CHAIN, 1, 2, 3),
    entries: [{ due: [CHAIN], misses: [] }],
  });
  expect(await restartedAfter(3)).toMatchObject({ asked: [], entries: [{ due: [CHAIN], misses: [] }] });
});
