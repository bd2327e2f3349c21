/** The fast reader of plain answers never says anything else than the strict one; more of it in `npm run test:fuzz`. */
import fc from "fast-check";
import { describe, expect, test } from "@jest/globals";
import { readDocument, readPlainly, readStrictly } from "../../src/quotes-api/readDocument.ts";
import { writeDocument } from "../../src/quotes-api/writeDocument.ts";
import { decodeBody, MAX_ATTRIBUTES, MAX_DEPTH, MAX_PIECE } from "../../src/quotes-api/strictXml.ts";
import { recordedDocuments, upTo } from "../fuzz/cutAnswers.ts";
import { hostileDocuments } from "../fuzz/hostileDocuments.ts";
import { compare, mutantText, oddDocument, outcome, plainEvents, strictEvents } from "../fuzz/twoReaders.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const recorded = recordedDocuments();

/** Whatever the fast reader read is what the strict one reads. @returns whether it read the events, and the document */
function expectNoDifference(text: string): boolean[] {
  return compare(text).map(({ fast, strict }) => {
    if (fast !== null) expect(fast).toEqual(strict);
    return fast !== null;
  });
}

describe("what the service writes is read the fast way", () => {
  /** Recorded for what is not plain in them. */
  const UNUSUAL = new Set(["cdata-description", "comment-inside-a-number"]);

  test.each(recorded)("$name, unless it was recorded for its unusual XML", ({ name, body }) => {
    const text = decodeBody(body);

    expect(readPlainly(text) !== null).toBe(!UNUSUAL.has(name));
    expectNoDifference(text);
  });

  test("also with names that need entities or hold letters of other scripts, with CR LF, and as we write it", () => {
    const text = answerXml(equityXml("A&amp;B", { instrument: { desc: "CAF\u00c9 &lt;&quot;&apos;&gt;" } }));
    const { items } = readStrictly(answerXml(optionXml({}), equityXml("A&amp;B")));
    const written = writeDocument({
      id: "1",
      instruments: items.flatMap((read) => (read.ok ? [read.item] : [])),
    });

    for (const plain of [
      text,
      text.replaceAll("\n", "\r\n"),
      written,
      writeDocument({ id: null, instruments: [] }),
    ])
      expect(expectNoDifference(plain)).toEqual([true, true]);
  });
});

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
      { numRuns: 1_500 },
    );

    expect(plain).toBeGreaterThan(100);
  });

  test("of documents with oddities in every place", () => {
    let plain = 0;

    fc.assert(
      fc.property(oddDocument, (text) => {
        if (expectNoDifference(text)[0]) plain += 1;
      }),
      { numRuns: 5_000 },
    );

    expect(plain).toBeGreaterThan(1_000);
  });

  test.each(hostileDocuments())("of $name", ({ make }) => {
    const body = make();

    expect(outcome(() => readDocument(body))).toEqual(outcome(() => readStrictly(decodeBody(body))));
  });
});

describe("a bound of the strict reader is one of the fast reader", () => {
  const within = (content: string): string => `<response>${content}<quotes/></response>`;
  const attributes = (count: number): string =>
    upTo(count)
      .map((n) => ` a${n}="1"`)
      .join("");
  const nested = (depth: number): string => within("<a>".repeat(depth - 1) + "</a>".repeat(depth - 1));

  test.each([
    ["depth", nested(MAX_DEPTH), nested(MAX_DEPTH + 1)],
    [
      "attributes",
      within(`<a${attributes(MAX_ATTRIBUTES - 1)}/>`),
      within(`<a${attributes(MAX_ATTRIBUTES + 1)}/>`),
    ],
    ["the length of a text", within("x".repeat(MAX_PIECE / 2)), within("x".repeat(MAX_PIECE + 1))],
    ["the length of a name", within(`<${"x".repeat(1_000)}/>`), within(`<${"x".repeat(MAX_PIECE + 1)}/>`)],
    ["white space at the end", within("") + " ".repeat(1_000), within("") + " ".repeat(MAX_PIECE + 1)],
    ["white space at the start", " ".repeat(1_000) + within(""), " ".repeat(MAX_PIECE + 1) + within("")],
  ])("%s", (_what, inside, outside) => {
    expect(expectNoDifference(inside)).toEqual([true, true]);
    expect(expectNoDifference(outside)).toEqual([false, false]);
  });

  test("pieces that are each within theirs are so in a row", () => {
    const name = "x".repeat(MAX_PIECE / 2 - 3);
    const text = `${" ".repeat(MAX_PIECE / 2)}<response>${`<${name}></${name}>${"y".repeat(MAX_PIECE / 2)}`.repeat(3)}</response>`;

    expect(plainEvents(text)).not.toBeNull();
    expect(strictEvents(text)).toEqual({ read: plainEvents(text) });
  });

  test("the number of instruments, in the strict reader's words", () => {
    const text = answerXml("<instrumentquote/>".repeat(4_001));

    expect(readPlainly(text)).toBeNull();
    expect(() => readDocument(Buffer.from(text))).toThrow("more than 4000 instruments");
    // The strict reader finds the DOCTYPE before it counts: the fast one must not have the first word.
    expect(() => readDocument(Buffer.from(`${text}<!DOCTYPE x>`))).toThrow("it holds a DOCTYPE");
  });
});
