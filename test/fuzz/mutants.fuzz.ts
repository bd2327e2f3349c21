/** 100,000 mutants of recorded answers. FUZZ_SEED repeats a run, FUZZ_MUTANTS makes another number of them. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { judge, mutantOf, mutation } from "./mutants.ts";

const MUTANTS = Number(process.env["FUZZ_MUTANTS"] ?? 100_000);
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test("no mutant crashes the reader, invents a number or changes whose number it is", () => {
  const outcomes = new Map<string, number>();
  const totals = { quotes: 0, values: 0 };

  fc.assert(
    fc.property(mutation, (made) => {
      const { outcome, quotes, values, faults } = judge(mutantOf(made));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      totals.quotes += quotes;
      totals.values += values;
      expect(faults).toEqual([]);
    }),
    { numRuns: MUTANTS, seed },
  );

  const kinds = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  process.stdout.write(
    `${MUTANTS} mutants (seed ${seed}): ${kinds}; ${totals.values} values of ${totals.quotes} quotes compared\n`,
  );
}, 1_800_000);
