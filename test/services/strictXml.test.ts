/** One XML document as a tree, and why one is refused; hostile ones are in reference/hostile.test.ts. */
import { expect, test } from "@jest/globals";
import { MAX_ITEMS } from "../../src/quotes/document.ts";
import { decodeBody, MAX_BODY_BYTES } from "../../src/services/bodyText.ts";
import { readDocument, readStrictly } from "../../src/services/reference/readDocument.ts";
import { MAX_XML, parseXml } from "../../src/services/strictXml.ts";
import { outcome } from "../fuzz/twoReaders.ts";
import { ownReading } from "../support/saxes.ts";

const MAX_ATTRIBUTES = 64;
const MAX_DEPTH = 64;

const treeOf = (text: string) => ownReading(parseXml(text, "response"), text);

/** Why a text is refused; null when it is not. */
const refusal = (text: string): string | null => {
  const read = outcome(() => treeOf(text));
  return "refused" in read ? read.refused : null;
};
const around = (content: string): string => `<response>${content}</response>`;
const attributes = (count: number): string => Array.from({ length: count }, (_, n) => ` a${n}="1"`).join("");

test("an element has its name, its own text exactly, whether a comment is in it, its elements in order and its source", () => {
  const inside = "<b>\t1.50 <![CDATA[&amp;<]]>\u00a0&lt;&#65;&#x42; </b><!-- x --> <a  c='>'/>\r\n<a></a>";
  const text = `<?xml version="1.0"?>\r\n<!-- before --><response id="1&amp;2">${inside}</response>\n<!-- behind -->`;

  const bare = { id: null, hasComment: false, elements: [] };
  expect(treeOf(text)).toEqual({
    ...{ name: "response", id: "1&2", text: " \n", hasComment: true },
    source: `<response id="1&amp;2">${inside}</response>`,
    elements: [
      {
        ...bare,
        ...{ name: "b", text: "\t1.50 &amp;<\u00a0<AB " },
        source: "<b>\t1.50 <![CDATA[&amp;<]]>\u00a0&lt;&#65;&#x42; </b>",
      },
      { ...bare, name: "a", text: "", source: "<a  c='>'/>" },
      { ...bare, name: "a", text: "", source: "<a></a>" },
    ],
  });
});

test.each(["007", "1E5", "0x10", "true", "null", " 1.50 ", "-0", "1e400", "NaN", "&amp;lt;"])(
  "a text stays as it was sent: %j",
  (text) => {
    expect(treeOf(around(text)).text).toBe(text.replace("&amp;", "&"));
  },
);

test.each([
  "constructor",
  "__proto__",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "_x.y-1",
  "a:b",
])("an element may be called %s, and an attribute too", (name) => {
  const text = around(`<${name} ${name}="1">x<${name}/></${name}>`);

  expect(treeOf(text).elements).toMatchObject([{ name, text: "x", elements: [{ name }] }]);
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

test("the cause of a refusal is kept, of a body that is not UTF-8", () => {
  const cause: unknown = expect.objectContaining({ message: expect.any(String) });

  expect(() => decodeBody(Buffer.from([0xff]))).toThrow(
    expect.objectContaining({ code: "DOCUMENT_REFUSED", cause }),
  );
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
  ["a root that is not closed", "<response><quotes/>", "ends too early: 1 of its elements"],
  ["nothing", "", "Start tag expected"],
  ["a comment alone", "<!-- -->", "Start tag expected"],
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

test("a document up to each bound is read, and no longer one", () => {
  const items = "<instrumentquote/>".repeat(MAX_ITEMS);
  const longest = around("x".repeat(MAX_XML - around("").length));

  expect(refusal(longest)).toBeNull();
  expect(refusal(`${longest} `)).toContain(`more than ${MAX_XML} characters`);
  expect(refusal("<response>".repeat(MAX_DEPTH) + "</response>".repeat(MAX_DEPTH))).toBeNull();
  expect(readStrictly(`<response><quotes>${items}</quotes></response>`).items).toHaveLength(MAX_ITEMS);
});

test("ordinary items of more than 2 MB together are read: only what is left of them is parsed", () => {
  const item = `<instrumentquote><instrument><desc>${"x".repeat(900)}</desc><sym>A</sym></instrument></instrumentquote>`;
  const odd = item.replace("<sym>A", "<sym>A&amp;B");
  const answer = (count: number): string =>
    `<response><quotes>${item.repeat(count)}${odd}</quotes></response>`;

  expect(answer(3_000).length).toBeGreaterThan(MAX_XML);
  expect(readDocument(Buffer.from(answer(3_000))).items).toHaveLength(3_001);
  expect(() => readDocument(Buffer.from(answer(3_000).slice(0, -1)))).toThrow(
    "it is not whole, or more than",
  );
});
