import { expect, test } from "@jest/globals";
import { askedInstruments, describeCall, type QuoteCall } from "../../../src/quotes/call.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";
import { writeCall } from "../../../src/services/service.ts";

const targetOf = (call: QuoteCall): string => writeCall(REFERENCE, call).target;
const symbols = (...list: string[]): QuoteCall => ({ form: "symbols", symbols: list, delayed: false });
const watchlist: QuoteCall = { form: "watchlist", watchlist: "watchlist-18516", delayed: true };
const contract = {
  form: "option",
  contract: { underlying: "AAPL", expiration: "2026-12-18", optionType: "PUT", strike: "150.50" },
  delayed: false,
} as const satisfies QuoteCall;

test("the target of a call lists symbols with an encoded comma, as the service verifies it", () => {
  expect(targetOf(symbols("AAPL", "MSFT"))).toBe("/v1/market/quotes.xml?symbols=AAPL%2CMSFT&delayed=false");
});

test("the target of a call encodes every character that RFC 3986 does not leave alone", () => {
  expect(targetOf(symbols("BRK.B", "A&B", "C!*'()", "D E", "É"))).toBe(
    "/v1/market/quotes.xml?symbols=BRK.B%2CA%26B%2CC%21%2A%27%28%29%2CD%20E%2C%C3%89&delayed=false",
  );
});

test("the target of a call names a watchlist in a parameter of its own", () => {
  expect(targetOf(watchlist)).toBe("/v1/market/quotes.xml?watchlist=watchlist-18516&delayed=true");
});

test("the target of a call names a contract by underlying, expiration, type and strike", () => {
  expect(targetOf(contract)).toBe(
    "/v1/market/quotes.xml?underlying=AAPL&expiration=2026-12-18&type=PUT&strike=150.50&delayed=false",
  );
});

test("the target of a call names a contract of another root by its OCC symbol", () => {
  const spxw = {
    underlying: "SPX",
    root: "SPXW",
    expiration: "2026-12-18",
    optionType: "CALL",
    strike: "5000",
  } as const;

  expect(targetOf({ form: "option", contract: spxw, delayed: false })).toBe(
    "/v1/market/quotes.xml?symbols=SPXW261218C05000000&delayed=false",
  );
});

test("only the service knows what a watchlist asks for", () => {
  expect(askedInstruments(watchlist)).toBeNull();
  expect(askedInstruments(symbols("A", "B"))).toEqual([
    { kind: "security", symbol: "A" },
    { kind: "security", symbol: "B" },
  ]);
  expect(askedInstruments(contract)).toEqual([{ kind: "option", ...contract.contract }]);
});

test("a call is described in a few words", () => {
  expect(describeCall(symbols("A", "B", "C"))).toBe("A, B, C");
  expect(describeCall(symbols("A", "B", "C", "D"))).toBe("A, B and 2 more");
  expect(describeCall(watchlist)).toBe("watchlist watchlist-18516");
  expect(describeCall(contract)).toBe("AAPL:2026-12-18:PUT:150.5");
});
