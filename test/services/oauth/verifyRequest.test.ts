import { createHmac } from "node:crypto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { NonceMemory } from "../../../src/services/oauth/nonces.ts";
import { signRequest } from "../../../src/services/oauth/signature.ts";
import type { RawRequest } from "../../../src/services/oauth/protocol.ts";
import { verifyRequest } from "../../../src/services/oauth/verifyRequest.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import { keyFinder } from "../../../src/serve/keys/key.ts";
import { anyCharacter } from "../../support/anyCharacter.ts";

type Verifier = Parameters<typeof verifyRequest>[1];

const key = { consumerKey: "ck", consumerSecret: "c&s=", accessToken: "at", accessTokenSecret: "t s" };
const now = 1_700_000_000;
const target = "/v1/market/quotes.xml?symbols=AAPL%2CGE&delayed=false";

const verifier = ({
  keys = [key],
  ...changes
}: Partial<Verifier> & { keys?: (typeof key)[] } = {}): Verifier => ({
  keyOf: keyFinder(keys),
  nonces: new NonceMemory({ windowSeconds: 10, maxNonces: 1000 }),
  nowSeconds: now,
  windowSeconds: 10,
  ...changes,
});

type Signing = {
  target?: string;
  nonce?: string;
  timestamp?: number;
  method?: string;
  credentials?: typeof key;
};

function signed({
  target: path = target,
  nonce = "n1",
  timestamp = now,
  method = "GET",
  credentials = key,
}: Signing = {}) {
  const url = `http://api.example.com${path}`;
  const authorization = [signRequest({ method, url, credentials, nonce, timestamp })];
  return {
    method,
    scheme: "http",
    host: "api.example.com",
    target: path,
    authorization,
  } satisfies RawRequest;
}

/** The same request with its header edited. */
function edited(change: (header: string) => string): RawRequest {
  const request = signed();
  return { ...request, authorization: request.authorization.map(change) };
}

/** The same request with what its header says in the query. */
function movedToQuery(request: RawRequest): RawRequest {
  const [header = ""] = request.authorization;
  const moved = [...header.matchAll(/(oauth_\w+)="([^"]*)"/g)].map(([, name, value]) => `${name}=${value}`);
  const divider = request.target.includes("?") ? "&" : "?";
  return { ...request, target: `${request.target}${divider}${moved.join("&")}`, authorization: [] };
}

test("port, host case and scheme case of the service's address do not matter, as long as the port is the scheme's own", () => {
  expect(verifyRequest({ ...signed(), host: "API.Example.COM:80" }, verifier()).ok).toBe(true);
  expect(verifyRequest({ ...signed(), host: "api.example.com:81" }, verifier()).ok).toBe(false);
  expect(verifyRequest({ ...signed(), scheme: "https" }, verifier()).ok).toBe(false);
});

test("a comma, a space and a plus verify in every encoding that means the same", () => {
  const request = signed({ target: "/q?list=a%2Cb&blank=x%20y&plus=1%2B1" });

  expect(verifyRequest({ ...request, target: "/q?list=a,b&blank=x+y&plus=1%2b1" }, verifier()).ok).toBe(true);
  expect(verifyRequest({ ...request, target: "/q?list=a,b&blank=x+y&plus=1+1" }, verifier()).ok).toBe(false);
});

test("every query and every kind of secret verifies after signing, whatever repeats, is empty or needs encoding", () => {
  const part = fc.oneof(
    fc.string(),
    fc.string({ unit: anyCharacter }),
    fc.constantFrom("", "a", "!*'()", "é", "constructor", "__proto__"),
  );
  const name = part.filter((text) => !text.startsWith("oauth_"));
  const secret = fc.string({ unit: anyCharacter });

  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, part)),
      secret,
      secret,
      (pairs, consumerSecret, accessTokenSecret) => {
        const credentials = { ...key, consumerSecret, accessTokenSecret };
        const query = pairs.map(([a, b]) => `${percentEncode(a)}=${percentEncode(b)}`).join("&");
        const request = signed({ target: `/v1/market/quotes.xml?${query}`, credentials });

        expect(verifyRequest(request, verifier({ keys: [credentials] }))).toEqual({
          ok: true,
          key: credentials,
        });
      },
    ),
  );
});

test("the protocol parameters may stand in the query or in a form body in place of the header", () => {
  const request = signed();
  const inQuery = movedToQuery(request);
  const [, query = ""] = inQuery.target.split("?");
  const inBody = movedToQuery(signed({ method: "POST", target: "/v1/orders" }));
  const [, formBody = ""] = inBody.target.split("?");

  expect(verifyRequest(inQuery, verifier()).ok).toBe(true);
  expect(verifyRequest({ ...inBody, target: "/v1/orders", formBody }, verifier()).ok).toBe(true);
  for (const other of ['OAuth realm="x"', "Basic YTpi"])
    expect(verifyRequest({ ...inQuery, authorization: [other] }, verifier()).ok).toBe(true);
  expect(query).toContain("oauth_signature=");
});

test("a signature in the query is the text of a header, never what a decoder makes of it", () => {
  const request = movedToQuery(signed());
  const longer = request.target.replace(/oauth_signature=([^&]*)/, "oauth_signature=$1%20");

  expect(verifyRequest({ ...request, target: longer }, verifier())).toMatchObject({
    status: 401,
    reason: "the signature does not match",
  });
});

const refused = (reason: string) => ({ ok: false, status: 401, reason });

test("a request is refused with 401 when it has no Authorization header, or one of another scheme", () => {
  expect(verifyRequest({ ...signed(), authorization: [] }, verifier())).toEqual(
    refused("the Authorization header is missing"),
  );
  expect(verifyRequest({ ...signed(), authorization: ["Bearer x"] }, verifier())).toEqual(
    refused("the Authorization scheme is not OAuth"),
  );
});

test("a request is refused with 401 when anything that was signed is changed on the way", () => {
  const request = signed();
  const wrong = refused("the signature does not match");

  expect(verifyRequest({ ...request, method: "POST" }, verifier())).toEqual(wrong);
  expect(verifyRequest({ ...request, host: "evil.example.com" }, verifier())).toEqual(wrong);
  expect(verifyRequest({ ...request, target: target.replace("GE", "GM") }, verifier())).toEqual(wrong);
  expect(verifyRequest({ ...request, target: `${target}&x=` }, verifier())).toEqual(wrong);
  expect(
    verifyRequest(
      edited((header) => header.replace('"n1"', '"n2"')),
      verifier(),
    ),
  ).toEqual(wrong);
});

test("a request is refused with 401 when its signature has another length, or is no base64", () => {
  const change = (to: string) =>
    edited((header) => header.replace(/oauth_signature="[^"]*"/, `oauth_signature="${to}"`));

  expect(verifyRequest(change("AAAA"), verifier())).toEqual(refused("the signature does not match"));
  expect(verifyRequest(change("%F0%9F%98%80"), verifier())).toEqual(refused("the signature does not match"));
});

test("a request is refused with 401 when its consumer key is unknown, or its token is that of another key", () => {
  const other = { ...key, consumerKey: "ck2", accessToken: "at2" };
  const crossed = signed({ credentials: { ...key, accessToken: "at2" } });

  const unknown = refused("the consumer key or the token is not known");
  expect(verifyRequest(signed(), verifier({ keys: [other] }))).toEqual(unknown);
  expect(verifyRequest(crossed, verifier({ keys: [key, other] }))).toEqual(unknown);
});

test("a request is refused with 401 when its timestamp is more than 10 s off, before or after", () => {
  const at = (timestamp: number) => verifyRequest(signed({ timestamp }), verifier());

  expect(at(now - 10).ok).toBe(true);
  expect(at(now + 10).ok).toBe(true);
  expect(at(now - 11)).toEqual(refused("the timestamp is 11 s behind the service's clock"));
  expect(at(now + 11)).toEqual(refused("the timestamp is 11 s ahead of the service's clock"));
});

test("a request is refused with 401 when it is sent a second time", () => {
  const once = verifier();
  verifyRequest(signed(), once);

  expect(verifyRequest(signed(), once)).toEqual(refused("the nonce was used before"));
  expect(verifyRequest(signed({ nonce: "n2" }), once).ok).toBe(true);
});

test("a request is refused with 401 when there is no room to remember its nonce", () => {
  const one = verifier({ nonces: new NonceMemory({ windowSeconds: 10, maxNonces: 1 }) });
  verifyRequest(signed(), one);

  expect(verifyRequest(signed({ nonce: "n2" }), one)).toEqual(
    refused("too many calls in a few seconds to tell nonces apart"),
  );
});

test("a request is refused with 401 when its timestamp is older than nonces are remembered", () => {
  const later = verifier({
    nonces: new NonceMemory({ windowSeconds: 10, maxNonces: 1, horizon: now + 1 }),
  });

  expect(verifyRequest(signed(), later)).toEqual(
    refused("the timestamp is older than nonces are remembered"),
  );
});

test("a request that is sent again is refused with 401 as long as its timestamp is accepted, whatever the clock shows then", () => {
  const once = verifier();
  verifyRequest(signed(), once);

  for (const seconds of [-10, -1, 1, 10])
    expect(verifyRequest(signed(), { ...once, nowSeconds: now + seconds })).toEqual(
      refused("the nonce was used before"),
    );
});

test("a request that is wrongly signed does not use up the nonce", () => {
  const once = verifier();
  verifyRequest({ ...signed(), target: "/v1/other" }, once);

  expect(verifyRequest(signed(), once).ok).toBe(true);
});

const bad = (reason: string) => ({ ok: false, status: 400, reason });

test.each([
  "oauth_consumer_key",
  "oauth_token",
  "oauth_nonce",
  "oauth_timestamp",
  "oauth_signature_method",
  "oauth_signature",
])("a request is refused with 400 when %s is missing or empty", (name) => {
  const without = edited((header) =>
    header.replace(new RegExp(`${name}="[^"]*"(, )?`), "").replace(/, $/, ""),
  );
  const empty = edited((header) => header.replace(new RegExp(`${name}="[^"]*"`), `${name}=""`));

  expect(verifyRequest(without, verifier())).toEqual(bad(`${name} is missing`));
  expect(verifyRequest(empty, verifier())).toEqual(bad(`${name} is missing`));
});

test("a request for a token is verified without one, where none is needed", () => {
  const consumer = { ...key, accessToken: "", accessTokenSecret: "" };
  const tokenless = verifier({ keyOf: () => consumer, needsToken: false });
  // RFC 5849 section 3.4.1 by hand: our signer has a token always.
  const unsigned = {
    oauth_consumer_key: "ck",
    oauth_nonce: "n1",
    oauth_signature_method: "HMAC-SHA1",
    oauth_timestamp: `${now}`,
  };
  const parameters = Object.entries(unsigned).map(([name, value]) => `${name}=${value}`);
  const baseString = `GET&http%3A%2F%2Fapi.example.com%2Frequest_token&${percentEncode(parameters.join("&"))}`;
  const signature = createHmac("sha1", "c%26s%3D&").update(baseString).digest("base64");
  const header = Object.entries({ ...unsigned, oauth_signature: percentEncode(signature) });
  const request: RawRequest = {
    ...signed(),
    target: "/request_token",
    authorization: [`OAuth ${header.map(([name, value]) => `${name}="${value}"`).join(", ")}`],
  };

  expect(verifyRequest({ ...request, target: "/other" }, tokenless)).toEqual(
    refused("the signature does not match"),
  );
  expect(verifyRequest(request, tokenless)).toEqual({ ok: true, key: consumer });
  expect(verifyRequest(request, verifier())).toEqual(bad("oauth_token is missing"));
});

test("a request is refused with 400 when a protocol parameter is given twice, in the header, in a second header or in the query", () => {
  expect(
    verifyRequest(
      edited((header) => `${header}, oauth_nonce="x"`),
      verifier(),
    ),
  ).toEqual(bad("oauth_nonce is given twice"));
  const header = signed().authorization[0] ?? "";
  expect(verifyRequest({ ...signed(), authorization: [header, header] }, verifier())).toEqual(
    bad("the Authorization header is given twice"),
  );
  expect(verifyRequest({ ...signed(), target: `${target}&oauth_nonce=x` }, verifier())).toEqual(
    bad("parameters whose names begin with oauth_ stand in two places"),
  );
});

test("a request is refused with 400 when a protocol parameter is given twice in the query, or a second time in the form body", () => {
  const request = movedToQuery(signed());
  const twice = bad("oauth_nonce is given twice");

  expect(verifyRequest({ ...request, target: `${request.target}&oauth_nonce=x` }, verifier())).toEqual(twice);
  expect(verifyRequest({ ...request, formBody: "oauth_nonce=x" }, verifier())).toEqual(twice);
  expect(verifyRequest({ ...request, target: `${request.target}&oauth_signature=x` }, verifier())).toEqual(
    bad("oauth_signature is given twice"),
  );
});

test("a request is refused with 400 when its Authorization header says OAuth and nothing else", () => {
  expect(verifyRequest({ ...signed(), authorization: ["OAuth"] }, verifier())).toEqual(
    bad("oauth_consumer_key is missing"),
  );
});

test("a request is refused with 400 when it has another signature method or version; no version at all is fine", () => {
  expect(
    verifyRequest(
      edited((header) => header.replace("HMAC-SHA1", "PLAINTEXT")),
      verifier(),
    ),
  ).toEqual(bad("oauth_signature_method is not HMAC-SHA1"));
  expect(
    verifyRequest(
      edited((header) => header.replace('version="1.0"', 'version="2.0"')),
      verifier(),
    ),
  ).toEqual(bad("oauth_version is not 1.0"));
  const unversioned = verifyRequest(
    edited((header) => header.replace(', oauth_version="1.0"', "")),
    verifier(),
  );
  expect(unversioned).toMatchObject({ status: 401, reason: "the signature does not match" });
});

test.each(["-5", "1e9", "12.5", "abc", "0"])(
  "a request is refused with 400 when its timestamp is %s",
  (timestamp) => {
    const request = edited((header) => header.replace(/timestamp="\d+"/, `timestamp="${timestamp}"`));

    expect(verifyRequest(request, verifier())).toEqual(bad("oauth_timestamp is no Unix time"));
  },
);

test("a request is refused with 400 when its query is not percent-encoded UTF-8", () => {
  expect(verifyRequest({ ...signed(), target: "/q?a=%ff" }, verifier())).toEqual(
    bad("the query or the form body is not percent-encoded UTF-8, or has more than 200 parameters"),
  );
});

test("no reason ever holds a key, a token, a secret or a signature", () => {
  const secrets = {
    consumerKey: "KEYKEY",
    consumerSecret: "SECRET",
    accessToken: "TOKTOK",
    accessTokenSecret: "HIDDEN",
  };
  const request = signed({ credentials: secrets });
  const signature = /oauth_signature="([^"]*)"/.exec(request.authorization[0] ?? "")?.[1] ?? "";
  const header = request.authorization[0] ?? "";
  const variants = [
    header,
    `${header},`,
    header.replace("1.0", "3"),
    header.replace("HMAC-SHA1", "TOKTOK"),
    `${header}, oauth_token="TOKTOK"`,
  ];

  for (const variant of variants) {
    const text = JSON.stringify(verifyRequest({ ...request, authorization: [variant] }, verifier()));
    for (const hidden of [...Object.values(secrets), signature]) expect(text).not.toContain(hidden);
  }
});
