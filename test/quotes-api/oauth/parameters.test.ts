import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  encodeParameters,
  joinEncoded,
  normalizeParameters,
  type Parameter,
} from "../../../src/quotes-api/oauth/parameters.ts";
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
