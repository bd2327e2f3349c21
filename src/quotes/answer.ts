/** What an answer of a service is, whichever service gave it. */
import { QuotekeeperError } from "../errors.ts";
import { cutText } from "../outsideText.ts";
import { type ReadDocument } from "./document.ts";

/**
 * - `quotes`: a whole quotes document
 * - `quota_fault`: the rate-limit fault
 * - `unauthorized`: 401, 403, or a document that says so
 * - `too_long`: 414, the list of symbols was too long
 * - `refused`: another 4xx, a redirect, or a document whose `error` is not `Success`
 * - `server_error`: 5xx
 * - `malformed`: 200 with something that is not a whole quotes document
 */
export const OUTCOMES = [
  "quotes",
  "quota_fault",
  "unauthorized",
  "too_long",
  "refused",
  "server_error",
  "malformed",
] as const;

type Outcome = (typeof OUTCOMES)[number];

export type Failed = Exclude<Outcome, "quotes">;

/** The document of quotes, or a sentence for people. */
export type Answer =
  | { outcome: "quotes"; document: ReadDocument }
  | {
      outcome: Failed;
      responseId: string | null;
      detail: string;
      /** Of `unauthorized`: a person has to log in, and nothing else mends it. */
      needsLogin?: true;
    };

/** Whether nothing but a person's login mends it. */
export function wantsLogin(answer: Answer): boolean {
  return answer.outcome !== "quotes" && answer.needsLogin === true;
}

/** Header names are lower case. */
export type RawAnswer = { status: number; headers: Readonly<Record<string, string>>; body: Uint8Array };

export function failed(outcome: Failed, detail: string): Exclude<Answer, { outcome: "quotes" }> {
  return { outcome, responseId: null, detail };
}

/** Why a body cannot be read as it is, for people; null: it is not encoded, as was asked for. */
export function encodingProblem(headers: RawAnswer["headers"]): string | null {
  const encoding = (headers["content-encoding"] ?? "").trim();
  if (/^(identity)?$/i.test(encoding)) return null;
  return `Content-Encoding ${cutText(encoding, 40)}, and identity was asked for`;
}

const CODES = {
  quota_fault: "SERVICE_QUOTA",
  unauthorized: "SERVICE_UNAUTHORIZED",
  too_long: "SERVICE_REFUSED",
  refused: "SERVICE_REFUSED",
  server_error: "SERVICE_ERROR",
  malformed: "SERVICE_ANSWER_UNREADABLE",
} as const;

export function answerError(answer: Exclude<Answer, { outcome: "quotes" }>): QuotekeeperError {
  const code = wantsLogin(answer) ? "LOGIN_NEEDED" : CODES[answer.outcome];
  return new QuotekeeperError(code, `the service answered: ${answer.detail}`);
}
