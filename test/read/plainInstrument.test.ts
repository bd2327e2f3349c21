/** The instruments that rows of plain tables name. */
import { expect, test } from "@jest/globals";
import { readContract } from "../../src/read/plainInstrument.ts";
import { readRow, rowsOfPiece, TIME } from "./plainPiece.ts";

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
function named(values: Readonly<Record<string, string>>) {
  const { unit, problem } = readRow({ ...values, last: "1" });
  return unit?.instrument ?? problem;
}

test("a security is named by its symbol, with its exchange, its description and its type", () => {
  const said = { exchange: "NYS", description: "BERKSHIRE", security_type: "ETF" };
  const expected = {
    ...{ securityType: "ETF", assumedType: false, symbol: "BRK.B", underlying: null },
    ...{ expiration: null, optionType: null, strike: null },
    ...{ exchange: "NYS", description: "BERKSHIRE", contractSize: null },
  };

  expect(named({ symbol: "BRK.B", ...said })).toEqual(expected);
  expect(named({ instrument: "BRK/B", ...said })).toEqual(expected);
});

test.each([
  [{ symbol: "SPX" }, { symbol: "SPX", securityType: "CS", assumedType: true }],
  [{ instrument: "A".repeat(32) }, { symbol: "A".repeat(32) }],
  // An ISIN with its check digit may look like a contract.
  [{ instrument: "US912828P469" }, { symbol: "US912828P469", optionType: null }],
])("the columns %j alone name a security", (values, security) => {
  expect(named(values)).toMatchObject(security);
});

test.each([
  ...["A B", "A\u00a0B", "A\u0000B", "A\u{fffd}", "A".repeat(33)].map((text) => [text, "expected a symbol"]),
  ["US912828P460", "it looks like a contract and is none"],
])("a security is not named by %j", (instrument, problem) => {
  expect(named({ instrument })).toMatch(`instrument is ${JSON.stringify(instrument)}: ${problem}`);
});

test("a row that names no instrument is refused", () => {
  expect(named({ instrument: " " })).toBe('symbol is "": expected a symbol');
});

test("a security that has another description in its next row has it there", () => {
  const row = (at: string, text: string): string => `A,${TIME.replace("Z", `${at}Z`)},1,${text}\n`;
  const rows = rowsOfPiece(
    `instrument,observed_at,last,description\n${row("", "one")}${row(".5", "two")}${row(".6", "one")}`,
  );

  expect(rows.units.map(({ instrument }) => instrument.description)).toEqual(["one", "two", "one"]);
});

const CONTRACT = { symbol: "AAPL", expiration: "2026-12-18", option_type: "CALL", strike: "150" };

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
  (symbol, root, told) => {
    expect(named({ ...CONTRACT, symbol, root })).toMatchObject({ ...told, underlying: told.symbol });
  },
);

const SPXW = { symbol: "SPX", root: "SPXW", underlying: "SPX" };

test.each([
  ["an OCC symbol", "AAPL261218P00150500", { symbol: "AAPL", optionType: "PUT", strike: "150.5" }],
  ["an OCC symbol with a root", "SPXW261218C00150000", SPXW],
  ["an OCC symbol with blanks", "SPXW  261218C00150000", SPXW],
  ["an OCC symbol of Polygon", "O:SPXW261218C00150000", SPXW],
  ["the root of an adjusted contract", "2SPY  261218C00150000", { symbol: "SPY", root: "2SPY" }],
  ["a root that its underlying says", "BRKB261218C00150000", { symbol: "BRK.B", root: undefined }],
  ["its own name with a root", "SPX/SPXW:2026-12-18:CALL:150", SPXW],
])("a contract is named by %s", (_what, instrument, contract) => {
  expect(named({ instrument })).toMatchObject(contract);
  expect(named({ symbol: instrument })).toMatchObject(contract);
});

test.each([
  ...["0150.50 150.5", "150.000 150", "150.0000000 150", "155. 155", ".5 0.5", "+156 156"],
  ...["6,050.00 6050", "6.05E3 6050"],
])("a strike and what is stored of it, as of a price of that text: %s", (both) => {
  const [strike = "", stored] = both.split(" ");

  expect(named({ ...CONTRACT, strike })).toMatchObject({ strike: stored });
});

test.each<[change: Record<string, string>, problem: string]>([
  [{ expiration: "" }, 'expiration is "": expected a date, YYYY-MM-DD'],
  [{ expiration: "2026-02-30" }, 'expiration is "2026-02-30": expected a date, YYYY-MM-DD'],
  [{ expiration: "12/18/2026" }, 'expiration is "12/18/2026": expected a date, YYYY-MM-DD'],
  [{ option_type: "" }, 'option_type is "": expected CALL or PUT'],
  [{ option_type: "C" }, 'option_type is "C": expected CALL or PUT'],
  [{ strike: "" }, 'strike is "": expected a strike'],
  ...["-5", "na", "0.00", "1E10", "0.0000001", "150%"].map((strike): [Record<string, string>, string] => [
    { strike },
    `strike is "${strike}": expected a strike`,
  ]),
  [{ root: "SPX.W" }, 'root is "SPX.W": expected the root of an OCC symbol, such as SPXW'],
  [{ symbol: "A B" }, 'symbol is "A B": expected a symbol'],
  [
    { symbol: "AAPL261218C00150000" },
    'symbol is "AAPL261218C00150000": expected the symbol of an underlying',
  ],
])("the text %j names no contract, and the problem names the column and its text", (change, problem) => {
  expect(named({ ...CONTRACT, ...change })).toEqual(problem);
});
