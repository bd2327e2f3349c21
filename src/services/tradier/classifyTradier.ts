/** The kind of one of Tradier's answers: by the fault in its body first, whatever the status, and then by the status. */
import { cutText } from "../../ground/outsideText.ts";
import { type Answer, type FailedOutcome, failed, type RawAnswer } from "../../quotes/answer.ts";
import { failedStatus, readAnswer, START } from "../plainAnswer.ts";
import { readTradier } from "./readTradier.ts";

/**
 * Codes of faults (`fault.detail.errorcode`), by how they begin. Those of the token and of the gateway are recorded, some under
 * statuses that say something else: an expired token came with 500.
 *
 * Assumed: the quota fault is that of the gateway product, Apigee, which sends it with 429, 500 or 403 elsewhere; nobody has
 * recorded Tradier's own.
 */
const FAULTS: readonly [RegExp, FailedOutcome][] = [
  [/^policies\.ratelimit\./, "quota_fault"],
  [/^(keymanagement|oauth)\./, "unauthorized"],
  [/^(steps|messaging|flow|protocol)\./, "server_error"],
];

/** Never throws. */
export function classifyTradier(raw: RawAnswer): Answer {
  const start = Buffer.from(raw.body.subarray(0, START)).toString("utf8");
  const fault = faultIn(start);
  const outcome = fault && FAULTS.find(([begins]) => begins.test(fault.code))?.[1];
  if (fault && outcome) return failed(outcome, `${fault.words} (${fault.code})`);
  const byStatus = failedStatus(raw.status);
  if (byStatus !== null) {
    const words = fault?.words ?? start.trim();
    return failed(
      byStatus,
      `HTTP ${raw.status}${/^[<{[]/.test(words) || words === "" ? "" : `, "${cutText(words, 200)}"`}`,
    );
  }
  if (fault) return failed("refused", `${fault.words} (${fault.code})`);
  return readAnswer(raw, start, readTradier);
}

/** The gateway writes its faults as JSON, and some as XML to a client that asked for JSON. */
function faultIn(start: string): { code: string; words: string } | null {
  const code =
    /"errorcode"\s*:\s*"([\w.]{1,100})"/.exec(start)?.[1] ?? /<errorcode>([\w.]{1,100})</.exec(start)?.[1];
  if (code === undefined || !/^\s*(?:\{\s*"fault"|<fault>)/.test(start)) return null;
  const words =
    /"faultstring"\s*:\s*"([^"\\]{1,200})/.exec(start)?.[1] ?? /<faultstring>([^<]{1,200})/.exec(start)?.[1];
  return { code, words: words ?? "a fault" };
}
