import { expect, test } from "@jest/globals";
import { runOurs } from "../../../bench/governor/ours.ts";
import { cellsOf, usedShare } from "../../../bench/governor/matrix.ts";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { BackOff, GovernorState } from "../../../src/collect/governor/state.ts";
import { afterCut, afterScattered, isUnwell } from "../../../src/collect/governor/unwell.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import {
  answered,
  callsAnsweredAt,
  every,
  failed,
  readingOf,
  SIXTY_A_MINUTE,
  withFailures,
} from "./states.ts";

const MINUTE_MS = 60_000;
const AT_MS = 60 * MINUTE_MS;
const HELD: BackOff = {
  ...{ capCount: 50, stepCount: 1, tookStep: false, changedAtMs: AT_MS - 5 * MINUTE_MS, patienceWindows: 20 },
};

// Before failures were told from refusals, 5 % of them left 76 % of the budget used, and 10 % left 52 %.
test.each([
  ["5 % fail, scattered", 0.95],
  ["10 % fail, scattered", 0.95],
  ["20 % fail, clustered", 0.95],
  ["10 % fail, scattered, every other header", 0.95],
  ["10 % fail, scattered, no headers", 0.9],
  ["20 % fail, clustered, no headers", 0.9],
])(
  "an hour of failures for no reason of the limit's, %s: of what they leave the budget is used, and no call is refused (at least %d)",
  (scenario, least) => {
    const cell = cellsOf(1, 60).find((one) => one.scenario === scenario && one.rule === "sliding");
    if (cell === undefined) throw new Error(`no cell ${scenario}`);

    const outcome = runOurs(cell, 1);

    expect(usedShare(outcome)).toBeGreaterThanOrEqual(least);
    expect(outcome.refusedCount).toBe(0);
  },
);

test("a failure between answers that count nobody's calls but ours is the service's own, from the second place of the window on", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 20; call += 1) state = answered(state, call * 1_000, readingOf(call));

  const once = answered(failed(state, 21_000, "closed"), 22_000, readingOf(22));
  const twice = answered(failed(once, 30_000, "closed"), 31_000, readingOf(24));
  const samePlace = answered(failed(once, 81_200, "closed"), 82_000, readingOf(3));

  expect([once, twice, samePlace].map((one) => isUnwell(one, 90_000))).toEqual([false, true, false]);
  expect(failed(failed(twice, 40_000, "closed"), 41_000, "closed").phase).toBe("open");
});

test("a 500 that says itself that calls remain is no refusal, however often it comes", () => {
  let state = createGovernor(SIXTY_A_MINUTE, 0);
  for (let call = 1; call <= 50; call += 1) state = answered(state, call * 1_000, readingOf(call));
  for (let call = 51; call <= 52; call += 1) {
    const event = { type: "failed" as const, sentAtMs: call * 1_000, how: "server_error" as const };
    const sent = step(state, { type: "sent" }, call * 1_000);
    state = step(sent, { ...event, rateLimit: readingOf(call) }, call * 1_000 + 200);
  }

  expect(state).toMatchObject({ phase: "open", refusedSentAtMs: [] });
  expect(admission(state, 54_000).maySend).toBe(true);
});

test("the count is known between two answers that tell it, and a window after the last one no more", () => {
  const told = answered(createGovernor(SIXTY_A_MINUTE, 0), 0, readingOf(1));

  expect(answered(told, 1_000, NO_RATE_LIMIT).seesCount).toBe(true);
  expect(answered(told, 61_000, NO_RATE_LIMIT).seesCount).toBe(false);
});

const threeLately = [AT_MS - 5 * MINUTE_MS + 1, AT_MS - 60_000, AT_MS];
const fourCuts = every(3 * MINUTE_MS, AT_MS - 12 * MINUTE_MS, AT_MS);
const anywhere = [AT_MS - 100_000, AT_MS - 75_000, AT_MS];
/** This many calls answered in the last window, and none failed. */
const finishedOf = (count: number) =>
  callsAnsweredAt(...Array.from({ length: count }, (_, index) => AT_MS - count + index));

test("three failures in five windows cut the calls a window to one less than were answered", () => {
  const failedAtMs = threeLately;
  const cutOf = (count: number): number | undefined =>
    afterScattered(withFailures({ failedAtMs }, { finished: finishedOf(count) }), AT_MS).backOff?.capCount;
  const two = withFailures({ failedAtMs: [AT_MS - 5 * MINUTE_MS, ...threeLately.slice(1)] });

  expect(cutOf(57)).toBe(56);
  // Never less than a refusal leaves.
  expect(cutOf(30)).toBe(45);
  // So few calls that no limit refuses at them.
  expect(cutOf(24)).toBeUndefined();
  expect(afterScattered(two, AT_MS)).toBe(two);
});

test("in the first window after the start one call less is left: nobody knows how many are answered", () => {
  const begun = withFailures({}, { startedAtMs: AT_MS - 59_000, finished: finishedOf(20) });

  expect(afterCut(begun, AT_MS).backOff?.capCount).toBe(59);
});

test("no further cut comes within a window of the last: its answers are not known yet", () => {
  const held = (changedAtMs: number): GovernorState =>
    withFailures({}, { backOff: { ...HELD, changedAtMs }, finished: finishedOf(48) });

  expect(afterCut(held(AT_MS - 59_999), AT_MS).backOff?.capCount).toBe(50);
  expect(afterCut(held(AT_MS - 60_000), AT_MS).backOff?.capCount).toBe(47);
});

test("what four cuts have not stopped is the service's own for an hour of windows, and cuts nothing any more", () => {
  const state = withFailures(
    { failedAtMs: anywhere, runsAtMs: anywhere, cutAtMs: fourCuts },
    { backOff: HELD, finished: finishedOf(40) },
  );

  const unwell = afterCut(state, AT_MS);

  expect(unwell).toMatchObject({ backOff: null, failures: { unwellAtMs: AT_MS, cutAtMs: [] } });
  expect(afterCut(unwell, AT_MS + 59 * MINUTE_MS).backOff).toBeNull();
  expect(isUnwell(unwell, AT_MS + 60 * MINUTE_MS)).toBe(false);
});

test.each([
  ["they come at one place of the window", { runsAtMs: [AT_MS - 2 * MINUTE_MS, AT_MS - MINUTE_MS, AT_MS] }],
  [
    "the cuts have stopped more than two in three",
    { failedAtMs: [...Array<number>(10).fill(AT_MS - 10 * MINUTE_MS), ...anywhere] },
  ],
  ["the cuts were fewer", { cutAtMs: fourCuts.slice(1) }],
  ["the cuts are older", { cutAtMs: fourCuts.map((at) => at - 60 * MINUTE_MS) }],
  ["the last cut has not shown what it does", { cutAtMs: [...fourCuts.slice(1), AT_MS - 2 * MINUTE_MS] }],
])("failures go on cutting when %s", (_why, failures) => {
  const state = withFailures(
    { failedAtMs: anywhere, runsAtMs: anywhere, cutAtMs: fourCuts, ...failures },
    { backOff: HELD, finished: finishedOf(48) },
  );

  expect(afterCut(state, AT_MS)).toMatchObject({
    backOff: { capCount: 47 },
    failures: { unwellAtMs: null },
  });
});

test("more than two in five calls that fail are not the service's own, and cut again", () => {
  const failing = (count: number): GovernorState =>
    withFailures(
      { unwellAtMs: AT_MS, failedAtMs: Array<number>(count).fill(AT_MS) },
      { finished: finishedOf(50) },
    );

  expect([isUnwell(failing(20), AT_MS), isUnwell(failing(21), AT_MS)]).toEqual([true, false]);
  expect(afterCut(failing(21), AT_MS).failures.unwellAtMs).toBeNull();
});

test("a failure that asks for a Retry-After costs nothing once, and as much as a refusal when it comes again", () => {
  const once = afterCut(withFailures({}), AT_MS, true);

  expect(once.backOff).toBeNull();
  expect(afterCut(once, AT_MS + MINUTE_MS, true).backOff?.capCount).toBe(45);
});
