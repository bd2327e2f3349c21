import { QuotekeeperError } from "../errors.ts";
import type { Answer } from "../quotes-api/answer.ts";

const CODES = {
  quota_fault: "SERVICE_QUOTA",
  unauthorized: "SERVICE_UNAUTHORIZED",
  too_long: "SERVICE_REFUSED",
  refused: "SERVICE_REFUSED",
  server_error: "SERVICE_ERROR",
  malformed: "SERVICE_ANSWER_UNREADABLE",
} as const;

/** The error that an answer without quotes stands for. */
export function answerError(answer: Exclude<Answer, { outcome: "quotes" }>): QuotekeeperError {
  return new QuotekeeperError(CODES[answer.outcome], `the service answered: ${answer.detail}`);
}
