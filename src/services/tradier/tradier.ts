/**
 * Tradier's brokerage API, version 1: market data by a lasting token, as JSON (documentation.tradier.com). Tried against recorded
 * answers and a fake of it alone.
 */
import { NO_OCC_SYMBOL, occSymbol } from "../../market/occ.ts";
import { TRADIER_CHECKUP } from "./checkTradier.ts";
import { classifyTradier } from "./classifyTradier.ts";
import { LIMITS, readTradierLimit } from "./tradierLimit.ts";
import { TRADIER_CALLS } from "./writeTradier.ts";
import type { Service } from "../service.ts";

export const TRADIER: Service = {
  name: "tradier",
  title: "Tradier",
  experimental: "recorded answers and a fake",
  credentials: {
    all: [{ name: "accessToken", variable: "QUOTES_ACCESS_TOKEN", title: "access token" }],
    identity: ["accessToken"],
    secrets: ["accessToken"],
    steps: ["Take the token from the settings of your account. The sandbox has a token of its own."],
  },
  addresses: [
    { baseUrl: "https://api.tradier.com", delayed: false },
    // It says nothing of it, and its quotes are 15 minutes old (recorded in June 2024).
    {
      baseUrl: "https://sandbox.tradier.com",
      delayed: true,
      sandbox: "its delayed quotes",
      limit: LIMITS.sandbox,
    },
  ],
  limit: LIMITS.production,
  // Assumed: the documentation has POST for long lists, and no number.
  batch: { first: 100, least: 8, most: 200 },
  write: TRADIER_CALLS,
  lackOf: (contract) => (occSymbol(contract) === null ? NO_OCC_SYMBOL : null),
  optionsInList: true,
  asksDelayed: false,
  isTimed: false,
  sign: (_, { accessToken = "" }) => ({ authorization: `Bearer ${accessToken}` }),
  secrets: ({ accessToken = "" }) => [accessToken],
  keptHeaders: [
    "content-type",
    "content-encoding",
    "date",
    "retry-after",
    "x-ratelimit-allowed",
    "x-ratelimit-used",
    "x-ratelimit-available",
    "x-ratelimit-expiry",
  ],
  classify: classifyTradier,
  rateLimit: readTradierLimit,
  limitEnd: (headers) => readTradierLimit(headers).expire?.toString() ?? null,
  checkup: TRADIER_CHECKUP,
};
