import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  encodeParameters,
  joinEncoded,
  MAX_PARAMETERS,
  normalizeParameters,
  parseQuery,
  type Parameter,
} from "../../../src/services/oauth/parameters.ts";
import { readRequest } from "../../../src/services/oauth/protocol.ts";
import { parseAuthorization } from "../../../src/services/oauth/authorizationHeader.ts";
import { signedTarget } from "../../../src/services/oauth/signedTarget.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";

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

test("a header that is read in one step gives what it gives when it is read parameter by parameter", () => {
  const names = ["consumer_key", "token", "nonce", "timestamp", "signature_method", "signature", "version"];
  const usual = ["ck", "at", "n-1", "1700000000", "HMAC-SHA1", "r6%2FTJ%3D", "1.0"];
  const odd = fc.constantFrom("", "a%41", "%zz", "a b", "+", "é", "1.1", "0", "a=b&c");
  const values = fc.tuple(
    ...usual.map((value) => fc.oneof({ weight: 20, arbitrary: fc.constant(value) }, odd)),
  );
  const usualOrders = [
    [0, 2, 5, 4, 3, 1, 6],
    [2, 3, 6, 4, 0, 1, 5],
    [0, 1, 4, 3, 2, 5, 6],
  ];
  const order = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...usualOrders) },
    fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }),
    fc.array(fc.nat(6), { minLength: 5, maxLength: 8 }),
  );
  const queryOf = fc.array(fc.tuple(fc.constantFrom("a", "oauth", "oauth%5Fx", "oauthz", "z"), text));
  const edit = fc.option(fc.tuple(fc.nat(300), fc.constantFrom(...'"=, %&\n.1aé')), { freq: 2 });
  const comma = fc.constantFrom(", ", ",", " ,");
  let inOneStep = 0;
  fc.assert(
    fc.property(values, order, comma, queryOf, edit, (of, places, between, query, edited) => {
      const whole = places.map((place) => `oauth_${names[place]}="${of[place]}"`).join(between);
      const [at, put] = edited ?? [0, ""];
      const list = `${whole.slice(0, at)}${put}${whole.slice(at)}`;
      const target = signedTarget(
        "https",
        "h",
        `/?${query.map(([name, value]) => `${name}=${percentEncode(value)}`).join("&")}`,
      );
      const read = (header: string) => {
        const found = readRequest({ authorization: [header] }, target);
        if (!found.ok) return found;
        const { signed, protocol } = found;
        const [before, behind] = target.query?.around ?? ["", ""];
        if (typeof signed === "string") inOneStep += 1;
        const joined =
          typeof signed === "string"
            ? `${before}${signed}${behind}`
            : joinEncoded(encodeParameters(signed), target.query?.signed ?? []);
        return { protocol, joined };
      };

      expect(read(`OAuth ${list}`)).toEqual(read(`OAuth realm="", ${list}`));
    }),
    { numRuns: 500 },
  );
  expect(inOneStep).toBeGreaterThan(0);
});
