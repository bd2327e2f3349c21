import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { instantOf, microsOf } from "../../src/ground/clock.ts";
import { type Playback, playedAt } from "../../src/serve/playback.ts";

/** How long a loop shows its last moment, in ms played. */
const LAST_MOMENT_MS = 60_000;

const START = "2026-11-17T15:00:00.000000Z";
const playback: Playback = { from: START, startedMs: 1_000_000, speed: 1, loopTo: null };
const after = (ms: number) => new Date(playback.startedMs + ms);

test("played time continues from the start at the given speed, and stands still at speed 0", () => {
  expect(playedAt(playback, after(0))).toBe(START);
  expect(playedAt(playback, after(1_500))).toBe("2026-11-17T15:00:01.500000Z");
  expect(playedAt({ ...playback, speed: 60 }, after(60_000))).toBe("2026-11-17T16:00:00.000000Z");
  expect(playedAt({ ...playback, speed: 0.5 }, after(1))).toBe("2026-11-17T15:00:00.000500Z");
  expect(playedAt({ ...playback, speed: 0 }, after(1e9))).toBe(START);
});

test("a loop shows its last moment for a minute, then begins again, for ever", () => {
  const loop = { ...playback, loopTo: "2026-11-17T15:10:00.000000Z" };
  const roundMs = 600_000 + LAST_MOMENT_MS;

  expect(playedAt(loop, after(roundMs - 1))).toBe("2026-11-17T15:10:59.999000Z");
  expect(playedAt(loop, after(roundMs))).toBe(START);
  expect(playedAt(loop, after(1_000 * roundMs + 5))).toBe("2026-11-17T15:00:00.005000Z");
});

test("a clock set back to before the beginning, or far ahead, finds a time nevertheless", () => {
  expect(playedAt(playback, after(-5_000))).toBe(START);
  expect(playedAt({ ...playback, speed: 1e6 }, after(1e12))).toBe("9999-12-31T23:59:59.999999Z");
});

test("what is played follows from the clock alone, never goes back within a round and never leaves the loop", () => {
  fc.assert(
    fc.property(
      fc.nat(1e9),
      fc.nat(1e6),
      fc.double({ min: 0, max: 10_000, noNaN: true }),
      fc.nat(1e7),
      (ms, later, speed, lengthMs) => {
        const loopTo = instantOf(microsOf(START) + BigInt(lengthMs) * 1_000n);
        const once = { ...playback, speed };
        const loop = { ...once, loopTo };

        expect(playedAt(once, after(ms + later)) >= playedAt(once, after(ms))).toBe(true);
        const played = microsOf(playedAt(loop, after(ms)));
        expect(played >= microsOf(START)).toBe(true);
        expect(played < microsOf(loopTo) + BigInt(LAST_MOMENT_MS) * 1_000n).toBe(true);
      },
    ),
  );
});
