/**
 * Alpaca's market data (market-data-api.json 1.1 and trading-api.json of June 2026): a key that lasts, JSON, stocks in lists and chains in
 * pages. Tried against a fake of it alone.
 */
import { NO_OCC_SYMBOL, occSymbol } from "../../market/occ.ts";
import { NO_RATE_LIMIT, type RateLimit } from "../../quotes/rateLimit.ts";
import type { Service } from "../service.ts";
import { ALPACA_CHECKUP } from "./checkAlpaca.ts";
import { classifyAlpaca } from "./classifyAlpaca.ts";
import { completeAlpaca, OPTION_FEEDS, sourceOfFeed, STOCK_FEEDS } from "./feeds.ts";
import { hostOf, writeAlpaca } from "./writeAlpaca.ts";

/** The Basic plan, free ("About Market Data API", 2026-07-16); the headers tell a larger one. */
const BASIC = { calls: 200, windowMs: 60_000 } as const;

/** Contracts of a list (market-data-api.json). */
const MOST_CONTRACTS = 100;

export const ALPACA: Service = {
  name: "alpaca",
  title: "Alpaca",
  free: true,
  experimental: "a fake",
  credentials: {
    all: [
      { name: "keyId", variable: "QUOTES_ALPACA_KEY_ID", title: "API key ID" },
      { name: "secretKey", variable: "QUOTES_ALPACA_SECRET_KEY", title: "API secret key" },
    ],
    identity: ["keyId"],
    secrets: ["secretKey"],
    steps: [
      "Open a free account at https://alpaca.markets: a paper account is enough, from any country.",
      "Generate an API key on the dashboard of that account.",
      "Paste its key ID and its secret key.",
    ],
    end: "Resetting the paper account ends its keys.",
  },
  options: [
    STOCK_FEEDS,
    OPTION_FEEDS,
    {
      name: "tradingUrl",
      variable: "QUOTES_ALPACA_TRADING_URL",
      does: "Where the account itself is, which lists option contracts: that of paper accounts, or https://api.alpaca.markets for a live one. Each refuses the keys of the other.",
      address: "https://paper-api.alpaca.markets",
      others: {
        addresses: ["https://api.alpaca.markets"],
        // Assumed: KO has some hundred contracts; SPY has about ten thousand.
        trial: { form: "expirations", underlying: "KO", delayed: false },
      },
    },
  ],
  // Assumed: the trading host counts apart; its number is not published, and 200 is widely told.
  hosts: { trading: { option: "tradingUrl", limit: BASIC } },
  addresses: [{ baseUrl: "https://data.alpaca.markets", delayed: false }],
  limit: BASIC,
  // Assumed: no page states how long a list of stocks may be.
  batch: { first: 100, least: 8, most: 200, contracts: MOST_CONTRACTS },
  lackOf: (contract) => (occSymbol(contract) === null ? NO_OCC_SYMBOL : null),
  optionsInList: true,
  listsInterest: true,
  asksDelayed: false,
  isTimed: false,
  complete: completeAlpaca,
  hostOf,
  write: writeAlpaca,
  sign: (_, { keyId = "", secretKey = "" }) => ({
    "apca-api-key-id": keyId,
    "apca-api-secret-key": secretKey,
  }),
  secrets: ({ keyId = "", secretKey = "" }) => [keyId, secretKey],
  keptHeaders: [
    "content-type",
    "content-encoding",
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    // Their support asks for it.
    "x-request-id",
  ],
  classify: classifyAlpaca,
  sourceOf: sourceOfFeed,
  rateLimit: readAlpacaLimit,
  limitEnd: (headers) => readAlpacaLimit(headers).expire?.toString() ?? null,
  checkup: ALPACA_CHECKUP,
};

/** `Reset` is in seconds since 1970; whether it ends a minute of the clock or one that slides is not known. */
function readAlpacaLimit(headers: Readonly<Record<string, string>>): RateLimit {
  const [limit = null, remaining = null, expire = null] = ["limit", "remaining", "reset"].map((name) => {
    const text = headers[`x-ratelimit-${name}`]?.trim() ?? "";
    return /^\d{1,10}$/.test(text) ? Number(text) : null;
  });
  return limit === null
    ? NO_RATE_LIMIT
    : { limit, remaining, used: remaining === null ? null : Math.max(0, limit - remaining), expire };
}
