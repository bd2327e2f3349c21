/** Hours that were hard, and a whole day. An hour of each scenario under each rule is `npm run bench:governor`, which CI runs. */
import { expect, jest, test } from "@jest/globals";
import {
  cellsOf,
  fairness,
  usedShare,
  usedShareSinceMinute,
  type NamedCell,
} from "../../../bench/governor/matrix.ts";
import { runOurs } from "../../../bench/governor/ours.ts";

// A day of calls is simulated, which takes as long as the machine is slow.
jest.setTimeout(300_000);

// Each a cell of `npm run bench:governor -- --seeds 1-24` that was hard to reach, for a reason of its own.
test.each([
  ["30 evenly", "sliding, refused count", 18],
  ["30 evenly", "sliding", 4],
  ["30 at once", "first call", 16],
  ["30 at once", "sliding, refused count", 13],
  ["50 at once", "first call", 2],
  ["50 at once", "sliding", 16],
  ["30 at once, closed", "clock minute", 13],
  ["30 at once, closed", "first call", 12],
])(
  "beside %s, counted by %s, seed %i, 95 %% of the rest are used with six refusals",
  (client, rule, seed) => {
    const outcome = runOurs(cellOf(`second client, ${client}`, rule, seed), seed);

    expect(usedShare(outcome)).toBeGreaterThanOrEqual(0.95);
    expect(outcome.refusedCount).toBeLessThanOrEqual(6);
  },
);

test.each([
  [10, 0.92],
  [15, 0.9],
])(
  "of a service that answers %d %% of the calls with 500 and headers, %d are used in each of ten short runs",
  (percent, least) => {
    const runs = Array.from({ length: 10 }, (_, index) =>
      runOurs(
        { ...cellOf(`${percent} % are answered 500, with headers`, "first call", index + 1), minutes: 5 },
        index + 1,
      ),
    );

    expect(Math.min(...runs.map(usedShare))).toBeGreaterThanOrEqual(least);
    expect(runs.reduce((sum, { refusedCount }) => sum + refusedCount, 0)).toBe(0);
  },
);

test("a day of a 60-call budget under a sliding window loses less than 1 %, and never pauses for 5 s", () => {
  const outcome = runOurs({ ...cellOf("alone", "sliding"), minutes: 24 * 60 }, 1);

  expect(usedShare(outcome)).toBeGreaterThanOrEqual(0.99);
  expect(usedShareSinceMinute(outcome)).toBeGreaterThanOrEqual(0.99);
  expect(outcome.longestPauseMs).toBeLessThan(5_000);
  expect(outcome.refusedCount).toBe(0);
});

test("of two collectors on one account that no header tells of each other neither starves", () => {
  const outcome = runOurs({ ...cellOf("two collectors, no headers, fault", "sliding"), minutes: 180 }, 2);

  expect(fairness(outcome)).toBeGreaterThan(0.5);
  expect(usedShare(outcome)).toBeGreaterThan(0.9);
  expect(2 * outcome.steadyRefusedCount).toBeLessThanOrEqual(6);
});

function cellOf(scenario: string, rule: string, seed = 1): NamedCell {
  const cell = cellsOf(seed, 60).find((one) => one.scenario === scenario && one.rule === rule);
  if (cell === undefined) throw new Error(`no cell ${scenario}, ${rule}`);
  return cell;
}
