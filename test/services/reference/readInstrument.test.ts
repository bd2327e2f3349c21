import { expect, test } from "@jest/globals";
import { LEAF_PATHS } from "../../../src/services/reference/leaves.ts";
import { NO_QUOTE } from "../../../src/quotes/document.ts";
import { readLeaves } from "../../../src/services/reference/readInstrument.ts";

const MAX_NAME = 255;

const read = (leaves: Record<string, string>) => readLeaves(LEAF_PATHS.map((path) => leaves[path]));
const contract = {
  "instrument/sym": "MRDN",
  "instrument/matdt": "2027-01-15T00:00:00-05:00",
  "instrument/putcall": "1",
  "instrument/strkpx": "120.0",
};

test("an equity that carries the elements of an option is an equity", () => {
  const read1 = read({ ...contract, "instrument/sectyp": "CS" });

  expect(read1).toMatchObject({
    item: { instrument: { securityType: "CS", expiration: null, optionType: null, strike: null } },
  });
});

test("an equity that has an underlying is neither: its price is not to become the equity's", () => {
  expect(read({ ...contract, "instrument/sectyp": "CS", "underlying/sym": "MRDN" })).toMatchObject({
    ok: false,
    isOption: null,
    problem: expect.stringContaining('instrument/sectyp "CS"'),
  });
});

test("without a security type, a maturity date makes an instrument an option", () => {
  expect(read(contract)).toMatchObject({
    item: {
      instrument: { securityType: "OPT", expiration: "2027-01-15", optionType: "CALL", strike: "120.0" },
    },
  });
});

test("without a security type, the empty date 0001-01-01 makes an instrument no option", () => {
  expect(read({ ...contract, "instrument/matdt": "0001-01-01T00:00:00-05:00" })).toMatchObject({
    item: { instrument: { securityType: null, expiration: null } },
  });
});

test("a putcall of 0 is a put, and any other value is no option", () => {
  expect(read({ ...contract, "instrument/putcall": "0" })).toMatchObject({
    item: { instrument: { optionType: "PUT" } },
  });
  expect(read({ ...contract, "instrument/putcall": "2" })).toEqual({
    ok: false,
    isOption: null,
    problem: 'instrument/putcall "2" is neither 1 nor 0',
  });
});

test("an unknown symbol is read for its name only: nothing else of it is looked at", () => {
  const unknown = read({
    "instrument/sym": "NOSUCH",
    "quote/askprice": "garbage",
    "quote/lastprice": "1.0",
    "underlying/sym": "X",
    unknownsymbol: "TRUE",
  });

  expect(unknown).toMatchObject({
    ok: true,
    item: { unknownSymbol: true, instrument: { symbol: "NOSUCH" }, quote: NO_QUOTE, underlying: null },
  });
});

test("an unknown symbol names its contract when all of it is there, and else its symbol alone", () => {
  expect(read({ ...contract, unknownsymbol: "true" })).toMatchObject({
    item: { instrument: { securityType: "OPT", expiration: "2027-01-15", strike: "120.0" } },
  });
  expect(read({ ...contract, "instrument/strkpx": "", unknownsymbol: "true" })).toMatchObject({
    item: { instrument: { symbol: "MRDN", expiration: null, strike: null } },
  });
});

test.each(["false", "null", "", "na"])("an unknown symbol is not what %p says", (text) => {
  expect(read({ "instrument/sym": "A", unknownsymbol: text })).toMatchObject({
    item: { unknownSymbol: false },
  });
});

test("an unknown symbol is not what any other text says, which is told", () => {
  expect(read({ "instrument/sym": "A", unknownsymbol: "perhaps" })).toMatchObject({
    item: { unknownSymbol: false },
    oddFields: [{ text: "perhaps", problem: expect.stringContaining('"perhaps"') }],
  });
});

test("names are text: NaN, null and na are symbols, and an exchange of na is none", () => {
  for (const symbol of ["NaN", "null", "na", "true", "1E5", "007"])
    expect(read({ "instrument/sym": symbol, "instrument/exch": "na" })).toMatchObject({
      item: { instrument: { symbol, exchange: null } },
    });
});

test("an empty undlyquote is none", () => {
  expect(read({ "instrument/sym": "A" })).toMatchObject({ item: { underlyingQuote: null } });
  expect(read({ "instrument/sym": "A", "undlyquote/lastprice": "2" })).toMatchObject({
    item: { underlyingQuote: { last: "2", bid: null } },
  });
});

const longest = "x".repeat(MAX_NAME);
/** It is quoted by its first 40 characters. */
const quoted = expect.stringMatching(/: "x{40}\.\.\." has 256 characters$/);

test("a symbol of more than 255 characters costs the instrument that it would name", () => {
  expect(read({ "instrument/sym": longest })).toMatchObject({ item: { instrument: { symbol: longest } } });
  expect(read({ "instrument/sym": `${longest}x` })).toEqual({ ok: false, isOption: null, problem: quoted });
});

test("an underlying's symbol of more than 255 characters costs itself alone", () => {
  const option = { ...contract, "underlying/sym": `${longest}x`, "undlyquote/lastprice": "2" };

  expect(read(option)).toMatchObject({
    item: { underlying: null, underlyingQuote: { last: "2" } },
    oddFields: [{ element: "underlying/sym", problem: quoted }],
  });
});

test("a putcall that is none is quoted by its first 40 characters", () => {
  expect(read({ ...contract, "instrument/putcall": "x".repeat(41) })).toMatchObject({
    ok: false,
    problem: expect.stringContaining(`"${"x".repeat(40)}"`),
  });
});
