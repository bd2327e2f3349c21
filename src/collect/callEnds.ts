/** How calls end, in the governor's words. Pure. */
import type { Answer } from "../quotes-api/answer.ts";
import { readRateLimitHeaders } from "../quotes-api/rateLimit.ts";
import type { GovernorEvent } from "./governor/governor.ts";

/** The end of a call, whether it was answered or not. */
export type CallEnd = Exclude<GovernorEvent, { type: "sent" } | { type: "tick" }>;

/** An answer that has just arrived: its last byte is there, and nothing is on the disk yet. */
export type Arrived = { headers: Readonly<Record<string, string>>; answer: Answer };

/**
 * The end of a call that was answered.
 *
 * @param sentAtMs as the governor was told it
 * @param wallMs epoch ms UTC, now
 */
export function answeredEnd({ headers, answer }: Arrived, sentAtMs: number, wallMs: number): CallEnd {
  const rateLimit = readRateLimitHeaders((name) => headers[name.toLowerCase()]);
  return answer.outcome === "quota_fault"
    ? { type: "faulted", sentAtMs, rateLimit, wallMs }
    : { type: "answered", sentAtMs, rateLimit };
}

/** The end of a call to which no answer came. */
export function unansweredEnd(_error: unknown, sentAtMs: number): CallEnd {
  return { type: "failed", sentAtMs };
}
