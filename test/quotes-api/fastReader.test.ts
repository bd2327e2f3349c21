/** What is read the fast way, and that it is read as the strict reader does; longer comparisons are in twoReaders.test.ts. */
import { describe, expect, test } from "@jest/globals";
import { readDocument, readPlainly, readStrictly } from "../../src/quotes-api/readDocument.ts";
import { writeDocument } from "../../src/quotes-api/writeDocument.ts";
import { decodeBody, MAX_ATTRIBUTES, MAX_DEPTH, MAX_PIECE } from "../../src/quotes-api/strictXml.ts";
import { expectNoDifference, plainEvents, strictEvents } from "../fuzz/twoReaders.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

const recorded = recordedDocuments();

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

describe("a bound of the strict reader is one of the fast reader", () => {
  const within = (content: string): string => `<response>${content}<quotes/></response>`;
  const attributes = (count: number): string =>
    Array.from({ length: count }, (_, n) => ` a${n}="1"`).join("");
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
