/** The kind of one of E*TRADE's answers: by what its body says first, and then by the status. */
import { type Answer, type FailedOutcome, failed, type RawAnswer } from "../../quotes/answer.ts";
import { plainDocument } from "../../quotes/document.ts";
import { failedStatus, readAnswer, START } from "../plainAnswer.ts";
import { ROOTS, readEtrade } from "./readEtrade.ts";

/** A fault that clients met now and then with a right request: the same call is answered when it is made again. */
const PASSING_PROBLEM = /^(?:parameter_absent|nonce_used)$/;

/** A login is over, and a new one mends it. */
const LOGIN_PROBLEM = /^token_/;

/** The limits of a second and of an hour have the same words (Rate limits), and came with 400. */
const OVER_LIMIT = /exceeded the rate limit/i;

/** Assumed: a list that is too long is told so, with a 400; no such answer is recorded. */
const TOO_LONG = /(?:too many|more than \d+|maximum (?:number )?of) symbols|symbols? (?:count|limit) exceed/i;

/** Codes of `Error`, by the stored table. Others are refusals, as that of an unknown symbol (10033) is. */
const CODES: ReadonlyMap<string, FailedOutcome> = new Map([
  ["100", "server_error"],
  ["670", "server_error"],
  ["10035", "unauthorized"],
]);

/**
 * Codes of `Error` that say: there is nothing of what was asked for.
 *
 * Assumed: 10031 and 10032 come for an underlying without options, for expirations as for a chain; no such answer is recorded.
 */
const NOTHING: ReadonlySet<string> = new Set(["10031", "10032"]);

/** Never throws. */
export function classifyEtrade(raw: RawAnswer): Answer {
  const start = Buffer.from(raw.body.subarray(0, START)).toString("utf8");
  return faultIn(start, raw.status) ?? readAnswer(raw, start, readEtrade);
}

function faultIn(start: string, status: number): Answer | null {
  // A document of quotes may say anything in a description.
  const isQuotes = status === 200 && ROOTS.some((root) => start.includes(root));
  if (isQuotes) return null;
  const problem = oauthProblem(start);
  if (problem !== null) return problem;
  if (OVER_LIMIT.test(start)) return failed("quota_fault", `HTTP ${status}, the rate limit is exceeded`);
  const fault = errorIn(start);
  if (fault !== null && NOTHING.has(fault.code))
    return { outcome: "quotes", document: plainDocument([], []) };
  const words = `HTTP ${status}${fault === null ? "" : `, ${fault.words}`}`;
  const outcome = (fault && CODES.get(fault.code)) ?? outcomeOf(status, start);
  if (outcome !== null) return failed(outcome, words);
  return fault === null ? null : failed("refused", words);
}

/** `oauth_problem=token_expired`, or the parameters that a request is said to lack. */
function oauthProblem(start: string): Answer | null {
  const range = acceptedTimestamps(start);
  const kind = /oauth_problem=(\w{1,64})/.exec(start)?.[1] ?? null;
  if ((kind !== null && PASSING_PROBLEM.test(kind)) || /oauth_parameters_absent=oauth_nonce\b/.test(start))
    return failed("server_error", "a nonce is said to be missing or used");
  if (kind === null) return null;
  const words = `oauth_problem=${kind}${range === null ? "" : `, ${range}`}`;
  return LOGIN_PROBLEM.test(kind)
    ? { ...failed("unauthorized", words), needsLogin: true }
    : failed("unauthorized", words);
}

/** Which timestamps a refusal says it would accept, in words; null: it does not say. */
export function acceptedTimestamps(text: string): string | null {
  const range = /oauth_acceptable_timestamps=(\d{1,12}-\d{1,12})/.exec(text)?.[1];
  return range === undefined ? null : `timestamps from ${range} are accepted`;
}

/** `Error` of JSON and of XML: its code and message; null: there is none. */
function errorIn(start: string): { code: string; words: string } | null {
  if (!/^\s*(?:\{\s*"Error"|(?:<\?[^>]*>\s*)?<Error>)/.test(start)) return null;
  const code = /"code"\s*:\s*"?(\d{1,9})|<code>(\d{1,9})</.exec(start);
  const words = /"message"\s*:\s*"([^"\\]{1,200})|<message>([^<]{1,200})/.exec(start);
  const number = code?.[1] ?? code?.[2] ?? "";
  const message = words?.[1] ?? words?.[2] ?? "an error";
  return { code: number, words: number === "" ? message : `${message} (${number})` };
}

function outcomeOf(status: number, start: string): FailedOutcome | null {
  if (status === 400 && TOO_LONG.test(start)) return "too_long";
  return failedStatus(status);
}
