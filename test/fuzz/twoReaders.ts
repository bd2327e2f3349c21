/** The fast reader of answers, the strict one, and saxes: what they make of the same text, and texts for them. */
import fc from "fast-check";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { readQuickly, readStrictly } from "../../src/services/reference/readDocument.ts";
import { parseXml } from "../../src/services/strictXml.ts";
import { expectSame } from "../support/expectSame.ts";
import { type Opinion, ownReading, secondOpinion } from "../support/saxes.ts";

/** What a reader makes of a text: what it read, or its refusal. */
export type Reading<T> = { read: T } | { refused: string };

/** What comes of a reader; errors that are no refusal are thrown on. */
export function outcome<T>(read: () => T): Reading<T> {
  try {
    return { read: read() };
  } catch (error) {
    if (error instanceof QuotekeeperError) return { refused: error.message };
    throw error;
  }
}

/** Whatever the fast reader reads is what the strict one reads. @returns whether the fast reader read the text */
export function expectNoDifference(text: string): boolean {
  const document = readQuickly(text);
  if (document !== null)
    expectSame(
      { read: document },
      outcome(() => readStrictly(text)),
    );
  return document !== null;
}

/** Characters of a name in XML that fast-xml-parser does not know as such: two of them are white space in JavaScript. */
const NAME_BEYOND = /<[^<>]*[\u1680\ufeff\u{10000}-\u{effff}]/u;

/** The program reads a text as saxes does, or both refuse it. @returns whether it is read */
export function expectOneOpinion(text: string): boolean {
  const own = outcome(() => ownReading(parseXml(text, "response"), text));
  let second: Opinion | null = null;
  try {
    second = secondOpinion(text);
  } catch {
    // It is refused.
  }
  if ("read" in own) expectSame(own.read, second);
  else if (second?.name === "response" && !NAME_BEYOND.test(text)) expectSame(own, { read: second });
  return "read" in own;
}

/** What the fast reader takes out of a text. */
const ORDINARY_ITEM = "<instrumentquote><instrument><sym>A</sym></instrument></instrumentquote>";

const NAMES = ["a", "b", "error", "quotes", "instrumentquote", "sym", "_x.y-1", "__proto__", "constructor"];

/** Pieces of text and tags at the border of what is plain, and beyond it. */
const ODDITIES = [
  ..."<>&;\"'=/!?-]\t\n\r\0\u0001\u007f\u0085\u00a0\u00e9\u2028\ud800\udc00\ufdd0\ufeff\ufffd\ufffe\uffff",
  ..."\r\n|\ud83c\udf55|]]>|]]|&amp;|&lt;|&gt;|&quot;|&apos;|&amp|&nbsp;|&;".split("|"),
  ..."&#48;|&#x31;|&#0;|&toString;|&__proto__;|<!-- x -->|<![CDATA[x]]>|<?x y?>|<!--".split("|"),
  ...[`<!-- ${ORDINARY_ITEM} -->`, `<![CDATA[${ORDINARY_ITEM}]]>`, `<a b='${ORDINARY_ITEM}'/>`],
  ...'<?xml version=\'1.0\'?>|<?xml version="1.0" encoding="UTF-8"?>|<!DOCTYPE x>|<a|</a|<a/>'.split("|"),
  ..."<a >|</a >|<a />|</ a>|< a>|<a:b/>|<\u00e9/>|<1/>|<a/|<a b/>|<a b=1/>".split("|"),
  ...`<a b="1"/>|<a  b="1"/>|<a\nb="1"/>|<a b='1'/>|<a b = "1"/>|<a b="1"c="2"/>`.split("|"),
  ...`<a b="1" b="1"/>|<a b="1" c="2" />|<a b="x>y"/>|<a b="x<y"/>|<a b="&amp;"/>|<a b="\t"/>`.split("|"),
  ...`<a b="\u00e9"/>|<a __proto__="1"/>|<a constructor="1"/>|<a c:d="1"/>|<a xmlns="x"/>|<a b='>`.split("|"),
];

/** Oddities are few, so that some documents have none, and most have one or two. */
const words = fc.oneof(
  {
    weight: 25,
    arbitrary: fc.constantFrom(ORDINARY_ITEM, ..."1.5|A|| |\n  |two words|CAF\u00c9|&amp;|\r\n".split("|")),
  },
  { weight: 1, arbitrary: fc.constantFrom(...ODDITIES) },
);

const usually = (usual: readonly string[], seldom: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...seldom) },
  );

/** A document of elements that nest as they should, and of oddities in every place. */
export const oddDocument: fc.Arbitrary<string> = fc
  .letrec<{ element: string; content: string }>((tie) => ({
    content: fc
      .array(fc.oneof({ maxDepth: 5 }, words, tie("element")), { maxLength: 5 })
      .map((pieces) => pieces.join("")),
    element: fc
      .tuple(fc.constantFrom(...NAMES), fc.constantFrom("", ' id="1"', ' a="1" b="2"'), tie("content"))
      .map(([name, attributes, inside]) => `<${name}${attributes}>${inside}</${name}>`),
  }))
  .content.chain((inside) =>
    fc
      .tuple(
        usually(
          ["", '<?xml version="1.0" encoding="UTF-8"?>'],
          ['<?xml version="1.1"?>', "<?xml version='1.0' standalone='no' ?>", "\ufeff", " "],
        ),
        usually(["", "\n", "\r\n"], ODDITIES),
        usually(["", "\n", " \r\n"], ODDITIES),
      )
      .map(
        ([start, before, after]) =>
          `${start}${before}<response><quotes>${ORDINARY_ITEM}${inside}</quotes></response>${after}`,
      ),
  );
