/** Documents made to harm: each is refused or read rightly, and the work on it is bounded before it is done. */
import { expect, test } from "@jest/globals";
import { classifyAnswer } from "../../src/quotes-api/answer.ts";
import { matchAnswer } from "../../src/quotes-api/match.ts";
import { readDocument } from "../../src/quotes-api/readDocument.ts";
import { askedInstruments } from "../../src/quotes-api/request.ts";
import { MAX_BODY_BYTES } from "../../src/quotes-api/strictXml.ts";
import { countsOf, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { symbolsCall } from "../support/journal.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { startStubService } from "../support/stubService.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import { hostileDocuments } from "../fuzz/hostileDocuments.ts";

const classify = (body: Uint8Array) => classifyAnswer({ status: 200, headers: {}, body });

test.each(hostileDocuments())("the hostile document $name is $outcome: $why", ({ make, outcome, why }) => {
  const answer = classify(make());

  expect(answer.outcome).toBe(outcome);
  if (answer.outcome !== "quotes") expect(answer.detail).toContain(why);
});

const names = Array.from({ length: 325 }, (_, n) => `S${n}`);
const bad = 200;

test("one instrument malformed among 325 costs itself alone: 324 rows and one dead letter, whatever the order of the answer", async () => {
  const items = names.map((name, n) =>
    n === bad
      ? equityXml(name, { quote: { lastprice: "<b>1</b>" } }).replace("<sectyp>", "<sectyp/><sectyp>")
      : equityXml(name, { quote: { lastprice: `${n}.5` } }),
  );
  const service = await startStubService({ body: answerXml(...items.reverse()) });
  const collecting = await openCollecting(createTestClock(), {
    baseUrl: service.baseUrl,
    credentials: TEST_CREDENTIALS,
  });

  await collecting.collect(symbolsCall(...names));

  expect(await countsOf(collecting.pool)).toMatchObject({ quotes: 324, dead_letters: 1 });
  expect(await rowsOfQuery(collecting.pool, "select instrument, reason, detail from dead_letters")).toEqual([
    {
      instrument: `S${bad}`,
      reason: "malformed",
      detail: "instrument/sectyp stands there twice",
    },
  ]);
  const stored = await rowsOfQuery(
    collecting.pool,
    "select symbol, last from quotes join instruments on instruments.id = instrument_id order by last",
  );
  expect(stored).toEqual(names.flatMap((symbol, n) => (n === bad ? [] : [{ symbol, last: `${n}.5` }])));
});

test("each order of three answers, one of them malformed, gives each instrument its own", () => {
  const prices = { A: "1.1", B: "2.2", C: "3.3" };
  const item = (name: keyof typeof prices) => equityXml(name, { quote: { lastprice: prices[name] } });
  const asked = askedInstruments(symbolsCall("A", "B", "C"));

  for (const order of ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]) {
    const { items } = readDocument(
      Buffer.from(answerXml(...[...order].map((name) => item(name as keyof typeof prices)))),
    );

    const matched = matchAnswer(asked, items);

    expect(matched.map((match) => match.fate === "stored" && [match.name, match.item.quote.last])).toEqual(
      Object.entries(prices),
    );
  }
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
