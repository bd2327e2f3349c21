/** The kind of an answer of the specification's service, by status, headers and body together. */
import { cutText } from "../../ground/outsideText.ts";
import { type Answer, emptyAnswer, encodingProblem, failed, type RawAnswer } from "../../quotes/answer.ts";
import { problemOf } from "../plainAnswer.ts";
import { readDocument } from "./readDocument.ts";

/**
 * Assumed: these words in a body that is no quotes document are the rate-limit fault, whatever the status.
 * Recorded by clients: `API calls quota exceeded! maximum admitted 60 per Minute.`
 */
const QUOTA_WORDS = /quota exceeded|rate limit/i;

/** Assumed: these words in an `error` element, or in a short body, mean bad credentials. Seen: `Not authorized`. */
const UNAUTHORIZED_WORDS = /not authori[sz]ed|unauthori[sz]ed/i;

/** Never throws: an unreadable answer is `malformed`. */
export function classifyAnswer(raw: RawAnswer): Answer {
  const { status, headers } = raw;
  if (status === 429) return failed("quota_fault", "HTTP 429, the quota fault");
  if (status === 401 || status === 403) return failed("unauthorized", `HTTP ${status}`);
  if (status === 414) return failed("too_long", "HTTP 414, the list of symbols is too long");
  if (status >= 500) return failed("server_error", `HTTP ${status}`);
  if (status < 200 || status >= 300) return failed("refused", `HTTP ${status}${saying(raw.body)}`);
  const empty = emptyAnswer(raw);
  if (empty !== null) return empty;
  const encoded = encodingProblem(headers);
  if (encoded !== null) return failed("malformed", encoded);
  try {
    const document = readDocument(raw.body);
    if (document.error === null) return { outcome: "quotes", document };
    const outcome = UNAUTHORIZED_WORDS.test(document.error)
      ? "unauthorized"
      : QUOTA_WORDS.test(document.error)
        ? "quota_fault"
        : "refused";
    return { outcome, responseId: document.id, detail: `the service says "${cutText(document.error, 200)}"` };
  } catch (error) {
    const start = Buffer.from(raw.body.subarray(0, 4096)).toString("utf8");
    const exhausted = /^0+(\.0*)?$/.test((headers["x-ratelimit-remaining"] ?? "").trim());
    if (QUOTA_WORDS.test(start) && (exhausted || raw.body.byteLength < 4096)) {
      return failed("quota_fault", "the words of the quota fault in place of quotes");
    }
    if (exhausted && !/<quotes/.test(start)) {
      return failed("quota_fault", "no calls remaining and no quotes document");
    }
    if (/<html[\s>]|<!doctype html/i.test(start)) return failed("malformed", "an HTML page in place of XML");
    if (/^\uFEFF?\s*[{[]/.test(start)) return failed("malformed", "JSON in place of XML");
    return failed("malformed", problemOf(error));
  }
}

function saying(body: Uint8Array): string {
  const text = Buffer.from(body.subarray(0, 4096)).toString("utf8");
  const error = /<error>([^<]{1,200})<\/error>/.exec(text)?.[1];
  return error === undefined ? "" : `, "${error.trim()}"`;
}
