/** 100,000 mutants of recorded answers, as many odd documents, and every cut, read by saxes too. FUZZ_MUTANTS makes another number. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { decodeBody } from "../../src/services/bodyText.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { upTo } from "./cutAnswers.ts";
import { mutantText } from "./mutants.ts";
import { expectOneOpinion, oddDocument } from "./twoReaders.ts";

const MUTANTS = Number(process.env["FUZZ_MUTANTS"] ?? 100_000);
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

// Most of these are refused, and making a stack for each takes longer than reading it.
Error.stackTraceLimit = 0;

test.each([
  ["mutants of recorded answers", mutantText],
  ["documents with oddities in every place", oddDocument],
] as const)(
  "saxes and the program read %s alike",
  (name, texts) => {
    let read = 0;

    fc.assert(
      fc.property(texts as fc.Arbitrary<string | null>, (text) => {
        if (text !== null && expectOneOpinion(text)) read += 1;
      }),
      { numRuns: MUTANTS, seed },
    );

    process.stdout.write(`${MUTANTS} ${name} (seed ${seed}): ${read} read, each as saxes reads it\n`);
  },
  1_800_000,
);

test("each cut of a recorded answer inside of its root is refused by both", () => {
  let cuts = 0;

  for (const { name, body, whole } of recordedDocuments()) {
    const text = decodeBody(body);
    const end = text.length - (body.length - whole);
    const read = upTo(end).filter((at) => expectOneOpinion(text.slice(0, at)));
    expect([name, read]).toEqual([name, []]);
    cuts += end;
  }

  process.stdout.write(`${cuts} cuts, none of them read\n`);
});
