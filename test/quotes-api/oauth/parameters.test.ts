import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  encodeParameters,
  joinEncoded,
  MAX_PARAMETERS,
  normalizeParameters,
  parseQuery,
  type Parameter,
} from "../../../src/quotes-api/oauth/parameters.ts";
import { inShort, parseAuthorization, readRequest } from "../../../src/quotes-api/oauth/protocol.ts";
import { signedTarget } from "../../../src/quotes-api/oauth/signedTarget.ts";
import { percentEncode } from "../../../src/quotes-api/percentEncode.ts";

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", "a", "b", "%", "+", "!*'()", "é", "a=b&c"),
);
const parameters = fc.array(fc.tuple(text, text) as fc.Arbitrary<Parameter>);

test("parameters that are encoded in two parts and joined are those of the whole, normalized and encoded", () => {
  fc.assert(
    fc.property(parameters, parameters, (some, others) => {
      const joined = joinEncoded(encodeParameters(some), encodeParameters(others));

      expect(joined).toBe(percentEncode(normalizeParameters([...some, ...others])));
    }),
  );
});

test("a plus is a space wherever it stands, and a percent sign encodes something", () => {
  expect(parseQuery("a=+&+=b&c=%2B&d=1+1")).toEqual([
    ["a", " "],
    [" ", "b"],
    ["c", "+"],
    ["d", "1 1"],
  ]);
  expect(() => parseQuery("a=%")).toThrow(URIError);
});

test("200 parameters are read, of a query as of a header; 201 are refused", () => {
  const query = (count: number): string =>
    Array.from({ length: count }, (_, place) => `p${place}=1`).join("&");
  const header = (count: number): string =>
    `OAuth ${Array.from({ length: count }, (_, place) => `p${place}="1"`).join(", ")}`;

  expect(parseQuery(query(MAX_PARAMETERS))).toHaveLength(200);
  expect(() => parseQuery(query(MAX_PARAMETERS + 1))).toThrow(URIError);
  expect(parseAuthorization(header(MAX_PARAMETERS))).toMatchObject({ ok: true });
  expect(parseAuthorization(header(MAX_PARAMETERS + 1))).toMatchObject({ ok: false });
});

test("a request whose query or form body cannot be decoded is refused with 400, whatever its header says", () => {
  const target = (query: string) => signedTarget("https", "example.com", `/?${query}`);
  const bare = { authorization: [] };

  expect(readRequest(bare, target("a=%ff"))).toMatchObject({ ok: false, status: 400 });
  expect(readRequest({ ...bare, formBody: "a=%ff" }, target("a=1"))).toMatchObject({
    ok: false,
    status: 400,
  });
});

test("a name in a problem has 40 characters, and is cut behind them", () => {
  expect(inShort("n".repeat(40))).toBe("n".repeat(40));
  expect(inShort("n".repeat(41))).toBe(`${"n".repeat(40)}...`);
});
