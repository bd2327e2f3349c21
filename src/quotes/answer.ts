/** What an answer of a service is, whichever service gave it. */
import type { Instant } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { cutText } from "../ground/outsideText.ts";
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

export type FailedOutcome = Exclude<Outcome, "quotes">;

export type Answer =
  | { outcome: "quotes"; document: ReadDocument }
  | {
      outcome: FailedOutcome;
      responseId: string | null;
      detail: string;
      /** Of `unauthorized`: a person has to log in, and nothing else mends it. */
      needsLogin?: true;
      /** Of `unauthorized`: the feed that was asked is not in the account's plan. Its other calls are answered. */
      ofFeed?: true;
      /** Of `refused`: the symbol for which alone the whole list was. */
      badSymbol?: string;
    };

/** Whether nothing but a person's login mends it. */
export function wantsLogin(answer: Answer): boolean {
  return answer.outcome !== "quotes" && answer.needsLogin === true;
}

/** Whether it is not the feed alone that is refused. */
export function refusesCredentials(answer: Answer): boolean {
  return answer.outcome === "unauthorized" && !refusesFeed(answer);
}

/** Whether the account has no such feed. */
export function refusesFeed(answer: Answer): boolean {
  return answer.outcome !== "quotes" && answer.ofFeed === true;
}

/** Header names are lower case. `observedAt`: when it arrived; absent: no time in it is compared with that. */
export type RawAnswer = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  observedAt?: Instant;
};

/**
 * An answer of a 2xx status without a body: no whole answer, and never one that says that there is nothing. Null: it has a body.
 * E*TRADE sends them now and then, and answers the same call when it is made again.
 */
export function emptyAnswer({ status, body }: RawAnswer): Answer | null {
  if (status < 200 || status >= 300 || body.byteLength > MOST_BLANK) return null;
  const isBlank = Buffer.from(body).toString("utf8").trim() === "";
  return isBlank ? failed("server_error", `HTTP ${status} with an empty answer`) : null;
}

/** A longer body is not looked at for anything but blanks. */
const MOST_BLANK = 4_096;

export function failed(outcome: FailedOutcome, detail: string): Exclude<Answer, { outcome: "quotes" }> {
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

/** @param goesBy what the service tells a caller by, for people: its settings, the clock */
export function answerError(
  answer: Exclude<Answer, { outcome: "quotes" }>,
  goesBy: string,
): QuotekeeperError {
  const code = wantsLogin(answer) ? "LOGIN_NEEDED" : answer.ofFeed ? "FEED_REFUSED" : CODES[answer.outcome];
  const settings = code === "SERVICE_UNAUTHORIZED" ? `; it goes by ${goesBy}` : "";
  return new QuotekeeperError(code, `the service answered: ${answer.detail}${settings}`);
}
