/** What is read the fast way, and that it is read as the strict reader does; longer comparisons are in twoReaders.test.ts. */
import { describe, expect, test } from "@jest/globals";
import { readOrdinaryItem } from "../../src/quotes-api/fastReader.ts";
import { LEAF, LEAF_PATHS } from "../../src/quotes-api/leaves.ts";
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

describe("what is not certainly plain is left to the strict reader", () => {
  test.each([
    ...[
      "",
      " ",
      "x",
      "response/>",
      "xresponse></response>",
      "<other/>",
      "<responses/>",
      "<response",
      "<response/",
    ],
    ...["<response>", "<response></response", "<response></responsex", "<response><a></b></response>"],
    ...["<response></ response>", "<response></response >", "<response><a></response></a>"],
    ...["<response/>x", "<response/><a/>", "<response/><!-- -->", "<response/>\u00a0", "\u00a0<response/>"],
    ...["<response>< a/></response>", "<response><1/></response>", "<response><-/></response>"],
    ...["<response><\u00e9/></response>", "<response><a:b/></response>", "<response><a/ ></response>"],
    ...["<response><a<b/></response>", "<response><a <b/></response>", '<response><a"</a></response>'],
    ...["<response><a b/></response>", "<response><a b=1/></response>", "<response><a b='1'/></response>"],
    ...[
      '<response><a  b="1"/></response>',
      '<response><a b="1" /></response>',
      '<response><a\tb="1"/></response>',
    ],
    ...['<response><a b="1"c="2"/></response>', '<response><a b="1" b="1"/></response>'],
    ...[
      '<response><a b="&amp;"/></response>',
      '<response><a b="<"/></response>',
      '<response><a b="\u00e9"/></response>',
    ],
    ...["<response>></response>", "<response>]]></response>", "<response>\u0001</response>"],
    ...["<response>\ud83c</response>", "<response>\u{1F355}</response>", "<response>\ufffe</response>"],
    ...["<response>&</response>", "<response>&;</response>", "<response>&#48;</response>"],
    ...["<response>&nbsp;</response>", "<response>&amp;&xamp;</response>", "<response>&toString;</response>"],
    ...[
      "<response><!-- --></response>",
      "<response><![CDATA[x]]></response>",
      "<response><?x y?></response>",
    ],
    ...['<?xml version="1.0"?><response/>', '<?xml version="1.0" encoding="UTF-16"?><response/>'],
  ])("%j", (text) => {
    expect(plainEvents(text)).toBeNull();
    expectNoDifference(text);
  });
});

describe("what is plain is walked as the strict reader does", () => {
  test.each([
    ...["<response/>", "<response></response>", " \t\r\n<response/> \t\r\n", '<response id="a:b.c-1"/>'],
    ...['<?xml version="1.0" encoding="UTF-8"?>\r\n<response/>', "<response><_a.b-1/></response>"],
    ...['<response><a b="" c.d="x>y" _e="]]>"/></response>', `<response><a b="~ !#%'"/></response>`],
    ...["<response>a<b>c</b>d<b>e</b></response>", "<response>\u00e9\u2028\ud7ff\u007f</response>"],
    ...["<response>a\r\nb\rc\nd\te</response>", "<response>&amp;&lt;&gt;&quot;&apos;&amp;amp;</response>"],
    ...["<response>\r</response>", "<response>!\"#$%'()*+,-./09:;=?@AZ[\\]^_`az{|}~</response>"],
  ])("%j", (text) => {
    const events = plainEvents(text);

    expect(events).not.toBeNull();
    expect(strictEvents(text)).toEqual({ read: events });
  });

  test("a long one of each of its pieces is plain up to half of what the strict reader takes", () => {
    const half = MAX_PIECE / 2;
    const documents = (length: number): string[] => [
      `${" ".repeat(length)}<response/>`,
      `<response/>${" ".repeat(length)}`,
      `<response>${"x".repeat(length)}</response>`,
      `<response><${"x".repeat(length - 3)}/></response>`,
    ];

    expect(documents(half).map((text) => plainEvents(text) !== null)).toEqual([true, true, true, true]);
    expect(documents(half + 1).map(plainEvents)).toEqual([null, null, null, null]);
  });

  test("an empty element may be as deep as any other", () => {
    const deep = (depth: number): string =>
      `${"<response>".repeat(depth - 1)}<a/>${"</response>".repeat(depth - 1)}`;

    expect(plainEvents(deep(MAX_DEPTH))).not.toBeNull();
    expect(plainEvents(deep(MAX_DEPTH + 1))).toBeNull();
  });

  test("two names that are kept in one place are told apart", () => {
    // 31 times the first character and the second are the same for both.
    expect(strictEvents("<response><Aa/><BB/><Aa/></response>")).toEqual({
      read: plainEvents("<response><Aa/><BB/><Aa/></response>"),
    });
  });
});

describe("an instrument is read in a single step", () => {
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

  test("when all elements of the specification come in the order of the alphabet", () => {
    expect(whole).toEqual(whole.toSorted());
    expect(read(item(elements(whole)))).toEqual(texts(whole));
  });

  test.each(whole)("when %s is missing, or is all that there is", (path) => {
    const others = whole.filter((one) => one !== path);

    expect(read(item(elements(others)))).toEqual(texts(others));
    expect(read(item(elements([path])))).toEqual(texts([path]));
  });

  test("when it is empty, or elements of it are", () => {
    expect(read("<instrumentquote/>")).toEqual({});
    expect(read(item(""))).toEqual({});
    expect(read(item(" \n\t<greeks/> <instrument></instrument> <quote><askprice/></quote>\n"))).toEqual({});
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
    ["an empty quote of the underlying's", "<undlyquote><askprice/></undlyquote>"],
    [
      "an empty dividend",
      "<quote><extendedquote><dividenddata><amt/></dividenddata></extendedquote></quote>",
    ],
  ])("but not with %s, which is for the walk", (_what, content) => {
    expect(read(item(content))).toBeNull();
    expectNoDifference(answerXml(item(content)));
  });

  test("but not when it is longer than a plain piece", () => {
    const bare = item("<greeks></greeks>").length;

    expect(read(item(`<greeks>${" ".repeat(MAX_PIECE / 2 - bare)}</greeks>`))).toEqual({});
    expect(read(item(`<greeks>${" ".repeat(MAX_PIECE / 2 - bare + 1)}</greeks>`))).toBeNull();
  });

  test("and only where it begins", () => {
    expect(readOrdinaryItem("<quotes> <instrumentquote/>", 8)).toBeNull();
    expect(readOrdinaryItem("<quotes> <instrumentquote/>", 9)?.leaves[LEAF.symbol]).toBeUndefined();
  });
});
