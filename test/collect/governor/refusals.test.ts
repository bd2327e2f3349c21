import { describe, expect, test } from "@jest/globals";
import { aroundRefusalsMs, passedRefusal, withRefusal } from "../../../src/collect/governor/refusals.ts";
import { stateOf } from "./states.ts";

const MINUTE_MS = 60_000;

test("the places remembered are those of the last half hour of windows, eight at most", () => {
  const refusedSentAtMs = Array.from({ length: 8 }, (_, index) => index * 5_000);

  expect(withRefusal(stateOf({ refusedSentAtMs }), 47_000)).toEqual([...refusedSentAtMs.slice(1), 47_000]);
  expect(withRefusal(stateOf({ refusedSentAtMs: [1_000, 2_000] }), 30 * MINUTE_MS + 1_000)).toEqual([
    ...[2_000, 30 * MINUTE_MS + 1_000],
  ]);
});

test("the places remembered are not more by a call refused just behind one of them, where a window forgets all at once", () => {
  const forgets = stateOf({ refusedSentAtMs: [10_000, 40_000], forgotAtMs: 60_000 });

  expect(withRefusal(forgets, MINUTE_MS + 10_600)).toEqual([10_000, 40_000]);
  expect(withRefusal(forgets, MINUTE_MS + 11_199)).toEqual([10_000, 40_000]);
  expect(withRefusal(forgets, MINUTE_MS + 11_200)).toHaveLength(3);
  expect(withRefusal(forgets, MINUTE_MS + 9_400)).toHaveLength(3);
  expect(withRefusal(forgets, MINUTE_MS + 10_000)).toHaveLength(3);
  expect(withRefusal({ ...forgets, forgotAtMs: null }, MINUTE_MS + 10_600)).toHaveLength(3);
});

const refused = stateOf({ refusedSentAtMs: [10_000] });

test.each([
  [69_400, 69_400],
  [69_401, 70_600],
  [70_000, 70_600],
  [70_599, 70_600],
  [70_600, 70_600],
  [100_000, 100_000],
])(
  "calls go around a remembered place with 1 %% of the window on both sides: at %i ms the first time is %i ms",
  (atMs, earliestMs) => {
    expect(aroundRefusalsMs(refused, atMs)).toBe(earliestMs);
  },
);

test("a place near a window's border is gone around on both sides of it", () => {
  const around = (refusedAtMs: number, atMs: number): number =>
    aroundRefusalsMs(stateOf({ refusedSentAtMs: [refusedAtMs] }), atMs);

  expect(around(100, MINUTE_MS - 300)).toBe(MINUTE_MS + 700);
  expect(around(MINUTE_MS - 100, MINUTE_MS + 200)).toBe(MINUTE_MS + 500);
  expect(around(100, 30_100)).toBe(30_100);
});

test("calls go around the remembered places one behind the other, in whatever order they were refused", () => {
  const twice = stateOf({ refusedSentAtMs: [11_000, 2 * MINUTE_MS + 10_000, 40_000] });

  expect(aroundRefusalsMs(twice, 3 * MINUTE_MS + 9_700)).toBe(3 * MINUTE_MS + 11_600);
  expect(aroundRefusalsMs(twice, 3 * MINUTE_MS + 39_700)).toBe(3 * MINUTE_MS + 40_600);
});

test("calls go around the remembered places for half an hour of windows", () => {
  expect(aroundRefusalsMs(refused, 30 * MINUTE_MS + 9_999)).toBe(30 * MINUTE_MS + 10_600);
  expect(aroundRefusalsMs(refused, 30 * MINUTE_MS + 10_000)).toBe(30 * MINUTE_MS + 10_000);
});

describe("a remembered place", () => {
  const refused = stateOf({ refusedSentAtMs: [10_000] });

  test("a remembered place lies between two times when its place in one of the windows does", () => {
    expect(passedRefusal(refused, 65_000, 75_000)).toBe(true);
    expect(passedRefusal(refused, 69_999, 70_000)).toBe(true);
    expect(passedRefusal(refused, 70_000, 71_000)).toBe(false);
    expect(passedRefusal(refused, 75_000, 85_000)).toBe(false);
    expect(passedRefusal(stateOf({}), 0, 85_000)).toBe(false);
  });

  test("one remembered place of several between two times is enough, and none counts after half an hour of windows", () => {
    const twice = stateOf({ refusedSentAtMs: [10_000, 40_000] });

    expect(passedRefusal(twice, 65_000, 75_000)).toBe(true);
    expect(passedRefusal(refused, 30 * MINUTE_MS + 5_000, 30 * MINUTE_MS + 10_000)).toBe(false);
    expect(passedRefusal(refused, 29 * MINUTE_MS + 5_000, 29 * MINUTE_MS + 15_000)).toBe(true);
    expect(
      passedRefusal(stateOf({ refusedSentAtMs: [20 * MINUTE_MS] }), 39 * MINUTE_MS, 41 * MINUTE_MS),
    ).toBe(true);
  });
});
