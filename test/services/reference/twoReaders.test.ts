/** The fast reader of answers says what the strict one says; longer comparisons are in `npm run test:fuzz`. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { readDocument, readQuickly, readStrictly } from "../../../src/services/reference/readDocument.ts";
import { decodeBody } from "../../../src/services/bodyText.ts";
import { upTo } from "../../fuzz/cutAnswers.ts";
import { hostileDocuments } from "../../fuzz/hostileDocuments.ts";
import { mutantText } from "../../fuzz/mutants.ts";
import { expectNoDifference, oddDocument, outcome } from "../../fuzz/twoReaders.ts";
import { recordedDocuments } from "../../support/recorded.ts";
import { runs } from "../../support/runs.ts";

const recorded = recordedDocuments();

test.each(recorded)(
  "both readers read $name alike, whole and cut after any of its characters",
  ({ body }) => {
    const text = decodeBody(body);

    for (const end of upTo(text.length))
      if (readQuickly(text.slice(0, end)) !== null) expectNoDifference(text.slice(0, end));
  },
);

test("both readers read mutants of recorded answers alike", () => {
  let plain = 0;

  fc.assert(
    fc.property(mutantText, (text) => {
      if (text !== null && expectNoDifference(text)) plain += 1;
    }),
    { numRuns: runs(500) },
  );

  expect(plain).toBeGreaterThan(runs(30));
});

test("both readers read documents with oddities in every place alike", () => {
  let plain = 0;

  fc.assert(
    fc.property(oddDocument, (text) => {
      if (expectNoDifference(text)) plain += 1;
    }),
    { numRuns: runs(1_500) },
  );

  expect(plain).toBeGreaterThan(runs(300));
});

test.each(hostileDocuments())("both readers say the same of $name", ({ make }) => {
  const body = make();

  expect(outcome(() => readDocument(body))).toEqual(outcome(() => readStrictly(decodeBody(body))));
});
