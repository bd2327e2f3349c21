/** Documents made to harm: each is refused or read rightly, and the work on it is bounded before it is done. */
import { expect, test } from "@jest/globals";
import { classifyAnswer } from "../../../src/services/reference/classifyAnswer.ts";
import { readDocument } from "../../../src/services/reference/readDocument.ts";
import { MAX_BODY_BYTES } from "../../../src/services/bodyText.ts";
import { answerXml, equityXml } from "../../support/xml.ts";
import { hostileDocuments } from "../../fuzz/hostileDocuments.ts";

const classify = (body: Uint8Array) => classifyAnswer({ status: 200, headers: {}, body });

test.each(hostileDocuments())("the hostile document $name is $outcome: $why", ({ make, outcome, why }) => {
  const answer = classify(make());

  expect(answer.outcome).toBe(outcome);
  if (answer.outcome !== "quotes") expect(answer.detail).toContain(why);
});
test("a name keeps a no-break space that is part of it", () => {
  const { items } = readDocument(Buffer.from(answerXml(equityXml("A", { instrument: { sym: "\u00a0A" } }))));

  expect(items).toMatchObject([{ item: { instrument: { symbol: "\u00a0A" } } }]);
});

test("the cap is on bytes, not on characters", () => {
  const body = Buffer.from(`<response><quotes>${"\u{1F355}".repeat(MAX_BODY_BYTES / 4)}</quotes></response>`);

  expect(classify(body)).toMatchObject({
    outcome: "malformed",
    detail: expect.stringContaining("exceed the cap"),
  });
});
