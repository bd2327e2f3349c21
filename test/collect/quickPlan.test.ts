/** Planning thousands of instruments at once gives what planning each by itself does. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PlanOptions } from "../../src/collect/asks.ts";
import { planBudget } from "../../src/collect/budgetPlan.ts";
import { type PlannedCall, planCalls, split } from "../../src/collect/callPlan.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { contractsOf, dueJob, MINUTE_MS, SLOT_MS } from "./due.ts";
import { simplePlanCalls, simpleWalk } from "./simplePlan.ts";
import { runs } from "../support/runs.ts";

const SYMBOLS = ["A", "B", "C", "D", "E", "F", "AAPL261218C00001000"];

/** Jobs that share symbols, contracts (one spelled in two ways, one also in a list) and slots. */
const anyDue = fc
  .array(
    fc.record({
      name: fc.constantFrom("a", "b", "c"),
      priority: fc.nat(2),
      delayed: fc.boolean(),
      closes: fc.boolean(),
      symbols: fc.array(fc.constantFrom(...SYMBOLS), { maxLength: 7 }),
      contracts: fc
        .array(
          fc.constantFrom(...contractsOf(4), ...contractsOf(1).map((one) => ({ ...one, strike: "1.0" }))),
        )
        .map((contracts) => contracts.slice(0, 5)),
      watchlist: fc.constantFrom(null, "ONE", "TWO"),
      slot: fc.nat(5),
      minutes: fc.constantFrom(0.5, 1, 2, 3),
    }),
    { maxLength: 12 },
  )
  .map((jobs) =>
    jobs.map(({ slot, minutes, ...job }) => {
      const slotMs = SLOT_MS + slot * MINUTE_MS;
      return dueJob({ ...job, slotMs, deadlineMs: slotMs + minutes * MINUTE_MS });
    }),
  );

const anySeen = fc.dictionary(fc.constantFrom(...SYMBOLS, "AAPL:2026-12-18:CALL:2"), fc.nat(3));

test("the calls for what is due and what waits are the same, in the same order, for the same jobs", () => {
  fc.assert(
    fc.property(anyDue, anyDue, anySeen, fc.integer({ min: 1, max: 4 }), (due, before, seen, batchSize) => {
      const options: PlanOptions = {
        batchSize,
        lastSeenMs: (name) => seen[name] ?? 0,
        alone: (symbol) => symbol === "B" || symbol === "E",
      };
      const planned = simplePlanCalls(before, { batchSize: 3 });
      const waiting = planned.flatMap((call) =>
        split(call, ({ closes }) => closes).filter((part) => part !== null),
      );

      expect(planCalls(due, options, waiting).map(plain)).toEqual(
        simplePlanCalls(due, options, waiting).map(plain),
      );
    }),
    { numRuns: runs(100) },
  );
});

test("a day walked in groups starves the same instruments, and is done at the same times", () => {
  const anyGovernor = fc.record({ limit: fc.integer({ min: 1, max: 20 }), windowMs: fc.constant(60_000) });
  fc.assert(
    fc.property(anyDue, anyGovernor, fc.integer({ min: 1, max: 4 }), (due, governor, batchSize) => {
      const plan = planBudget(due, governor, batchSize);

      const walk = simpleWalk(due, governor.windowMs / governor.limit, batchSize);
      expect(plan.fullPassMs).toBe(walk.fullPassMs);
      expect(plan.jobs.map(({ job, starved }) => [job, starved])).toEqual(
        plan.jobs.map(({ job }) => [job, walk.starved.get(job) ?? 0]),
      );
      expect(plan.slots.map(({ doneMs }) => doneMs)).toEqual(
        plan.slots.map(({ at }) => walk.doneMs.get(instantFromDate(at)) ?? null),
      );
    }),
    { numRuns: runs(100) },
  );
});

/** With who wants what in its order, which equality of maps does not look at. */
function plain({ wants, ...planned }: PlannedCall): object {
  return { ...planned, wants: [...wants] };
}
