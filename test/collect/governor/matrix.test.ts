import { describe, expect, test } from "@jest/globals";
import { bounds, refusalsPerHour, SCENARIOS, usedShare } from "../../../bench/governor/matrix.ts";
import { runOurs } from "../../../bench/governor/ours.ts";
import {
  COUNTING_RULES,
  EXPIRE_SKEWS,
  type RuleName,
  type SkewName,
} from "../../../bench/governor/service.ts";
import type { Cell } from "../../../bench/governor/world.ts";

const RULES = Object.keys(COUNTING_RULES) as RuleName[];
const SKEWS = Object.keys(EXPIRE_SKEWS) as SkewName[];

describe("under saturated demand for an hour, every allowed call is used and none refused", () => {
  // Each scenario, rule and skew at least once; every cell of the three is in `npm run bench:governor`, which CI runs.
  const cells = SCENARIOS.map((scenario, row) => ({
    ...scenario,
    rule: RULES[row % RULES.length] ?? "sliding",
    skew: SKEWS[row % SKEWS.length] ?? "0",
  }));

  test.each(cells)("$name, counted by $rule, Expire $skew", ({ name: _name, ...chosen }) => {
    const cell: Cell = { ...chosen, clockOffMs: 60_000, minutes: 60 };
    const outcome = runOurs(cell, 1);

    const { leastShare, mostRefusals } = bounds(cell);
    expect(usedShare(cell, outcome)).toBeGreaterThanOrEqual(leastShare);
    expect(refusalsPerHour(cell, outcome)).toBeLessThanOrEqual(mostRefusals);
  });
});

test("a day of a 60-call budget under a sliding window loses less than 1 %", () => {
  const cell: Cell = {
    rule: "sliding",
    skew: "0",
    clockOffMs: 0,
    secondClient: null,
    restartCount: 0,
    clockStep: false,
    minutes: 24 * 60,
  };

  const outcome = runOurs(cell, 1);

  expect(usedShare(cell, outcome)).toBeGreaterThanOrEqual(0.99);
  expect(outcome.refusedCount).toBe(0);
});
