/** The tables of the specification's section "Resources and their fields", row by row, on answers over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { XMLParser } from "fast-xml-parser";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { createTestClock } from "../support/clock.ts";
import { type RunningService, startSimulatedService } from "../support/simulatedService.ts";

const clock = createTestClock("2026-11-20T15:30:00.000Z");
let service: RunningService;
let calls = 0;

/** A signed GET. */
async function answer(query: string, headers: Record<string, string> = {}): Promise<Response> {
  const url = `${service.baseUrl}/v1/market/quotes.xml?${query}`;
  const timestamp = Math.floor(clock.now().getTime() / 1000);
  const { credentials } = service;
  const authorization = signRequest({ method: "GET", url, credentials, nonce: `n${++calls}`, timestamp });
  return fetch(url, { headers: { authorization, ...headers } });
}

/** Texts of all elements of the one instrument of a document, by their path below it; an element with children is "". */
function elementsOf(xml: string): Map<string, string> {
  const parser = new XMLParser({ parseTagValue: false, trimValues: false, ignoreAttributes: false });
  const { response } = parser.parse(xml) as { response: { quotes: { instrumentquote: object } } };
  const elements = new Map<string, string>();
  const walk = (node: object, above: string): void => {
    for (const [name, value] of Object.entries(node) as [string, string | object][]) {
      if (name === "#text") continue;
      const path = above === "" ? name : `${above}/${name}`;
      elements.set(path, typeof value === "string" ? value : "");
      if (typeof value === "object") walk(value, path);
    }
  };
  walk(response.quotes.instrumentquote, "");
  return elements;
}

const EQUITY = "symbols=AAPL&delayed=false";
const CALL = "underlying=AAPL&expiration=2026-12-18&type=CALL&strike=150&delayed=false";
const PUT = CALL.replace("CALL", "PUT");

const kinds = { equity: new Map<string, string>(), option: new Map<string, string>() };
const documents = { equity: "", option: "", put: "" };
beforeAll(async () => {
  service = await startSimulatedService(clock);
  documents.equity = await (await answer(EQUITY)).text();
  documents.option = await (await answer(CALL)).text();
  documents.put = await (await answer(PUT)).text();
  kinds.equity = elementsOf(documents.equity);
  kinds.option = elementsOf(documents.option);
});
afterAll(() => service.close());

const TYPES = {
  element: /^\s*$/,
  string: /\S/,
  boolean: /^(true|false)$/,
  integer: /^-?\d+$/,
  decimal: /^-?\d+(\.\d+)?(E-?\d+)?$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}[+-]\d{2}:\d{2}$/,
};
type Row = readonly [name: string, type: keyof typeof TYPES];

/** The rows hold for an element of this path, in the answers of these kinds, and of no others. */
function rows(above: string, of: readonly (keyof typeof kinds)[], table: readonly Row[]): void {
  test.each(table.map(([name, type]) => ({ path: `${above}${name}`, type })))(
    "$path: $type",
    ({ path, type }) => {
      for (const kind of ["equity", "option"] as const) {
        if (!of.includes(kind)) expect([...kinds[kind].keys()]).not.toContain(path);
        else expect(kinds[kind].get(path)).toMatch(TYPES[type]);
      }
    },
  );
}

const QUOTE: readonly Row[] = [
  ["askprice", "decimal"],
  ["bidprice", "decimal"],
  ["change", "decimal"],
  ["lastprice", "decimal"],
  ["pctchange", "decimal"],
  ["extendedquote", "element"],
];
const EXTENDED_ALWAYS: readonly Row[] = [
  ["asksize", "integer"],
  ["bidsize", "integer"],
  ["highprice", "decimal"],
  ["lowprice", "decimal"],
  ["openprice", "decimal"],
  ["prevclose", "decimal"],
  ["volume", "integer"],
];
const EXTENDED_EQUITY: readonly Row[] = [
  ["dividenddata", "element"],
  ["dividenddata/amt", "decimal"],
  ["dividenddata/exdate", "date-time"],
  ["dividenddata/yield", "decimal"],
  ["earningspershare", "decimal"],
  ["high52price", "decimal"],
  ["low52price", "decimal"],
  ["priceearningsratio", "decimal"],
  ["sessionvolume", "integer"],
];
const EXTENDED_OPTION: readonly Row[] = [
  ["contracthigh", "decimal"],
  ["contractlow", "decimal"],
  ["contractsize", "integer"],
  ["delta", "decimal"],
];
const BOTH = ["equity", "option"] as const;

test("the document is one response with an id, and its quotes", () => {
  for (const text of [documents.equity, documents.option])
    expect(text).toMatch(
      /^<\?xml[^>]*\?>\s*<response id="[^"]+">\s*<quotes>[^]*<\/quotes>\s*<\/response>\s*$/,
    );
});

test("each response has an id of its own", async () => {
  const ids = [EQUITY, EQUITY].map(
    async (query) => /id="([^"]+)"/.exec(await (await answer(query)).text())?.[1],
  );

  expect(new Set(await Promise.all(ids)).size).toBe(2);
});

test("the response has an instrumentquote for each instrument of a list", async () => {
  const text = await (await answer("symbols=AAPL%2CZZZZ")).text();

  expect(text.match(/<instrumentquote>/g)).toHaveLength(2);
});

test("elements have lower-case names, for equities, options and unknown instruments", async () => {
  const unknown = await (await answer("symbols=ZZZZ")).text();

  for (const text of [documents.equity, documents.option, unknown]) {
    const names = [...text.matchAll(/<\/?([^\s/>?!]+)/g)].map(([, name = ""]) => name);
    expect(names.filter((name) => name !== name.toLowerCase())).toEqual([]);
  }
});

test("a number may have an exponent: the yield of a company without dividends", async () => {
  const text = await (await answer("symbols=TSLA")).text();

  expect(text).toContain("<yield>4.9E-324</yield>");
});

rows("", BOTH, [
  ["greeks", "element"],
  ["instrument", "element"],
  ["quote", "element"],
  ["unknownsymbol", "boolean"],
]);

rows(
  "",
  ["option"],
  [
    ["greeks/delta", "decimal"],
    ["underlying", "element"],
    ["underlying/desc", "string"],
    ["underlying/exch", "string"],
    ["underlying/sym", "string"],
    ["undlyquote", "element"],
  ],
);

rows("instrument/", BOTH, [
  ["desc", "string"],
  ["exch", "string"],
  ["sectyp", "string"],
  ["sym", "string"],
]);

test("instrument has exchange and type of the values seen, and for an option the symbol of its underlying", () => {
  const of = (kind: keyof typeof kinds) =>
    ["exch", "sectyp", "sym"].map((name) => kinds[kind].get(`instrument/${name}`));

  expect(of("equity")).toEqual(["NSD", "CS", "AAPL"]);
  expect(of("option")).toEqual(["CMP", "OPT", "AAPL"]);
});

rows(
  "instrument/",
  ["option"],
  [
    ["matdt", "date-time"],
    ["putcall", "integer"],
    ["strkpx", "decimal"],
  ],
);

test("instrument has putcall 1 for a CALL and 0 for a PUT", () => {
  expect(kinds.option.get("instrument/putcall")).toBe("1");
  expect(elementsOf(documents.put).get("instrument/putcall")).toBe("0");
});

describe("quote", () => rows("quote/", BOTH, QUOTE));
describe("undlyquote", () => rows("undlyquote/", ["option"], QUOTE));
describe("extendedquote, always", () => rows("quote/extendedquote/", BOTH, EXTENDED_ALWAYS));
describe("extendedquote, equities", () => rows("quote/extendedquote/", ["equity"], EXTENDED_EQUITY));

rows("quote/extendedquote/", ["option"], EXTENDED_OPTION);

test("extendedquote of an option has the delta of greeks", () => {
  expect(kinds.option.get("quote/extendedquote/delta")).toBe(kinds.option.get("greeks/delta"));
});

rows("undlyquote/extendedquote/", ["option"], [...EXTENDED_ALWAYS, ...EXTENDED_EQUITY]);

test("extendedquote of undlyquote has no element of an option", () => {
  for (const [name] of EXTENDED_OPTION)
    expect([...kinds.option.keys()]).not.toContain(`undlyquote/extendedquote/${name}`);
});

test("no element is there that the specification does not have", () => {
  const named = (above: string, table: readonly Row[]) => table.map(([name]) => `${above}${name}`);
  const inQuotes = ["quote/", "undlyquote/"].flatMap((above) => [
    ...named(above, QUOTE),
    ...named(`${above}extendedquote/`, [...EXTENDED_ALWAYS, ...EXTENDED_EQUITY, ...EXTENDED_OPTION]),
  ]);
  const top = ["greeks", "greeks/delta", "instrument", "quote", "underlying", "undlyquote", "unknownsymbol"];
  const below = ["desc", "exch", "sym", "sectyp", "matdt", "putcall", "strkpx"];
  const known = new Set([
    ...top,
    ...inQuotes,
    ...below.flatMap((name) => [`instrument/${name}`, `underlying/${name}`]),
  ]);

  for (const { size } of Object.values(kinds)) expect(size).toBeGreaterThan(20);
  for (const kind of Object.values(kinds))
    expect([...kind.keys()].filter((path) => !known.has(path))).toEqual([]);
});

test("a call that closes its connection is answered, and the connection closed", async () => {
  const { headers, status } = await answer(EQUITY, { connection: "close" });

  expect(status).toBe(200);
  expect(headers.get("connection")).toBe("close");
});
