/** More demand than the budget has, for hours of virtual time: all of the budget is used, and every slot adds up. */
import { expect } from "@jest/globals";
import { contractsOf, MINUTE_MS, symbolsNamed } from "./due.ts";
import { addsUp, entriesOf, jobOf, mostInWindow, startWorld } from "./world.ts";

/** Runs it. @param start ISO 8601, a full minute */
export async function fullDemand({ start, hours }: { start: string; hours: number }): Promise<void> {
  const world = startWorld({
    start,
    jobs: [
      jobOf({ name: "equities", priority: 5, symbols: symbolsNamed(20) }),
      jobOf({ name: "options", options: contractsOf(70) }),
    ],
    latencyMs: (call) => 50 + ((call * 137) % 350),
  });
  const startMs = Date.parse(start);
  const minutes = hours * 60;

  await world.until(startMs + minutes * MINUTE_MS);

  const entries = entriesOf(world.notes);
  expect(mostInWindow(world.calls, 60_000)).toBeLessThanOrEqual(60);
  expect(world.calls.length).toBeGreaterThan(0.99 * minutes * 60);
  expect(addsUp(entries)).toBe(true);
  const equities = entriesOf(world.notes, "equities");
  const options = entriesOf(world.notes, "options");
  // The slots at the very end have just begun.
  expect(equities).toHaveLength(minutes);
  expect(options).toHaveLength(minutes);
  expect(equities.every(({ misses }) => misses.length === 0)).toBe(true);
  expect(
    options.every(
      ({ due, misses }) => due.length === 70 && misses.every(([, reason]) => reason === "budget"),
    ),
  ).toBe(true);
  expect(equities.map(({ slotAt }) => Date.parse(slotAt))).toEqual(
    Array.from({ length: minutes }, (_, minute) => startMs + minute * MINUTE_MS),
  );
}
