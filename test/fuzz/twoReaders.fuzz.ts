/** The fast reader beside the strict one, on 100,000 texts. FUZZ_SEED repeats a run, FUZZ_MUTANTS makes another number. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { mutantText } from "./mutants.ts";
import { compare, oddDocument } from "./twoReaders.ts";

const TEXTS = Number(process.env["FUZZ_MUTANTS"] ?? 100_000);
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test.each([
  ["mutants of recorded answers", mutantText],
  ["documents with oddities in every place", oddDocument],
])(
  "whatever the fast reader reads of %s is what the strict one reads",
  (what, texts) => {
    const plain = { events: 0, documents: 0 };

    fc.assert(
      fc.property(texts as fc.Arbitrary<string | null>, (text) => {
        const [events, documents] = text === null ? [] : compare(text);
        if (events?.fast) plain.events += 1;
        if (documents?.fast) plain.documents += 1;
        for (const { fast, strict } of [events, documents].flatMap((pair) => pair ?? []))
          if (fast !== null) expect(fast).toEqual(strict);
      }),
      { numRuns: TEXTS / 2, seed },
    );

    process.stdout.write(
      `${TEXTS / 2} ${what} (seed ${seed}): ${plain.events} walked, ${plain.documents} read the fast way\n`,
    );
  },
  1_800_000,
);
