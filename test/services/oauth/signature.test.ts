import { expect, test } from "@jest/globals";
import fc from "fast-check";
import OAuth from "oauth-1.0a";
import { createHmac } from "node:crypto";
import { normalizeParameters, type Parameter } from "../../../src/services/oauth/parameters.ts";
import { baseStringUri, signatureOf, signRequest } from "../../../src/services/oauth/signature.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

/** RFC 5849 section 3.4.1.1. */
const signatureBaseString = (method: string, uri: string, parameters: readonly Parameter[]): string =>
  [method, uri, normalizeParameters(parameters)].map(percentEncode).join("&");

const photos = {
  consumerKey: "dpf43f3p2l4k3l03",
  consumerSecret: "kd94hf93k423kf44",
  accessToken: "nnch734d00sl2jdk",
  accessTokenSecret: "pfkkdhi9sl3r4s00",
};

const signatureIn = (header: string) =>
  decodeURIComponent(/oauth_signature="([^"]*)"/.exec(header)?.[1] ?? "");

test("the photo request of OAuth Core 1.0 appendix A has the signature printed there", () => {
  const header = signRequest({
    method: "GET",
    url: "http://photos.example.net/photos?file=vacation.jpg&size=original",
    credentials: photos,
    nonce: "kllo9940pd9333jh",
    timestamp: 1191242096,
  });

  expect(signatureIn(header)).toBe("tR3+Ty81lMeYAr/Fid0kMTYa/WM=");
  expect(header).toBe(
    'OAuth oauth_consumer_key="dpf43f3p2l4k3l03", oauth_nonce="kllo9940pd9333jh", ' +
      'oauth_signature="tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D", oauth_signature_method="HMAC-SHA1", ' +
      'oauth_timestamp="1191242096", oauth_token="nnch734d00sl2jdk", oauth_version="1.0"',
  );
});

test("the photo request of RFC 5849 section 1.2, which names no version, has the signature printed there", () => {
  const base = signatureBaseString("GET", "http://photos.example.net/photos", [
    ["file", "vacation.jpg"],
    ["size", "original"],
    ["oauth_consumer_key", "dpf43f3p2l4k3l03"],
    ["oauth_token", "nnch734d00sl2jdk"],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", "137131202"],
    ["oauth_nonce", "chapoH"],
  ]);

  expect(signatureOf(base, photos)).toBe("MdpQcU8iPSUjWoN/UDMsK2sui9I=");
});

test("the base string of RFC 5849 section 3.4.1.1 has repeated, empty, encoded and form parameters in order", () => {
  const parameters: Parameter[] = [
    ["b5", "=%3D"],
    ["a3", "a"],
    ["c@", ""],
    ["a2", "r b"],
    ["c2", ""],
    ["a3", "2 q"],
    ["oauth_consumer_key", "9djdj82h48djs9d2"],
    ["oauth_token", "kkk9d7dh3k39sjv7"],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", "137131201"],
    ["oauth_nonce", "7d8f3e4a"],
  ];

  const base = signatureBaseString("POST", "http://example.com/request", parameters);

  expect(base).toBe(
    "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26" +
      "c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26" +
      "oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7",
  );
  // The signature printed in section 3.1 does not follow from the secrets printed there; this one does.
  const secrets = { consumerSecret: "j49sk3j29djd", accessTokenSecret: "dh893hdasih9" };
  expect(signatureOf(base, secrets)).toBe("r6/TJjbCOr97/+UU0NsvSne7s5g=");
});

test("the two URIs of RFC 5849 section 3.4.1.2 lose their default port and upper case, nothing else", () => {
  expect(baseStringUri("HTTP", "EXAMPLE.COM:80", "/r%20v/X")).toBe("http://example.com/r%20v/X");
  expect(baseStringUri("https", "www.example.net:8080", "/")).toBe("https://www.example.net:8080/");
  expect(baseStringUri("https", "www.example.net:443", "")).toBe("https://www.example.net/");
  expect(baseStringUri("http", "www.example.net:443", "")).toBe("http://www.example.net:443/");
});

test("every character but letters, digits and - . _ ~ is percent-encoded, also ! * ' ( )", () => {
  expect(percentEncode("Aa9-._~")).toBe("Aa9-._~");
  expect(percentEncode("!*'() ,/+é€😀")).toBe("%21%2A%27%28%29%20%2C%2F%2B%C3%A9%E2%82%AC%F0%9F%98%80");
});

test("a comma in a list of symbols counts the same whether the URL has it encoded or bare", () => {
  const sign = (url: string) =>
    signRequest({ method: "get", url, credentials: photos, nonce: "n", timestamp: 1 });

  expect(sign("https://api.example.com/v1/market/quotes.xml?symbols=AAPL%2CGE")).toBe(
    sign("https://API.example.com:443/v1/market/quotes.xml?symbols=AAPL,GE#top"),
  );
});

test("secrets are percent-encoded in the signing key", () => {
  const secrets = { consumerSecret: "a&b", accessTokenSecret: "c d" };

  expect(signatureOf("base", secrets)).toBe(
    createHmac("sha1", "a%26b&c%20d").update("base").digest("base64"),
  );
});

test("plain oauth-1.0a agrees on every query without the shapes that it reads wrongly", () => {
  const name = fc.stringMatching(/^p[A-Za-z0-9._~-]{0,8}$/);
  const query = fc.uniqueArray(fc.tuple(name, fc.string({ minLength: 1, unit: anyCharacter })), {
    selector: ([key]) => key,
  });

  fc.assert(
    fc.property(query, fc.constantFrom("GET", "POST"), (pairs, method) => {
      const text = pairs.map(([key, value]) => `${key}=${percentEncode(value)}`).join("&");
      const url = `https://api.example.com/v1/market/quotes.xml${text === "" ? "" : `?${text}`}`;
      const plain = new OAuth({
        consumer: { key: photos.consumerKey, secret: photos.consumerSecret },
        signature_method: "HMAC-SHA1",
        hash_function: (base, key) => createHmac("sha1", key).update(base).digest("base64"),
      });
      const theirs = plain.getSignature({ method, url }, photos.accessTokenSecret, {
        oauth_consumer_key: photos.consumerKey,
        oauth_nonce: "n",
        oauth_signature_method: "HMAC-SHA1",
        oauth_timestamp: 7,
        oauth_version: "1.0",
        oauth_token: photos.accessToken,
      });

      const ours = signRequest({ method, url, credentials: photos, nonce: "n", timestamp: 7 });

      expect(signatureIn(ours)).toBe(theirs);
    }),
  );
});
