/** The fast reader of answers says what the strict one says, and the strict one what saxes says; longer comparisons are in `npm run test:fuzz`. */
import fc from "fast-check";
import { expect, test } from "@jest/globals";
import { readDocument, readQuickly, readStrictly } from "../../../src/services/reference/readDocument.ts";
import { decodeBody } from "../../../src/services/bodyText.ts";
import { upTo } from "../../fuzz/cutAnswers.ts";
import { hostileDocuments } from "../../fuzz/hostileDocuments.ts";
import { mutantText } from "../../fuzz/mutants.ts";
import { expectNoDifference, expectOneOpinion, oddDocument, outcome } from "../../fuzz/twoReaders.ts";
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

test.each([
  ["mutants of recorded answers", mutantText, 500, 30],
  ["documents with oddities in every place", oddDocument, 1_500, 300],
] as const)("both readers and saxes read %s alike", (_what, texts, count, least) => {
  let [plain, read] = [0, 0];

  fc.assert(
    fc.property(texts as fc.Arbitrary<string | null>, (text) => {
      if (text !== null && expectNoDifference(text)) plain += 1;
      if (text !== null && expectOneOpinion(text)) read += 1;
    }),
    { numRuns: runs(count) },
  );

  expect(plain).toBeGreaterThan(runs(least));
  expect(read).toBeGreaterThan(runs(least));
});

test.each(["\u1680", "\ufeff", "\u{1f355}"])(
  "a name with the character %j is refused, not read in part",
  (mark) => {
    for (const name of [`${mark}a`, `a${mark}`, `a${mark}b`])
      expect(() => readStrictly(`<response id="1"><quotes/><${name}>1</${name}></response>`)).toThrow(
        "DOCUMENT_REFUSED",
      );
  },
);

test.each(recorded)(
  "saxes and the program read $name alike, and refuse each cut of it",
  ({ body, whole }) => {
    const text = decodeBody(body);
    const end = text.length - (body.length - whole);

    expect(expectOneOpinion(text)).toBe(true);
    expect(upTo(end).filter((at) => at % 7 === 0 && expectOneOpinion(text.slice(0, at)))).toEqual([]);
  },
);

test.each(hostileDocuments())("both readers say the same of $name", ({ make }) => {
  const body = make();

  expect(outcome(() => readDocument(body))).toEqual(outcome(() => readStrictly(decodeBody(body))));
});
