import { describe, expect, test } from "@jest/globals";
import {
  afterScattered,
  cameBack,
  isLikelyRefusal,
  isRun,
  saysUsedUp,
  withFailure,
} from "../../../src/collect/governor/disguise.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes-api/rateLimit.ts";
import type { BackOff, GovernorState } from "../../../src/collect/governor/state.ts";
import { callsAnsweredAt, every, readingAt, sampleAt, stateOf } from "./states.ts";

const MINUTE_MS = 60_000;

/** A governor that knows this of failures, and this besides. */
function withFailures(
  failures: Partial<GovernorState["failures"]>,
  known: Partial<GovernorState> = {},
): GovernorState {
  return stateOf({ failures: { ...stateOf({}).failures, ...failures }, ...known });
}

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

describe("a failure", () => {
  test("is remembered for fifteen windows", () => {
    const before = withFailures({ failedAtMs: [1_000, 2_000] });

    expect(withFailure(before, 901_000, 901_000).failures.failedAtMs).toEqual([2_000, 901_000]);
    expect(withFailure(before, 900_000, 900_999).failures.failedAtMs).toEqual([1_000, 2_000, 900_999]);
  });

  test("of a call that was on its way when the one before failed counts as one with it", () => {
    const before = withFailures({ runCount: 1, countedAtMs: 5_000 });

    expect(withFailure(before, 4_999, 6_000).failures).toMatchObject({ runCount: 1, countedAtMs: 5_000 });
    expect(withFailure(before, 5_000, 6_000).failures).toMatchObject({ runCount: 2, countedAtMs: 6_000 });
  });
});

describe("failures one after the other", () => {
  test("keep us still from the third on, or from the second where failures went with the window before", () => {
    const isRunOf = (runCount: number, knownAtMs: number | null = null, atMs = 60 * MINUTE_MS): boolean =>
      isRun(withFailures({ runCount, knownAtMs }), atMs);

    expect([isRunOf(2), isRunOf(3)]).toEqual([false, true]);
    expect(isRunOf(2, null, 1_000)).toBe(false);
    expect([isRunOf(1, 1), isRunOf(2, 1)]).toEqual([false, true]);
    // An hour of windows after.
    expect([isRunOf(2, 0), isRunOf(3, 0)]).toEqual([false, true]);
  });

  test("are one when more was lately asked for than before", () => {
    const backOff: BackOff = {
      ...{ capCount: 46, stepCount: 1, tookStep: true, changedAtMs: 1_000, patienceWindows: 20 },
    };

    expect(isRun(withFailures({ runCount: 1 }, { backOff }), 2_000)).toBe(true);
    expect(isRun(withFailures({ runCount: 0 }, { backOff }), 2_000)).toBe(false);
    expect(isRun(withFailures({ runCount: 1 }, { backOff }), 181_000)).toBe(false);
  });

  test("came back when they closed the budget once since, and went with the window within an hour of windows", () => {
    const came = (closedCount: number, knownAtMs: number | null): boolean =>
      cameBack(withFailures({ closedCount, knownAtMs }), 60 * MINUTE_MS);

    expect([came(1, 1), came(1, 0), came(1, null), came(2, 1), came(0, 1)]).toEqual([
      ...[true, false, false, false, false],
    ]);
  });
});

describe("a failure at 200 s that closed the connection", () => {
  const call = { sentAtMs: 199_800, answeredAtMs: 200_000 };

  /** Whether it is taken for a refusal when the answer of 199 s told that so many were used. */
  const isRefusal = (
    usedCount: number,
    { runCount = 1, failedAtMs = [] }: { runCount?: number; failedAtMs?: readonly number[] } = {},
    known: Partial<GovernorState> = {},
  ): boolean => {
    const failures = { ...stateOf({}).failures, runCount, failedAtMs: [...failedAtMs, 200_000] };
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

  test("is a refusal as the second in a row when three quarters are used, or another program is known", () => {
    expect(isRefusal(44, { runCount: 2 })).toBe(true);
    expect(isRefusal(43, { runCount: 2 })).toBe(false);
    expect(isRefusal(44)).toBe(false);
    expect(isRefusal(5, { runCount: 2 }, { samples: evenly })).toBe(true);
    expect(isRefusal(5, {}, { samples: evenly })).toBe(false);
  });

  test("is a refusal when a program that comes at once may have filled the window", () => {
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
  ])("where such a program's calls came at %i ms: %j, at the same place of the window", (atMs, expected) => {
    const burst = sampleAt(atMs, 10, { spanMs: 1_000, appearedCount: 10, holdsUntilMs: 300_000 });
    const small = sampleAt(140_000, 10, { spanMs: 1_000, appearedCount: 4, holdsUntilMs: 300_000 });

    expect(isRefusal(5, {}, { samples: [small, burst] })).toBe(expected);
  });

  test("is a refusal where most failures before came at the same place of the window, at least two", () => {
    expect(isRefusal(5, { failedAtMs: [80_000, 140_000] })).toBe(true);
    expect(isRefusal(5, { failedAtMs: [77_601, 142_399] })).toBe(true);
    expect(isRefusal(5, { failedAtMs: [77_600, 140_000] })).toBe(false);
    expect(isRefusal(5, { failedAtMs: [140_000] })).toBe(false);
    expect(isRefusal(5, { failedAtMs: [80_000, 110_000, 140_000] })).toBe(true);
    expect(isRefusal(5, { failedAtMs: [50_000, 80_000, 110_000, 140_000] })).toBe(false);
  });

  test("needs one such failure where another program is known", () => {
    expect(isRefusal(5, { failedAtMs: [140_000] }, { samples: evenly })).toBe(true);
    expect(isRefusal(5, { failedAtMs: [110_000] }, { samples: evenly })).toBe(false);
    expect(isRefusal(5, { failedAtMs: [110_000, 140_000] }, { samples: evenly })).toBe(false);
  });

  test("is not judged by failures of the same half of a window", () => {
    expect(isRefusal(5, { failedAtMs: [80_000, 140_000, 170_000, 170_000, 171_000] })).toBe(true);
    expect(isRefusal(5, { failedAtMs: [80_000, 140_000, 169_998, 169_999] })).toBe(false);
  });

  test("is no refusal of its own while a call probes, or where no header tells the count", () => {
    const many = { runCount: 2 };

    expect(isRefusal(59, many, { phase: "probing" })).toBe(false);
    expect(isRefusal(59, many, { phase: "closed" })).toBe(false);
    expect(isRefusal(59, many, { seesCount: false })).toBe(false);
    expect(isRefusal(59, many, { lastReading: null })).toBe(false);
  });
});

describe("failures scattered among answered calls, where no header tells the count", () => {
  const AT_MS = 60 * MINUTE_MS;
  const threeLately = [AT_MS - 5 * MINUTE_MS + 1, AT_MS - 60_000, AT_MS];
  const sixCuts = every(MINUTE_MS, AT_MS - 6 * MINUTE_MS, AT_MS);
  /** This many calls in our count. */
  const finishedOf = (count: number) => callsAnsweredAt(...Array<number>(count).fill(AT_MS));

  test("cut the calls a window when they are three in five windows", () => {
    const cut = afterScattered(withFailures({ failedAtMs: [1_000, ...threeLately] }), AT_MS);
    const two = withFailures({ failedAtMs: [AT_MS - 5 * MINUTE_MS, ...threeLately.slice(1)] });

    expect(cut.backOff?.capCount).toBe(45);
    expect(cut.failures).toMatchObject({ failedAtMs: [], cutAtMs: [AT_MS] });
    expect(afterScattered(two, AT_MS)).toBe(two);
  });

  test("cut nothing any more when six cuts in thirty windows have not cured them, and they are few", () => {
    const failures = { failedAtMs: threeLately, cutAtMs: sixCuts };
    const backOff: BackOff = {
      ...{ capCount: 31, stepCount: 1, tookStep: false, changedAtMs: AT_MS - 60_000, patienceWindows: 20 },
    };

    const unwell = afterScattered(withFailures(failures, { backOff, finished: finishedOf(16) }), AT_MS);

    expect(unwell.backOff).toBeNull();
    expect(unwell.failures).toMatchObject({ failedAtMs: [], unwellAtMs: AT_MS, cutAtMs: sixCuts });
  });

  test("go on cutting when a fifth of the calls fail, or the cuts are fewer or older", () => {
    const after = (cutAtMs: readonly number[], count: number): GovernorState =>
      afterScattered(
        withFailures({ failedAtMs: threeLately, cutAtMs }, { finished: finishedOf(count) }),
        AT_MS,
      );
    const old = AT_MS - 30 * MINUTE_MS;

    expect(after(sixCuts, 15).failures.cutAtMs).toEqual([...sixCuts, AT_MS]);
    expect(after(sixCuts.slice(1), 16).failures.cutAtMs).toEqual([...sixCuts.slice(1), AT_MS]);
    expect(after([old, ...sixCuts.slice(1)], 16).failures.cutAtMs).toEqual([...sixCuts.slice(1), AT_MS]);
    expect(after([old + 1, ...sixCuts.slice(1)], 16).backOff).toBeNull();
  });

  test("are ignored for an hour of windows once they were seen to be the service's own", () => {
    const since = (unwellAtMs: number): GovernorState =>
      withFailures({ failedAtMs: threeLately, unwellAtMs });

    expect(afterScattered(since(1), AT_MS).backOff).toBeNull();
    expect(afterScattered(since(0), AT_MS).backOff?.capCount).toBe(45);
  });
});
