/** The Market Quotes Service of the specification: OAuth 1.0a with HMAC-SHA1, and XML. */
import { DEFAULT_SERVICE } from "../../journal/record.ts";
import { REFERENCE_CHECKUP } from "./checkReference.ts";
import { classifyAnswer } from "./classifyAnswer.ts";
import { type Credentials as OAuthCredentials, signRequest } from "../oauth/signature.ts";
import { readRateLimitHeaders } from "./rateLimitHeaders.ts";
import { requestTarget } from "./requestTarget.ts";
import type { Service } from "../service.ts";

const credentials = [
  { name: "consumerKey", variable: "QUOTES_CONSUMER_KEY", title: "OAuth consumer key" },
  { name: "consumerSecret", variable: "QUOTES_CONSUMER_SECRET", title: "OAuth consumer secret" },
  { name: "accessToken", variable: "QUOTES_ACCESS_TOKEN", title: "OAuth access token" },
  { name: "accessTokenSecret", variable: "QUOTES_ACCESS_TOKEN_SECRET", title: "OAuth access token secret" },
] as const;

export const REFERENCE: Service = {
  name: DEFAULT_SERVICE,
  title: "Market Quotes Service",
  credentials: {
    all: credentials,
    identity: ["consumerKey", "accessToken"],
    secrets: ["consumerSecret", "accessTokenSecret"],
  },
  addresses: [],
  limit: { calls: 60, windowMs: 60_000 },
  // 325 is the longest list reported to work (field notes, "Requests").
  batch: { first: 100, least: 8, most: 325 },
  forms: ["symbols", "watchlist", "option"],
  optionsInList: false,
  asksDelayed: true,
  isTimed: true,
  write: (call) => ({ method: "GET", target: requestTarget(call), accept: "application/xml" }),
  sign: ({ method, url }, secrets, stamp) => ({
    // The same object for call after call: the key of its HMAC is remembered by it.
    authorization: signRequest({ method, url, credentials: secrets as OAuthCredentials, ...stamp }),
  }),
  secrets: (secrets, { authorization = "" }) => {
    const signature = /oauth_signature="([^"]*)"/.exec(authorization)?.[1] ?? "";
    return [...Object.values(secrets), decodeURIComponent(signature)];
  },
  keptHeaders: [
    "content-type",
    "content-encoding",
    "date",
    "retry-after",
    "x-ratelimit-used",
    "x-ratelimit-expire",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-quotekeeper-source",
  ],
  classify: classifyAnswer,
  rateLimit: (headers) => readRateLimitHeaders((name) => headers[name.toLowerCase()]),
  limitEnd: (headers) => headers["x-ratelimit-expire"]?.trim() ?? null,
  checkup: REFERENCE_CHECKUP,
};
