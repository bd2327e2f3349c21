/** How calls end, in the governor's words. Pure. */
import { QuotekeeperError } from "../errors.ts";
import type { Answer } from "../quotes-api/answer.ts";
import { readRateLimitHeaders, readRetryAfter } from "../quotes-api/rateLimit.ts";
import type { CallEnd } from "./governor/governor.ts";

export type { CallEnd };

/** An answer that has just arrived: its last byte is there, and nothing is on the disk yet. */
export type Arrived = { headers: Readonly<Record<string, string>>; answer: Pick<Answer, "outcome"> };

/**
 * The end of a call that was answered.
 *
 * @param sentAtMs as the governor was told it
 * @param wallMs epoch ms UTC, now
 */
export function answeredEnd({ headers, answer }: Arrived, sentAtMs: number, wallMs: number): CallEnd {
  const rateLimit = readRateLimitHeaders((name) => headers[name.toLowerCase()]);
  switch (answer.outcome) {
    case "quota_fault":
      return { type: "faulted", sentAtMs, rateLimit, wallMs, retryAfterMs: readRetryAfter(headers) };
    case "server_error":
      return {
        type: "failed",
        sentAtMs,
        how: "server_error",
        rateLimit,
        retryAfterMs: readRetryAfter(headers),
      };
    default:
      return { type: "answered", sentAtMs, rateLimit };
  }
}

/** The end of a call to which no answer came: `error` says why. */
export function unansweredEnd(error: unknown, sentAtMs: number): CallEnd {
  const closed = error instanceof QuotekeeperError && error.code === "SERVICE_CUT_SHORT";
  return { type: "failed", sentAtMs, how: closed ? "closed" : "other" };
}
