/** An account changes hands; all runs of the table are in `npm run bench:governor -- --fleet`. */
import { expect, test } from "@jest/globals";
import { runs } from "../../support/runs.ts";
import { keepsRowBounds, runFleet } from "../../../bench/governor/fleet.ts";

test.each([
  "kill",
  "clean stop",
  "own cut",
  "everybody cut",
  "paused for 60 s, (0|2) late",
  "a round in flight",
])(
  "%s: ten times for each demand, refusals, first quotes and use of the budget keep their bounds",
  (event) => {
    const outcomes = runFleet(runs(10), new RegExp(event));

    expect(outcomes.length).toBeGreaterThanOrEqual(5);
    for (const outcome of outcomes)
      expect({ ...outcome, keeps: keepsRowBounds(outcome) }).toMatchObject({ keeps: true });
  },
);

test("a row whose calls were refused, or whose first quote came late, misses its bound", () => {
  const [row] = runFleet(1, /^kill, 45/);

  expect(row && keepsRowBounds(row)).toBe(true);
  expect(row && keepsRowBounds({ ...row, refusedRuns: 1 })).toBe(false);
  expect(row && keepsRowBounds({ ...row, firstQuoteMs: [15_000] })).toBe(false);
  expect(row && keepsRowBounds({ ...row, meanShare: -0.1 })).toBe(false);
});
