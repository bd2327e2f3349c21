/** The Market Quotes Service of the specification: OAuth 1.0a with HMAC-SHA1, and XML. */
import { DEFAULT_SERVICE } from "../../journal/record.ts";
import { NO_OCC_SYMBOL, occSymbol } from "../../market/occ.ts";
import {
  acceptedFinding,
  asking,
  clockFinding,
  countFinding,
  expiryFinding,
  headersFinding,
  KNOWN,
  readableFinding,
} from "../checkup.ts";
import { classifyAnswer } from "./classifyAnswer.ts";
import { CONSUMER, SIGNED_BY_OAUTH } from "../oauth/signedService.ts";
import { readRateLimitHeaders } from "./rateLimitHeaders.ts";
import { REFERENCE_CALLS } from "./writeReference.ts";
import type { Service } from "../service.ts";

const [USED, EXPIRE] = ["x-ratelimit-used", "x-ratelimit-expire"] as const;

const credentials = [
  ...CONSUMER,
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
  write: REFERENCE_CALLS,
  lackOf: (contract) => (contract.root !== undefined && occSymbol(contract) === null ? NO_OCC_SYMBOL : null),
  optionsInList: false,
  asksDelayed: true,
  isTimed: true,
  ...SIGNED_BY_OAUTH,
  keptHeaders: [
    "content-type",
    "content-encoding",
    "date",
    "retry-after",
    USED,
    EXPIRE,
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-quotekeeper-source",
  ],
  classify: classifyAnswer,
  rateLimit: (headers) => readRateLimitHeaders((name) => headers[name.toLowerCase()]),
  limitEnd: (headers) => headers[EXPIRE]?.trim() ?? null,
  checkup: {
    next: (probed) =>
      probed.length < 2 && probed.every(({ answer }) => answer.outcome === "quotes") ? asking(KNOWN) : null,
    findings: (probed) => [
      acceptedFinding(probed),
      readableFinding("XML", probed),
      headersFinding([USED, EXPIRE, "x-ratelimit-limit", "x-ratelimit-remaining"], probed),
      expiryFinding(EXPIRE, 1_000, probed),
      countFinding({ name: USED, by: 1 }, EXPIRE, probed),
      clockFinding(probed, true),
    ],
  },
};
