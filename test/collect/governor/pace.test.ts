import { expect, test } from "@jest/globals";
import { burstAfterSending, largestBurst, paceAtMs } from "../../../src/collect/governor/pace.ts";
import { callsAnsweredAt, every, SIXTY_A_MINUTE, stateOf } from "./states.ts";

/** The time from one call to the next after a call at `atMs` that used up what might leave at once. */
function gapMsAfter(atMs: number, answeredAtMs: readonly number[], cap = 60): number {
  const finished = callsAnsweredAt(...answeredAtMs);
  return paceAtMs(stateOf({ burstCount: 0, burstAtMs: atMs, finished }), cap) - atMs;
}

test.each([
  [60, 20],
  [61, 21],
  [45, 15],
  [2, 1],
  [1, 1],
])("of %i calls a window a third may leave at once: %i", (cap, count) => {
  expect(largestBurst(SIXTY_A_MINUTE, cap)).toBe(count);
});

test("work that can wait never leaves two calls at once", () => {
  expect(largestBurst({ ...SIXTY_A_MINUTE, evenly: true }, 60)).toBe(1);
});

test("after a start's 20 calls at once the others spread over the time until the first of those leaves the count", () => {
  expect(gapMsAfter(200, Array<number>(20).fill(200))).toBeCloseTo(60_010 / 41, 6);
  expect(gapMsAfter(10_200, Array<number>(20).fill(200))).toBeCloseTo(50_010 / 41, 6);
});

test("a full window goes on as its calls leave the count, at most 12 % faster than the limit's own rate", () => {
  const full = every(1_000, 1_000, 61_000);

  expect(gapMsAfter(60_000, full)).toBe(1_010);
  expect(gapMsAfter(60_500, full)).toBeCloseTo(1_000 / 1.12, 6);
});

test("each call of room that is left over makes up 10 % faster, up to twice the limit's rate", () => {
  const leavingSoon = (count: number): number[] => every(10, 1_000, 1_000 + 10 * count);

  expect(gapMsAfter(61_000, leavingSoon(60))).toBeCloseTo(1_000 / 1.12, 6);
  expect(gapMsAfter(61_000, leavingSoon(59))).toBeCloseTo(1_000 / 1.22, 6);
  expect(gapMsAfter(61_000, leavingSoon(55))).toBeCloseTo(1_000 / 1.62, 6);
  expect(gapMsAfter(61_000, leavingSoon(52))).toBeCloseTo(1_000 / 1.92, 6);
  expect(gapMsAfter(61_000, leavingSoon(50))).toBe(500);
  expect(gapMsAfter(61_000, leavingSoon(40))).toBe(500);
});

test("beside a second client our share's own rate is exceeded by 3 % only, however much room there is", () => {
  expect(gapMsAfter(61_000, [], 30)).toBeCloseTo(2_000 / 1.03, 6);
  expect(gapMsAfter(61_000, [], 59)).toBeCloseTo(60_000 / 59 / 1.03, 6);
});

test("work that can wait leaves at the limit's rate and 3 % from the first call on", () => {
  const waiting = stateOf({ config: { ...SIXTY_A_MINUTE, evenly: true }, burstCount: 0 });

  expect(paceAtMs(waiting, 60)).toBeCloseTo(1_000 / 1.03, 6);
});

test("a call that may leave at once waits for nothing, one that is half earned for half the time", () => {
  expect(paceAtMs(stateOf({ burstCount: 3, burstAtMs: 5_000 }), 30)).toBe(5_000);
  expect(paceAtMs(stateOf({ burstCount: 1, burstAtMs: 5_000 }), 30)).toBe(5_000);
  expect(paceAtMs(stateOf({ burstCount: 0.5, burstAtMs: 5_000 }), 30)).toBeCloseTo(5_000 + 1_000 / 1.03, 6);
});

test("each call that leaves is one less that may leave at once, never less than none", () => {
  expect(burstAfterSending(stateOf({ burstCount: 20 }), 60, 0)).toBe(19);
  expect(burstAfterSending(stateOf({ burstCount: 0 }), 60, 0)).toBe(0);
});

test("calls not sent while there was room may leave together later, up to a third of the window's", () => {
  const gapMs = 2_000 / 1.03;
  const paced = stateOf({ burstCount: 0, burstAtMs: 1_000 });

  expect(burstAfterSending(paced, 30, 1_000 + 5 * gapMs)).toBeCloseTo(4, 6);
  expect(burstAfterSending(paced, 30, 1_000 + 50 * gapMs)).toBe(9);
});

test("room earns nothing before it is there", () => {
  const gapMs = 2_000 / 1.03;
  const full = stateOf({
    burstCount: 0,
    burstAtMs: 58_000,
    finished: callsAnsweredAt(...Array<number>(30).fill(0)),
  });

  // The calls leave the count at 60,010 ms.
  expect(burstAfterSending(full, 30, 60_010 + 3 * gapMs)).toBeCloseTo(2, 6);
});

test("a full window earns one call, however long that waits", () => {
  const finished = callsAnsweredAt(...Array<number>(60).fill(30_000));
  const full = stateOf({ burstCount: 0, burstAtMs: 30_000, finished });

  expect(burstAfterSending(full, 60, 80_000)).toBe(0);
  expect(burstAfterSending({ ...full, burstCount: 0.5 }, 60, 80_000)).toBe(0);
});
