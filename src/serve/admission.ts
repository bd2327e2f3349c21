/**
 * What every call passes before it is answered: its signature, its limit, the keeping of both its nonce and its count. Calls
 * that were read in two turns of the event loop wait for their end together, for what they used up is kept in one piece.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import type { Verdict } from "../quotes-api/oauth/verifyRequest.ts";
import { writeStringDocument } from "../quotes-api/writeDocument.ts";
import { type Fail, type Failed, send, setDate, setLimitHeaders } from "./answers.ts";
import type { Call } from "./app.ts";
import { type AuthenticateOptions, authenticator } from "./authenticate.ts";
import {
  type BudgetMemory,
  createBudgets,
  type CallClass,
  faultText,
  type LimitHeaders,
  type Limits,
  SERVICE_LIMITS,
} from "./limits.ts";
import type { ServiceKey } from "./keys/key.ts";
import { STATUS } from "./httpStatus.ts";

/** What calls are admitted by. */
export type AdmissionOptions = AuthenticateOptions & {
  clock: Clock;
  /** Default: `SERVICE_LIMITS`. */
  limits?: Limits;
  /** The budgets of earlier runs, and who keeps those of this one; default: they begin and end with the service. */
  budgets?: BudgetMemory;
  /**
   * Keeps the nonces and budgets of the calls that came together, before any of those calls is answered; when it throws,
   * they all fail. Default: nothing is kept.
   */
  keepUsed?: () => void;
};

/** A call within its limit: whose it is, and the headers that go with its answer whatever that will be. */
export type Admitted = Call & { key: ServiceKey; headers: LimitHeaders };

/** Answers a call that was admitted; a promise when that takes time. */
export type Answer = (call: Admitted) => void | Promise<void>;

/** Admits calls. */
export type Admission = {
  /**
   * Authenticates and counts a call, and has it answered when it is within its limit. One that is refused for itself is
   * refused with that, signed or not, and counted all the same when it is signed.
   */
  admit: (call: Call, callClass: CallClass, answer: Answer) => void;
  /** Uses up what is left of a token's quote calls and answers with the fault, as if somebody else had called. */
  useUp: (key: ServiceKey, response: ServerResponse) => void;
};

type Refused = Extract<Verdict, { ok: false }>;

/** Makes the admission of a service. */
export function createAdmission(options: AdmissionOptions, fail: Fail, failed: Failed): Admission {
  const { keys, clock, limits = SERVICE_LIMITS } = options;
  // Keys are looked up anew every two turns: one that was revoked is refused from then on.
  const current = typeof keys === "function" ? oncePerTwoTurns(keys) : keys;
  const authenticate = authenticator({ ...options, keys: current });
  const atEndOfTurn = createTurns(options.keepUsed);
  const budgets = createBudgets(limits, options.budgets);

  function answerFault(
    response: ServerResponse,
    { key, callClass, headers }: { key: ServiceKey; callClass: CallClass; headers: LimitHeaders },
  ): void {
    setDate(response, clock.now());
    setLimitHeaders(response, headers);
    const fault = faultText(budgets.limitOf(key, callClass), limits.windowMs);
    send(response, { status: STATUS.limitReached, body: writeStringDocument(fault) });
  }

  return {
    admit: (call, callClass, answer) => {
      const now = clock.now();
      const verdict = authenticate(call, now);
      if (!verdict.ok) return refuse(call, verdict, fail);
      const { key } = verdict;
      // Named one by one: to spread an object and add to it takes as long as the whole counting.
      const { request, response, absolute, path, form, refusal } = call;
      const counted = budgets.count(key, callClass, now.getTime());
      const { admitted, headers } = counted;
      atEndOfTurn((notKept) => {
        if (notKept) {
          budgets.takeBack(key, callClass, counted);
          return failed(response, notKept.error);
        }
        if (!admitted) return answerFault(response, { key, callClass, headers });
        const within = { request, response, absolute, path, form, refusal, key, headers };
        answerCounted(within, answer, { fail, failed });
      });
    },
    useUp: (key, response) => {
      budgets.useUp(key, "quotes");
      const { headers } = budgets.count(key, "quotes", clock.now().getTime());
      answerFault(response, { key, callClass: "quotes", headers });
    },
  };
}

function refuse({ response, refusal }: Call, { status, reason }: Refused, fail: Fail): void {
  if (refusal) return fail(response, refusal.status, refusal.problem);
  if (status === STATUS.malformed) return fail(response, status, reason);
  response.setHeader("WWW-Authenticate", "OAuth");
  fail(response, status, `Not authorized: ${reason}`);
}

/** Answers a call within its limit; whatever becomes of it, the limit's headers go along. */
function answerCounted(
  call: Admitted,
  answer: Answer,
  { fail, failed }: { fail: Fail; failed: Failed },
): void {
  const { response, refusal, headers } = call;
  const unanswered = (error: unknown): void => {
    setLimitHeaders(response, headers);
    failed(response, error);
  };
  if (refusal) {
    setLimitHeaders(response, headers);
    return fail(response, refusal.status, refusal.problem);
  }
  try {
    answer(call)?.catch(unanswered);
  } catch (error) {
    unanswered(error);
  }
}

/** Goes on; told of what was thrown when that which had to be done first could not be. It throws nothing itself. */
type GoOn = (failed: { error: unknown } | null) => void;

/**
 * At the end of the next turn of the event loop. Of calls that come at about the same time one turn alone reads about half:
 * with the rest there are fewer system calls for each. Where nothing else comes, that turn is over at once.
 */
function atEndOfNextTurn(work: () => void): void {
  setImmediate(() => setImmediate(work));
}

/**
 * Has calls wait for the end of the next turn of the event loop: what is the same for all that were read until then is done
 * once for them, and their answers leave together. Under load this spares a system call, or the waking of another
 * program, for each of them. They stand in a list: each would need two promises.
 *
 * @param first is done before anybody who waits goes on
 */
export function createTurns(first?: () => void): (goOn: GoOn) => void {
  let waiting: GoOn[] = [];
  const end = (): void => {
    const all = waiting;
    waiting = [];
    let failed: { error: unknown } | null = null;
    try {
      first?.();
    } catch (error) {
      failed = { error };
    }
    for (const goOn of all) goOn(failed);
  };
  return (goOn) => {
    if (waiting.push(goOn) === 1) atEndOfNextTurn(end);
  };
}

/** A question whose answer holds to the end of the turn after the one in which it was asked. */
function oncePerTwoTurns<T>(ask: () => T): () => T {
  let known: { answer: T } | null = null;
  return () => {
    if (known) return known.answer;
    const fresh = { answer: ask() };
    known = fresh;
    atEndOfNextTurn(() => {
      known = null;
    });
    return fresh.answer;
  };
}
