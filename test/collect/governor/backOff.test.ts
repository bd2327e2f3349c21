import { expect, test } from "@jest/globals";
import { grown, growsAtMs, lowered, steppedLately } from "../../../src/collect/governor/backOff.ts";
import type { BackOff } from "../../../src/collect/governor/state.ts";
import { stateOf } from "./states.ts";

const MINUTE_MS = 60_000;

/** 40 calls a window, taught by a refusal at 0. */
const HELD: BackOff = { capCount: 40, stepCount: 1, tookStep: false, changedAtMs: 0, patienceWindows: 20 };

test.each([
  [60, 45],
  [45, 37],
  [37, 33],
  [33, 31],
  [32, 31],
  [31, 27],
  [27, 24],
  [2, 1],
  [1, 1],
])(
  "a refusal at %i calls a window leaves %i: half the way to half the limit, below that a tenth less",
  (from, to) => {
    expect(lowered(stateOf({ backOff: { ...HELD, capCount: from } }), 90_000)).toEqual({
      ...{ capCount: to, stepCount: 1, tookStep: false, changedAtMs: 90_000, patienceWindows: 20 },
    });
  },
);

test("the first one starts from the limit, and so does one after the limit has fallen below what was left", () => {
  expect(lowered(stateOf({}), 0).capCount).toBe(45);
  expect(lowered(stateOf({ limit: 40, backOff: { ...HELD, capCount: 50 } }), 0).capCount).toBe(30);
  expect(lowered(stateOf({ limit: 1 }), 0).capCount).toBe(1);
});

test("within three windows of a step up the step is taken back, and the next one waits thirty windows", () => {
  const stepped = stateOf({ backOff: { ...HELD, capCount: 49, stepCount: 9, tookStep: true } });

  expect(steppedLately(stepped, 3 * MINUTE_MS - 1)).toBe(true);
  expect(lowered(stepped, 3 * MINUTE_MS - 1)).toEqual({
    ...{ capCount: 40, stepCount: 1, tookStep: false, changedAtMs: 3 * MINUTE_MS - 1, patienceWindows: 30 },
  });
  expect(steppedLately(stepped, 3 * MINUTE_MS)).toBe(false);
  expect(lowered(stepped, 3 * MINUTE_MS)).toMatchObject({ capCount: 39, patienceWindows: 20 });
});

test("a step that is refused again waits sixty windows from then on", () => {
  const again = (patienceWindows: number): number =>
    lowered(stateOf({ backOff: { ...HELD, tookStep: true, patienceWindows } }), 1_000).patienceWindows;

  expect([again(20), again(30), again(60)]).toEqual([30, 60, 60]);
});

test("what was just given up at a refusal is no step up", () => {
  expect(steppedLately(stateOf({ backOff: HELD }), 1_000)).toBe(false);
  expect(steppedLately(stateOf({}), 1_000)).toBe(false);
});

test("the calls a window grow after their patience, in steps of one, three, nine, until the limit is reached", () => {
  const caps: (number | undefined)[] = [];
  const patiencesWindows: (number | undefined)[] = [];
  let state = stateOf({ backOff: HELD });
  for (let atMs = 20 * MINUTE_MS; atMs <= 80 * MINUTE_MS; atMs += 20 * MINUTE_MS) {
    expect(grown(state, atMs - 1)).toBe(state);
    state = grown(state, atMs);
    caps.push(state.backOff?.capCount);
    patiencesWindows.push(state.backOff?.patienceWindows);
  }

  expect(caps).toEqual([41, 44, 53, undefined]);
  expect(patiencesWindows).toEqual([20, 20, 20, undefined]);
});

test("a step that reaches the limit itself ends the matter", () => {
  expect(grown(stateOf({ backOff: { ...HELD, capCount: 59 } }), 20 * MINUTE_MS).backOff).toBeNull();
  expect(grown(stateOf({ backOff: { ...HELD, capCount: 58 } }), 20 * MINUTE_MS).backOff?.capCount).toBe(59);
});

test("nothing grows while the budget is closed or a call probes", () => {
  for (const phase of ["closed", "probing"] as const) {
    const state = stateOf({ phase, backOff: HELD });

    expect(grown(state, 20 * MINUTE_MS)).toBe(state);
  }
});

test("the next step is due when the patience is over, and never while nothing is held down", () => {
  expect(growsAtMs(stateOf({ backOff: { ...HELD, changedAtMs: 5_000, patienceWindows: 30 } }))).toBe(
    30 * MINUTE_MS + 5_000,
  );
  expect(growsAtMs(stateOf({}))).toBe(Infinity);
  expect(growsAtMs(stateOf({ backOff: HELD, phase: "probing" }))).toBe(Infinity);
  expect(grown(stateOf({}), Infinity).backOff).toBeNull();
});
