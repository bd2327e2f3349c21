/** Items that are read by one pattern, and that they are read as the strict reader does; see twoReaders.test.ts, too. */
import { expect, test } from "@jest/globals";
import { readOrdinaryItem } from "../../../src/services/reference/ordinaryItem.ts";
import { LEAF, LEAF_PATHS } from "../../../src/services/reference/leaves.ts";
import { readDocument, readStrictly } from "../../../src/services/reference/readDocument.ts";
import { writeDocument } from "../../../src/services/reference/writeDocument.ts";
import { decodeBody } from "../../../src/services/bodyText.ts";
import { expectNoDifference } from "../../fuzz/twoReaders.ts";
import { recordedDocuments } from "../../support/recorded.ts";
import { answerXml, equityXml, optionXml } from "../../support/xml.ts";

test("recorded answers are read the fast way where an item of theirs is ordinary", () => {
  const slow = recordedDocuments().filter(({ body }) => !expectNoDifference(decodeBody(body)));

  expect(slow.map(({ name }) => name)).toEqual([
    "cdata-description",
    "comment-inside-a-number",
    "element-twice",
    "empty-quotes",
    "equity-with-option-sentinels",
    "extra-elements",
    "options-without-type",
  ]);
});

/** An answer as `serve` writes it, and its first item, which is ordinary. */
const written = writeDocument({
  id: "1",
  instruments: readStrictly(answerXml(optionXml({}), equityXml("A"))).items.flatMap((read) =>
    read.ok ? [read.item] : [],
  ),
});
const [USUAL = ""] = /<instrumentquote>.*?<\/instrumentquote>/s.exec(written) ?? [];
const ODD = equityXml("B&amp;C", { instrument: { desc: "CAF\u00c9 &lt;" } });

test.each([
  ["what serve writes", written],
  ["an item with entities between ordinary ones", answerXml(USUAL, ODD, USUAL)],
  [
    "comments and other elements between its items",
    answerXml(ODD, USUAL, "<!-- x -->", USUAL, "<other/>\r\n"),
  ],
  ["an empty item", answerXml("<instrumentquote/>", ODD, USUAL)],
  ["a long text around its items", answerXml(USUAL, `<!-- ${"x".repeat(100_000)} -->`, USUAL)],
])("%s is read the fast way where an item is ordinary", (_what, text) => {
  expect(expectNoDifference(text)).toBe(true);
});

test.each([
  ["no ordinary item", answerXml(ODD)],
  ["an ordinary item inside of a comment", answerXml(USUAL, `<!-- ${USUAL} -->`)],
  ["an ordinary item as CDATA", answerXml(USUAL, `<![CDATA[${USUAL}]]>`)],
  ["an ordinary item that another element holds", answerXml(USUAL, `<x>${USUAL}</x>`)],
  ["a fault behind ordinary items", answerXml(USUAL).trimEnd().slice(0, -1)],
  ["a DOCTYPE", `<!DOCTYPE x>${answerXml(USUAL)}`],
  ["more instruments than an answer may have", answerXml("<instrumentquote/>".repeat(4_001))],
])("an answer with %s is left to the strict reader", (_what, text) => {
  expect(expectNoDifference(text)).toBe(false);
});

test("an answer with too many instruments is refused in the strict reader's words", () => {
  const text = answerXml("<instrumentquote/>".repeat(4_001));

  expect(() => readDocument(Buffer.from(text))).toThrow("more than 4000 instruments");
  expect(() => readDocument(Buffer.from(`${text}<!DOCTYPE x>`))).toThrow("it holds <!DOCTYPE");
});

/** The texts that are read of it, by their paths; null when it is not read so. */
const read = (item: string): Record<string, string> | null => {
  const before = "<response><quotes>";
  const found = readOrdinaryItem(`${before}${item}</quotes></response>`, before.length);
  if (found === null) return null;
  expect(found.end).toBe(before.length + item.length);
  return Object.fromEntries(
    found.leaves.flatMap((text, place) =>
      place === 0 || text === undefined ? [] : [[LEAF_PATHS[place] ?? "", text]],
    ),
  );
};
/** An element for each of the paths, in their order, with its path as its text. */
const elements = (paths: readonly string[]): string => {
  const names = [...new Set(paths.map((path) => path.split("/")[0] ?? ""))];
  return names
    .map((name) => {
      const below = paths
        .filter((path) => path.startsWith(`${name}/`))
        .map((path) => path.slice(name.length + 1));
      return `<${name}>${below.length === 0 ? "text" : elements(below)}</${name}>`;
    })
    .join("\n\t ");
};
const whole = LEAF_PATHS.filter((path) => path !== "");
const item = (content: string): string => `<instrumentquote>${content}</instrumentquote>`;
const texts = (paths: readonly string[]): Record<string, string> =>
  Object.fromEntries(paths.map((path) => [path, "text"]));

test("an item is ordinary when all elements of the specification come in the order of the alphabet", () => {
  expect(whole).toEqual(whole.toSorted());
  expect(read(item(elements(whole)))).toEqual(texts(whole));
});

test.each(whole)("an item is ordinary when %s is missing, and when it has nothing else", (path) => {
  const others = whole.filter((one) => one !== path);

  expect(read(item(elements(others)))).toEqual(texts(others));
  expect(read(item(elements([path])))).toEqual(texts([path]));
});

test("an item is ordinary when it is empty, or elements of it are", () => {
  expect(read("<instrumentquote/>")).toEqual({});
  expect(read(item(""))).toEqual({});
  expect(read(item(" \n\t<greeks/> <instrument></instrument> <quote><askprice/></quote>\n"))).toEqual({});
  expect(read(item("<undlyquote><askprice/></undlyquote>"))).toEqual({ "undlyquote/askprice": "" });
  expect(read(item("<undlyquote><askprice/x</askprice></undlyquote>"))).toBeNull();
  expect(
    read(item("<quote><extendedquote><dividenddata><amt/></dividenddata></extendedquote></quote>")),
  ).toEqual({
    "quote/extendedquote/dividenddata/amt": "",
  });
  expect(read(item("<greeks><delta></delta></greeks>"))).toEqual({ "greeks/delta": "" });
  expect(read(item("<underlying><sym/></underlying><undlyquote/><unknownsymbol/>"))).toEqual({});
});

test.each([
  ["an attribute", '<greeks id="1"/>'],
  ["an entity", "<instrument><sym>A&amp;B</sym></instrument>"],
  ["a comment", "<greeks/><!-- x -->"],
  ["a carriage return", "<greeks/>\r\n"],
  ["what may be half a character", "<instrument><sym>\u{1F355}</sym></instrument>"],
  ["an element that is not known", "<displaydata/>"],
  ["another order", "<quote/><greeks/>"],
  ["an element twice", "<greeks/><greeks/>"],
  ["text between elements", "<greeks/>x"],
])("an item with %s is not ordinary", (_what, content) => {
  expect(read(item(content))).toBeNull();
  expectNoDifference(answerXml(item(content)));
});

test("an item is read only where it begins", () => {
  expect(readOrdinaryItem("<quotes> <instrumentquote/>", 8)).toBeNull();
  expect(readOrdinaryItem("<quotes> <instrumentquote/>", 9)?.leaves[LEAF.symbol]).toBeUndefined();
});
