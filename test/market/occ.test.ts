import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { plainStrike, type OptionContract } from "../../src/market/instrument.ts";
import { occSymbol, parseOccSymbol } from "../../src/market/occ.ts";
import { isRoot, rootedSymbol } from "../../src/market/root.ts";

test("AAPL120721C00200000 is the AAPL call of 21 July 2012 at 200", () => {
  const contract = {
    underlying: "AAPL",
    expiration: "2012-07-21",
    optionType: "CALL",
    strike: "200",
  } as const;

  expect(parseOccSymbol("AAPL120721C00200000")).toEqual(contract);
  expect(occSymbol(contract)).toBe("AAPL120721C00200000");
});

test("thousandths of a strike and digits in an adjusted root are kept", () => {
  expect(parseOccSymbol("SPY7260116P00412125")).toEqual({
    underlying: "SPY",
    root: "SPY7",
    expiration: "2026-01-16",
    optionType: "PUT",
    strike: "412.125",
  });
});

test.each([
  ["SPXW", { underlying: "SPX", root: "SPXW" }],
  ["SPX", { underlying: "SPX" }],
  ["AAPL1", { underlying: "AAPL", root: "AAPL1" }],
  ["2SPY", { underlying: "SPY", root: "2SPY" }],
  ["4SPXW", { underlying: "SPX", root: "4SPXW" }],
  ["BRKB", { underlying: "BRK.B" }],
  ["BRKB1", { underlying: "BRK.B", root: "BRKB1" }],
  ["A1B2C3", { underlying: "A1B2C3" }],
])("the root %s is of %j", (root, named) => {
  const symbol = `${root}261218C05000000`;
  const contract = { ...named, expiration: "2026-12-18", optionType: "CALL", strike: "5000" } as const;

  expect(parseOccSymbol(symbol)).toStrictEqual(contract);
  expect(occSymbol(contract)).toBe(symbol);
});

test.each(["US912828P469", "US0378331005", "912828P469", "123456261218C00150000"])(
  "%s, a security's number or a root without letters, is no contract",
  (text) => {
    expect(parseOccSymbol(text)).toBeNull();
  },
);

test.each([
  "AAPL",
  "",
  "aapl120721C00200000",
  "AAPL120721X00200000",
  "AAPL120732C00200000",
  "AAPL120230C00200000",
  "AAPL120721C00000000",
  "AAPL120721C0200000",
  "AAPL  120721C00200000",
  "AAPLLONG120721C00200000",
  "AAPL120721C00200000 ",
])("%j is no OCC symbol", (text) => {
  expect(parseOccSymbol(text)).toBeNull();
});

test.each([
  { underlying: "ABC.D" },
  { strike: "100000" },
  { strike: "1.0625" },
  { strike: "0" },
  { strike: "-5" },
  { strike: "" },
  { strike: ".5" },
  { strike: "150x" },
  { strike: "1.2.3" },
  { expiration: "1999-01-16" },
  { expiration: "2026-02-30" },
])("a contract with %j has no OCC symbol", (change) => {
  const contract = {
    underlying: "AAPL",
    expiration: "2026-12-18",
    optionType: "PUT",
    strike: "150",
    ...change,
  };

  expect(occSymbol(contract as OptionContract)).toBeNull();
});

test("every contract an OCC symbol can name comes back from it", () => {
  const contracts = fc.record({
    root: fc.stringMatching(/^[A-Z0-9]{1,6}$/).filter(isRoot),
    expiration: fc
      .date({ min: new Date("2000-01-01"), max: new Date("2099-12-31"), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10)),
    optionType: fc.constantFrom("CALL" as const, "PUT" as const),
    strike: fc
      .integer({ min: 1, max: 99_999_999 })
      .map((thousandths) => plainStrike((thousandths / 1000).toFixed(3))),
  });

  fc.assert(
    fc.property(contracts, ({ root, ...rest }) => {
      const contract = { ...rootedSymbol(root), ...rest };
      const symbol = occSymbol(contract);
      expect(symbol).toHaveLength(root.length + 15);
      expect(parseOccSymbol(symbol ?? "")).toEqual(contract);
    }),
  );
});

test("text that reads as an OCC symbol is written back the same", () => {
  const texts = fc.stringMatching(/^[A-Z]{1,6}[0-9]{2}[01][0-9][0-3][0-9][CP]\d{8}$/);

  fc.assert(
    fc.property(texts, (text) => {
      const contract = parseOccSymbol(text);
      fc.pre(contract !== null);
      expect(contract && occSymbol(contract)).toBe(text);
    }),
  );
});
