/**
 * What every call passes before it is answered: its signature, the keeping of its nonce, its limit. Calls that were read
 * in one turn of the event loop wait for its end together, for their nonces are kept in one piece.
 */
import type { ServerResponse } from "node:http";
import { writeStringDocument } from "../quotes-api/writeDocument.ts";
import { type Fail, send, setLimitHeaders } from "./answers.ts";
import type { Call } from "./app.ts";
import { authenticator, type AuthenticateOptions } from "./authenticate.ts";
import { createBudgets } from "./budgets.ts";
import type { ServiceKey } from "./keys/key.ts";
import { faultText, SERVICE_LIMITS, type CallClass, type LimitHeaders, type Limits } from "./limits.ts";
import { STATUS } from "./status.ts";
import { createTurns, oncePerTurn } from "./turns.ts";

/** What calls are admitted by. */
export type AdmissionOptions = AuthenticateOptions & {
  /** Default: `SERVICE_LIMITS`. */
  limits?: Limits;
  /**
   * Keeps the nonces of the calls that came together, before any of those calls is answered; when it throws, they all
   * fail. Default: nothing is kept.
   */
  keepNonces?: () => void;
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
  admit: (call: Call, callClass: CallClass, answer: Answer) => Promise<void>;
  /** Uses up what is left of a token's quote calls and answers with the fault, as if somebody else had called. */
  useUp: (key: ServiceKey, response: ServerResponse) => void;
};

/** Makes the admission of a service. */
export function createAdmission(options: AdmissionOptions, fail: Fail): Admission {
  const { keys, clock, limits = SERVICE_LIMITS } = options;
  // Keys are looked up anew in each turn: one that was revoked is refused from the next on.
  const current = typeof keys === "function" ? oncePerTurn(keys) : keys;
  const authenticate = authenticator({ ...options, keys: current });
  const endOfTurn = createTurns(options.keepNonces);
  const budgets = createBudgets(limits);

  /** Counts a call; null when it has been answered with the fault. */
  function count(key: ServiceKey, response: ServerResponse, callClass: CallClass): LimitHeaders | null {
    const { admitted, headers } = budgets.count(key, callClass, clock.now().getTime());
    if (admitted) return headers;
    setLimitHeaders(response, headers);
    const fault = faultText(budgets.limitOf(key, callClass), limits.windowMs);
    send(response, { status: STATUS.limitReached, body: writeStringDocument(fault) });
    return null;
  }

  return {
    admit: async (call, callClass, answer) => {
      const { response, refusal } = call;
      const verdict = authenticate(call);
      if (!verdict.ok) {
        if (refusal) return fail(response, refusal.status, refusal.problem);
        if (verdict.status === STATUS.malformed) return fail(response, verdict.status, verdict.reason);
        response.setHeader("WWW-Authenticate", "OAuth");
        return fail(response, verdict.status, `Not authorized: ${verdict.reason}`);
      }
      await endOfTurn();
      const headers = count(verdict.key, response, callClass);
      if (!headers) return;
      try {
        if (!refusal) return await answer({ ...call, key: verdict.key, headers });
        setLimitHeaders(response, headers);
        fail(response, refusal.status, refusal.problem);
      } catch (error) {
        setLimitHeaders(response, headers);
        throw error;
      }
    },
    useUp: (key, response) => {
      budgets.useUp(key, "quotes");
      count(key, response, "quotes");
    },
  };
}
