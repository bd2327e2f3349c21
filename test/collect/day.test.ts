/** Whole days of the whole collector, in virtual time. */
import { expect, test } from "@jest/globals";
import { contractsOf, MINUTE_MS, symbolsNamed } from "./due.ts";
import { addsUp, entriesOf, jobOf, mostInWindow, startWorld } from "./world.ts";

test("for 24 hours a 60-call budget is used whole, never exceeded, and every slot adds up", async () => {
  const world = startWorld({
    start: "2026-11-20T00:00:00Z",
    jobs: [
      jobOf({ name: "equities", priority: 5, symbols: symbolsNamed(20) }),
      jobOf({ name: "options", options: contractsOf(70) }),
    ],
    latencyMs: (call) => 50 + ((call * 137) % 350),
  });

  await world.until("2026-11-21T00:00:00Z");

  const entries = entriesOf(world.notes);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(60);
  expect(world.calls.length).toBeGreaterThan(0.99 * 1_440 * 60);
  expect(addsUp(entries)).toBe(true);
  const equities = entriesOf(world.notes, "equities");
  const options = entriesOf(world.notes, "options");
  // The slots of midnight at the end have just begun.
  expect(equities).toHaveLength(1_440);
  expect(options).toHaveLength(1_440);
  expect(equities.every(({ misses }) => misses.length === 0)).toBe(true);
  expect(
    options.every(
      ({ due, misses }) => due.length === 70 && misses.every(([, reason]) => reason === "budget"),
    ),
  ).toBe(true);
  const startMs = Date.parse("2026-11-20T00:00:00Z");
  expect(equities.map(({ slotAt }) => Date.parse(slotAt))).toEqual(
    Array.from({ length: 1_440 }, (_, minute) => startMs + minute * MINUTE_MS),
  );
});
