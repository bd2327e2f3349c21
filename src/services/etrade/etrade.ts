/**
 * E*TRADE's market interface, version 1: OAuth 1.0a with HMAC-SHA1, JSON, and a person's login each day (apisb.etrade.com/docs/api).
 * Tried against recorded answers and a fake of it alone.
 */
import { NO_RATE_LIMIT } from "../../quotes/rateLimit.ts";
import { CONSUMER, SIGNED_BY_OAUTH } from "../oauth/signedService.ts";
import type { Service } from "../service.ts";
import { ETRADE_CHECKUP } from "./checkEtrade.ts";
import { classifyEtrade } from "./classifyEtrade.ts";
import { LOGIN } from "./loginEtrade.ts";
import { ETRADE_CALLS, LONGEST_LIST } from "./writeEtrade.ts";

export const ETRADE: Service = {
  name: "etrade",
  title: "E*TRADE",
  experimental: "recorded answers and a fake",
  credentials: {
    all: CONSUMER,
    // The access token is another one each day.
    identity: ["consumerKey"],
    secrets: ["consumerSecret"],
    steps: ["Ask E*TRADE for a consumer key of your own: a survey and two agreements, which can take days."],
  },
  addresses: [
    { baseUrl: "https://api.etrade.com", delayed: false },
    { baseUrl: "https://apisb.etrade.com", delayed: false, stored: true, sandbox: "its stored answers" },
  ],
  /**
   * At 4 a second this program makes fewer than 14,000 in an hour where an answer takes 20 ms or more: it counts a call until a
   * second after its answer. Nearer to the service the hour refuses a few calls at its end.
   *
   * Assumed: version 1 has the limits of version 0, 4 calls a second and 14,000 an hour, for no page of it names any.
   */
  limit: { calls: 4, windowMs: 1_000 },
  batch: { first: LONGEST_LIST, least: 8, most: LONGEST_LIST },
  write: ETRADE_CALLS,
  optionsInList: true,
  asksDelayed: false,
  isTimed: true,
  ...SIGNED_BY_OAUTH,
  keptHeaders: ["content-type", "content-encoding", "date", "retry-after"],
  classify: classifyEtrade,
  // Assumed: no header tells a count; none was found in any recording.
  rateLimit: () => NO_RATE_LIMIT,
  limitEnd: () => null,
  login: LOGIN,
  checkup: ETRADE_CHECKUP,
};
