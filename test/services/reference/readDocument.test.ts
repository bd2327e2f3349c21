import { expect, test } from "@jest/globals";
import { MAX_TEXT, readDocument } from "../../../src/services/reference/readDocument.ts";
import { MAX_BODY_BYTES } from "../../../src/services/bodyText.ts";
import { answerXml, equityXml, optionXml } from "../../support/xml.ts";

const MAX_DEPTH = 64;
const read = (text: string) => readDocument(Buffer.from(text));
const refusal = (text: string | Uint8Array) => {
  try {
    readDocument(typeof text === "string" ? Buffer.from(text) : text);
  } catch (error) {
    return error as Error;
  }
  return null;
};

test.each([
  ["nothing", ""],
  ["white space", "  \n"],
  ["JSON", '{"response":{}}'],
  ["another root", "<quotes/>"],
  ["crossed elements", "<response><quotes></response></quotes>"],
  ["an entity that is not defined", answerXml(equityXml("A")).replace("INC", "&price;")],
  ["an element after the root", `${answerXml()}<a/>`],
  ["a comment after the root that does not end", `${answerXml()}<!-- `],
  ["an instruction after the root that does not end", `${answerXml()}<?x `],
  ["a response without quotes and without an error", '<response id="1"><time>now</time></response>'],
  ["quotes one element too deep", "<response><data><quotes/></data></response>"],
  ["a DOCTYPE", `<!DOCTYPE response>${answerXml().replace(/^.*\n/, "")}`],
  ["another encoding", answerXml().replace("UTF-8", "UTF-16")],
])("an answer is refused whole: %s", (_what, text) => {
  expect(refusal(text)).toMatchObject({ code: "DOCUMENT_REFUSED" });
});

test("elements that nest too deep are refused", () => {
  const nested = (depth: number) =>
    `<response>${"<a>".repeat(depth - 1)}${"</a>".repeat(depth - 1)}<quotes/></response>`;

  expect(refusal(nested(MAX_DEPTH))).toBeNull();
  expect(refusal(nested(MAX_DEPTH + 1))?.message).toContain("nest deeper");
});

test("an answer beyond 8 MB is refused without being read", () => {
  expect(refusal(new Uint8Array(MAX_BODY_BYTES + 1))?.message).toContain("exceed the cap");
});

test("bytes that are no UTF-8 are refused, and a byte order mark is not minded", () => {
  const text = answerXml(equityXml("A"));

  expect(refusal(Buffer.from(text.replace("A INC", "CAF\u00c9 INC"), "latin1"))?.message).toContain("UTF-8");
  expect(readDocument(Buffer.from(`\uFEFF${text}`)).items).toHaveLength(1);
});

test("names keep every character of any script", () => {
  const { items } = read(
    answerXml(equityXml("A", { instrument: { desc: "CAF\u00c9 \u{1F355} &lt;Z&gt; &#233;" } })),
  );

  expect(items[0]).toMatchObject({
    item: { instrument: { description: "CAF\u00c9 \u{1F355} <Z> \u00e9" } },
  });
});

test("comments outside of all instruments cost nothing", () => {
  const text = `<response><!-- a --><quotes>${equityXml("A")}<!-- b --></quotes></response>`;

  expect(read(text).items).toMatchObject([{ ok: true }]);
});

test.each(["<!-- a > b -->", "\n<!-- one --> <!--two-->\n"])(
  "comments after the root are well-formed XML: %j",
  (after) => {
    expect(read(`${answerXml(equityXml("A"))}${after}`).items).toMatchObject([{ ok: true }]);
  },
);

test.each([
  ["a fraction of a share", { extended: { volume: "1.5" } }, "quote/extendedquote/volume", "1.5"],
  ["an element in a price", { quote: { askprice: "<b>1</b>" } }, "quote/askprice", ""],
  ["a comment in a price", { quote: { askprice: "1<!-- -->2" } }, "quote/askprice", "12"],
  ["a comment in a description", { instrument: { desc: "A<!-- -->B" } }, "instrument/desc", "AB"],
  ["neither true nor false", { unknown: "perhaps" }, "unknownsymbol", "perhaps"],
])("one odd field costs itself alone: %s", (_what, odd, element, text) => {
  const { items } = read(answerXml(equityXml("ODD", odd)));

  const problem: unknown = expect.stringContaining(element);
  expect(items).toMatchObject([{ ok: true, oddFields: [{ element, text, problem }] }]);
});

test("an underlying's quote without its symbol is not passed over in silence", () => {
  const item = optionXml({}).replace(/<underlying>.*<\/underlying>/s, "");

  expect(read(answerXml(item)).items).toMatchObject([
    { ok: true, item: { underlying: null }, oddFields: [{ element: "underlying/sym" }] },
  ]);
});

const long = "x".repeat(MAX_TEXT + 1);

test.each([
  ["plain", long],
  ["in CDATA", `<![CDATA[${long}]]>`],
  ["of references", "&#48;".repeat(MAX_TEXT + 1)],
  ["in CDATA behind other text", `A<![CDATA[${long}]]>`],
  ["of more than a megabyte", "x".repeat(1_500_000)],
])("one overlong text costs its instrument alone: %s", (_how, desc) => {
  const { items } = read(
    answerXml(equityXml("A"), equityXml("BAD", { instrument: { desc } }), equityXml("B")),
  );

  expect(items).toMatchObject([
    { ok: true },
    { ok: false, symbol: "BAD", problem: `instrument/desc is longer than ${MAX_TEXT} characters` },
    { ok: true },
  ]);
});

test("an overlong text costs an ordinary instrument alone", () => {
  const ordinary = (symbol: string, desc: string): string =>
    `<instrumentquote><instrument><desc>${desc}</desc><sym>${symbol}</sym></instrument></instrumentquote>`;

  const { items } = read(answerXml(ordinary("BAD", "x".repeat(5_000_000)), ordinary("B", "B INC")));

  expect(items).toMatchObject([{ ok: false, symbol: "BAD" }, { ok: true }]);
});

test.each(["x".repeat(MAX_TEXT), "&#48;".repeat(MAX_TEXT)])(
  "a text of the greatest length costs nothing",
  (desc) => {
    expect(read(answerXml(equityXml("A", { instrument: { desc } }))).items).toMatchObject([{ ok: true }]);
  },
);

test("a long comment, and a long text in an element that is not read, cost nothing", () => {
  const item = equityXml("A").replace("<greeks/>", `<greeks/><note>${long}</note><!--${long}-->`);

  expect(read(answerXml(item, equityXml("B"))).items).toMatchObject([{ ok: true }, { ok: true }]);
});

test("beside a bad instrument the others are read, and it keeps its symbol, its problem and its own text", () => {
  const bad = equityXml("BAD").replace("<sectyp>", "<exch>X</exch><sectyp>");

  const { items } = read(answerXml(equityXml("A"), bad, equityXml("B")));

  expect(items.map((item) => item.ok)).toEqual([true, false, true]);
  expect(items[1]).toEqual({
    ok: false,
    symbol: "BAD",
    isOption: false,
    problem: "instrument/exch stands there twice",
    fragment: bad,
  });
});

test.each([
  ["no symbol", equityXml("BAD", { instrument: { sym: "" } }), "instrument/sym is missing"],
  ["an element twice", equityXml("BAD").replace("<sectyp>", "<exch>X</exch><sectyp>"), "stands there twice"],
  ["a comment in a symbol", equityXml("B<!-- -->AD"), "instrument/sym is interrupted by a comment"],
  ["an element in a symbol", equityXml("BAD<b/>"), "instrument/sym holds an element b"],
  [
    "an element of a long name in a symbol",
    equityXml(`BAD<${"b".repeat(50)}/>`),
    `an element ${"b".repeat(40)} where`,
  ],
  ["an element and a comment in one", equityXml("BAD<b/><!-- -->"), "instrument/sym holds an element b"],
  ["a strike that is none", optionXml({ strike: "--" }), "instrument/strkpx"],
  ["a day that does not exist", optionXml({ expiration: "2026-02-30" }), "instrument/matdt"],
  ["a year that does not exist", optionXml({ expiration: "0000-01-01" }), "instrument/matdt"],
  ["a type that is none", optionXml({ putcall: "C" }), "instrument/putcall"],
])("one bad instrument costs itself alone: %s", (_what, bad, problem) => {
  const { items } = read(answerXml(equityXml("A"), bad));

  expect(items[0]).toMatchObject({ ok: true });
  expect(items[1]).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
});

test("a comment between elements, or in one that is not read, is nobody's problem", () => {
  const item = equityXml("A").replace("<quote>", "<!-- new --><quote><note>a<!-- -->b</note>");

  expect(read(answerXml(item)).items).toMatchObject([{ ok: true }]);
});

test("a bad instrument's text is its own also behind characters outside of the basic plane", () => {
  const first = equityXml("A", { instrument: { desc: "\u{1F355}\r\n\u{1F355}" } });
  const bad = equityXml("BAD", { instrument: { desc: "x".repeat(20_000), sym: "" } });

  const { items } = read(answerXml(first, bad));

  expect(items[1]?.fragment).toBe(bad);
});

test("the id is kept as it is, also with colons and a leading minus", () => {
  expect(read('<response id="-1b0d7e2:19a1:-7de4"><quotes/></response>').id).toBe("-1b0d7e2:19a1:-7de4");
  expect(read("<response><quotes/></response>").id).toBeNull();
});

test.each(["Success", "SUCCESS", "success", " Success ", "null", "na", ""])(
  "the error %j is none",
  (error) => {
    expect(read(`<response><error>${error}</error><quotes/></response>`).error).toBeNull();
  },
);

test("any other error is one", () => {
  for (const quotes of ["", "<quotes/>"])
    expect(read(`<response><error>No data</error>${quotes}</response>`).error).toBe("No data");
});

const plain = "<instrumentquote><instrument><sym>A</sym></instrument></instrumentquote>";

test.each([plain, equityXml("A")])("an instrument anywhere but in quotes is none: %s", (item) => {
  for (const elsewhere of [`<data>${item}</data>`, item])
    expect(read(`<response>${elsewhere}<quotes/>${elsewhere}</response>`).items).toEqual([]);
  expect(read(answerXml("<data>A</data>", "<note/>")).items).toEqual([]);
  expect(refusal(answerXml(`<data>${item}</data>`, "<note/>"))?.message).toContain("but <data>: it answers");
});

test("an error anywhere but in the response is none of it, and neither is text of other elements", () => {
  expect(read("<response><data>x<error/></data><quotes>x<error/></quotes></response>").error).toBeNull();
  for (const comment of ["", "<!-- -->"])
    expect(read(`<response><error>No <b>big </b>data${comment}</error></response>`).error).toBe("No data");
});

test.each(["  A  B  ", "A  B ", " A  B", "\tA  B\n", "\r\nA  B\r\n"])(
  "white space of XML around a text is not part of it: %j",
  (text) => {
    expect(read(answerXml(plain.replace(">A<", `>${text}<`))).items).toMatchObject([
      { item: { instrument: { symbol: "A  B" } } },
    ]);
  },
);

test("an error inside an instrument is not the answer's", () => {
  const item = equityXml("A").replace("<greeks/>", "<greeks/><error>stale</error>");

  expect(read(answerXml(item)).error).toBeNull();
});

test("a response of the type Error says its description", () => {
  const text =
    "<response><type>Error</type><name>Bad</name><description>no such date</description></response>";

  expect(read(text).error).toBe("no such date");
  for (const description of ["", "<description/>"])
    expect(read(`<response><type>ERROR</type>${description}<name>Bad</name></response>`).error).toBe("Bad");
});
