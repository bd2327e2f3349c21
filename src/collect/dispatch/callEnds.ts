/** How an attempt at a call ends: what the governor is told of it, and whether the call is made again. Pure. */
import type { Clock } from "../../ground/clock.ts";
import { ERRORS, QuotekeeperError } from "../../ground/errors.ts";
import type { MissReason } from "../../journal/ledger.ts";
import { type Answer, failed, wantsLogin } from "../../quotes/answer.ts";
import type { DatedAnswer } from "../../services/clockSkew.ts";
import { readRetryAfter } from "../../quotes/rateLimit.ts";
import type { Service } from "../../services/service.ts";
import { isOnce, type PlannedCall, symbolCount } from "../callPlan.ts";
import type { CallEnd } from "../governor/state.ts";
import type { Ticket } from "./waitingCalls.ts";

/** An answer that has just arrived: its last byte is there, and nothing is on the disk yet. */
export type ArrivedAnswer = { headers: Readonly<Record<string, string>>; answer: Pick<Answer, "outcome"> };

export type LimitReader = Pick<Service, "rateLimit">;

/**
 * The end of a call that was answered.
 *
 * @param service that answered
 * @param at `sentMs` as the governor was told it; `wallMs`: now, epoch ms UTC
 */
export function answeredEnd(
  { headers, answer }: ArrivedAnswer,
  service: LimitReader,
  { sentMs: sentAtMs, wallMs }: { sentMs: number; wallMs: number },
): CallEnd {
  const rateLimit = service.rateLimit(headers);
  switch (answer.outcome) {
    case "quota_fault":
      return { type: "faulted", sentAtMs, rateLimit, wallMs, retryAfterMs: readRetryAfter(headers) };
    case "server_error":
      return {
        type: "failed",
        sentAtMs,
        how: "server_error",
        rateLimit,
        retryAfterMs: readRetryAfter(headers),
      };
    default:
      return { type: "answered", sentAtMs, rateLimit };
  }
}

export function unansweredEnd(error: unknown, sentAtMs: number): CallEnd {
  const closed = error instanceof QuotekeeperError && error.code === "SERVICE_CUT_SHORT";
  return { type: "failed", sentAtMs, how: closed ? "closed" : "other" };
}

/** How a call ended. `askedMs`: when it was asked for, epoch ms UTC; that may be later than it was let go. */
export type Result =
  { kind: "answered"; answer: Answer; askedMs: number } | { kind: "missed"; reason: MissReason };

export type KeptAnswer = { record: DatedAnswer; answer: Answer };

/**
 * Makes one call and keeps its answer; rejects when there is none, or it could not be kept.
 *
 * @param onArrived notified of the answer before it is kept: what it says of the limit holds for the next call already
 */
export type Send = (
  planned: PlannedCall,
  signal: AbortSignal,
  onArrived: (arrived: ArrivedAnswer) => void,
) => Promise<KeptAnswer>;

/** What is done after an attempt: the call is over, or it waits again, for `afterMs` before it may be let go. */
export type Next = { over: Result } | { again: Ticket; afterMs: number };

/** Attempts at one call within its slot, and the wait before the second in ms; it doubles, with jitter. */
const ATTEMPTS = 3;
const RETRY_WAIT_MS = 1_000;

type Circumstances = {
  /** Whether the budget is closed: then a failure may be the limit in disguise, and uses up no attempt. */
  isClosed: boolean;
  hasSession?: () => boolean;
  clock: Pick<Clock, "now" | "random">;
};

/** @param isMended whether it is a refusal for which the clock or the token may be to blame, and the next attempt has another */
export function afterAnswer(
  ticket: Ticket,
  { answer, record, isMended }: KeptAnswer & { isMended: boolean },
  given: Circumstances,
): Next {
  const { planned } = ticket;
  const { outcome } = answer;
  if (outcome === "quota_fault" && !planned.once?.single) return atOnce({ ...ticket, setback: "refused" });
  if (isMended) return atOnce({ ...ticket, attempt: 2, setback: "unauthorized" });
  // A session that has been woken answers the call when it is made again; without one a call of a job waits for a login.
  if (wantsLogin(answer) && (!planned.once?.single || given.hasSession?.() === true))
    return atOnce({ ...ticket, setback: "login" });
  const over: Next = { over: { kind: "answered", answer, askedMs: Date.parse(record.requestedAt) } };
  // A call that looks into another one's failure tells enough by failing once.
  if (outcome !== "server_error" || planned.once?.single || planned.part) return over;
  // In a slot without an end it would wait for ever.
  if (given.isClosed && isOnce(planned)) return over;
  if (given.isClosed)
    return atOnce({ ...ticket, setback: readRetryAfter(record.headers) === null ? "transport" : "refused" });
  // The last attempt at a list is for one of its symbols alone: if that is answered, the list was why, not the limit.
  const attempts = symbolCount(planned) > 1 ? ATTEMPTS - 1 : ATTEMPTS;
  return retried(ticket, attempts, given) ?? over;
}

/** After a call to which no answer came, or whose answer could not be kept. */
export function afterFailure(ticket: Ticket, error: unknown, given: Circumstances): Next {
  const { code, detail } = error instanceof QuotekeeperError ? error : { code: null, detail: "" };
  const askedMs = given.clock.now().getTime();
  // The answer of a call for a token.
  if (code === "SERVICE_UNAUTHORIZED")
    return { over: { kind: "answered", answer: failed("unauthorized", detail), askedMs } };
  // An answer that could not be journaled is not kept, and asking again would not help.
  if (!code?.startsWith("SERVICE_")) return { over: { kind: "missed", reason: "down" } };
  if (ticket.planned.once?.single) return { over: { kind: "missed", reason: "transport" } };
  if (code === "SERVICE_CUT_SHORT" && given.isClosed && !isOnce(ticket.planned))
    return atOnce({ ...ticket, setback: "transport" });
  const next = ERRORS[code].retryable ? retried(ticket, ATTEMPTS, given) : null;
  return next ?? { over: { kind: "missed", reason: "transport" } };
}

function atOnce(again: Ticket): Next {
  return { again, afterMs: 0 };
}

/** Again after a wait; null: there is no attempt left, or no time in the slot. */
function retried(ticket: Ticket, attempts: number, { clock }: Circumstances): Next | null {
  const { planned, attempt } = ticket;
  const jitter = 1 + (clock.random(1)[0] ?? 0) / 255;
  const afterMs = RETRY_WAIT_MS * 2 ** (attempt - 1) * jitter;
  if (attempt >= attempts || clock.now().getTime() + afterMs >= planned.deadlineMs) return null;
  return { again: { ...ticket, attempt: attempt + 1, setback: "transport" }, afterMs };
}
