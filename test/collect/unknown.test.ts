/** Symbols that the service does not know, that break a call, or whose list is too long. */
import { describe, expect, test } from "@jest/globals";
import { afterSuccess, firstBatchSize } from "../../src/collect/batchSize.ts";
import { CONCURRENCY } from "../../src/collect/dispatcher.ts";
import type { Answer } from "../../src/quotes/answer.ts";
import { symbolsNamed } from "./due.ts";
import {
  addsUp,
  entriesOf,
  entryAt,
  failure,
  jobOf,
  quotesFor,
  reasonsOf,
  startWorld,
  type SeenCall,
  type World,
} from "./world.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

const START = "2026-11-20T14:30:00Z";

/** At which minutes after the start a symbol was asked. */
function minutesOf(world: World, symbol: string): number[] {
  const startMs = Date.parse(START);
  return world.calls
    .filter(({ names }) => names.includes(symbol))
    .map(({ sentAt }) => Math.floor((sentAt - startMs) / 60_000));
}

function callsIn(world: World, minute: number): SeenCall[] {
  const fromMs = Date.parse(START) + minute * 60_000;
  return world.calls.filter(({ sentAt }) => sentAt >= fromMs && sentAt < fromMs + 60_000);
}

test("a symbol that the answer has under another name is missed, and the likely pair is told once a day", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["BRK-B", "GE"] })],
    respond: ({ planned }) => {
      const symbols = planned.call.form === "symbols" ? planned.call.symbols : [];
      const call = {
        ...planned.call,
        symbols: symbols.map((one) => one.replace("-", ".")),
      } as typeof planned.call;
      return quotesFor({ ...planned, call });
    },
  });

  await world.until("2026-11-20T14:35:30Z");

  const misses = entriesOf(world.notes).map((entry) => entry.misses.join());
  expect(new Set(misses)).toEqual(new Set(["BRK-B,absent_from_answer"]));
  expect(world.logged.filter(({ level }) => level === "warn")).toEqual([
    { level: "warn", message: "the answer has it under another name, as it seems: correct the job file" },
  ]);
});

test("an unknown symbol rests for 1 slot, 2, 4, 8 ... and is due and missed as unknown meanwhile", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE", "XYZZY"] })],
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY"] }),
  });

  await world.until("2026-11-20T15:35:30Z");

  expect(minutesOf(world, "XYZZY")).toEqual([0, 2, 5, 10, 19, 36]);
  expect(world.collector.status().unknown).toEqual(["XYZZY"]);
  const entries = entriesOf(world.notes);
  expect(entries).toHaveLength(66);
  expect(
    entries.every(({ due, misses }) => due.length === 2 && misses.join() === "XYZZY,unknown_symbol"),
  ).toBe(true);
});

test("the log names an unknown symbol once a day, though each slot counts it as missed", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", schedule: "*/10 * * * *", symbols: ["GE", "XYZZY", "ABCDE"] })],
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY", "ABCDE"] }),
  });

  await world.until("2026-11-20T20:59:30Z");
  const told = (): string[] => world.logged.map(({ message }) => message).filter((text) => /know/.test(text));
  const onFirstDay = told();
  await world.until("2026-11-22T20:59:30Z");

  const words = /^the service does not know XYZZY, ABCDE: correct the job files/;
  expect(onFirstDay).toEqual([expect.stringMatching(words)]);
  expect(told()).toHaveLength(3);
  expect(entriesOf(world.notes).every((entry) => reasonsOf(entry).unknown_symbol === 2)).toBe(true);
});

test("an unknown symbol is asked once a day in the end, at the day's first slot", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "hourly", schedule: "30 * * * *", symbols: ["XYZZY"] })],
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY"] }),
  });

  await world.until("2026-11-24T02:31:00Z");

  const hours = minutesOf(world, "XYZZY").map((minute) => minute / 60);
  expect(hours).toEqual([0, 2, 5, 10, 19, 36, 60, 84]);
});

test("an unknown symbol of a job that is due once a day is asked every day", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "daily", schedule: "30 9 * * *", symbols: ["XYZZY"] })],
    respond: ({ planned }) => quotesFor(planned, { unknown: ["XYZZY"] }),
  });

  await world.until("2026-11-22T14:31:00Z");

  expect(world.calls).toHaveLength(3);
});

test("a symbol that was unknown is asked at every slot again as soon as it is known", async () => {
  const world = startWorld({
    start: START,
    jobs: [jobOf({ name: "list", symbols: ["GE", "NEW"] })],
    respond: ({ planned, sentAt }) =>
      quotesFor(planned, { unknown: sentAt < Date.parse("2026-11-20T14:34:00Z") ? ["NEW"] : [] }),
  });

  await world.until("2026-11-20T14:38:30Z");

  expect(minutesOf(world, "NEW")).toEqual([0, 2, 5, 6, 7, 8]);
  expect(world.collector.status().unknown).toEqual([]);
  expect(entryAt(world.notes, "14:35")?.misses).toEqual([]);
});

describe("a symbol that makes a whole call fail", () => {
  /** A service that fails a call whole when one of these is in it. */
  const poisonedBy =
    (bad: string[], outcome: "refused" | "malformed" | "server_error" = "refused") =>
    ({ planned, names }: SeenCall) =>
      names.some((name) => bad.includes(name)) ? failure(outcome) : quotesFor(planned);

  test.each(["refused", "malformed", "server_error"] as const)(
    "a symbol that makes its call fail is found by bisection among 100 when the answer is %s; the other 99 are stored at the same slot",
    async (outcome) => {
      const world = startWorld({
        start: START,
        jobs: [jobOf({ name: "list", symbols: symbolsNamed(100) })],
        respond: poisonedBy(["S37"], outcome),
      });

      await world.until("2026-11-20T14:30:58Z");

      expect(entryAt(world.notes, "14:30")?.due).toHaveLength(100);
      expect(entryAt(world.notes, "14:30")?.misses.map(([name]) => name)).toEqual(["S37"]);
      expect(callsIn(world, 0).length).toBeLessThanOrEqual(20);
    },
  );

  test("a symbol that makes its call fail is asked alone afterwards, more and more seldom, and the rest in one call", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(100) })],
      respond: poisonedBy(["S37"]),
    });

    await world.until("2026-11-20T14:40:30Z");

    expect(callsIn(world, 1).map(({ names }) => names.length)).toEqual([99]);
    expect(callsIn(world, 2).map(({ names }) => names.length)).toEqual([1, 99]);
    expect(minutesOf(world, "S37").filter((minute) => minute > 0)).toEqual([2, 5, 10]);
    expect(
      world.logged.filter(({ message }) => message.startsWith("S37 makes a whole call fail")),
    ).toHaveLength(1);
    expect(entriesOf(world.notes).map(reasonsOf)).toEqual(Array(11).fill({ refused: 1 }));
  });

  test("two symbols that make their call fail are found, in the same slot or the next", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(100) })],
      respond: poisonedBy(["S1", "S90"]),
    });

    await world.until("2026-11-20T14:34:30Z");

    expect(
      entryAt(world.notes, "14:34")
        ?.misses.map(([name]) => name)
        .sort(),
    ).toEqual(["S1", "S90"]);
    expect(callsIn(world, 4).length).toBeLessThanOrEqual(3);
  });

  describe("is looked for while the budget is short, in a list that two jobs share:", () => {
    const ONE_A_MINUTE = { limit: 1, windowMs: 60_000 };
    const seldom = jobOf({ name: "seldom", symbols: ["A", "B", "C"], schedule: "*/5 * * * *", priority: 5 });
    const minutely = jobOf({ name: "minutely", symbols: ["A", "B", "C"] });

    test("the search for a failing symbol goes on beyond the slot of one job, for the other, and nothing is lost", async () => {
      const world = startWorld({
        start: START,
        jobs: [seldom, minutely],
        governor: ONE_A_MINUTE,
        respond: ({ planned }) => (world.calls.length === 1 ? failure("refused") : quotesFor(planned)),
      });

      await world.until("2026-11-20T14:35:30Z");

      expect(world.calls.slice(0, 4).map(({ names }) => names.join())).toEqual(["A,B,C", "A", "B", "C"]);
      expect(entryAt(world.notes, "14:30", "seldom")).toMatchObject({ due: ["A", "B", "C"], misses: [] });
      expect(
        entryAt(world.notes, "14:30", "minutely")
          ?.misses.map(([name]) => name)
          .sort(),
      ).toEqual([...["A", "B", "C"]]);
      expect(addsUp(entriesOf(world.notes))).toBe(true);
    });

    test("symbols that wait for a probe are missed with it when their slot has no time for it", async () => {
      const world = startWorld({
        start: START,
        jobs: [minutely],
        governor: ONE_A_MINUTE,
        respond: () => failure("refused"),
      });

      await world.until("2026-11-20T14:31:00.100Z");

      expect(world.calls).toHaveLength(1);
      expect(
        entryAt(world.notes, "14:30")
          ?.misses.map(([name]) => name)
          .sort(),
      ).toEqual(["A", "B", "C"]);
    });
  });

  test("a symbol whose probe brings an answer that fails the parser is missed with all that waits for it, which is not asked", async () => {
    const strange = { outcome: "quotes", document: { id: "r", error: null, hasQuotes: true } } as Answer;
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: ["A", "B", "C"] })],
      respond: ({ planned }) => [failure("refused"), strange][world.calls.length - 1] ?? quotesFor(planned),
    });

    await world.until("2026-11-20T14:30:30Z");

    expect(reasonsOf(entryAt(world.notes, "14:30"))).toEqual({ malformed: 3 });
    expect(world.calls.map(({ names }) => names.join())).toEqual(["A,B,C", "A"]);
    expect(world.logged).toContainEqual({ level: "error", message: "an answer could not be taken in" });
  });

  test("a service that fails every call is not asked much more often for it, and all is well when it is back", async () => {
    const backAt = Date.parse("2026-11-20T15:30:00Z");
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(300) })],
      respond: ({ planned, sentAt }) => (sentAt < backAt ? failure("refused") : quotesFor(planned)),
    });

    await world.until("2026-11-20T15:32:30Z");

    const during = world.calls.filter(({ sentAt }) => sentAt < backAt);
    expect(during.length).toBeGreaterThanOrEqual(180);
    expect(during.length).toBeLessThanOrEqual(180 + 7);
    expect(callsIn(world, 61)).toHaveLength(3);
    expect(entryAt(world.notes, "15:31")?.misses).toEqual([]);
    expect(addsUp(entriesOf(world.notes))).toBe(true);
  });
});

describe("a list that is too long", () => {
  const takes =
    (most: () => number) =>
    ({ planned, names }: SeenCall) =>
      names.length > most() ? failure("too_long") : quotesFor(planned);

  test("a list that is too long is halved until the service accepts it, the size is remembered, and nothing is missed", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(100) })],
      respond: takes(() => 30),
    });

    await world.until("2026-11-20T14:31:30Z");

    expect(callsIn(world, 0).map(({ names }) => names.length)).toEqual([100, 50, 50, 25, 25, 25, 25]);
    expect(callsIn(world, 1).map(({ names }) => names.length)).toEqual([26, 26, 26, 22]);
    expect(entriesOf(world.notes).every(({ misses }) => misses.length === 0)).toBe(true);
  });

  test("a list that is too long cuts the lists that wait as well: only those already under way are refused for the same length", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(1_200) })],
      respond: takes(() => 60),
    });

    await world.until("2026-11-20T14:30:59Z");

    expect(callsIn(world, 0).filter(({ names }) => names.length === 100)).toHaveLength(CONCURRENCY);
    expect(entryAt(world.notes, "14:30")?.misses).toEqual([]);
  });

  test("the lists grow slowly, and after a refusal go back to an accepted size, not to the refused size that day", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(400) })],
      respond: takes(() => 130),
    });

    await world.until("2026-11-20T16:30:30Z");

    const lengths = world.calls.map(({ names }) => names.length);
    expect(Math.max(...lengths)).toBe(131);
    expect(lengths.filter((length) => length > 130).length).toBeLessThanOrEqual(3);
    expect(lengths.at(-4)).toBe(130);
    expect(
      lengths.every((length, index) => index === 0 || length <= Math.max(...lengths.slice(0, index)) + 1),
    ).toBe(true);
  });

  test("no list is ever longer than 325", () => {
    let batch = firstBatchSize(REFERENCE.batch);
    for (let call = 0; call < 2_000; call += 1) batch = afterSuccess(batch, batch.size);

    expect(batch.size).toBe(325);
  });

  test("a service that says so of every list is not asked symbol by symbol", async () => {
    const world = startWorld({
      start: START,
      jobs: [jobOf({ name: "list", symbols: symbolsNamed(100) })],
      respond: takes(() => 0),
    });

    await world.until("2026-11-20T14:31:30Z");

    expect(callsIn(world, 0).length).toBeLessThanOrEqual(33);
    expect(callsIn(world, 1).length).toBeLessThanOrEqual(16);
    expect(reasonsOf(entryAt(world.notes, "14:31"))).toEqual({ refused: 100 });
  });
});
