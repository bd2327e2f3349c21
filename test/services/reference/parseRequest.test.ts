import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseRequest } from "../../../src/services/reference/parseRequest.ts";
import { REFERENCE } from "../../../src/services/reference/reference.ts";
import { writeCall } from "../../../src/services/service.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

const OPTION = "underlying=AAPL&expiration=2026-12-18&type=CALL&strike=150";
const request = (query: string) => {
  const parsed = parseRequest(query);
  return parsed.ok ? parsed.request : parsed.problem;
};
const refusalOf = (query: string) => {
  const parsed = parseRequest(query);
  return parsed.ok ? null : parsed.problem;
};

test("symbols are separated by commas, in any encoding, and keep their order and repetitions", () => {
  expect(request("symbols=GE%2CAAPL,GE&delayed=true")).toEqual({
    kind: "symbols",
    symbols: ["GE", "AAPL", "GE"],
  });
});

test("symbols that look like numbers or booleans stay text", () => {
  expect(request("symbols=NaN,true,1E5,007")).toEqual({
    kind: "symbols",
    symbols: ["NaN", "true", "1E5", "007"],
  });
});

test("blanks around a symbol do not count", () => {
  expect(request("symbols=AAPL,+GE%20")).toEqual({ kind: "symbols", symbols: ["AAPL", "GE"] });
});

test("a watchlist has a parameter of its own, which wins over symbols", () => {
  expect(request("watchlist=DEFAULT")).toEqual({ kind: "watchlist", watchlist: "DEFAULT" });
  expect(request("symbols=AAPL&watchlist=DEFAULT")).toEqual({ kind: "watchlist", watchlist: "DEFAULT" });
  expect(request("watchlist=+DEFAULT%20")).toEqual({ kind: "watchlist", watchlist: "DEFAULT" });
});

test("underlying, expiration, type and strike name one contract", () => {
  expect(request(OPTION)).toEqual({
    kind: "option",
    contract: { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" },
  });
});

test("blanks around its four names do not count", () => {
  expect(request(OPTION.replaceAll("=", "=+").replaceAll("&", "%20&"))).toEqual(request(OPTION));
});

test("zeros around the strike do not make another contract", () => {
  expect(request(OPTION.replace("150", "0152.50"))).toMatchObject({ contract: { strike: "152.5" } });
});

test.each([
  ["underlying=AAPL&type=CALL", "expiration, strike is missing from the option form"],
  ["strike=150", "underlying, expiration, type is missing from the option form"],
  [OPTION.replace("AAPL", ""), "underlying is missing from the option form"],
  [OPTION.replace("AAPL", "AAPL,GE"), "underlying is not one symbol"],
  [
    OPTION.replace("2026-12-18", "2026-02-30"),
    'expiration "2026-02-30" is not a date YYYY-MM-DD that exists',
  ],
  [
    OPTION.replace("2026-12-18", "12/18/2026"),
    'expiration "12/18/2026" is not a date YYYY-MM-DD that exists',
  ],
  [OPTION.replace("CALL", "call"), 'type "call" is neither CALL nor PUT'],
  [OPTION.replace("150", "-150"), 'strike "-150" is not a decimal above 0'],
  [OPTION.replace("150", "0.00"), 'strike "0.00" is not a decimal above 0'],
  [OPTION.replace("150", "1e2"), 'strike "1e2" is not a decimal above 0'],
  [`symbols=AAPL&${OPTION}`, "symbols and underlying, expiration, type, strike exclude each other"],
  [`watchlist=DEFAULT&strike=1`, "watchlist and strike exclude each other"],
])("a request in the option form is refused: %s", (query, problem) => {
  expect(refusalOf(query)).toBe(problem);
});

test("delayed is true, false, or by default true", () => {
  expect(parseRequest("symbols=AAPL&delayed=false")).toMatchObject({ ok: true, delayed: false });
  expect(parseRequest("symbols=AAPL&delayed=true")).toMatchObject({ ok: true, delayed: true });
  expect(parseRequest("symbols=AAPL")).toMatchObject({ ok: true, delayed: true });
});

test("parameters of the signature may stand in the query, and say nothing of what the call asks for", () => {
  expect(request("oauth_token=t&symbols=AAPL&oauth_nonce=n")).toEqual(request("symbols=AAPL"));
});

test.each([
  ["", "symbols, watchlist, or underlying with expiration, type and strike is needed"],
  ["delayed=true", "symbols, watchlist, or underlying with expiration, type and strike is needed"],
  ["symbols=", "symbols is empty"],
  ["symbols=%20", "symbols is empty"],
  ["symbols=AAPL,,GE", "symbols has an empty place, number 2 of its list"],
  ["symbols=A%00B", '"A?B" is not a symbol'],
  [`symbols=${"A".repeat(65)}`, `"${"A".repeat(40)}" is not a symbol`],
  ["watchlist=", "watchlist is not a watchlist id"],
  ["watchlist=%20", "watchlist is not a watchlist id"],
  ["symbols=AAPL&delayed=yes", "delayed must be true or false"],
  ["symbols=AAPL&delayed=TRUE", "delayed must be true or false"],
  ["symbols=AAPL&delayed=", "delayed must be true or false"],
  ["symbols=AAPL&symbols=GE", "the parameter symbols is given twice"],
  ["symbols=AAPL&fields=bid", 'the parameter "fields" is not known'],
  ["symbols=AAPL&__proto__=1", 'the parameter "__proto__" is not known'],
  ["symbols=%zz", "the query is not percent-encoded UTF-8"],
])("a request of either form is refused: %p", (query, problem) => {
  expect(refusalOf(query)).toBe(problem);
});

test("whatever the client's side writes, the service's side reads back", () => {
  const symbol = fc.stringMatching(/^[A-Z0-9.&'!*() -]{1,8}$/).filter((text) => text.trim() === text);
  const contract = fc.record({
    underlying: symbol,
    expiration: fc.constantFrom("2026-12-18", "2028-01-21"),
    optionType: fc.constantFrom("CALL" as const, "PUT" as const),
    strike: fc.constantFrom("150", "7.5", "1000"),
  });
  const query = (target: string) => target.split("?")[1] ?? "";

  fc.assert(
    fc.property(fc.array(symbol, { minLength: 1 }), contract, fc.boolean(), (symbols, asked, delayed) => {
      expect(parseRequest(query(writeCall(REFERENCE, { form: "symbols", symbols, delayed }).target))).toEqual(
        {
          ok: true,
          request: { kind: "symbols", symbols },
          delayed,
          delayedAsked: delayed,
        },
      );
      expect(
        parseRequest(query(writeCall(REFERENCE, { form: "option", contract: asked, delayed }).target)),
      ).toEqual({
        ok: true,
        request: { kind: "option", contract: asked },
        delayed,
        delayedAsked: delayed,
      });
    }),
  );
});

test("no query whatsoever makes the reader fail", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (query) => {
      parseRequest(query);
    }),
  );
});
