/** Plain answers beside `rowsOf`, 100,000 of them. FUZZ_SEED repeats a run, FUZZ_MUTANTS makes another number. */
import fc from "fast-check";
import { test } from "@jest/globals";
import { PlainReader } from "../../src/read/plainRows.ts";
import { answerRecord, at } from "../support/journal.ts";
import { mutantOf, mutation } from "./mutants.ts";
import { madeAnswer, type MadeAnswer } from "./plainAnswers.ts";
import { expectTheTruth } from "./plainRows.ts";

const ANSWERS = Number(process.env["FUZZ_MUTANTS"] ?? 100_000);
const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const mutants = mutation.map((made): Partial<MadeAnswer> => ({ body: mutantOf(made).mutant }));

test.each([
  ["mutants of recorded answers", mutants],
  ["made answers to calls of every form", fc.nat().map((of): Partial<MadeAnswer> => madeAnswer(of))],
])(
  "whatever is read plainly of %s is the truth",
  (what, answers) => {
    const reader = new PlainReader();
    let plain = 0;

    fc.assert(
      fc.property(answers, (fields) => {
        if (expectTheTruth(reader, { ...answerRecord(at(0), ""), ...fields })) plain += 1;
      }),
      { numRuns: ANSWERS / 2, seed },
    );

    process.stdout.write(`${ANSWERS / 2} ${what} (seed ${seed}): ${plain} read plainly\n`);
  },
  1_800_000,
);
