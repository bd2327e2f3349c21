/** What answers of plain JSON or XML have in common, whatever the service: the meaning of a status, and the reading of a body. */
import { type Instant, instantOfEpochMs } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { cutText } from "../outsideText.ts";
import {
  type Answer,
  emptyAnswer,
  encodingProblem,
  type Failed,
  failed,
  type RawAnswer,
} from "../quotes/answer.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { readHttpDate } from "../quotes/rateLimit.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/** Bytes in which a fault is looked for: its page is short. */
export const START = 4_096;

/** Null: the status says nothing against the body. */
export function failedStatus(status: number): Failed | null {
  if (status === 429) return "quota_fault";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 413 || status === 414) return "too_long";
  if (status >= 500) return "server_error";
  return status < 200 || status >= 300 ? "refused" : null;
}

type Reading = {
  /** What the body should hold, for people. */
  what: string;
  /** Throws DOCUMENT_REFUSED, as `read` does. */
  parse: (body: Uint8Array) => Json;
  /** @param latest the last instant that a time of the answer may say; null: any */
  read: (document: JsonObject, latest: Instant | null) => ReadDocument;
};

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
 */
export function readAnswer(raw: RawAnswer, start: string, reading: Reading): Answer {
  const { body, headers } = raw;
  const { what, parse, read } = reading;
  const empty = emptyAnswer(raw);
  if (empty !== null) return empty;
  const encoded = encodingProblem(headers);
  if (encoded !== null) return failed("malformed", encoded);
  if (/^\s*<(?:!doctype html|html)[\s>]/i.test(start))
    return failed("malformed", `an HTML page in place of ${what}`);
  try {
    const document = parse(body);
    if (isObject(document)) return { outcome: "quotes", document: read(document, latestTime(raw)) };
    return failed("malformed", "JSON that is no object");
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return failed("malformed", cutText(error.detail, 200));
  }
}
