/** What the dashboard may know of a running collector and of `status`: given by whoever starts it. */
import { type ErrorCode, ERRORS, needsPerson, QuotekeeperError } from "../ground/errors.ts";
import type { ApiError, Live, Problem, StatusView } from "./api/types.ts";

/** Where the Now view has its facts from, besides the archive. */
export type NowSources = {
  /** Whether the market that is polled is simulated, and its address where it is not. */
  feed: { simulated: boolean; address: string | null };
  /** Whether this process collects, also while its collector starts. */
  collects: boolean;
  /** Null where no collector runs in this process, or not yet. */
  live: () => Live | null;
  /** What `quotekeeper status` finds; rejects when it cannot be found out. */
  status: () => Promise<StatusView>;
  /** The journal's size; null where there is none on this machine. */
  journal: () => Promise<{ bytes: number; segments: number } | null>;
};

/** An error as people see it. What heals by itself needs no person. */
export function problemOf(error: Error): Problem {
  if (!(error instanceof QuotekeeperError))
    return { code: "ERROR", detail: error.message, hint: "See the log.", person: false };
  const { code, detail } = error;
  return { code, detail, hint: ERRORS[code].hint, person: needsPerson(code) };
}

/** Why a request is refused: nothing but another request helps. */
export function refusal(code: ErrorCode, detail: string): ApiError {
  return { error: { code, detail, hint: ERRORS[code].hint, person: true } };
}
