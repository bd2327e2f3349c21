import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { MAX_BODY_BYTES } from "../../src/services/bodyText.ts";
import { isObject, type Json, parseJson, textOf, valueAt, writtenAgain } from "../../src/services/json.ts";

const parse = (text: string): Json => parseJson(Buffer.from(text));

/** The error's code; null: it is read. */
function refusal(text: string | Uint8Array): string | null {
  try {
    parseJson(Buffer.from(text));
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
      expect(parse(JSON.stringify(value, null, indent))).toEqual(value);
    }),
  );
});

test("what was read is written again without a change but of white space", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(writtenAgain(parse(JSON.stringify(value, null, 2)))).toBe(text);
    }),
  );
});

const NUMBERS = [
  "0",
  "-0",
  "0.00",
  "12.50",
  "-0.5",
  "-6.7947591407E-5",
  "1e400",
  "1e-400",
  "0.27493958219604170123456789",
  "1234567890123456789",
];

test("a number is kept as the text that was sent, to its last digit and zero", () => {
  const list = parse(`[${NUMBERS.join(",")}]`);

  expect((list as Json[]).map(textOf)).toEqual(NUMBERS);
  expect(writtenAgain(list)).toBe(`[${NUMBERS.join(",")}]`);
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
  ["a key that stands there twice with two values", '{"bid":1,"bid":2}'],
  ["a key that stands twice with a number and its text", '{"bid":1,"bid":"1"}'],
  ["a key that stands twice with numbers of other digits", '{"bid":1.5,"bid":1.50}'],
  ["a key that stands twice with other objects", '{"a":{"b":1},"a":{"b":1,"c":2}}'],
  ["a key that stands twice in the second of two alike objects", '[{"a":1,"b":2},{"a":1,"a":2}]'],
  ["a key called __proto__ that stands twice with two values", '{"__proto__":1,"__proto__":2}'],
  ["a key that stands twice, once with an escape", '{"bid":1,"b\\u0069d":2}'],
  ["nesting beyond sixteen levels", `${"[".repeat(17)}${"]".repeat(17)}`],
  [
    "nesting beyond sixteen levels behind an escaped quotation mark",
    `["\\"",${"[".repeat(16)}${"]".repeat(16)}]`,
  ],
  ["nesting of millions of levels", "[".repeat(4_000_000)],
  ["a body beyond the cap", " ".repeat(MAX_BODY_BYTES) + "{}"],
  ["bytes behind its end", "{} {}"],
  ["a comma behind the last key", '{"a":1,}'],
  ["a comma behind the last of a list", "[1,]"],
  ["an escape that is none", '"\\x"'],
  ["a control character in a text", '"a\u0000"'],
  ["a zero before the whole of a fraction", "-01.5"],
  ["two points in a number", "0.5.1"],
  ["a point at a number's end", "[-0.]"],
  ["a number that is none", "[NaN]"],
  ["a space that is none of JSON's", "\u00a0{}"],
  ["two byte order marks", "\ufeff\ufeff{}"],
  ["no text at all", ""],
])("%s is refused", (_, text) => {
  expect(refusal(text)).toBe("DOCUMENT_REFUSED");
});

test("bytes that are not UTF-8 are refused, and so is half of a character", () => {
  expect(refusal(Buffer.from([0x22, 0xff, 0x22]))).toBe("DOCUMENT_REFUSED");
  expect(refusal(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBe("DOCUMENT_REFUSED");
});

test("a byte order mark is dropped", () => {
  expect(parse('\ufeff{"a":"ä"}')).toEqual({ a: "ä" });
});

test("brackets in a text are no nesting", () => {
  const text = JSON.stringify(`"\\${"[{".repeat(40)}`);

  expect(writtenAgain(parse(text))).toBe(text);
});

test("a key that stands there twice with one value is read once", () => {
  expect(writtenAgain(parse('{"bid":1.50,"ask":2,"bid":1.50}'))).toBe('{"bid":1.50,"ask":2}');
});

test("half of a character that is written as an escape is written so again", () => {
  expect(writtenAgain(parse('{"\\udc00":"\\ud800"}'))).toBe('{"\\udc00":"\\ud800"}');
});

test("an item is written again with its digits, without its white space", () => {
  const text = '{ "symbol" : "ACME",\n "last":12.500, "sizes": [ 1e2, -0 ] }';

  expect(writtenAgain(parse(text))).toBe('{"symbol":"ACME","last":12.500,"sizes":[1e2,-0]}');
});

test("keys that JavaScript's own objects have are keys like any other", () => {
  const object = parse('{"__proto__":{"a":1},"constructor":"b","toString":null}');
  if (!isObject(object)) throw new Error("no object was read");

  expect(Object.keys(object)).toEqual(["__proto__", "constructor", "toString"]);
  expect(writtenAgain(valueAt(object, "__proto__") ?? null)).toBe('{"a":1}');
  expect([valueAt(object, "constructor"), valueAt(object, "toString")]).toEqual(["b", null]);
});

test("a key that only JavaScript's own objects have is missing", () => {
  const object = parse('{"a":1}');
  if (!isObject(object)) throw new Error("no object was read");

  expect(["__proto__", "constructor", "toString", "b"].map((key) => valueAt(object, key))).toEqual(
    new Array(4).fill(undefined),
  );
});

test("a number is no object, and neither is a list", () => {
  expect(["1.5", "[]", "null", '"{}"', "true", "{}"].map((text) => isObject(parse(text)))).toEqual([
    ...new Array<boolean>(5).fill(false),
    true,
  ]);
});
