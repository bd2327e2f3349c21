import { expect, test } from "@jest/globals";
import { cellsOf } from "../../../bench/governor/matrix.ts";
import { runOurs } from "../../../bench/governor/ours.ts";
import type { BackOff, GovernorState } from "../../../src/collect/governor/state.ts";
import { afterQuiet, afterRunOfFailures, goesOn, withSigns } from "../../../src/collect/governor/untold.ts";
import { withFailure } from "../../../src/collect/governor/disguise.ts";
import { callsAnsweredAt, withFailures } from "./states.ts";

const MINUTE_MS = 60_000;
const AT_MS = 60 * MINUTE_MS;
const CUT: BackOff = {
  ...{ capCount: 45, stepCount: 1, tookStep: false, changedAtMs: AT_MS - 9 * MINUTE_MS, patienceWindows: 20 },
};
/** Failures kept us still for a third of the window, or for a whole one, until half a window ago. */
const REOPENED = {
  ...{ closedBy: "failures" as const, closedUntilMs: AT_MS - 30_000, faultAtMs: AT_MS - 50_010 },
};
const REOPENED_LATE = { ...REOPENED, faultAtMs: AT_MS - 90_010 };

/** This many calls answered in the last window. */
const finishedOf = (count: number) =>
  callsAnsweredAt(...Array.from({ length: count }, (_, index) => AT_MS - count + index));

// With a call after a sixth of the window and no trial these were 21 to 42 refusals.
test.each([
  ["sliding", 8],
  ["first call", 10],
  ["clock minute", 10],
])(
  "a limit that falls unseen, and refuses with a 503, counted by %s, refuses at most %i calls",
  (rule, most) => {
    const name = "limit falls to 40, 503, no headers";
    const cell = cellsOf(1, 60).find((one) => one.scenario === name && one.rule === rule);
    if (cell === undefined) throw new Error(`no cell ${name}, ${rule}`);

    expect(runOurs(cell, 1).refusedCount).toBeLessThanOrEqual(most);
  },
);

const failing = (runCount: number, known: Partial<GovernorState>): boolean =>
  goesOn(withFailures({ runCount }, { finished: finishedOf(40), ...known }), AT_MS);

test("where no header tells, failures go on when two in a row come within a window and a half after some kept us still", () => {
  const longAgo = { ...REOPENED, closedUntilMs: AT_MS - 90_000 };

  expect([failing(2, REOPENED), failing(1, REOPENED), failing(2, longAgo)]).toEqual([true, false, false]);
  expect(failing(2, { ...REOPENED, closedBy: "refusal" })).toBe(false);
});

test("where no header tells, failures go on when three come within a sixth of the window after a cut", () => {
  const cut = { ...CUT, changedAtMs: AT_MS - MINUTE_MS };
  const dense = (failedAtMs: number[], backOff: BackOff = cut): boolean =>
    goesOn(withFailures({ failedAtMs }, { backOff, finished: finishedOf(40) }), AT_MS);

  expect(dense([AT_MS - 9_999, AT_MS - 5_000, AT_MS])).toBe(true);
  expect(dense([AT_MS - 10_000, AT_MS - 5_000, AT_MS])).toBe(false);
  expect(dense([AT_MS - 9_999, AT_MS - 5_000, AT_MS], CUT)).toBe(false);
});

test("where no header tells, failures do not go on while so few calls are counted that no limit refuses", () => {
  expect(failing(2, { ...REOPENED, finished: finishedOf(24) })).toBe(false);
  expect(failing(2, { ...REOPENED, finished: finishedOf(25) })).toBe(true);
});

const taught = (known: Partial<GovernorState>, answeredCount: number): number | undefined =>
  afterRunOfFailures(
    withFailures({ runCount: 2 }, { finished: finishedOf(answeredCount), ...known }),
    AT_MS,
    false,
  ).backOff?.capCount;

test("failures that go on cut nothing after a short wait, and to what was answered after a whole window", () => {
  expect(taught(REOPENED, 40)).toBeUndefined();
  expect(taught(REOPENED_LATE, 41)).toBe(40);
});

test("failures that go on cut to no less than two refusals leave, and to no more than one", () => {
  expect([taught(REOPENED_LATE, 30), taught(REOPENED_LATE, 55)]).toEqual([37, 45]);
});

const after = (state: GovernorState): GovernorState =>
  withSigns(state, withFailure(state, AT_MS - 200, AT_MS), AT_MS);

test("a failure where no header tells is a sign that it is the service's own while few calls are counted", () => {
  expect(after(withFailures({}, { finished: finishedOf(24) })).failures.signsAtMs).toEqual([AT_MS]);
  expect(after(withFailures({}, { finished: finishedOf(25) })).failures.signsAtMs).toEqual([]);
});

test("a failure where no header tells is the service's own at a middling count after two such signs, if few of the calls failed", () => {
  const signsAtMs = [AT_MS - 20_000, AT_MS - 10_000];
  const many = Array.from({ length: 16 }, (_, index) => AT_MS - 1_000 + index);
  const unwell = (failures: Partial<GovernorState["failures"]>, count: number): boolean =>
    after(withFailures(failures, { finished: finishedOf(count) })).failures.unwellAtMs === AT_MS;

  expect(unwell({ signsAtMs }, 30)).toBe(true);
  expect(unwell({ signsAtMs: signsAtMs.slice(1) }, 30)).toBe(false);
  expect(unwell({ signsAtMs }, 55)).toBe(false);
  expect(unwell({ signsAtMs, failedAtMs: many }, 30)).toBe(false);
  expect(unwell({ signsAtMs, refutedAtMs: AT_MS - MINUTE_MS }, 30)).toBe(false);
});

test("a failure where no header tells is a sign when it comes two windows after the last, at another place of the window, and no step was taken", () => {
  const lastAtMs = AT_MS - 2 * MINUTE_MS - 10_000;
  const known = { failedAtMs: [lastAtMs], runsAtMs: [lastAtMs] };
  const signs = (failures: Partial<GovernorState["failures"]>, backOff: BackOff | null): number =>
    after(withFailures(failures, { backOff, finished: finishedOf(44) })).failures.signsAtMs.length;

  expect(signs(known, CUT)).toBe(1);
  expect(signs(known, null)).toBe(0);
  expect(signs(known, { ...CUT, tookStep: true })).toBe(0);
  expect(signs({ failedAtMs: [AT_MS - 100_000], runsAtMs: [AT_MS - 100_000] }, CUT)).toBe(0);
  const samePlace = { failedAtMs: [AT_MS - 3 * MINUTE_MS], runsAtMs: [AT_MS - 3 * MINUTE_MS] };
  expect(signs(samePlace, CUT)).toBe(0);
});

test("where no header tells, a full window without failures after they kept us still is a sign, once", () => {
  const reopened = { ...REOPENED, closedUntilMs: AT_MS - 90_000, finished: finishedOf(51) };
  const signs = (known: Partial<GovernorState>): number =>
    afterQuiet(withFailures({}, { ...reopened, ...known }), AT_MS).failures.signsAtMs.length;

  expect(signs({})).toBe(1);
  expect(signs({ closedUntilMs: AT_MS - 89_999 })).toBe(0);
  expect(signs({ finished: finishedOf(50) })).toBe(0);
  expect(signs({ backOff: CUT })).toBe(0);
  const once = afterQuiet(withFailures({}, reopened), AT_MS);
  expect(afterQuiet(once, AT_MS)).toBe(once);
});
