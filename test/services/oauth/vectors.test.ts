/** Requests and values printed in RFC 5849, in OAuth Core 1.0 and among its published test cases, as the service reads them. */
import { expect, test } from "@jest/globals";
import { NonceMemory } from "../../../src/services/oauth/nonces.ts";
import { normalizeParameters, type Parameter } from "../../../src/services/oauth/parameters.ts";
import type { RawRequest } from "../../../src/services/oauth/protocol.ts";
import { signatureOf, type Credentials } from "../../../src/services/oauth/signature.ts";
import { verifyRequest } from "../../../src/services/oauth/verifyRequest.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import { keyFinder } from "../../../src/serve/keys/key.ts";

const PHOTOS: Credentials = {
  consumerKey: "dpf43f3p2l4k3l03",
  consumerSecret: "kd94hf93k423kf44",
  accessToken: "nnch734d00sl2jdk",
  accessTokenSecret: "pfkkdhi9sl3r4s00",
};

/** Whether a service that has this key accepts a request at that time. */
function verdictOn(request: RawRequest, key: Credentials, nowSeconds: number) {
  const nonces = new NonceMemory({ windowSeconds: 10, maxNonces: 10 });
  return verifyRequest(request, { keyOf: keyFinder([key]), nonces, nowSeconds, windowSeconds: 10 });
}

const GET = { method: "GET", scheme: "http", host: "photos.example.net" };

test("the request of RFC 5849 section 1.2, the photo, is accepted as it is printed", () => {
  const request: RawRequest = {
    ...GET,
    target: "/photos?file=vacation.jpg&size=original",
    authorization: [
      'OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", oauth_token="nnch734d00sl2jdk", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131202", oauth_nonce="chapoH", ' +
        'oauth_signature="MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D"',
    ],
  };

  expect(verdictOn(request, PHOTOS, 137131202)).toEqual({ ok: true, key: PHOTOS });
});

test("RFC 5849 section 1.2, the token request over https", () => {
  const key = { ...PHOTOS, accessToken: "hh5s93j4hdidpola", accessTokenSecret: "hdhd0244k9j7ao03" };
  const request: RawRequest = {
    method: "POST",
    scheme: "https",
    host: "photos.example.net",
    target: "/token",
    authorization: [
      'OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", oauth_token="hh5s93j4hdidpola", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201", oauth_nonce="walatlh", ' +
        'oauth_verifier="hfdp7dh39dks9884", oauth_signature="gKgrFCywp7rO0OXSjdot%2FIHF7IU%3D"',
    ],
  };

  expect(verdictOn(request, key, 137131201).ok).toBe(true);
});

test("the request of RFC 5849 section 3.1 is accepted with query, form body and the signature that follows from its secrets", () => {
  const key: Credentials = {
    consumerKey: "9djdj82h48djs9d2",
    consumerSecret: "j49sk3j29djd",
    accessToken: "kkk9d7dh3k39sjv7",
    accessTokenSecret: "dh893hdasih9",
  };
  const signedAs = (signature: string): RawRequest => ({
    method: "POST",
    scheme: "http",
    host: "EXAMPLE.COM:80",
    target: "/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b",
    formBody: "c2&a3=2+q",
    authorization: [
      'OAuth realm="Example", oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201", oauth_nonce="7d8f3e4a", ' +
        `oauth_signature="${percentEncode(signature)}"`,
    ],
  });

  expect(verdictOn(signedAs("r6/TJjbCOr97/+UU0NsvSne7s5g="), key, 137131201).ok).toBe(true);
  // As printed: it does not follow from what is printed beside it.
  expect(verdictOn(signedAs("bYT5CMsGcbgUdFHObYMEfcx6bsw="), key, 137131201).ok).toBe(false);
});

test("the photo of OAuth Core 1.0 appendix A.5.3 is accepted, signed in the header and in the query", () => {
  const inHeader: RawRequest = {
    ...GET,
    target: "/photos?file=vacation.jpg&size=original",
    authorization: [
      'OAuth realm="http://photos.example.net/", oauth_consumer_key="dpf43f3p2l4k3l03", ' +
        'oauth_token="nnch734d00sl2jdk", oauth_signature_method="HMAC-SHA1", ' +
        'oauth_signature="tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D", oauth_timestamp="1191242096", ' +
        'oauth_nonce="kllo9940pd9333jh", oauth_version="1.0"',
    ],
  };
  const inQuery: RawRequest = {
    ...GET,
    target:
      "/photos?file=vacation.jpg&size=original&oauth_version=1.0&oauth_consumer_key=dpf43f3p2l4k3l03" +
      "&oauth_token=nnch734d00sl2jdk&oauth_timestamp=1191242096&oauth_nonce=kllo9940pd9333jh" +
      "&oauth_signature_method=HMAC-SHA1&oauth_signature=tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D",
    authorization: [],
  };

  expect(verdictOn(inHeader, PHOTOS, 1191242096).ok).toBe(true);
  expect(verdictOn(inQuery, PHOTOS, 1191242096).ok).toBe(true);
});

test.each([
  ["abcABC123", "abcABC123"],
  ["-._~", "-._~"],
  ["%", "%25"],
  ["+", "%2B"],
  ["&=*", "%26%3D%2A"],
  ["\n", "%0A"],
  [" ", "%20"],
  ["\u007f", "%7F"],
  ["\u0080", "%C2%80"],
  ["\u3001", "%E3%80%81"],
])("OAuth community's test case: %j is encoded as %s", (text, encoded) => {
  expect(percentEncode(text)).toBe(encoded);
});

test.each<[Parameter[], string]>([
  [[["name", ""]], "name="],
  [[["a", "b"]], "a=b"],
  [
    [
      ["a", "b"],
      ["c", "d"],
    ],
    "a=b&c=d",
  ],
  [
    [
      ["a", "x!y"],
      ["a", "x y"],
    ],
    "a=x%20y&a=x%21y",
  ],
  [
    [
      ["x!y", "a"],
      ["x", "a"],
    ],
    "x=a&x%21y=a",
  ],
])("OAuth community's test case: %j are normalized to %s", (parameters, normalized) => {
  expect(normalizeParameters(parameters)).toBe(normalized);
});

test.each([
  ["bs", "cs", "", "egQqG5AJep5sJ7anhXju1unge2I="],
  ["bs", "cs", "ts", "VZVjXceV7JgPq/dOTnNmEfO0Fv8="],
])(
  "OAuth community's test case: %s signed with %s and %j is %s",
  (base, consumerSecret, accessTokenSecret, signature) => {
    expect(signatureOf(base, { consumerSecret, accessTokenSecret })).toBe(signature);
  },
);
