import { expect, test } from "@jest/globals";
import { besideSecondClientAtMs } from "../../../src/collect/governor/secondClientRoom.ts";
import type { GovernorState } from "../../../src/collect/governor/state.ts";
import { readingAt, stateOf } from "./states.ts";

const AT_MS = 100_000;
const TEN = { secondCount: 10, regularCount: 0, comeAtOnce: false, spareCount: 1 };
const NONE = { ...TEN, secondCount: 0, spareCount: 0 };

/** When a call may leave beside a client of ten calls, when the answer of 99 s told that so many were used. */
function leavesAtMs(
  usedCount: number,
  inFlightSentAtMs: readonly number[],
  known: Partial<GovernorState> = {},
  reckoned = TEN,
): number {
  const lastReading = readingAt(99_000, usedCount);
  return besideSecondClientAtMs(stateOf({ lastReading, inFlightSentAtMs, ...known }), reckoned, AT_MS);
}

test("a third is sent at once; then each call waits a call's share from the one before", () => {
  expect(leavesAtMs(51, [99_100, 99_200])).toBe(-Infinity);
  expect(leavesAtMs(51, [99_100, 99_200, 99_300])).toBe(100_300);
  expect(leavesAtMs(50, [99_100, 99_200, 99_300])).toBe(-Infinity);
  expect(leavesAtMs(51, [99_100, 99_200, 99_300], { limit: 40 })).toBe(100_800);
});

test("one call at least may leave, even when nothing is left over", () => {
  expect(leavesAtMs(60, [])).toBe(-Infinity);
  expect(leavesAtMs(60, [99_900])).toBe(100_900);
});

test("nothing is risked at once by an answer older than a tenth of the window", () => {
  const stale = (answeredAtMs: number): number =>
    leavesAtMs(10, [99_900], { lastReading: readingAt(answeredAtMs, 10) });

  expect(stale(94_000)).toBe(-Infinity);
  expect(stale(93_999)).toBe(100_900);
  expect(leavesAtMs(10, [], { lastReading: readingAt(90_000, 10) })).toBe(-Infinity);
});

test("nothing is risked at once behind a place where calls were refused", () => {
  expect(leavesAtMs(10, [99_900], { refusedSentAtMs: [39_500] })).toBe(100_900);
  expect(leavesAtMs(10, [99_900], { refusedSentAtMs: [38_500] })).toBe(-Infinity);
});

test("no second client, or no answer that told of one, holds no call back", () => {
  expect(leavesAtMs(60, [99_900], {}, NONE)).toBe(-Infinity);
  expect(leavesAtMs(60, [99_900], { lastReading: null })).toBe(-Infinity);
});

test("right after a restart that knows the journal alone, calls leave one by one: nobody knows whose the count is", () => {
  const continued = { continued: true, startedAtMs: 90_000, forgotAtMs: 95_000, resetAtMs: 95_000 };

  expect(leavesAtMs(60, [99_900], continued, NONE)).toBe(100_900);
  expect(leavesAtMs(60, [99_900], { ...continued, startedAtMs: 40_000 }, NONE)).toBe(-Infinity);
});

const forgets = { forgotAtMs: 95_000, resetAtMs: 95_000 };

test("what the other program and the spare call leave is used, and then the end is waited for", () => {
  expect(leavesAtMs(57, [99_100], forgets)).toBe(100_100);
  expect(leavesAtMs(56, [99_100], forgets)).toBe(-Infinity);
  expect(leavesAtMs(58, [], forgets)).toBe(-Infinity);
  expect(leavesAtMs(59, [], forgets)).toBe(155_010);
  expect(leavesAtMs(58, [99_100], forgets)).toBe(155_010);
  expect(leavesAtMs(59, [], forgets, { ...TEN, spareCount: 0 })).toBe(-Infinity);
});

test("in a window whose beginning nobody saw, the governor waits a call's share for each call that is missing", () => {
  expect(leavesAtMs(59, [], { forgotAtMs: 95_000 })).toBe(100_000);
  expect(leavesAtMs(60, [99_100, 99_200], { forgotAtMs: 95_000 })).toBe(103_000);
});
