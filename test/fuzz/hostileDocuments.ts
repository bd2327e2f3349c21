/** Documents made to harm a reader, and what has to come of each. */
import { MAX_BODY_BYTES } from "../../src/services/bodyText.ts";
import { answerXml, equityXml } from "../support/xml.ts";

/** One of them. */
export type HostileDocument = {
  name: string;
  make: () => Uint8Array;
  outcome: "malformed" | "quotes";
  /** Part of what is said about it; empty when it is read. */
  why: string;
};

const FULL = MAX_BODY_BYTES - 200;
const quotes = (content: string): string => `<response id="1"><quotes>${content}</quotes></response>`;
const item = equityXml("A");
const JS_NAMES =
  "<constructor>1</constructor><__proto__><a/></__proto__><toString/><prototype>x</prototype><hasOwnProperty/><greeks/>";
const attributes = (name: (n: number) => string): string =>
  Array.from({ length: 100_000 }, (_, n) => `${name(n)}="1"`).join(" ");
const bomb = (levels: number): string => {
  const entities = Array.from(
    { length: levels },
    (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`,
  ).join("");
  return `<!DOCTYPE response [<!ENTITY l0 "lol">${entities}]>${quotes(`&l${levels};`)}`;
};

const LARGE = "more than 2097152 characters";
const UTF8 = "not valid UTF-8";
const MARKUP = "which no answer of this service has";
const CHARACTER = "disallowed character";
const TAG = "a tag of it is malformed";
const OUTSIDE = "outside of its root element";
/** As many characters as are parsed. */
const MOST = 2 * 1024 * 1024 - 200;

const REFUSED: [name: string, make: () => string | Uint8Array, why: string][] = [
  ["a doubled root", () => quotes("") + quotes(""), "a second root"],
  ["a second root that is empty", () => `${quotes("")}<response/>`, "a second root"],
  ["an empty root with a second one behind it", () => `<response/>${quotes("")}`, "a second root"],
  ["text after the root", () => `${quotes("")}x`, OUTSIDE],
  ["text before the root", () => `x${quotes("")}`, OUTSIDE],
  ["a reference after the root", () => `${quotes("")}&#32;`, OUTSIDE],
  ["CDATA after the root", () => `${quotes("")}<![CDATA[ ]]>`, OUTSIDE],
  ["CDATA before the root", () => `<![CDATA[]]>${quotes("")}`, OUTSIDE],
  ["a comment after the root that does not end", () => `${quotes("")}<!-- `, "a comment of it does not end"],
  ["a comment after the root that ends within its beginning", () => `${quotes("")}<!-->`, "a comment of it"],
  ["a comment that ends with three hyphens", () => quotes("<!-- x --->"), "a comment of it"],
  ["two hyphens in a comment", () => quotes("<!-- a -- b -->"), "a comment of it"],
  ["CDATA that does not end", () => quotes("<![CDATA["), "CDATA of it does not end"],
  ["the end of CDATA in a text", () => quotes("a]]>b"), '"]]>" stands in a text'],
  ["a NUL after the root", () => `${quotes("")}\0`, CHARACTER],
  ["crossed elements", () => "<response><quotes></response></quotes>", "instead of closing tag"],
  ["an end without a beginning", () => "</response>", "has not been opened"],
  ["a tag that is an end and empty", () => "<response></response/>", TAG],
  ["an end with an attribute", () => '<response></response id="1">', TAG],
  ["a less-than sign in an attribute", () => quotes('<a b="<"/>'), TAG],
  ["an equals sign without a name", () => quotes('<a = b="1"/>'), TAG],
  ["attributes without a space between them", () => quotes('<a b="1"c="2"/>'), TAG],
  ["an attribute without quotation marks", () => quotes("<a b=1/>"), TAG],
  ["an attribute twice", () => quotes('<a b="1" b="2"/>'), "is repeated"],
  ["a name that is none", () => quotes("<1/>"), "is an invalid name"],
  ["a byte order mark behind a name", () => quotes("<a\ufeff/>"), TAG],
  ["a no-break space behind a name", () => quotes("<a></a\u00a0>"), TAG],
  ["a space before a name", () => quotes("< a/>"), TAG],
  ["a DOCTYPE", () => `<!DOCTYPE response>${quotes("")}`, MARKUP],
  ["a DOCTYPE in lower case", () => `<!doctype response>${quotes("")}`, MARKUP],
  ["a DOCTYPE that names a file", () => `<!DOCTYPE r SYSTEM "file:///etc/passwd">${quotes("")}`, MARKUP],
  ["a DOCTYPE inside of the root", () => quotes("<!DOCTYPE x>"), MARKUP],
  ["an entity's declaration", () => quotes('<!ENTITY a "b">'), MARKUP],
  ["a declaration that is none", () => quotes("<!x>"), MARKUP],
  ["CDATA in lower case", () => quotes("<![cdata[x]]>"), MARKUP],
  ["an instruction", () => quotes("<?x y?>"), MARKUP],
  ["an instruction before the root", () => `<?xml-stylesheet href="x"?>${quotes("")}`, MARKUP],
  ["an instruction after the root", () => `${answerXml(item)}<?x y?>`, MARKUP],
  ["a declaration behind white space", () => `\n${answerXml(item)}`, MARKUP],
  ["a declaration inside of the root", () => quotes('<?xml version="1.0"?>'), MARKUP],
  ["a declaration in capitals", () => answerXml(item).replace("<?xml", "<?XML"), MARKUP],
  ["a declaration of another version", () => answerXml(item).replace("1.0", "1.1"), "declaration is odd"],
  [
    "a declaration without a version",
    () => answerXml(item).replace('version="1.0" ', ""),
    "declaration is odd",
  ],
  ["a declaration with a word more", () => answerXml(item).replace("?>", ' x="1"?>'), "declaration is odd"],
  ["a declaration that does not end", () => answerXml(item).replace("?>", ">"), "declaration is odd"],
  ["a DOCTYPE in UTF-16", () => Buffer.from(`\ufeff<!DOCTYPE r>${quotes("")}`, "utf16le"), UTF8],
  ["an entity bomb", () => bomb(10), MARKUP],
  ["an entity bomb in UTF-16 without a mark", () => Buffer.from(bomb(10), "utf16le"), CHARACTER],
  ["an entity that is not defined", () => quotes("&price;"), "undefined entity"],
  ["an entity of HTML", () => quotes("&nbsp;"), "undefined entity"],
  ["an entity with a name of JavaScript's own", () => quotes("&constructor;"), "undefined entity"],
  ["an entity that is not defined, in an attribute", () => quotes('<a b="&price;"/>'), "undefined entity"],
  ["an ampersand alone", () => quotes("<a>A & B</a>"), "'&' is not expected"],
  ["an ampersand alone in an attribute", () => quotes('<a b="A & B"/>'), "undefined entity"],
  ["the character 0 by its number", () => quotes("&#0;"), CHARACTER],
  ["a control character by its number", () => quotes("&#x1f;"), CHARACTER],
  ["half of a pair by its number", () => quotes("&#xD83C;&#xDF55;"), CHARACTER],
  ["a number beyond Unicode", () => quotes("&#x110000;"), CHARACTER],
  ["a number without end", () => quotes(`&#${"9".repeat(30)};`), CHARACTER],
  ["a number beyond Unicode, in an attribute", () => quotes('<a b="&#1114112;"/>'), CHARACTER],
  ["a number in hexadecimal with a capital X", () => quotes("&#X31;"), "'&' is not expected"],
  ["a character that XML has not", () => quotes("\ufffe"), CHARACTER],
  [
    "elements 50,000 deep",
    () => `<response>${"<a>".repeat(50_000)}${"</a>".repeat(50_000)}</response>`,
    "nest deeper",
  ],
  ["elements 50,000 deep that never close", () => "<response>".repeat(50_000), "nest deeper"],
  [
    "an attribute of 20 MB",
    () => `<response id="${"x".repeat(20_000_000)}"><quotes/></response>`,
    "exceed the cap",
  ],
  ["an attribute of nearly 8 MB", () => `<response id="${"x".repeat(FULL)}"><quotes/></response>`, LARGE],
  [
    "100,000 attributes",
    () => `<response ${attributes((n) => `a${n}`)}><quotes/></response>`,
    "64 attributes",
  ],
  [
    "100,000 times one attribute",
    () => `<response ${attributes(() => "a")}><quotes/></response>`,
    "64 attributes",
  ],
  ["a text of nearly 8 MB", () => quotes("x".repeat(FULL)), LARGE],
  ["8 MB of empty elements", () => quotes("<a/>".repeat(FULL / 4 - 20)), LARGE],
  ["a comment of nearly 8 MB", () => quotes(`<!--${"x".repeat(FULL)}-->`), LARGE],
  ["white space of nearly 8 MB before the root", () => " ".repeat(FULL) + quotes(""), LARGE],
  ["a name of nearly 2 MB that does not end", () => `<${"a".repeat(MOST)}`, TAG],
  ["an attribute of nearly 2 MB that does not end", () => `<response id="${"a".repeat(MOST)}`, TAG],
  ["an entity's name of nearly 2 MB", () => quotes(`&${"a".repeat(MOST)};`), "'&' is not expected"],
  ["2 MB of <", () => "<".repeat(MOST), TAG],
  ["8 MB of NUL", () => Buffer.alloc(FULL), LARGE],
  ["400,000 empty instruments", () => quotes("<instrumentquote/>".repeat(400_000)), LARGE],
  [
    "100,000 empty instruments",
    () => quotes("<instrumentquote/>".repeat(100_000)),
    "more than 4000 instruments",
  ],
  ["UTF-16 declared and UTF-8 sent", () => answerXml(item).replace("UTF-8", "UTF-16"), "the encoding UTF-16"],
  ["Latin-1 declared", () => answerXml(item).replace("UTF-8", "ISO-8859-1"), "the encoding ISO-8859-1"],
  ["UTF-7 declared", () => answerXml(item).replace("UTF-8", "UTF-7"), "the encoding UTF-7"],
  ["UTF-8 declared and Latin-1 sent", () => Buffer.from(answerXml(equityXml("CAF\u00c9")), "latin1"), UTF8],
  ["UTF-16", () => Buffer.from(`\ufeff${answerXml(item)}`, "utf16le"), UTF8],
  ["UTF-16, big end first", () => Buffer.from(`\ufeff${answerXml(item)}`, "utf16le").swap16(), UTF8],
  ["UTF-16 without a mark", () => Buffer.from(answerXml(item), "utf16le"), CHARACTER],
  [
    "an overlong coding of <",
    () => Buffer.concat([Buffer.from(quotes("")), Buffer.from([0xc0, 0xbc])]),
    UTF8,
  ],
  ["half a surrogate pair", () => Buffer.from([...Buffer.from("<response>"), 0xed, 0xa0, 0x80]), UTF8],
  ["a NUL in a price", () => answerXml(item.replace("20.4", "20\0.4")), CHARACTER],
];

const READ: [name: string, make: () => string | Uint8Array][] = [
  ["a byte order mark", () => `\ufeff${answerXml(item)}`],
  ["US-ASCII declared", () => answerXml(item).replace("UTF-8", "us-ascii")],
  [
    "UTF-8 declared in lower case, standalone",
    () => answerXml(item).replace('"UTF-8"', "'utf-8' standalone='yes' "),
  ],
  ["no declaration at all", () => answerXml(item).replace(/^<\?.*\?>\n/, "")],
  ["a CDATA section in a price", () => answerXml(item.replace("20.4", "<![CDATA[20.4]]>"))],
  ["a comment after the root", () => `${answerXml(item)}<!-- -->`],
  ["an empty comment at its end", () => `${answerXml(item)}<!---->`],
  ["a comment that quotes a DOCTYPE", () => quotes("<!-- <!DOCTYPE x> &x; <? ]]> -->")],
  ["a CDATA section that quotes a DOCTYPE", () => quotes("<![CDATA[<!DOCTYPE x> &x; <? -- ]]>")],
  ["a greater-than sign in a text and in an attribute", () => quotes('a > b ]] > <a b="1 > 0"/>')],
  ["white space in tags", () => quotes("<a\n b = '1'\t></a ><a />")],
  ["a text of nearly 2 MB in an instrument", () => answerXml(equityXml("x".repeat(MOST / 2 - 1_000)))],
  ["2 MB of empty elements", () => quotes("<a/>".repeat(MOST / 4 - 20))],
  ["a million references", () => quotes("&#9;".repeat(MOST / 4 - 20))],
  ["character references in a price", () => answerXml(item.replace("20.4", "2&#48;&#x2e;4"))],
  [
    "a character reference with zeros in front",
    () => answerXml(item.replace("20.4", "2&#00000000000000000048;.4")),
  ],
  ["elements with names of JavaScript's own", () => answerXml(item.replace("<greeks/>", JS_NAMES))],
];

/** All of them. */
export function hostileDocuments(): HostileDocument[] {
  const bytes = (content: string | Uint8Array): Uint8Array =>
    typeof content === "string" ? Buffer.from(content) : content;
  return [
    ...REFUSED.map(([name, make, why]) => ({
      name,
      make: () => bytes(make()),
      outcome: "malformed" as const,
      why,
    })),
    ...READ.map(([name, make]) => ({ name, make: () => bytes(make()), outcome: "quotes" as const, why: "" })),
  ];
}
