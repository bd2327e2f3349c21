/** From what is due together to the calls that serve it, counted beside a plain list of who wants what. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type DueJob, dueNames, namesOf } from "../../src/collect/asks.ts";
import {
  halved,
  planCalls,
  slotMsOf,
  split,
  storedNames,
  symbolCount,
  withoutNames,
  withSymbols,
  type PlannedCall,
} from "../../src/collect/callPlan.ts";
import type { OptionContract } from "../../src/market/instrument.ts";
import type { MatchedItem } from "../../src/quotes/match.ts";
import { contractsOf, dueJob, MINUTE_MS, SLOT_MS, type DueDescription } from "./due.ts";

const FIRST_MS = SLOT_MS;
const NEXT_MS = SLOT_MS + MINUTE_MS;
const CONTRACT_NAME = "AAPL:2026-12-18:CALL:1";

test("a symbol of two slots is asked once, and the call is the newer slot's, whichever is named first", () => {
  const first = { name: "job", slotMs: FIRST_MS, symbols: ["AAPL"] };
  const next = { name: "job", slotMs: NEXT_MS, symbols: ["AAPL"] };

  for (const due of [planned([first, next]), planned([next, first])]) {
    expect(due.map(({ slotAt }) => slotAt)).toEqual([dueJob(next).slotAt]);
    expect(due[0]?.jobs).toEqual(["job"]);
  }
});

test("a watchlist and a contract are a call each, also where a symbol bears the contract's name", () => {
  const calls = planned([
    { name: "job", symbols: ["AAPL"], watchlist: "DEFAULT", contracts: contractsOf(2) },
    { name: "odd", symbols: [CONTRACT_NAME] },
  ]);

  expect(calls.map(({ call }) => call)).toEqual([
    { form: "watchlist", watchlist: "DEFAULT", delayed: false },
    ...contractsOf(2).map((contract) => ({ form: "option", contract, delayed: false })),
    { form: "symbols", symbols: ["AAPL", CONTRACT_NAME], delayed: false },
  ]);
});

test("a contract that a job names twice, and once with another spelling of its strike, is wanted once", () => {
  const [contract] = contractsOf(1) as [OptionContract];

  const calls = planned([
    { name: "job", contracts: [contract, contract, { ...contract, strike: "1.00" }], symbols: ["A", "A"] },
  ]);

  expect(calls.map(({ wants }) => [...wants].map(([name, by]) => [name, by.length]))).toEqual([
    [[CONTRACT_NAME, 1]],
    [["A", 1]],
  ]);
});

test("the most urgent call goes first: priority, then the earlier end, then what was longest unseen", () => {
  const lastSeenMs = (name: string): number => ({ OLD: 5, NEW: 9 })[name] ?? 7;
  const due = [
    dueJob({ name: "newer", symbols: ["NEW", "OLD"] }),
    dueJob({ name: "sooner", deadlineMs: NEXT_MS - 1, symbols: ["SOON"] }),
    dueJob({ name: "first", priority: 1, symbols: ["HIGH"] }),
  ];

  const apart = planCalls(due, { batchSize: 1, lastSeenMs });
  const inPairs = planCalls(due, { batchSize: 2, lastSeenMs });

  expect(apart.flatMap(({ call }) => namesOf(call))).toEqual(["HIGH", "SOON", "OLD", "NEW"]);
  expect(apart.map(({ unseenSinceMs }) => unseenSinceMs)).toEqual([7, 7, 5, 9]);
  expect(inPairs.map(({ call, ...urgency }) => [...namesOf(call), urgency.priority])).toEqual([
    ["HIGH", "SOON", 1],
    ["OLD", "NEW", 0],
  ]);
  expect(inPairs.map(({ deadlineMs, unseenSinceMs }) => [deadlineMs, unseenSinceMs])).toEqual([
    [NEXT_MS - 1, 7],
    [NEXT_MS, 5],
  ]);
});

test("a symbol that made a call fail shares none; the others still share theirs", () => {
  const due = [dueJob({ name: "job", symbols: ["A", "BAD", "B", "WORSE"], watchlist: "BAD" })];

  const calls = planCalls(due, { batchSize: 100, alone: (symbol) => /^(BAD|WORSE)$/.test(symbol) });

  expect(calls.map(({ call }) => namesOf(call))).toEqual([["watchlist BAD"], ["BAD"], ["WORSE"], ["A", "B"]]);
});

test("what waits is planned anew with what comes, each once, and keeps who wanted it", () => {
  const waiting = planned([
    { name: "old", symbols: ["A", "B"], contracts: contractsOf(1), watchlist: "DEFAULT" },
  ]);

  const calls = planCalls([dueJob({ name: "new", symbols: ["B", "C"] })], { batchSize: 100 }, waiting);

  const wanted = calls.flatMap(({ wants }) => [...wants].map(([name, by]) => [name, by.map((w) => w.job)]));
  expect(Object.fromEntries(wanted)).toEqual({
    ...{ A: ["old"], B: ["old", "new"], C: ["new"] },
    ...{ [CONTRACT_NAME]: ["old"], "watchlist DEFAULT": ["old"] },
  });
  expect(calls.map(({ call }) => namesOf(call))).toEqual([
    ["watchlist DEFAULT"],
    [CONTRACT_NAME],
    ["A", "B", "C"],
  ]);
});

test("whatever is due: each wish is in exactly one call of its own kind, and no list is longer than it may be", () => {
  const anyDue = fc.array(
    fc.record({
      name: fc.constantFrom("a", "b", "c"),
      priority: fc.nat(3),
      delayed: fc.boolean(),
      symbols: fc.array(fc.constantFrom("A", "B", "C", "D", "E"), { maxLength: 5 }),
      contracts: fc.constantFrom(...[0, 1, 3].map((count) => contractsOf(count))),
      watchlist: fc.constantFrom(null, "ONE", "TWO"),
      deadlineMs: fc.integer({ min: NEXT_MS, max: NEXT_MS + 3 }),
    }),
    { maxLength: 6 },
  );

  fc.assert(
    fc.property(anyDue, fc.integer({ min: 1, max: 3 }), (due, batchSize) => {
      const calls = planCalls(due.map(dueJob), { batchSize });

      const wishes = due.flatMap(({ delayed, symbols, contracts, watchlist, ...job }) => [
        ...new Set(
          [
            ...symbols,
            ...contracts.map(({ strike }) => `AAPL:2026-12-18:CALL:${strike}`),
            ...(watchlist === null ? [] : [`watchlist ${watchlist}`]),
          ].map((name) => JSON.stringify([delayed, name, job.name, job.priority, job.deadlineMs])),
        ),
      ]);
      const served = calls.flatMap(({ call, wants }) =>
        [...wants].flatMap(([name, by]) =>
          by.map((want) => JSON.stringify([call.delayed, name, want.job, want.priority, want.deadlineMs])),
        ),
      );
      expect(served.sort()).toEqual(wishes.sort());
      const names = calls.flatMap(({ call }) => namesOf(call).map((name) => `${call.delayed} ${name}`));
      expect(new Set(names).size).toBe(names.length);
      expect(calls.every((call) => symbolCount(call) <= batchSize)).toBe(true);
      for (const { wants, priority, deadlineMs, jobs } of calls) {
        const all = [...wants.values()].flat();
        expect(priority).toBe(Math.max(...all.map((want) => want.priority)));
        expect(deadlineMs).toBe(Math.min(...all.map((want) => want.deadlineMs)));
        expect([...jobs].sort()).toEqual([...new Set(all.map((want) => want.job))].sort());
      }
      const order = calls.map(({ priority, deadlineMs }) => deadlineMs - 1_000 * priority);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }),
  );
});

test("each part of a call that several jobs share is as urgent as what is left there", () => {
  const calm = dueJob({ name: "calm", symbols: ["A", "B"], priority: 1, deadlineMs: SLOT_MS + 300_000 });
  const urgent = dueJob({ name: "urgent", symbols: ["A"], priority: 9, deadlineMs: SLOT_MS + 60_000 });
  const [call] = planCalls([calm, urgent], { batchSize: 100 });
  if (call === undefined) throw new Error("nothing was planned");
  const [first, second] = halved(call) ?? [];
  const [, forCalm] = split(call, ({ job }) => job === "urgent");

  expect(withSymbols(call, ["A", "B"])).toMatchObject({ priority: 9, deadlineMs: SLOT_MS + 60_000 });
  expect(first).toMatchObject({ priority: 9, deadlineMs: SLOT_MS + 60_000, jobs: ["calm", "urgent"] });
  expect(second).toMatchObject({ priority: 1, deadlineMs: SLOT_MS + 300_000, jobs: ["calm"] });
  expect(forCalm).toMatchObject({ priority: 1, deadlineMs: SLOT_MS + 300_000, jobs: ["calm"] });
});

test("halving a call makes two of half the length, the first longer by one, each with what is wanted of it", () => {
  const [call] = planned([
    { name: "low", symbols: ["A", "B", "C"] },
    { name: "high", priority: 4, deadlineMs: NEXT_MS - 9, symbols: ["C"] },
  ]) as [PlannedCall];

  const halves = halved(call);

  expect(halves?.map((half) => namesOf(half.call))).toEqual([["C", "A"], ["B"]]);
  expect(halves?.map(({ jobs }) => jobs)).toEqual([["low", "high"], ["low"]]);
  expect(halves?.map(({ priority, deadlineMs }) => [priority, deadlineMs])).toEqual([
    [4, NEXT_MS - 9],
    [0, NEXT_MS],
  ]);
  expect(halves?.map(({ wants }) => [...wants.keys()])).toEqual([["C", "A"], ["B"]]);
});

test("a call for one thing cannot be halved; a call for two symbols can", () => {
  const calls = planned([{ name: "job", watchlist: "DEFAULT", contracts: contractsOf(1), symbols: ["A"] }]);
  const [two] = planned([{ name: "job", symbols: ["A", "B"] }]) as [PlannedCall];

  expect(calls.map(halved)).toEqual([null, null, null]);
  expect(halved(two)?.map(symbolCount)).toEqual([1, 1]);
  expect(calls.map(symbolCount)).toEqual([1, 1, 1]);
  expect(symbolCount(two)).toBe(2);
});

test("a call reduced to some of its symbols stays delayed, and drops the jobs that want none of them", () => {
  const [call] = planned([
    { name: "one", delayed: true, slotMs: NEXT_MS, symbols: ["A"] },
    { name: "two", delayed: true, slotMs: FIRST_MS, symbols: ["B"] },
  ]) as [PlannedCall];

  const alone = withSymbols(call, ["B"]);

  expect(alone.call).toEqual({ form: "symbols", symbols: ["B"], delayed: true });
  expect(alone).toMatchObject({ jobs: ["two"], slotAt: dueJob({ name: "", slotMs: FIRST_MS }).slotAt });
  expect(withSymbols(call, ["A", "UNWANTED"]).call).toMatchObject({ symbols: ["A"] });
});

test("splitting a call by who wants it puts all on one side, or makes two calls that both ask for what both want", () => {
  const [call] = planned([
    { name: "one", symbols: ["A", "B"] },
    { name: "two", priority: 2, deadlineMs: NEXT_MS + 5, symbols: ["B", "C"] },
  ]) as [PlannedCall];

  const [ones, others] = split(call, ({ job }) => job === "one");

  expect(split(call, () => true)).toEqual([call, null]);
  expect(split(call, () => false)).toEqual([null, call]);
  expect([ones, others].map((part) => part && namesOf(part.call).sort())).toEqual([
    ["A", "B"],
    ["B", "C"],
  ]);
  expect([ones, others].map((part) => part && [part.jobs, part.priority, part.deadlineMs])).toEqual([
    [["one"], 0, NEXT_MS],
    [["two"], 2, NEXT_MS + 5],
  ]);
});

test("splitting a watchlist's call by who wants it keeps the watchlist on both sides", () => {
  const [call] = planned([
    { name: "one", watchlist: "DEFAULT" },
    { name: "two", watchlist: "DEFAULT" },
  ]) as [PlannedCall];

  const parts = split(call, ({ job }) => job === "one");

  expect(parts.map((part) => part?.call)).toEqual([call.call, call.call]);
  expect(parts.map((part) => part?.jobs)).toEqual([["one"], ["two"]]);
});

test("a call lasts as long as the shortest of its slots", () => {
  const [call] = planned([
    { name: "hourly", deadlineMs: FIRST_MS + 60 * MINUTE_MS, symbols: ["A"] },
    { name: "minutely", slotMs: NEXT_MS, symbols: ["B"] },
  ]) as [PlannedCall];

  expect(slotMsOf(call)).toBe(MINUTE_MS);
});

describe("names in the ledger", () => {
  const due = { name: "job", symbols: ["A", "B"], contracts: contractsOf(2), watchlist: "DEFAULT" };

  test("the ledger names once all that is due", () => {
    expect(dueNames(dueJob({ ...due, symbols: ["A", "B", "A"] }))).toEqual([
      ...["A", "B", "watchlist DEFAULT", CONTRACT_NAME, "AAPL:2026-12-18:CALL:2"],
    ]);
  });

  test("a due job without some names leaves out what bears one of them, of each kind", () => {
    const job = dueJob(due);
    const left = (...names: string[]): readonly string[] => dueNames(withoutNames(job, new Set(names)));

    expect(withoutNames(job, new Set())).toBe(job);
    expect(left("A")).toEqual(["B", "watchlist DEFAULT", CONTRACT_NAME, "AAPL:2026-12-18:CALL:2"]);
    expect(left("watchlist DEFAULT", CONTRACT_NAME)).toEqual(["A", "B", "AAPL:2026-12-18:CALL:2"]);
    expect(dueNames(withoutNames(dueJob({ name: "job", symbols: ["A"] }), new Set(["B"])))).toEqual(["A"]);
    expect(withoutNames(job, new Set(["A"])).job).toEqual(job.job);
  });

  test("an answer stores what its call names, and a watchlist when anything of it is stored", () => {
    const stored = (name: string) => ({ fate: "stored", name }) as MatchedItem;
    const unknown = { fate: "unknown", name: "B" } as MatchedItem;
    const symbols = { form: "symbols", symbols: ["A", "B"], delayed: false } as const;
    const watchlist = { form: "watchlist", watchlist: "DEFAULT", delayed: false } as const;

    expect(
      storedNames({ ...symbols, symbols: ["A", "B"] }, [stored("A"), unknown], { before: false }),
    ).toEqual(["A"]);
    expect(storedNames(watchlist, [unknown, stored("A"), stored("C")], { before: false })).toEqual([
      "watchlist DEFAULT",
    ]);
    expect(storedNames(watchlist, [unknown], { before: false })).toEqual([]);
  });
});

function planned(jobs: readonly DueDescription[]): PlannedCall[] {
  return planCalls(
    jobs.map((job): DueJob => dueJob(job)),
    { batchSize: 100 },
  );
}
