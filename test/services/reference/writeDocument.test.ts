import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { XMLBuilder, XMLParser } from "fast-xml-parser";
import { option, security } from "../../../src/market/instrument.ts";
import { type InstrumentQuote, unknownQuote } from "../../../src/quotes/document.ts";
import { readDocument } from "../../../src/services/reference/readDocument.ts";
import {
  writeDocument,
  writeErrorDocument,
  writeStringDocument,
} from "../../../src/services/reference/writeDocument.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

const market = createSimulatedMarket({ seed: 3 });
const at = new Date("2026-03-11T15:00:00Z");
const contract = { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" } as const;

const parser = new XMLParser({ preserveOrder: true, ignoreAttributes: false, parseTagValue: false });

/** Paths of all elements in document order. */
function paths(nodes: Record<string, unknown>[], above = ""): string[] {
  return nodes.flatMap((node) =>
    Object.keys(node)
      .filter((name) => name !== ":@" && name !== "#text" && name !== "?xml")
      .flatMap((name) => {
        const path = above === "" ? name : `${above}/${name}`;
        return [path, ...paths(node[name] as Record<string, unknown>[], path)];
      }),
  );
}

const pathsOf = (item: InstrumentQuote) =>
  paths(parser.parse(writeDocument({ id: "x", instruments: [item] })) as Record<string, unknown>[])
    .filter((path) => path.startsWith("response/quotes/instrumentquote/"))
    .map((path) => path.slice("response/quotes/instrumentquote/".length));

const EQUITY_QUOTE = [
  "askprice",
  "bidprice",
  "change",
  "extendedquote",
  "extendedquote/asksize",
  "extendedquote/bidsize",
  "extendedquote/dividenddata",
  "extendedquote/dividenddata/amt",
  "extendedquote/dividenddata/exdate",
  "extendedquote/dividenddata/yield",
  "extendedquote/earningspershare",
  "extendedquote/high52price",
  "extendedquote/highprice",
  "extendedquote/low52price",
  "extendedquote/lowprice",
  "extendedquote/openprice",
  "extendedquote/prevclose",
  "extendedquote/priceearningsratio",
  "extendedquote/sessionvolume",
  "extendedquote/volume",
  "lastprice",
  "pctchange",
];

test("an equity has the elements of the specification, in alphabetical order, and none of an option", () => {
  expect(pathsOf(market.quote(security("AAPL"), at))).toEqual([
    "greeks",
    "instrument",
    "instrument/desc",
    "instrument/exch",
    "instrument/sectyp",
    "instrument/sym",
    "quote",
    ...EQUITY_QUOTE.map((path) => `quote/${path}`),
    "unknownsymbol",
  ]);
});

test("an option has delta, contract and underlying, and none of an equity's own elements", () => {
  expect(pathsOf(market.quote(option(contract), at))).toEqual([
    "greeks",
    "greeks/delta",
    "instrument",
    "instrument/desc",
    "instrument/exch",
    "instrument/matdt",
    "instrument/putcall",
    "instrument/sectyp",
    "instrument/strkpx",
    "instrument/sym",
    "quote",
    "quote/askprice",
    "quote/bidprice",
    "quote/change",
    "quote/extendedquote",
    "quote/extendedquote/asksize",
    "quote/extendedquote/bidsize",
    "quote/extendedquote/contracthigh",
    "quote/extendedquote/contractlow",
    "quote/extendedquote/contractsize",
    "quote/extendedquote/delta",
    "quote/extendedquote/highprice",
    "quote/extendedquote/lowprice",
    "quote/extendedquote/openprice",
    "quote/extendedquote/prevclose",
    "quote/extendedquote/volume",
    "quote/lastprice",
    "quote/pctchange",
    "underlying",
    "underlying/desc",
    "underlying/exch",
    "underlying/sym",
    "undlyquote",
    ...EQUITY_QUOTE.map((path) => `undlyquote/${path}`),
    "unknownsymbol",
  ]);
});

test("an unknown symbol has its name, empty elements and unknownsymbol true", () => {
  const xml = writeDocument({ id: "x", instruments: [unknownQuote(security("ZZZZ"))] });

  expect(xml).toContain("<sym>ZZZZ</sym>");
  expect(xml).toContain("<unknownsymbol>true</unknownsymbol>");
  expect(xml).toContain("<greeks/>");
  expect(xml).toContain("<lastprice/>");
  expect(xml).not.toMatch(/>\d/);
});

test("a call has putcall 1, a put 0, and both the expiration as midnight in New York", () => {
  const xml = (optionType: "CALL" | "PUT") =>
    writeDocument({ id: "x", instruments: [market.quote(option({ ...contract, optionType }), at)] });

  expect(xml("CALL")).toContain("<putcall>1</putcall>");
  expect(xml("PUT")).toContain("<putcall>0</putcall>");
  expect(xml("PUT")).toContain("<matdt>2026-12-18T00:00:00-05:00</matdt>");
  expect(xml("PUT")).toContain("<strkpx>150.0</strkpx>");
});

test("what an equity does not have is an empty element", () => {
  const equity = unknownQuote(security("ZZZZ"));

  expect(pathsOf({ ...equity, unknownSymbol: false })).toEqual(
    pathsOf(market.quote(security("AAPL"), at)).filter((path) => !path.includes("dividenddata/")),
  );
});

test("a date that is not known is an empty element", () => {
  const quoted = market.quote(option(contract), at);
  const dividend = { amount: "0.25", exDate: null, yield: null };
  const extended = { ...quoted.quote.extended, dividend };
  const instrument = { ...quoted.instrument, expiration: null };

  const item = { ...quoted, instrument, quote: { ...quoted.quote, extended } };

  expect(writeDocument({ id: "x", instruments: [item] })).toMatch(/<matdt\/>.*<exdate\/>/s);
});

test.each(["true", "a:b", ""])("a document of the id %p has it, whatever it looks like", (id) => {
  expect(readDocument(Buffer.from(writeDocument({ id, instruments: [] })))).toMatchObject({ id });
  expect(readDocument(Buffer.from(writeErrorDocument(id, "no")))).toMatchObject({ id });
});

test("a document without instruments still has its root, its id and quotes", () => {
  expect(writeDocument({ id: "a:b", instruments: [] })).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<response id="a:b">\n  <quotes/>\n</response>\n',
  );
});

const items = (instruments: InstrumentQuote[]) => {
  const read = readDocument(Buffer.from(writeDocument({ id: "x", instruments })));
  return read.items.map((item) => (item.ok ? item.item : item.problem));
};

test("the reader reads every instrument as it was written, in the same order", () => {
  const instruments = [
    market.quote(security("AAPL"), at),
    market.quote(option(contract), at),
    market.quote(security("T"), at),
    unknownQuote(security("ZZZZ")),
    unknownQuote(option({ ...contract, strike: "1.25" })),
    ...["NAN", "TRUE", "1E5", "007"].map((symbol) => market.quote(security(symbol), at)),
  ];

  expect(items(instruments)).toEqual(instruments);
});

test("a description of any text arrives without the characters that XML cannot hold", () => {
  const equity = market.quote(security("AAPL"), at);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: "binary-ascii" }), (one, two) => {
      const description = `a${one}${two}]]><!--&amp;"'\r\u0000\ud800z`;
      const item = { ...equity, instrument: { ...equity.instrument, description } };
      const legal = description.replace(/[^\t\n\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "");

      expect(items([item])).toEqual([{ ...item, instrument: { ...item.instrument, description: legal } }]);
    }),
  );
});

test("an error document says why, escaped", () => {
  const xml = writeErrorDocument("id", 'the parameter "<a&b>" is not known');

  expect(readDocument(Buffer.from(xml))).toMatchObject({
    id: "id",
    error: 'the parameter "<a&b>" is not known',
    hasQuotes: false,
  });
});

test("a fault is one string element", () => {
  expect(writeStringDocument("a < b")).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n<string>a &lt; b</string>\n',
  );
});

test("a document put together of remembered pieces is, byte for byte, what the builder writes in one piece", () => {
  const items = [
    market.quote(security("AAPL"), at),
    market.quote(option(contract), at),
    unknownQuote(security("&<")),
  ];
  const layout = { ignoreAttributes: false, attributeNamePrefix: "@", format: true, suppressEmptyNode: true };
  const reader = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "@", parseTagValue: false });

  for (const id of ["abc", '<&">', ""]) {
    const first = writeDocument({ id, instruments: items });
    const again = writeDocument({ id, instruments: items });
    const whole = new XMLBuilder({ ...layout, suppressBooleanAttributes: false }).build(
      reader.parse(first),
    ) as string;

    expect(again).toBe(first);
    expect(first).toBe(whole);
  }
});

test("what an archive received in an element of the other kind of instrument is written, and only then", () => {
  const equity = market.quote(security("AAPL"), at);
  const extended = { ...equity.quote.extended, contractSize: "0" };

  expect(pathsOf({ ...equity, quote: { ...equity.quote, extended } })).toContain(
    "quote/extendedquote/contractsize",
  );
  expect(pathsOf(equity)).not.toContain("quote/extendedquote/contractsize");
});

/** The expiration date of an option, as a document has it. */
function written(expiration: string): string | undefined {
  const { instrument, ...rest } = market.quote(option(contract), at);
  const item = { ...rest, instrument: { ...instrument, expiration } };
  return /<matdt>(.*)<\/matdt>/.exec(writeDocument({ id: "x", instruments: [item] }))?.[1];
}

test("a date is written as midnight in New York with the offset of that date", () => {
  expect(written("2026-12-18")).toBe("2026-12-18T00:00:00-05:00");
  expect(written("2026-06-18")).toBe("2026-06-18T00:00:00-04:00");
});

test("on the days when the clocks change, midnight still has the old offset", () => {
  expect(written("2026-03-08")).toBe("2026-03-08T00:00:00-05:00");
  expect(written("2026-11-01")).toBe("2026-11-01T00:00:00-04:00");
});

test("a date that does not exist is refused", () => {
  expect(() => written("2026-02-30")).toThrow(expect.objectContaining({ name: "RangeError" }));
});
