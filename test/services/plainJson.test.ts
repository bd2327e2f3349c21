import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Json, JsonObject, parsePlainJson } from "../../src/services/plainJson.ts";
import { QuotekeeperError } from "../../src/errors.ts";

const parse = (text: string): Json => parsePlainJson(Buffer.from(text));

/** A value as `JSON.parse` would give it, but for numbers. */
function plain(json: Json): unknown {
  if (Array.isArray(json)) return json.map(plain);
  if (!(json instanceof JsonObject)) return json;
  return Object.fromEntries(json.keys.map((key) => [key, plain(json.get(key) ?? null)]));
}

/** The error's code; null: it is read. */
function refusal(text: string | Uint8Array): string | null {
  try {
    parsePlainJson(Buffer.from(text));
    return null;
  } catch (error) {
    if (error instanceof QuotekeeperError) return error.code;
    throw error;
  }
}

const withoutNumbers = fc
  .jsonValue({ noUnicodeString: false })
  .filter((value) => !/\d/.test(JSON.stringify(value)));

test("whatever holds no number is read as JSON.parse reads it, with any white space", () => {
  fc.assert(
    fc.property(withoutNumbers, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      fc.pre(!JSON.stringify(value).includes("__proto__"));
      expect(plain(parse(JSON.stringify(value, null, indent)))).toEqual(value);
    }),
  );
});

test("a number is kept as the text that was sent, to its last digit and zero", () => {
  const numbers = [
    "0",
    "-0",
    "0.00",
    "12.50",
    "-0.5",
    "-6.7947591407E-5",
    "1e400",
    "0.27493958219604170123456789",
    "1234567890123456789",
  ];

  expect(parse(`[${numbers.join(",")}]`)).toEqual(numbers);
});

test("what JSON.parse refuses is refused, and what is refused is neither valid nor without a doubled key or too deep", () => {
  const pieces = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    "1",
    "-",
    ".5",
    "1.",
    "01",
    "1e",
    "null",
    "tru",
    " ",
    '"',
    "\\",
    "\u0001",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (some) => {
      const text = some.join("");
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      if (!valid) expect(refusal(text)).toBe("DOCUMENT_REFUSED");
      else if (refusal(text) !== null) expect(/"(a|b)".*:.*"\1"/s.test(text)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["a key that stands there twice", '{"bid":1,"bid":2}'],
  ["a key that stands twice in the second of two alike objects", '[{"a":1,"b":2},{"a":1,"a":2}]'],
  ["nesting beyond sixteen levels", `${"[".repeat(17)}${"]".repeat(17)}`],
  ["bytes behind its end", "{} {}"],
  ["an escape that is none", '"\\x"'],
  ["a zero before the whole of a fraction", "-01.5"],
  ["two points in a number", "0.5.1"],
  ["a point at a number's end", "[-0.]"],
])("%s is refused", (_, text) => {
  expect(refusal(text)).toBe("DOCUMENT_REFUSED");
});

test("bytes that are not UTF-8 are refused", () => {
  expect(refusal(Buffer.from([0x22, 0xff, 0x22]))).toBe("DOCUMENT_REFUSED");
});

test("objects of a list that differ in keys, order and white space are each read with their own keys", () => {
  const texts = [
    '{"a":1,"b":{"c":2}}',
    '{"a":3,"b":null}',
    '{"b":{"c":4},"a":5}',
    '{ "a": 6, "b": {"d":7} }',
    '{"a":8}',
    '{"a":9,"b":1,"c":2}',
  ];

  expect(plain(parse(`[${texts.join(",")}]`))).toEqual(
    texts.map((text) => JSON.parse(text.replace(/\d/g, '"$&"')) as unknown),
  );
});

test("an object knows its own text", () => {
  const list = parse('[{"a":1}, { "a" : 2 } ,{"a":3}]') as JsonObject[];

  expect(list.map(({ text }) => text)).toEqual(['{"a":1}', '{ "a" : 2 }', '{"a":3}']);
});

test("a key called __proto__ is a key like any other", () => {
  const object = parse('{"__proto__":{"a":1}}') as JsonObject;

  expect([object.keys, (object.get("__proto__") as JsonObject).get("a")]).toEqual([["__proto__"], "1"]);
});
