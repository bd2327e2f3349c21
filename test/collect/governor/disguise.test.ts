import { expect, test } from "@jest/globals";
import {
  cameAgain,
  isLikelyRefusal,
  isRun,
  isSaidRefusal,
  saysUsedUp,
  stillForMs,
  withFailure,
} from "../../../src/collect/governor/disguise.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import type { BackOff, GovernorState } from "../../../src/collect/governor/state.ts";
import { callsAnsweredAt, readingAt, sampleAt, stateOf, withFailures } from "./states.ts";

const MINUTE_MS = 60_000;

test.each([
  [{ remaining: 0 }, true],
  [{ remaining: 1 }, false],
  [{ used: 60, limit: 60 }, true],
  [{ used: 61, limit: 60 }, true],
  [{ used: 59, limit: 60 }, false],
  [{ used: 60 }, false],
  [{ limit: 60 }, false],
  [{}, false],
])("headers that say %j: that the limit is used up is %j", (said, isUsedUp) => {
  expect(saysUsedUp({ ...NO_RATE_LIMIT, ...said })).toBe(isUsedUp);
});

/** Calls at each half second until 30 s, the last of which failed; it says `used` of `limit`, and the reading before said `before`. */
const lastFailed = (ownCount: number, used: number, before: number | null, limit: number): boolean => {
  const finished = callsAnsweredAt(...Array.from({ length: ownCount }, (_, n) => 30_000 - 500 * n).reverse());
  const call = { sentAtMs: 29_800, answeredAtMs: 30_000 };
  return isSaidRefusal(stateOf({ finished, limit }), call, {
    rateLimit: { used, remaining: limit - used, limit, expire: null },
    before: before === null ? null : readingAt(29_500, before),
  });
};

test.each([
  ["the limit's own last call", { own: 60, used: 60, before: 59 }, false],
  [
    "the limit's own last call, where no answer before told the count",
    { own: 60, used: 60, before: null },
    false,
  ],
  ["a call beyond the limit, which has fallen", { own: 60, used: 40, before: 40, limit: 40 }, true],
  ["a call beyond the limit, which says so", { own: 61, used: 60, before: 60 }, true],
  ["a call beside another program, whose calls ours do not explain", { own: 31, used: 60, before: 59 }, true],
  ["a call just after another program's burst", { own: 60, used: 60, before: 45 }, true],
  ["a call with room", { own: 60, used: 59, before: 58 }, false],
])("a 500 to %s, by its headers: %j", (_what, said, isRefusal) => {
  const { own, used, before, limit } = { limit: 60, ...said };
  expect(lastFailed(own, used, before, limit)).toBe(isRefusal);
});

test("a failure is remembered for fifteen windows", () => {
  const before = withFailures({ failedAtMs: [1_000, 2_000] });

  expect(withFailure(before, 901_000, 901_000).failures.failedAtMs).toEqual([2_000, 901_000]);
  expect(withFailure(before, 900_000, 900_999).failures.failedAtMs).toEqual([1_000, 2_000, 900_999]);
});

test("a failure of a call that was on its way when the one before failed counts as one with it", () => {
  const before = withFailures({ runCount: 1, countedAtMs: 5_000, runsAtMs: [5_000] });

  expect(withFailure(before, 4_999, 6_000).failures).toMatchObject({ runCount: 1, countedAtMs: 5_000 });
  expect(withFailure(before, 5_000, 6_000).failures).toMatchObject({ runCount: 2, countedAtMs: 6_000 });
});

test("a failure begins a run when a call was answered since the one before, and they were of no burst", () => {
  const runsAfter = (runCount: number): readonly number[] =>
    withFailure(withFailures({ runCount, runsAtMs: [5_000] }), 60_000, 60_200).failures.runsAtMs;

  const inBurst = withFailures({ runsAtMs: [57_801] });

  expect([runsAfter(1), runsAfter(0)]).toEqual([[5_000], [5_000, 60_200]]);
  expect(withFailure(inBurst, 60_000, 60_200).failures.runsAtMs).toEqual([57_801]);
  expect(withFailure(inBurst, 60_000, 60_201).failures.runsAtMs).toEqual([57_801, 60_201]);
});

test("came again when one of an earlier window came at its place", () => {
  const came = (runsAtMs: readonly number[]): boolean => cameAgain(withFailures({ runsAtMs }), 200_000);

  expect([came([140_000]), came([110_000]), came([199_000, 200_000])]).toEqual([true, false, false]);
});

test("failures one after the other keep us still from the third on", () => {
  const isRunOf = (runCount: number): boolean => isRun(withFailures({ runCount }), 60 * MINUTE_MS);

  expect([isRunOf(2), isRunOf(3)]).toEqual([false, true]);
});

test.each([
  ["no header tells the count", {}],
  ["headers tell it", { seesCount: true }],
])(
  "failures one after the other keep us still for a third of the window, and twice as long each time, a window at most, where %s",
  (_what, known) => {
    const waitMs = (closedCount: number): number => stillForMs(withFailures({ closedCount }, known), 0);

    expect([waitMs(0), waitMs(1), waitMs(2), waitMs(3)]).toEqual([20_010, 40_010, 60_010, 60_010]);
  },
);

test("failures one after the other keep us still for two calls' share of the window where the service is unwell, half as long again each time", () => {
  const waitMs = (closedCount: number): number =>
    stillForMs(withFailures({ closedCount, unwellAtMs: 0 }, { seesCount: true }), 0);

  expect([waitMs(0), waitMs(1), waitMs(9)]).toEqual([2_010, 3_010, 60_010]);
});

test("failures one after the other are one when more was lately asked for than before", () => {
  const backOff: BackOff = {
    ...{ capCount: 46, stepCount: 1, tookStep: true, changedAtMs: 1_000, patienceWindows: 20 },
  };

  expect(isRun(withFailures({ runCount: 1 }, { backOff }), 2_000)).toBe(true);
  expect(isRun(withFailures({ runCount: 0 }, { backOff }), 2_000)).toBe(false);
  expect(isRun(withFailures({ runCount: 1 }, { backOff }), 181_000)).toBe(false);
  expect(isRun(withFailures({ runCount: 1 }, { backOff, seesCount: true }), 2_000)).toBe(false);
});

const call = { sentAtMs: 199_800, answeredAtMs: 200_000 };

/** Whether it is taken for a refusal when the answer of 199 s told that so many were used. */
const isRefusal = (
  usedCount: number,
  { runCount = 1, runsAtMs = [] }: { runCount?: number; runsAtMs?: readonly number[] } = {},
  known: Partial<GovernorState> = {},
): boolean => {
  const failures = { ...stateOf({}).failures, runCount, runsAtMs: [...runsAtMs, 200_000] };
  return isLikelyRefusal(
    stateOf({
      ...{ failures, seesCount: true, lastReading: readingAt(199_000, usedCount) },
      ...{ finished: callsAnsweredAt(199_000, 200_000), ...known },
    }),
    call,
  );
};
const evenly = [sampleAt(150_000, 10)];
const atOnce = [sampleAt(150_000, 10, { atOnceCount: 5 })];

test("a failure at 200 s that closed the connection is a refusal as the second in a row when three quarters are used, or another program comes at once", () => {
  expect(isRefusal(44, { runCount: 2 })).toBe(true);
  expect(isRefusal(43, { runCount: 2 })).toBe(false);
  expect(isRefusal(44)).toBe(false);
  expect(isRefusal(29, { runCount: 2 }, { samples: atOnce })).toBe(true);
  expect(isRefusal(29, { runCount: 2 }, { samples: evenly })).toBe(false);
  expect(isRefusal(29, {}, { samples: evenly })).toBe(false);
});

test("a failure at 200 s that closed the connection is a refusal when a program that comes at once may have filled the window", () => {
  expect(isRefusal(59, {}, { samples: atOnce })).toBe(true);
  expect(isRefusal(58, {}, { samples: atOnce })).toBe(false);
  expect(isRefusal(59, {}, { samples: evenly })).toBe(false);
  expect(isRefusal(59)).toBe(false);
});

test.each([
  [142_399, true],
  [142_400, false],
  [137_601, true],
  [137_600, false],
  [82_000, true],
])(
  "whether a closed connection at 200 s is a refusal of a program whose calls came at %i ms: %j, at the same place of the window",
  (atMs, expected) => {
    const burst = sampleAt(atMs, 10, { spanMs: 1_000, appearedCount: 10, holdsUntilMs: 300_000 });
    const small = sampleAt(140_000, 10, { spanMs: 1_000, appearedCount: 4, holdsUntilMs: 300_000 });

    expect(isRefusal(29, {}, { samples: [small, burst] })).toBe(expected);
  },
);

test("a failure at 200 s that closed the connection is a refusal where most runs of failures came at the same place of the window, two before it at least", () => {
  expect(isRefusal(5, { runsAtMs: [80_000, 140_000] })).toBe(true);
  expect(isRefusal(5, { runsAtMs: [77_601, 142_399] })).toBe(true);
  expect(isRefusal(5, { runsAtMs: [77_600, 140_000] })).toBe(false);
  expect(isRefusal(5, { runsAtMs: [140_000] })).toBe(false);
  expect(isRefusal(5, { runsAtMs: [80_000, 110_000, 140_000] })).toBe(true);
  expect(isRefusal(5, { runsAtMs: [50_000, 80_000, 110_000, 140_000] })).toBe(false);
});

test("a failure at 200 s that closed the connection is a refusal after one run at its place where another program is known", () => {
  expect(isRefusal(29, { runsAtMs: [140_000] }, { samples: evenly })).toBe(true);
  expect(isRefusal(29, { runsAtMs: [110_000] }, { samples: evenly })).toBe(false);
  expect(isRefusal(29, { runsAtMs: [110_000, 140_000] }, { samples: evenly })).toBe(false);
});

test("a failure at 200 s that closed the connection is no refusal where most runs lately came elsewhere, and none by one of the same half of a window", () => {
  expect(isRefusal(5, { runsAtMs: [80_000, 140_000, 170_000] })).toBe(true);
  expect(isRefusal(5, { runsAtMs: [80_000, 140_000, 170_000, 180_000] })).toBe(false);
  expect(isRefusal(5, { runsAtMs: [198_000, 199_000] })).toBe(false);
});

test("a failure at 200 s that closed the connection is no refusal where calls remained, even if another program has made half the limit's calls since", () => {
  const runsAtMs = [80_000, 140_000];
  const seen = [sampleAt(150_000, 40, { atOnceCount: 40 })];

  expect(isRefusal(28, { runCount: 2 }, { samples: atOnce })).toBe(false);
  expect(isRefusal(19, { runCount: 2 }, { samples: seen })).toBe(true);
  expect(isRefusal(18, { runCount: 2 }, { samples: seen })).toBe(false);
  expect(isRefusal(28, { runsAtMs }, { samples: evenly })).toBe(false);
  expect(isRefusal(4, { runsAtMs })).toBe(false);
});

test("a failure at 200 s that closed the connection is no refusal of its own while a call probes, or where no header tells the count", () => {
  const many = { runCount: 2 };

  expect(isRefusal(59, many, { phase: "probing" })).toBe(false);
  expect(isRefusal(59, many, { phase: "closed" })).toBe(false);
  expect(isRefusal(59, many, { seesCount: false })).toBe(false);
  expect(isRefusal(59, many, { lastReading: null })).toBe(false);
});
