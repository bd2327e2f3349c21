/** The fast reader of plain answers never says anything else than the strict one; more of it in `npm run test:fuzz`. */
import fc from "fast-check";
import { describe, expect, test } from "@jest/globals";
import { readDocument, readPlainly, readStrictly } from "../../src/quotes-api/readDocument.ts";
import { decodeBody } from "../../src/quotes-api/strictXml.ts";
import { upTo } from "../fuzz/cutAnswers.ts";
import { hostileDocuments } from "../fuzz/hostileDocuments.ts";
import { mutantText } from "../fuzz/mutants.ts";
import { expectNoDifference, oddDocument, outcome } from "../fuzz/twoReaders.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { runs } from "../support/runs.ts";

const recorded = recordedDocuments();

describe("the fast reader and the strict one say the same", () => {
  test.each(recorded)("of $name cut after any of its characters", ({ body }) => {
    const text = decodeBody(body);

    for (const end of upTo(text.length))
      if (readPlainly(text.slice(0, end)) !== null) expectNoDifference(text.slice(0, end));
  });

  test("of mutants of recorded answers", () => {
    let plain = 0;

    fc.assert(
      fc.property(mutantText, (text) => {
        if (text !== null && expectNoDifference(text)[1]) plain += 1;
      }),
      { numRuns: runs(500) },
    );

    expect(plain).toBeGreaterThan(runs(30));
  });

  test("of documents with oddities in every place", () => {
    let plain = 0;

    fc.assert(
      fc.property(oddDocument, (text) => {
        if (expectNoDifference(text)[0]) plain += 1;
      }),
      { numRuns: runs(1_500) },
    );

    expect(plain).toBeGreaterThan(runs(300));
  });

  test.each(hostileDocuments())("of $name", ({ make }) => {
    const body = make();

    expect(outcome(() => readDocument(body))).toEqual(outcome(() => readStrictly(decodeBody(body))));
  });
});
