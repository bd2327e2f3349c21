/** What answers of plain JSON or XML have in common, whatever the service: the meaning of a status, and the reading of a body. */
import { QuotekeeperError } from "../errors.ts";
import { cutText } from "../outsideText.ts";
import { type Answer, encodingProblem, type Failed, failed, type RawAnswer } from "../quotes/answer.ts";
import type { ReadDocument } from "../quotes/document.ts";
import { type Json, JsonObject } from "./plainJson.ts";

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
  read: (document: JsonObject) => ReadDocument;
};

/**
 * An answer by its body. Never throws.
 *
 * @param start of the body, as text
 */
export function readAnswer({ body, headers }: RawAnswer, start: string, reading: Reading): Answer {
  const { what, parse, read } = reading;
  const encoded = encodingProblem(headers);
  if (encoded !== null) return failed("malformed", encoded);
  if (/^\s*<(?:!doctype html|html)[\s>]/i.test(start))
    return failed("malformed", `an HTML page in place of ${what}`);
  try {
    const document = parse(body);
    if (document instanceof JsonObject) return { outcome: "quotes", document: read(document) };
    return failed("malformed", "JSON that is no object");
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return failed("malformed", cutText(error.detail, 200));
  }
}
