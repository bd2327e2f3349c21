/** Symbols, strikes and names of instruments. */
import { expect, test } from "@jest/globals";
import {
  inCapitals,
  instrumentName,
  isKeptSymbol,
  isStrike,
  isSymbol,
  isWatchlistId,
  looseName,
  namedSymbol,
  option,
  plainStrike,
  readContractName,
  security,
} from "../../src/market/instrument.ts";
import { archivedName } from "../../src/market/root.ts";

const CALL = { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" } as const;

test.each([
  ...["A", "BRK.B", "BF/B", "BRK-B", "^SPX", "$SPX", "SPX.X", "/ES", "005930.KS", "M&M", "BTC_USD"],
  ...["ABC+", "ABC=", "ABC-A", "ABC#", "ABC*", "ES=F", "SPXW1", "AAPL261218C00150000"],
  ...["aapl", "Ünit", "\u{1f680}", "A".repeat(32)],
])("a symbol may be %j", (text) => {
  expect(isSymbol(text)).toBe(true);
  expect(isKeptSymbol(text)).toBe(true);
});

test.each([
  ...["", " ", "A B", "A,B", ",A", "A\t", "\nA", "A\u00a0B", "A".repeat(33)],
  ...["A\u0000", "\u001b[31mA", "A\u200b", "\u202eA", "A\ud800", "A\u{fffd}"],
])("a symbol is never %j", (text) => {
  expect(isSymbol(text)).toBe(false);
  expect(isKeptSymbol(text)).toBe(false);
});

test.each([
  ...["root:*:20228:0:99999:7:::", "KEY=abcd1234", "A=BC", "QQ==", '"AAPL"', "'AAPL'", "{A}", "[A]"],
  ...["A;B", "A|B", "A\\B", "<A>", "A(B)", "A?B", "X:BTCUSD", "AAPL:2026-12-18:CALL:150"],
])("the service is never asked for a symbol %j, and kept quotes of that name stay", (text) => {
  expect(isSymbol(text)).toBe(false);
  expect(isKeptSymbol(text)).toBe(true);
});

test("a kept symbol may be as long as its caller allows", () => {
  expect(isKeptSymbol("A".repeat(64), 64)).toBe(true);
  expect(isKeptSymbol("A".repeat(65), 64)).toBe(false);
});

test.each(["DEFAULT", "My list 2", "W".repeat(64), `${"W".repeat(31)} ${"W".repeat(32)}`])(
  "the id of a watchlist may be %j",
  (text) => {
    expect(isWatchlistId(text)).toBe(true);
  },
);

test.each([
  "",
  " ",
  "My  list",
  " DEFAULT",
  "DEFAULT ",
  "a,b",
  "a\tb",
  "W".repeat(65),
  "W ".repeat(32).concat("W"),
])("the id of a watchlist is never %j", (text) => {
  expect(isWatchlistId(text)).toBe(false);
});

test.each(["1", "150", "0.5", "150.125", "0150.50", "999999999.999999", "0.000001"])(
  "a strike may be %j",
  (text) => {
    expect(isStrike(text)).toBe(true);
  },
);

test.each([
  ...["", "0", "0.00", "-5", "+5", ".5", "5.", "1,5", "1e3", "x5", "5x", "5 ", "1.5.5"],
  ...["1234567890", "1.1234567", "five"],
])("a strike is never %j", (text) => {
  expect(isStrike(text)).toBe(false);
});

test.each([
  ["150", "150"],
  ["0150", "150"],
  ["150.", "150"],
  ["150.0", "150"],
  ["150.50", "150.5"],
  ["0285.50", "285.5"],
  ["100.050", "100.05"],
  ["000", "0"],
  ["0.50", "0.5"],
  ["00.5", "0.5"],
])("a strike %s is written %s", (text, plain) => {
  expect(plainStrike(text)).toBe(plain);
});

test.each(["", "-05.0", "x05.0", "05.0x", "1.5.0", "1e3"])(
  "the text %j is no strike and is left as it is",
  (text) => {
    expect(plainStrike(text)).toBe(text);
  },
);

test("the name of a security is its symbol", () => {
  expect(instrumentName(security("AAPL"))).toBe("AAPL");
});

test("the name of a contract has its underlying, expiration, type and strike", () => {
  expect(instrumentName(option(CALL))).toBe("AAPL:2026-12-18:CALL:150");
  expect(instrumentName(option({ ...CALL, optionType: "PUT", strike: "0.5" }))).toBe(
    "AAPL:2026-12-18:PUT:0.5",
  );
});

test("the name of a contract has the root behind the underlying only where the two differ", () => {
  const spx = { ...CALL, underlying: "SPX", strike: "5000" };

  expect(instrumentName(option({ ...spx, root: "SPXW" }))).toBe("SPX/SPXW:2026-12-18:CALL:5000");
  expect(instrumentName(option({ ...spx, root: "SPX" }))).toBe("SPX:2026-12-18:CALL:5000");
  expect(instrumentName(option({ ...spx, underlying: "BRK.B", root: "BRKB" }))).toBe(
    "BRK.B:2026-12-18:CALL:5000",
  );
  expect(readContractName("SPX/SPXW:2026-12-18:CALL:5000")).toStrictEqual({ ...spx, root: "SPXW" });
  expect(readContractName("A;B:2026-12-18:CALL:5000")).toBe("the contract needs four parts");
  expect(readContractName("A;B:2026-12-18:CALL:5000", isKeptSymbol)).toMatchObject({ underlying: "A;B" });
  expect(readContractName("BRK/B:2026-12-18:CALL:5000")).toStrictEqual({ ...spx, underlying: "BRK.B" });
});

test("the name of a contract is the same for strikes of the same number", () => {
  const names = ["150", "150.0", "150.00", "0150"].map((strike) =>
    instrumentName(option({ ...CALL, strike })),
  );

  expect(new Set(names).size).toBe(1);
});

test("the name of a contract is made from the contract alone, whatever else comes with it", () => {
  const described = { ...CALL, description: "AAPL INC" };

  expect(option(described)).toEqual({ kind: "option", ...CALL });
});

test("a symbol is written in capitals, and letters of other alphabets stay as they are", () => {
  expect(["aapl", "BRK.b", "NaN", "007", "\u00e41", "\u00df", ""].map(inCapitals)).toEqual([
    ...["AAPL", "BRK.B", "NAN", "007", "\u00e41", "\u00df", ""],
  ]);
});

test("a class of shares has one name, whoever writes a slash before its letter, and nothing else is changed", () => {
  const symbols = ["BRK/B", "brk/b", "BAC/PRL", "BTC/USD", "A/B/C", "/B", "BRK.B", "BRK-B"];

  expect(symbols.map(namedSymbol)).toEqual([
    ...["BRK.B", "BRK.B", "BAC/PRL", "BTC/USD", "A/B/C", "/B", "BRK.B", "BRK-B"],
  ]);
  expect(security("BRK/B")).toEqual(security("BRK.B"));
  expect(option({ ...CALL, underlying: "BRK/B", root: "BRKB" })).toEqual(
    option({ ...CALL, underlying: "BRK.B" }),
  );
});

test.each([
  ["BRK/B:2026-12-18:CALL:480", "BRK.B:2026-12-18:CALL:480"],
  ["chain BRK/B:2026-12-18", "chain BRK.B:2026-12-18"],
  ["chain of BRK/B as listed", "chain of BRK.B as listed"],
  ["expirations of BRK/B", "expirations of BRK.B"],
  ["SPX/SPXW:2026-12-18:CALL:5000", "SPX/SPXW:2026-12-18:CALL:5000"],
  ["watchlist A/B", "watchlist A/B"],
])("the name %s of the ledger is %s in the archive", (name, archived) => {
  expect(archivedName(name)).toBe(archived);
});

test("names share a loose name when they are likely one instrument, however vendors write it", () => {
  const ways = ["BRK.B", "BRK/B", "BRK-B", "BRKB", "brk-b", "BRK B"].map((symbol) =>
    looseName(security(symbol)),
  );
  const contracts = ["BRKB", "BRK.B"].map((underlying) => looseName(option({ ...CALL, underlying })));
  const higher = option({ ...CALL, underlying: "BRKB", strike: "155" });

  expect(new Set(ways).size).toBe(1);
  expect(new Set(contracts).size).toBe(1);
  expect(looseName(higher)).not.toBe(contracts[0]);
  expect(looseName(security("BRK.A"))).not.toBe(ways[0]);
  expect(contracts).not.toContain(ways[0]);
});

test.each([
  ...["AAPL:2026-12-18:CALL:150", "BRK.B:2027-01-15:PUT:0.5"],
  ...["SPX/SPXW:2026-12-18:CALL:5000", "AAPL/AAPL1:2026-12-18:CALL:150", "SPY/2SPY:2026-12-18:CALL:150"],
])("the name of a contract is read back: %s", (name) => {
  const read = readContractName(name);

  expect(typeof read === "string" ? read : instrumentName(option(read))).toBe(name);
});

test("the name of a contract is read back with its type in small letters, and with zeros around its strike", () => {
  expect(readContractName("AAPL:2026-12-18:call:0150.00")).toEqual(CALL);
});

test.each([
  ["AAPL", "the contract needs four parts"],
  ["AAPL:2026-12-18:CALL:", "the contract needs four parts"],
  ["AAPL:2026-12-18:CALL:150:1", "the contract needs four parts"],
  [":2026-12-18:CALL:150", "the contract needs four parts"],
  ["AAPL:2026-02-30:CALL:150", "the expiration is not a date"],
  ["AAPL:2026-12-18:CALLS:150", "the type is neither CALL nor PUT"],
  ["AAPL:2026-12-18:PUT:0", "the strike is not a decimal above 0"],
])("no contract is read from %s: %s", (text, why) => {
  expect(readContractName(text)).toBe(why);
});
