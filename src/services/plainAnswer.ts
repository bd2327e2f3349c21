/** What answers of JSON have in common, whatever the service: the meaning of a status, and the reading of a body. */
import { type Instant, instantOfEpochMs } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { cutText } from "../ground/outsideText.ts";
import {
  type Answer,
  emptyAnswer,
  encodingProblem,
  type FailedOutcome,
  failed,
  type RawAnswer,
} from "../quotes/answer.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { readHttpDate } from "../quotes/rateLimit.ts";
import { isObject, type JsonObject, parseJson } from "./json.ts";

/** Bytes in which a fault is looked for: its page is short. */
export const START = 4_096;

/** Null: the status says nothing against the body. */
export function failedStatus(status: number): FailedOutcome | null {
  if (status === 429) return "quota_fault";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 413 || status === 414) return "too_long";
  if (status >= 500) return "server_error";
  return status < 200 || status >= 300 ? "refused" : null;
}

/** Assumed: no quote is of a time so much later than its answer; clocks differ. */
const LATER_MS = 10 * 60_000;

/** By the service's clock, or by this machine's where that is later or alone. */
function latestTime({ headers, observedAt }: RawAnswer): Instant | null {
  if (observedAt === undefined) return null;
  const answeredMs = Math.max(Date.parse(observedAt), readHttpDate(headers["date"]) ?? 0);
  return instantOfEpochMs(String(answeredMs + LATER_MS));
}

/**
 * An answer by its body. Never throws.
 *
 * @param start of the body, as text
 * @param read throws DOCUMENT_REFUSED. Its `latest` is the last instant that a time of the answer may say; null: any
 */
export function readAnswer(
  raw: RawAnswer,
  start: string,
  read: (document: JsonObject, latest: Instant | null) => ReadDocument,
): Answer {
  const { body, headers } = raw;
  const empty = emptyAnswer(raw);
  if (empty !== null) return empty;
  const encoded = encodingProblem(headers);
  if (encoded !== null) return failed("malformed", encoded);
  const form = formOf(start);
  if (form === "HTML") return failed("malformed", "an HTML page in place of JSON");
  if (form === "XML")
    return failed("malformed", "XML in place of JSON, which was asked for: quotes are read in no other form");
  try {
    const document = parseJson(body);
    if (isObject(document)) return { outcome: "quotes", document: read(document, latestTime(raw)) };
    return failed("malformed", "JSON that is no object");
  } catch (error) {
    return failed("malformed", cutText(problemOf(error), 200));
  }
}

/** A defect of the reader too: whatever it is, the answer is kept. */
export function problemOf(error: unknown): string {
  return error instanceof QuotekeeperError ? error.detail : `it could not be read: ${String(error)}`;
}

export function formOf(start: string): "JSON" | "XML" | "HTML" | "text" | "nothing" {
  const text = start.replace(/^\ufeff?\s+|^\ufeff/, "");
  if (text === "") return "nothing";
  if (/^[{[]/.test(text)) return "JSON";
  if (/^<(?:!doctype html|html)[\s>]/i.test(text)) return "HTML";
  return text.startsWith("<") ? "XML" : "text";
}
