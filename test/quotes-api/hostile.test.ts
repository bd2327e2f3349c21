/** Documents made to harm: each is refused or read rightly, and the work on it is bounded before it is done. */
import { describe, expect, test } from "@jest/globals";
import { classifyAnswer } from "../../src/quotes-api/answer.ts";
import { matchAnswer } from "../../src/quotes-api/match.ts";
import { MAX_ITEMS, readDocument } from "../../src/quotes-api/readDocument.ts";
import { askedInstruments } from "../../src/quotes-api/request.ts";
import {
  MAX_ATTRIBUTES,
  MAX_BODY_BYTES,
  MAX_DEPTH,
  MAX_PIECE,
  walkXml,
} from "../../src/quotes-api/strictXml.ts";
import { countsOf, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { symbolsCall } from "../support/journal.ts";
import { TEST_CREDENTIALS } from "../support/simulatedService.ts";
import { startStubService } from "../support/stubService.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";
import { hostileDocuments } from "../fuzz/hostileDocuments.ts";

const classify = (body: Uint8Array) => classifyAnswer({ status: 200, headers: {}, body });

describe("a hostile document", () => {
  test.each(hostileDocuments())("$name is $outcome: $why", ({ make, outcome, why }) => {
    const answer = classify(make());

    expect(answer.outcome).toBe(outcome);
    if (answer.outcome !== "quotes") expect(answer.detail).toContain(why);
  });

  test("is not gathered before it is refused: so much of it is walked, and no more", () => {
    const endless = "x".repeat(4 * MAX_PIECE);
    const walked: Record<string, number> = {};
    const walk = (name: string, text: string): void => {
      walked[name] = 0;
      const count = (): void => void (walked[name] = (walked[name] ?? 0) + 1);
      expect(() =>
        walkXml(text, "response", { open: count, text: count, aside: count, close: count }),
      ).toThrow("DOCUMENT_REFUSED");
    };

    walk("deep", "<response>".repeat(50_000));
    walk("attributes", `<response ${Array.from({ length: 100_000 }, (_, n) => `a${n}=""`).join(" ")}/>`);
    walk("attribute", `<response id="${endless}"/>`);
    walk("text", `<response>${endless}</response>`);
    walk("comment", `<response><!--${endless}--></response>`);

    expect(walked).toEqual({ deep: MAX_DEPTH, attributes: 0, attribute: 0, text: 1, comment: 1 });
  });

  test("up to each bound is read", () => {
    const attributes = Array.from({ length: MAX_ATTRIBUTES }, (_, n) => `a${n}="1"`).join(" ");
    const long = "x".repeat(MAX_PIECE - 100);
    const items = Array.from({ length: MAX_ITEMS }, () => "<instrumentquote/>").join("");

    expect(
      classify(Buffer.from(`<response ${attributes}><quotes><!--${long}--></quotes></response>`)).outcome,
    ).toBe("quotes");
    expect(readDocument(Buffer.from(`<response><quotes>${items}</quotes></response>`)).items).toHaveLength(
      MAX_ITEMS,
    );
  });

  test("is read the same however its bytes fall into the parser's slices", () => {
    const padding = (length: number): string => "\u{1F355}\r\n".repeat(length / 4);
    for (let shift = 0; shift < 8; shift++) {
      const text = answerXml(
        `<!--${"y".repeat(shift)}${padding(16_384)}-->`,
        equityXml("A", { instrument: { desc: `\u{1F355}${padding(32_000)}` } }),
        equityXml("B", { instrument: { sym: "" } }),
      );

      const { items } = readDocument(Buffer.from(text));

      expect(items[1]?.fragment).toBe(equityXml("B", { instrument: { sym: "" } }));
      expect(items[0]).toMatchObject({ item: { instrument: { symbol: "A" } } });
    }
  });
});

describe("one instrument malformed among 325", () => {
  const names = Array.from({ length: 325 }, (_, n) => `S${n}`);
  const bad = 200;

  test("costs itself alone: 324 rows and one dead letter, whatever the order of the answer", async () => {
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
    expect(await rowsOfQuery(collecting.pool, "select instrument, reason, detail from dead_letters")).toEqual(
      [
        {
          instrument: `S${bad}`,
          reason: "malformed",
          detail: "instrument/sectyp stands there twice",
        },
      ],
    );
    const stored = await rowsOfQuery(
      collecting.pool,
      "select symbol, last from quotes join instruments on instruments.id = instrument_id order by last",
    );
    expect(stored).toEqual(names.flatMap((symbol, n) => (n === bad ? [] : [{ symbol, last: `${n}.5` }])));
  });

  test("and each order of three answers gives each its own", () => {
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
});

describe("an option is never taken for its underlying", () => {
  test("when its security type is another one, it is a dead letter", () => {
    const item = optionXml({ underlying: "MRDN" }).replace("<sectyp>OPT</sectyp>", "<sectyp>CS</sectyp>");

    const matched = matchAnswer(
      askedInstruments(symbolsCall("MRDN")),
      readDocument(Buffer.from(answerXml(item))).items,
    );

    expect(matched).toMatchObject([{ fate: "dead", detail: 'instrument/sectyp "CS" has an underlying' }]);
  });

  test("when all that names its contract is missing, it is a dead letter", () => {
    const item = optionXml({ underlying: "MRDN" }).replace(/<(matdt|putcall|sectyp|strkpx)>[^<]*<\/\1>/g, "");

    expect(readDocument(Buffer.from(answerXml(item))).items).toMatchObject([{ ok: false }]);
  });
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
