import { expect, test } from "@jest/globals";
import { likelySymbol } from "../../src/market/likelySymbol.ts";

const KNOWN = ["AAPL", "AMD", "AMDL", "MSFT", "NFLX", "GE", "SIM0041", "SIM0042"];

test.each([
  ["amd", "AMD", "it is written in small letters, whatever else is near"],
  ["NFXL", "NFLX", "two letters are exchanged"],
  ["APPL", "AAPL", "a letter is another"],
  ["MSF", "MSFT", "a letter is missing"],
  ["AAPLL", "AAPL", "a letter is too much"],
  ["SIM004", null, "several are as near"],
  ["G", null, "it is too short to tell"],
  ["TSLA", null, "nothing is near"],
  ["AAPL", null, "it is the symbol itself"],
])("an unknown symbol, %s, was perhaps meant to be %s: %s", (symbol, meant, _why) => {
  expect(likelySymbol(symbol, KNOWN)).toBe(meant);
});
