/** The strict walk: what it refuses, and that the work on it is bounded before it is done. */
import { expect, test } from "@jest/globals";
import { MAX_ITEMS } from "../../src/quotes/document.ts";
import { readDocument, readStrictly } from "../../src/services/reference/readDocument.ts";
import { decodeBody, MAX_BODY_BYTES } from "../../src/services/bodyText.ts";
import { MAX_PIECE, walkXml } from "../../src/services/strictXml.ts";
import { outcome, type Reading } from "../fuzz/twoReaders.ts";
import { answerXml, equityXml } from "../support/xml.ts";

const MAX_ATTRIBUTES = 64;
const MAX_DEPTH = 64;

/** The events of a walk, each as its name and arguments. */
const strictEvents = (text: string): Reading<(readonly unknown[])[]> =>
  outcome(() => {
    const events: (readonly unknown[])[] = [];
    walkXml(text, "response", {
      open: (name, attributes, offset) => void events.push(["open", name, { ...attributes }, offset]),
      text: (piece) => void events.push(["text", piece]),
      aside: () => void events.push(["aside"]),
      close: (name, offset) => void events.push(["close", name, offset]),
    });
    return events;
  });

/** Why a text is refused; null when it is not. */
const refusal = (text: string): string | null => {
  const read = strictEvents(text);
  return "refused" in read ? read.refused : null;
};
const around = (content: string): string => `<response>${content}</response>`;
const attributes = (count: number): string => Array.from({ length: count }, (_, n) => ` a${n}="1"`).join("");

test("every element, text and aside is told in its order, elements with the places where they begin and end", () => {
  const text =
    '<?xml version="1.0"?><!-- before --><response id="1"> <a/><!-- x --><?y z?><![CDATA[b]]></response>';

  expect(strictEvents(text)).toEqual({
    read: [
      ["open", "response", { id: "1" }, text.indexOf("<response")],
      ["text", " "],
      ["open", "a", {}, text.indexOf("<a/>")],
      ["close", "a", text.indexOf("<a/>") + 4],
      ["aside"],
      ["aside"],
      ["text", "b"],
      ["close", "response", text.length],
    ],
  });
});

test("a start tag with a less-than sign before it begins at its own", () => {
  const text = around('<a b="1"\n c="2"/>');

  expect(strictEvents(text)).toMatchObject({ read: [{}, ["open", "a", { b: "1", c: "2" }, 10], {}, {}] });
});

test.each(["UTF-8", "utf-8", "UTF8", "us-ascii"])("the declared encoding may be %s", (encoding) => {
  expect(refusal(`<?xml version="1.0" encoding="${encoding}"?>${around("")}`)).toBeNull();
});

test.each(["UTF-16", "UTF-80", "X-UTF-8", "ISO-8859-1", `X${"-".repeat(50)}`])(
  "the declared encoding is not to be %s, which is quoted by its beginning",
  (encoding) => {
    expect(refusal(`<?xml version="1.0" encoding="${encoding}"?>${around("")}`)).toContain(
      `the encoding ${encoding.slice(0, 40)};`,
    );
  },
);

test("a body of 8 MB is decoded", () => {
  expect(decodeBody(Buffer.alloc(MAX_BODY_BYTES, "x"))).toHaveLength(MAX_BODY_BYTES);
});

test.each([
  ["of a body that is not UTF-8", () => decodeBody(Buffer.from([0xff]))],
  ["of a fault in a document", () => readStrictly("<response></quotes>")],
])("the cause of a refusal is kept, %s", (_what, read) => {
  const cause: unknown = expect.objectContaining({ message: expect.any(String) });

  expect(read).toThrow(expect.objectContaining({ code: "DOCUMENT_REFUSED", cause }));
});

test("a fault in a document is told with its line and column", () => {
  expect(refusal("<response>\n</quotes>")).toMatch(/ 2:\d+: /);
});

test.each([
  [
    "another root, by the beginning of its name",
    `<${"x".repeat(50)}/>`,
    `is ${"x".repeat(40)}, not response`,
  ],
  ["a DOCTYPE, in whatever case", `<!dOcTyPe x>${around("")}`, "it holds a DOCTYPE"],
  ["a root that is not closed", "<response><quotes/>", "unclosed tag"],
  ["nothing", "", "root element"],
  ["an element more than its depth allows", "<response>".repeat(MAX_DEPTH + 1), "nest deeper"],
  [
    "an attribute more than allowed",
    around(`<a${attributes(MAX_ATTRIBUTES + 1)}/>`),
    "more than 64 attributes",
  ],
])("a document is refused: %s", (_what, text, why) => {
  expect(refusal(text)).toContain(why);
});

test("attributes are counted for each element", () => {
  expect(refusal(around(`<a${attributes(MAX_ATTRIBUTES)}/>`.repeat(2)))).toBeNull();
});

test("a hostile document is not gathered before it is refused: so much of it is walked, and no more", () => {
  const endless = "x".repeat(4 * MAX_PIECE);
  const walked: Record<string, number> = {};
  const walk = (name: string, text: string): void => {
    walked[name] = 0;
    const count = (): void => void (walked[name] = (walked[name] ?? 0) + 1);
    expect(() => walkXml(text, "response", { open: count, text: count, aside: count, close: count })).toThrow(
      "DOCUMENT_REFUSED",
    );
  };

  walk("deep", "<response>".repeat(50_000));
  walk("attributes", `<response ${Array.from({ length: 100_000 }, (_, n) => `a${n}=""`).join(" ")}/>`);
  walk("attribute", `<response id="${endless}"/>`);
  walk("text", `<response>${endless}</response>`);
  walk("comment", `<response><!--${endless}--></response>`);

  expect(walked).toEqual({ deep: MAX_DEPTH, attributes: 0, attribute: 0, text: 1, comment: 1 });
});

test("a document up to each bound is read", () => {
  const long = "x".repeat(MAX_PIECE - 100);
  const items = Array.from({ length: MAX_ITEMS }, () => "<instrumentquote/>").join("");

  expect(
    refusal(`<response${attributes(MAX_ATTRIBUTES)}><quotes><!--${long}--></quotes></response>`),
  ).toBeNull();
  expect(refusal(" ".repeat(MAX_PIECE) + around("<quotes/>"))).toBeNull();
  expect(readDocument(Buffer.from(`<response><quotes>${items}</quotes></response>`)).items).toHaveLength(
    MAX_ITEMS,
  );
});

test("a hostile document is read the same however its bytes fall into the parser's slices", () => {
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
