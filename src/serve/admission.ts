/**
 * Admits calls: verifies the signature, counts the call, persists nonce and count, and only then has the call answered. The
 * calls of two turns of the event loop are persisted together.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../ground/clock.ts";
import type { Verdict } from "../services/oauth/verifyRequest.ts";
import { writeStringDocument } from "../services/reference/writeDocument.ts";
import { type Fail, type FailureListener, send, setDate, setLimitHeaders } from "./answers.ts";
import type { Call } from "./app.ts";
import { type AuthenticateOptions, authenticator } from "./authenticate.ts";
import { type CallClass, faultText, type LimitHeaders, type Limits, SERVICE_LIMITS } from "./limits.ts";
import { type BudgetMemory, createBudgets } from "./budgets.ts";
import type { ServiceKey } from "./keys/key.ts";
import { STATUS } from "./httpStatus.ts";
import { createTurns } from "./turns.ts";

export type AdmissionOptions = AuthenticateOptions & {
  clock: Clock;
  /** Default: `SERVICE_LIMITS`. */
  limits?: Limits;
  /** Budgets that outlive the run; default: budgets live as long as the service. */
  budgets?: BudgetMemory;
  /**
   * Persists the nonces and budgets of calls that came together, before any of them is answered. If it throws, all of
   * them fail. Default: nothing is persisted.
   */
  persistUsed?: () => void;
};

export type AdmittedCall = Call & { key: ServiceKey; headers: LimitHeaders };

/** Answers an admitted call; returns a promise if that takes time. */
export type Answer = (call: AdmittedCall) => void | Promise<void>;

export type Admission = {
  /**
   * Authenticates and counts a call, and answers it if it is within its limit. A call with a refusal of its own is refused
   * for that, signed or not; it counts if it is signed.
   */
  admit: (call: Call, callClass: CallClass, answer: Answer) => void;
  useUp: (key: ServiceKey, response: ServerResponse) => void;
};

type Refusal = Extract<Verdict, { ok: false }>;

export function createAdmission(options: AdmissionOptions, fail: Fail, failed: FailureListener): Admission {
  const { clock, limits = SERVICE_LIMITS } = options;
  const authenticate = authenticator(options);
  const atEndOfTurn = createTurns(options.persistUsed);
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
      // Named one by one: spreading an object takes as long as the whole counting.
      const { request, response, absolute, path, form, refusal } = call;
      const counted = budgets.count(key, callClass, now.getTime());
      const { admitted, headers } = counted;
      atEndOfTurn((notKept) => {
        if (notKept) {
          budgets.refund(key, callClass, counted);
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

function refuse({ response, refusal }: Call, { status, reason }: Refusal, fail: Fail): void {
  if (refusal) return fail(response, refusal.status, refusal.problem);
  if (status === STATUS.malformed) return fail(response, status, reason);
  response.setHeader("WWW-Authenticate", "OAuth");
  fail(response, status, `Not authorized: ${reason}`);
}

/** Answers a call within its limit; any answer, also of a failure, has the limit's headers. */
function answerCounted(
  call: AdmittedCall,
  answer: Answer,
  { fail, failed }: { fail: Fail; failed: FailureListener },
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
