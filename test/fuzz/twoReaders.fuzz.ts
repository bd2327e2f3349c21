/** The fast reader beside the strict one, on 100,000 texts. FUZZ_SEED repeats a run, FUZZ_MUTANTS makes another number. */
import fc from "fast-check";
import { test } from "@jest/globals";
import { mutantText } from "./mutants.ts";
import { expectNoDifference, oddDocument } from "./twoReaders.ts";

const TEXTS = Number(process.env["FUZZ_MUTANTS"] ?? 100_000);
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test.each([
  ["mutants of recorded answers", mutantText],
  ["documents with oddities in every place", oddDocument],
])(
  "whatever the fast reader reads of %s is what the strict one reads",
  (what, texts) => {
    let fast = 0;

    fc.assert(
      fc.property(texts as fc.Arbitrary<string | null>, (text) => {
        if (text !== null && expectNoDifference(text)) fast += 1;
      }),
      { numRuns: TEXTS / 2, seed },
    );

    process.stdout.write(`${TEXTS / 2} ${what} (seed ${seed}): ${fast} read the fast way\n`);
  },
  1_800_000,
);
