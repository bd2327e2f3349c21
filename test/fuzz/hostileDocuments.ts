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
const attributes = (name: (n: number) => string): string =>
  Array.from({ length: 100_000 }, (_, n) => `${name(n)}="1"`).join(" ");
const bomb = (levels: number): string => {
  const entities = Array.from(
    { length: levels },
    (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`,
  ).join("");
  return `<!DOCTYPE response [<!ENTITY l0 "lol">${entities}]>${quotes(`&l${levels};`)}`;
};

const PIECE = "a piece of it is longer than";
const UTF8 = "not valid UTF-8";
const DOCTYPE = "it holds a DOCTYPE";

const REFUSED: [name: string, make: () => string | Uint8Array, why: string][] = [
  ["a doubled root", () => quotes("") + quotes(""), "only one root"],
  ["text after the root", () => `${quotes("")}x`, "text data outside of root node"],
  ["a comment after the root that does not end", () => `${quotes("")}<!-- `, "unexpected end"],
  ["a comment of nearly 8 MB after the root", () => `${quotes("")}<!--${"x".repeat(FULL)}-->`, PIECE],
  ["a NUL after the root", () => `${quotes("")}\0`, "disallowed character"],
  ["crossed elements", () => "<response><quotes></response></quotes>", "unexpected close tag"],
  ["a DOCTYPE", () => `<!DOCTYPE response>${quotes("")}`, DOCTYPE],
  ["a DOCTYPE in lower case", () => `<!doctype response>${quotes("")}`, DOCTYPE],
  ["a DOCTYPE that names a file", () => `<!DOCTYPE r SYSTEM "file:///etc/passwd">${quotes("")}`, DOCTYPE],
  ["a comment that quotes a DOCTYPE", () => quotes("<!-- <!DOCTYPE x> -->"), DOCTYPE],
  ["a CDATA section that quotes a DOCTYPE", () => quotes("<![CDATA[<!DOCTYPE x>]]>"), DOCTYPE],
  ["a DOCTYPE in UTF-16", () => Buffer.from(`\ufeff<!DOCTYPE r>${quotes("")}`, "utf16le"), UTF8],
  ["an entity bomb", () => bomb(10), DOCTYPE],
  ["an entity bomb in UTF-16 without a mark", () => Buffer.from(bomb(10), "utf16le"), "disallowed character"],
  ["an entity that is not defined", () => quotes("&price;"), "undefined entity"],
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
  ["an attribute of nearly 8 MB", () => `<response id="${"x".repeat(FULL)}"><quotes/></response>`, PIECE],
  [
    "100,000 attributes",
    () => `<response ${attributes((n) => `a${n}`)}><quotes/></response>`,
    "more than 64 attributes",
  ],
  [
    "100,000 times one attribute",
    () => `<response ${attributes(() => "a")}><quotes/></response>`,
    "more than 64 attributes",
  ],
  ["a text of nearly 8 MB", () => quotes("x".repeat(FULL)), PIECE],
  ["a comment of nearly 8 MB", () => quotes(`<!--${"x".repeat(FULL)}-->`), PIECE],
  ["a CDATA section of nearly 8 MB", () => quotes(`<![CDATA[${"x".repeat(FULL)}]]>`), PIECE],
  ["an instruction of nearly 8 MB", () => quotes(`<?x ${"x".repeat(FULL)}?>`), PIECE],
  ["a name of nearly 8 MB", () => `<${"a".repeat(FULL)}`, PIECE],
  ["an entity's name of nearly 8 MB", () => quotes(`&${"a".repeat(FULL)};`), PIECE],
  ["white space of nearly 8 MB before the root", () => " ".repeat(FULL) + quotes(""), PIECE],
  ["white space of nearly 8 MB after the root", () => quotes("") + " ".repeat(FULL), PIECE],
  ["a million character references", () => quotes("&#48;".repeat(1_000_000)), PIECE],
  ["8 MB of <", () => "<".repeat(FULL), "disallowed character"],
  ["8 MB of NUL", () => Buffer.alloc(FULL), "disallowed character"],
  [
    "400,000 empty instruments",
    () => quotes("<instrumentquote/>".repeat(400_000)),
    "more than 4000 instruments",
  ],
  ["UTF-16 declared and UTF-8 sent", () => answerXml(item).replace("UTF-8", "UTF-16"), "the encoding UTF-16"],
  ["Latin-1 declared", () => answerXml(item).replace("UTF-8", "ISO-8859-1"), "the encoding ISO-8859-1"],
  ["UTF-7 declared", () => answerXml(item).replace("UTF-8", "UTF-7"), "the encoding UTF-7"],
  ["UTF-8 declared and Latin-1 sent", () => Buffer.from(answerXml(equityXml("CAF\u00c9")), "latin1"), UTF8],
  ["UTF-16", () => Buffer.from(`\ufeff${answerXml(item)}`, "utf16le"), UTF8],
  ["UTF-16, big end first", () => Buffer.from(`\ufeff${answerXml(item)}`, "utf16le").swap16(), UTF8],
  ["UTF-16 without a mark", () => Buffer.from(answerXml(item), "utf16le"), "disallowed character"],
  [
    "an overlong coding of <",
    () => Buffer.concat([Buffer.from(quotes("")), Buffer.from([0xc0, 0xbc])]),
    UTF8,
  ],
  ["half a surrogate pair", () => Buffer.from([...Buffer.from("<response>"), 0xed, 0xa0, 0x80]), UTF8],
  ["a NUL in a price", () => answerXml(item.replace("20.4", "20\0.4")), "disallowed character"],
];

const READ: [name: string, make: () => string | Uint8Array][] = [
  ["a byte order mark", () => `\ufeff${answerXml(item)}`],
  ["US-ASCII declared", () => answerXml(item).replace("UTF-8", "us-ascii")],
  ["no declaration at all", () => answerXml(item).replace(/^<\?.*\?>\n/, "")],
  ["a CDATA section in a price", () => answerXml(item.replace("20.4", "<![CDATA[20.4]]>"))],
  ["a comment after the root", () => `${answerXml(item)}<!-- -->`],
  ["an instruction after the root", () => `${answerXml(item)}<?x y?>`],
  ["a text of nearly 8 MB in an instrument", () => answerXml(equityXml("x".repeat(FULL / 2 - 1_000)))],
  ["character references in a price", () => answerXml(item.replace("20.4", "2&#48;&#x2e;4"))],
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
