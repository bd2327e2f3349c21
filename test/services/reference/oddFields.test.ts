/** Every number, date and flag of the specification with every odd text: it costs itself, and nothing else. */
import { describe, expect, test } from "@jest/globals";
import { readDocument } from "../../../src/services/reference/readDocument.ts";
import { EXTENDED_ELEMENTS, leavesOf, QUOTE_ELEMENTS } from "../../support/secondOpinion.ts";
import { answerXml, equityXml, optionXml } from "../../support/xml.ts";

type Kind = "decimal" | "integer" | "date";

const DIVIDEND = "extendedquote/dividenddata";
const INTEGERS = new Set(["asksize", "bidsize", "volume", "sessionvolume", "contractsize"]);

/** The specification's tables "quote" and "extendedquote". */
const FIELDS: [path: string, kind: Kind][] = [
  ...Object.keys(QUOTE_ELEMENTS).map((name): [string, Kind] => [name, "decimal"]),
  ...Object.keys(EXTENDED_ELEMENTS).map((name): [string, Kind] => [
    `extendedquote/${name}`,
    INTEGERS.has(name) ? "integer" : "decimal",
  ]),
  [`${DIVIDEND}/amt`, "decimal"],
  [`${DIVIDEND}/exdate`, "date"],
  [`${DIVIDEND}/yield`, "decimal"],
];

/** What a text is as each kind: a value, nothing (null), or odd. */
const TEXTS: [text: string, as: Record<Kind, string | null | "odd">][] = [
  ...["", "null", "na", "N/A", "NaN"].map((text) => same(text, null)),
  ...[
    "--",
    "-",
    "5%%",
    "(5",
    "5-",
    "$5",
    "(-5)",
    "0,123",
    "INF",
    "-Infinity",
    "undefined",
    "1.2.3",
    "0x10",
    "1e",
    "e5",
    "1,5",
    "1_000",
    "12 34",
  ].map((text) => same(text, "odd")),
  ...["true", "\u0661", "1E401", "Jun 24 2011", "24.06.2011", "2026-02-30", "0000-01-01"].map((text) =>
    same(text, "odd"),
  ),
  ["1.5", { decimal: "15e-1", integer: "odd", date: "odd" }],
  ["1.5E0", { decimal: "15e-1", integer: "odd", date: "odd" }],
  ["1E-3", { decimal: "1e-3", integer: "odd", date: "odd" }],
  ...["9223372036854775808", "-9223372036854775808", "1.7976931348623157E308"].map((text) =>
    same(text, "odd"),
  ),
  ["999999999999999", { decimal: "999999999999999e0", integer: "999999999999999e0", date: "odd" }],
  ["3.4567890123456789E-30", { decimal: "0", integer: "odd", date: "odd" }],
  ["1E3", { decimal: "1e3", integer: "1e3", date: "odd" }],
  ["+7", { decimal: "7e0", integer: "7e0", date: "odd" }],
  ["21,261,045", { decimal: "21261045e0", integer: "21261045e0", date: "odd" }],
  ["2011-06-24T00:00:00-04:00", { decimal: "odd", integer: "odd", date: "2011-06-24" }],
];

function same(text: string, as: null | "odd"): [string, Record<Kind, null | "odd">] {
  return [text, { decimal: as, integer: as, date: as }];
}

/** A document that has every field of the specification. */
const quoteXml = Object.keys(QUOTE_ELEMENTS)
  .map((name) => `<${name}>2</${name}>`)
  .join("");
const extendedXml = Object.keys(EXTENDED_ELEMENTS)
  .map((name) => `<${name}>3</${name}>`)
  .join("");
const dividendXml = "<amt>4</amt><exdate>2026-08-12T00:00:00-04:00</exdate><yield>5</yield>";
const whole = `${quoteXml}<extendedquote>${extendedXml}<dividenddata>${dividendXml}</dividenddata></extendedquote>`;
const quotesOf = (item: string): string =>
  item
    .replace(/<quote>.*<\/quote>/s, `<quote>${whole}</quote>`)
    .replace(/<undlyquote>.*<\/undlyquote>/s, `<undlyquote>${whole}</undlyquote>`);

const ITEMS = { stock: quotesOf(equityXml("A")), option: quotesOf(optionXml({})) };

const CASES = [
  { item: "stock", root: "quote" },
  { item: "option", root: "quote" },
  { item: "option", root: "undlyquote" },
] as const;

/** The item with another text in one of its elements. */
function withText(item: string, path: string, text: string): string {
  const [root = ""] = path.split("/");
  const name = path.split("/").at(-1);
  const at = item.indexOf(`<${root}>`);
  return (
    item.slice(0, at) +
    item.slice(at).replace(new RegExp(`<${name}>[^<]*</${name}>`), `<${name}>${text}</${name}>`)
  );
}

function read(item: string) {
  const [found] = readDocument(Buffer.from(answerXml(item))).items;
  if (!found?.ok) throw new Error(`the instrument is lost: ${found?.problem}`);
  return { leaves: leavesOf(found.item), oddFields: found.oddFields };
}

describe.each(CASES)("in the $root of a $item", ({ item, root }) => {
  const plain = read(ITEMS[item]).leaves;

  test.each(FIELDS)("%s costs itself alone, whatever stands there", (field, kind) => {
    const path = `${root}/${field}`;
    expect(plain).toHaveProperty([path]);
    for (const [text, as] of TEXTS) {
      const { leaves, oddFields } = read(withText(ITEMS[item], path, text));

      const { [path]: value, ...others } = leaves;
      const { [path]: _replaced, ...before } = plain;
      expect(others).toEqual(before);
      expect([text, value ?? null]).toEqual([text, as[kind] === "odd" ? null : as[kind]]);
      expect(oddFields.map(({ element, text: sent }) => [element, sent])).toEqual(
        as[kind] === "odd" ? [[path, text]] : [],
      );
      for (const { problem } of oddFields) expect(problem).toContain(`${path}: "`);
    }
  });
});

test("greeks/delta costs itself alone", () => {
  const odd = ITEMS.option.replace("<greeks><delta>0.61<", "<greeks><delta>--<");

  expect(read(odd).oddFields).toMatchObject([{ element: "greeks/delta", text: "--" }]);
  expect(read(odd).leaves).not.toHaveProperty(["greeks/delta"]);
});

test("the elements of an option cost an equity nothing, whatever stands there", () => {
  const sentinels = "<matdt>Jun 24 2011</matdt><putcall>--</putcall><sectyp>CS</sectyp><strkpx>INF</strkpx>";

  expect(read(ITEMS.stock.replace("<sectyp>CS</sectyp>", sentinels)).oddFields).toEqual([]);
});

test.each([
  ["matdt", "Jun 24 2011"],
  ["matdt", ""],
  ["strkpx", "--"],
  ["strkpx", "NaN"],
  ["putcall", "CALL"],
  ["putcall", ""],
  ["sym", ""],
  ["sym", "x".repeat(256)],
])("an option's %s of %j costs the instrument", (name, text) => {
  const item = ITEMS.option.replace(new RegExp(`<${name}>[^<]*</${name}>`), `<${name}>${text}</${name}>`);

  const { items } = readDocument(Buffer.from(answerXml(item, equityXml("B"))));

  expect(items).toMatchObject([
    { ok: false, isOption: true, problem: expect.stringContaining(`instrument/${name}`) },
    { ok: true },
  ]);
});
