import { expect, test } from "@jest/globals";
import { budgetState } from "../../../src/collect/governor/budgetState.ts";
import { createGovernor, step } from "../../../src/collect/governor/governor.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import { stateOf } from "./states.ts";

test("the limit in force is the lower one that the service's headers name", () => {
  const open = createGovernor({ limit: 60, windowMs: 60_000 }, 0);
  const sent = step(open, { type: "sent" }, 1_000);
  const rateLimit = { ...NO_RATE_LIMIT, used: 1, remaining: 39, limit: 40 };
  const answered = step(sent, { type: "answered", sentAtMs: 1_000, rateLimit }, 1_100);

  expect(budgetState(answered, 1_100).limit).toBe(40);
});

test("a refusal closes the budget for a while, and says for how long", () => {
  const open = createGovernor({ limit: 60, windowMs: 60_000 }, 0);
  const sent = step(open, { type: "sent" }, 1_000);
  const closed = step(sent, { type: "faulted", sentAtMs: 1_000, rateLimit: NO_RATE_LIMIT }, 1_100);

  const then = budgetState(closed, 1_100);
  const later = budgetState(closed, 1_100 + then.closedForMs);

  expect(budgetState(open, 0)).toEqual({
    ...{ phase: "open", secondClientCount: 0, closedForMs: 0, closedBy: null },
    ...{ limit: 60, limitFrom: "settings", unsure: false, listening: false },
  });
  expect(then).toMatchObject({ phase: "closed", closedBy: "refusal" });
  expect(then.closedForMs).toBeGreaterThan(0);
  expect(later.closedForMs).toBe(0);
});

test("a limit learnt from refusals is named while no header tells the count, and as far as it is lower", () => {
  const backOff = { capCount: 45, stepCount: 1, tookStep: false, changedAtMs: 0, patienceWindows: 20 };

  expect(budgetState(stateOf({ backOff }), 0)).toMatchObject({ limit: 45, limitFrom: "refusals" });
  expect(budgetState(stateOf({ backOff, seesCount: true }), 0)).toMatchObject({ limitFrom: "settings" });
  expect(budgetState(stateOf({ backOff, limit: 45 }), 0)).toMatchObject({ limit: 45, limitFrom: "headers" });
  expect(budgetState(stateOf({ limit: 40 }), 0)).toMatchObject({ limit: 40, limitFrom: "headers" });
});

test("why the budget is closed, and for how long, is said only while it is", () => {
  const closed = { closedUntilMs: 5_000, closedBy: "failures" as const };

  expect(budgetState(stateOf({ ...closed, phase: "closed" }), 2_000)).toMatchObject({
    ...{ closedForMs: 3_000, closedBy: "failures" },
  });
  expect(budgetState(stateOf({ ...closed, phase: "probing" }), 2_000)).toMatchObject({
    ...{ closedForMs: 0, closedBy: null },
  });
});
