/** A thousand mutants of recorded answers; `npm run test:fuzz` makes a hundred thousand. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { runs } from "../../support/runs.ts";
import { judge, mutantOf, mutation } from "../../fuzz/mutants.ts";

const MUTANTS = runs(1_000);

test("no mutant of a recorded answer crashes the reader, invents a number or changes whose number it is", () => {
  let values = 0;

  fc.assert(
    fc.property(mutation, (made) => {
      const verdict = judge(mutantOf(made));
      values += verdict.values;
      expect(verdict.faults).toEqual([]);
    }),
    { numRuns: MUTANTS },
  );

  // The comparison has something to compare.
  expect(values).toBeGreaterThan(MUTANTS);
});
