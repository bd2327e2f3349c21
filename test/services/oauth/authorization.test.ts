import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { isOAuthHeader, parseAuthorization } from "../../../src/services/oauth/protocol.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

test("names and values of a header are percent-decoded, a plus stays a plus, the realm is set apart", () => {
  const read = parseAuthorization('OAuth realm="Photos, 100%", oauth_token="a%20b+c",oauth_nonce=""');

  expect(read).toEqual({
    ok: true,
    realm: "Photos, 100%",
    parameters: [
      ["oauth_token", "a b+c"],
      ["oauth_nonce", ""],
    ],
  });
});

test("a realm is a quoted string, in which a backslash stands before a quotation mark or itself", () => {
  const realmOf = (text: string) => parseAuthorization(`OAuth realm="${text}", a="1"`);

  expect(realmOf(String.raw`x,y=\"z\"`)).toEqual({ ok: true, realm: 'x,y="z"', parameters: [["a", "1"]] });
  expect(realmOf(String.raw`C:\\`)).toMatchObject({ ok: true, realm: "C:\\" });
  expect(realmOf(String.raw`\"`)).toMatchObject({ ok: true, realm: '"' });
  expect(realmOf("\\").ok).toBe(false);
});

test("the scheme is recognised in any case, another scheme is not", () => {
  for (const start of ["oauth ", "OAuth  ", "OAuth \t"])
    expect(parseAuthorization(`${start}a="1"`).ok).toBe(true);
  expect(isOAuthHeader("OAUTH")).toBe(true);
  expect(isOAuthHeader("OAuth2 a")).toBe(false);
  expect(isOAuthHeader("XOAuth a")).toBe(false);
  expect(isOAuthHeader("Bearer abc")).toBe(false);
});

test("any list of distinct names comes back as it was", () => {
  const parameters = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_]{1,12}$/), fc.string()), {
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(
      parameters.filter((list) => list.every(([name]) => name !== "realm")),
      fc.constantFrom(", ", ",", " , ", ",\t"),
      (list, separator) => {
        const text = list.map(([name, value]) => `${name}="${percentEncode(value)}"`).join(separator);

        expect(parseAuthorization(`OAuth ${text}`)).toEqual({ ok: true, realm: null, parameters: list });
      },
    ),
  );
});

test.each([
  ["another scheme", 'Basic a="1"', "the Authorization scheme is not OAuth"],
  ["a name given twice", 'OAuth oauth_nonce="1", oauth_nonce="2"', "oauth_nonce is given twice"],
  ["a name given twice in two encodings", 'OAuth a="1", %61="2"', "a is given twice"],
  ["two realms", 'OAuth realm="a", realm="b"', "realm is given twice"],
  ["a value without quotes", "OAuth oauth_nonce=1", 'the Authorization header is not a list of name="value"'],
  ["a quote that is left open", 'OAuth a="1', 'the Authorization header is not a list of name="value"'],
  [
    "an empty place in the list",
    'OAuth a="1",,b="2"',
    'the Authorization header is not a list of name="value"',
  ],
  ["no comma between two", 'OAuth a="1" b="2"', 'the Authorization header is not a list of name="value"'],
  ["a comma at the end", 'OAuth a="1",', "the Authorization header ends with a comma"],
  ["a broken encoding", 'OAuth a="%zz"', "a is not percent-encoded UTF-8"],
  ["bytes that are no UTF-8", 'OAuth a="%ff"', "a is not percent-encoded UTF-8"],
  ["a value with a backslash", String.raw`OAuth a="\"1"`, "a is not percent-encoded UTF-8"],
  ["a broken name", 'OAuth %="1"', "a parameter's name is not percent-encoded UTF-8"],
])("a header with %s is refused", (_what, header, problem) => {
  expect(parseAuthorization(header)).toEqual({ ok: false, problem });
});

test("no text whatsoever makes the reader fail", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      parseAuthorization(`OAuth ${text}`);
    }),
  );
});
