/** The instruments that rows of CSV files name. */
import { expect, test } from "@jest/globals";
import type { CsvCall } from "../../src/read/csvCall.ts";
import { readContract } from "../../src/read/csvInstrument.ts";
import { readRow, rowsOfPiece, TIME } from "./csvPiece.ts";

test.each([
  ["AAPL:2026-12-18:CALL:375", "AAPL 2026-12-18 CALL 375"],
  ["BRK.B:2026-12-18:PUT:0375.50", "BRK.B 2026-12-18 PUT 375.5"],
  ["AAPL261218C00270000", "AAPL 2026-12-18 CALL 270"],
  ["AAPL  261218P00270500", "AAPL 2026-12-18 PUT 270.5"],
  ["O:AAPL261218C00270000", "AAPL 2026-12-18 CALL 270"],
  ["AAPL 261218C270000", "refused"],
  ["aapl261218c00270000", "refused"],
  ["AAPL261318C00270000", "refused"],
  ["O:AAPL", "refused"],
  ["AAPL:2026-12-18:CALL", "refused"],
  ["AAPL:2026-02-30:CALL:375", "refused"],
  ["AAPL:20261218:C:375", "refused"],
  ["AAPL_121826C375", "refused"],
  [".AAPL261218C270", "refused"],
  ["AAPL-20261218-C-270", "refused"],
  ["AAPL", "no contract"],
  ["NYSE:C", "no contract"],
  ["NASDAQ:CALL", "no contract"],
  ["005930.KS", "no contract"],
  ["600519C", "no contract"],
  ["US0378331005", "no contract"],
  ["007", "no contract"],
  ["o:AAPL", "refused"],
  ["XO:AAPL", "no contract"],
  ["A123456", "no contract"],
  ["A123456P", "refused"],
  ["A123456 put", "refused"],
  ["A123456_C5", "refused"],
  ["A1234567C", "refused"],
  ["A12345C", "no contract"],
  ["A123456CX", "no contract"],
  ["123456C", "no contract"],
  ["AAPL:2026-12-18", "refused"],
  ["AAPL:20261218:375", "refused"],
  ["AAPL:2026-12-181", "no contract"],
  ["AAPL:C:375", "refused"],
  ["AAPL:put:375", "refused"],
  ["AAPL:PUTS:375", "no contract"],
  ["AAPL:2026-12-18:CALL:0", "refused"],
  [":2026-12-18:CALL:375", "refused"],
  ["A B:2026-12-18:CALL:375", "refused"],
  ["AAPL:2026-12-18:CALL:375 ", "refused"],
  [" AAPL:2026-12-18:CALL:375", "refused"],
  [`${"A".repeat(32)}:2026-12-18:CALL:375`, `${"A".repeat(32)} 2026-12-18 CALL 375`],
  [`${"A".repeat(33)}:2026-12-18:CALL:375`, "refused"],
])("%s names a contract, is refused, or names none: %s", (text, expected) => {
  const read = readContract(text);

  const shown = read === null ? "no contract" : read.ok ? Object.values(read.value).join(" ") : "refused";
  expect(shown).toBe(expected);
});

/** The instrument of a row that has a last price besides, or what is wrong with it. */
function named(values: CsvCall["constants"], change: Partial<CsvCall> = {}) {
  const { unit, problem } = readRow({ ...values, last: "1" }, change);
  return unit?.instrument ?? problem;
}

test("a security is named by its symbol, with its exchange, its description and its type", () => {
  expect(named({ symbol: "BRK.B", exchange: "NYS", description: "BERKSHIRE", securityType: "ETF" })).toEqual({
    ...{ securityType: "ETF", assumedType: false, symbol: "BRK.B", underlying: null },
    ...{ expiration: null, optionType: null, strike: null },
    ...{ exchange: "NYS", description: "BERKSHIRE", contractSize: null },
  });
});

test.each([
  [{ underlying: "SPX" }, { symbol: "SPX", securityType: "CS", assumedType: true }],
  [{ symbol: "A".repeat(32) }, { symbol: "A".repeat(32) }],
  // An ISIN with its check digit may look like a contract.
  [{ symbol: "US912828P469" }, { symbol: "US912828P469", optionType: null }],
])("the columns %j alone name a security", (values, security) => {
  expect(named(values)).toMatchObject(security);
});

test.each([
  ...["", "A B", "A\u00a0B", "A\u0000B", "A\u{fffd}", "A".repeat(33)].map((text) => [
    text,
    "expected a symbol",
  ]),
  ["US912828P460", "it looks like a contract and is none"],
])("a security is not named by %j", (symbol, problem) => {
  expect(named({ symbol })).toMatch(`symbol is ${JSON.stringify(symbol)}: ${problem}`);
});

test("a security that has another description in its next row has it there", () => {
  const rows = rowsOfPiece(`Symbol,Time,Last,D\nA,${TIME},1,one\nA,${TIME}.5,1,two\nA,${TIME}.6,1,one\n`, {
    columns: { symbol: "Symbol", last: "Last", description: "D" },
  });

  expect(rows.units.map(({ instrument }) => instrument.description)).toEqual(["one", "two", "one"]);
});

const CONTRACT = { underlying: "AAPL", expiration: "2026-12-18", type: "CALL", strike: "150" };

test("a contract is named by its underlying, expiration, type and strike", () => {
  expect(named({ ...CONTRACT, exchange: "OPR" })).toEqual({
    ...{ securityType: "OPT", assumedType: false, symbol: "AAPL", underlying: "AAPL" },
    ...{ expiration: "2026-12-18", optionType: "CALL", strike: "150" },
    ...{ exchange: "OPR", description: null, contractSize: null },
  });
});

test.each([
  ["SPX", "SPXW", { symbol: "SPX", root: "SPXW" }],
  ["SPX", "SPX", { symbol: "SPX", root: undefined }],
  ["SPX", "", { symbol: "SPX", root: undefined }],
  ["AAPL", "AAPL1", { symbol: "AAPL", root: "AAPL1" }],
  ["BRK.B", "BRKB", { symbol: "BRK.B", root: undefined }],
  ["BRK/B", "BRKB", { symbol: "BRK.B", root: undefined }],
])(
  "a contract on %s with %j in the column of roots has the root that the underlying does not say",
  (underlying, root, told) => {
    expect(named({ ...CONTRACT, underlying, root })).toMatchObject({ ...told, underlying: told.symbol });
  },
);

const SPXW = { symbol: "SPX", root: "SPXW", underlying: "SPX" };
const { underlying, ...PARTS } = CONTRACT;

test.each([
  ["an OCC symbol", { occ: "AAPL261218P00150500" }, { symbol: "AAPL", optionType: "PUT", strike: "150.5" }],
  [
    "an OCC symbol as its symbol",
    { symbol: "AAPL261218P00150500", description: "PUT" },
    { underlying: "AAPL", description: "PUT" },
  ],
  [
    "an OCC symbol, whatever else is said",
    { ...CONTRACT, symbol: "MSFT", occ: "AAPL261218P00160000" },
    { strike: "160" },
  ],
  ["an OCC symbol with a root", { occ: "SPXW261218C00150000" }, SPXW],
  ["an OCC symbol with blanks", { occ: "SPXW  261218C00150000" }, SPXW],
  ["an OCC symbol of Polygon", { occ: "O:SPXW261218C00150000" }, SPXW],
  ["the root of an adjusted contract", { occ: "2SPY  261218C00150000" }, { symbol: "SPY", root: "2SPY" }],
  ["a root that its underlying says", { occ: "BRKB261218C00150000" }, { symbol: "BRK.B", root: undefined }],
  ["its own name with a root", { symbol: "SPX/SPXW:2026-12-18:CALL:150" }, SPXW],
  ["its parts, with the underlying as its symbol", { symbol: underlying, ...PARTS }, named(CONTRACT)],
  [
    "its parts, beside a name that cannot be read",
    { ...CONTRACT, symbol: "AAPL_121826C150" },
    named(CONTRACT),
  ],
])("a contract is named by %s", (_what, values, contract) => {
  expect(named(values)).toMatchObject(contract as object);
});

test.each([
  ["C", "CALL"],
  ["c", "CALL"],
  ["Call", "CALL"],
  ["P", "PUT"],
  ["put", "PUT"],
])("a contract of type %s is a %s", (type, optionType) => {
  expect(named({ ...CONTRACT, type })).toMatchObject({ optionType });
});

test.each([
  ...["0150.50 150.5", "150.000 150", "150.0000000 150", "155. 155", ".5 0.5", "+156 156"],
  ...["6,050.00 6050", "6.05E3 6050"],
])("a strike and what is stored of it, as of a price of that text: %s", (both) => {
  const [strike = "", stored] = both.split(" ");

  expect(named({ ...CONTRACT, strike })).toMatchObject({ strike: stored });
});

test.each(["6.050 6050", "6.050,00 6050", "152,5 152.5", "150 150"])(
  "a strike with a decimal comma, and what is stored of it: %s",
  (both) => {
    const [strike = "", stored] = both.split(" ");

    expect(named({ ...CONTRACT, strike }, { decimal: "," })).toMatchObject({ strike: stored });
  },
);

test.each([
  ...["na", "0.00", "1E10", "0.0000001", "$150"].map((strike) => [strike, "."] as const),
  ...["152.5", "6.05.0", "1.50"].map((strike) => [strike, ","] as const),
])("a contract has no strike of %s, where the decimal mark is %s", (strike, decimal) => {
  expect(named({ ...CONTRACT, strike }, { decimal })).toBe(`strike is "${strike}": expected a strike`);
});

test("a contract has a strike that is multiplied exactly by the factor of the map", () => {
  expect(named({ ...CONTRACT, strike: "150500" }, { scale: { strike: "0.001" } })).toMatchObject({
    strike: "150.5",
  });
});

test("a contract has an expiration as the map says that it is written", () => {
  expect(named({ ...CONTRACT, expiration: "12/18/2026" }, { expirationFormat: "%m/%d/%Y" })).toMatchObject({
    expiration: "2026-12-18",
  });
});

test.each([
  [{ expiration: "" }, 'expiration is "": expected a date, YYYY-MM-DD'],
  [{ expiration: "2026-02-30" }, 'expiration is "2026-02-30": expected a date, YYYY-MM-DD'],
  [{ type: "" }, 'type is "": expected CALL or PUT'],
  [{ type: "CALLS" }, 'type is "CALLS": expected CALL or PUT'],
  [{ type: "xc" }, 'type is "xc": expected CALL or PUT'],
  [{ type: "inputs" }, 'type is "inputs": expected CALL or PUT'],
  [{ type: "xp" }, 'type is "xp": expected CALL or PUT'],
  [{ type: "p." }, 'type is "p.": expected CALL or PUT'],
  [{ strike: "" }, 'strike is "": expected a strike'],
  [{ strike: "-5" }, 'strike is "-5": expected a strike'],
  [{ root: "SPX.W" }, 'root is "SPX.W": expected the root of an OCC symbol, such as SPXW'],
  [{ underlying: "A B" }, 'underlying is "A B": expected a symbol'],
  [
    { underlying: "AAPL261218C00150000" },
    'underlying is "AAPL261218C00150000": expected the symbol of an underlying',
  ],
  [{ occ: "AAPL" }, 'occ is "AAPL": expected an OCC symbol'],
  [{ occ: "O:AAPL" }, expect.stringMatching(/^occ is "O:AAPL": it looks like a contract and is none/)],
  [{ underlying: "", symbol: "A_121826C5" }, expect.stringMatching(/^symbol is "A_121826C5": it looks like/)],
])("the text %j names no contract, and the problem names the column and its text", (change, problem) => {
  expect(named({ ...CONTRACT, ...change })).toEqual(problem);
});

test("a contract that is given in part is refused", () => {
  expect(named({ symbol: "A", expiration: "2026-12-18" })).toBe('type is "": expected CALL or PUT');
  expect(named({ symbol: "A", type: "C" })).toBe('expiration is "": expected a date, YYYY-MM-DD');
  expect(named({ symbol: "A", strike: "5" })).toBe('expiration is "": expected a date, YYYY-MM-DD');
});

test("a contract that a constant of the map makes wrong is named by its field", () => {
  const change = {
    columns: { symbol: "symbol", last: "last" },
    constants: { ...CONTRACT, underlying: "A B" },
  };

  expect(named({ symbol: "" }, change)).toBe('underlying is "A B": expected a symbol');
});
