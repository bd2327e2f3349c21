/**
 * What every authenticated call passes before it is answered: its signature, the keeping of its nonce, its limit. Calls
 * that were read in one turn of the event loop wait for its end together, for their nonces are kept in one piece.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { writeStringDocument } from "../quotes-api/writeDocument.ts";
import { type Fail, send, setLimitHeaders } from "./answers.ts";
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
export type Admitted = {
  request: FastifyRequest;
  reply: FastifyReply;
  key: ServiceKey;
  headers: LimitHeaders;
};

/** Answers a call that was admitted; a promise when that takes time. */
export type Answer = (call: Admitted) => unknown;

/** The class of a call, or how to tell it. */
export type ClassOf = CallClass | ((request: FastifyRequest) => CallClass);

/** Admits calls. */
export type Admission = {
  /** A route that authenticates and counts its calls, and answers those that are within the limit. */
  limited: (
    classOf: ClassOf,
    answer: Answer,
  ) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  /** Uses up what is left of a token's quote calls and answers with the fault, as if somebody else had called. */
  useUp: (key: ServiceKey, reply: FastifyReply) => void;
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
  function count(key: ServiceKey, reply: FastifyReply, callClass: CallClass): LimitHeaders | null {
    const { admitted, headers } = budgets.count(key, callClass, clock.now().getTime());
    if (admitted) return headers;
    setLimitHeaders(reply, headers);
    const fault = faultText(budgets.limitOf(key, callClass), limits.windowMs);
    send(reply, STATUS.limitReached, writeStringDocument(fault));
    return null;
  }

  return {
    limited: (classOf, answer) => async (request, reply) => {
      const verdict = authenticate(request);
      if (!verdict.ok) return refuse(fail, reply, verdict);
      await endOfTurn();
      const callClass = typeof classOf === "string" ? classOf : classOf(request);
      const headers = count(verdict.key, reply, callClass);
      if (!headers) return reply;
      try {
        return await answer({ request, reply, key: verdict.key, headers });
      } catch (error) {
        if (!reply.sent) setLimitHeaders(reply, headers);
        throw error;
      }
    },
    useUp: (key, reply) => {
      budgets.useUp(key, "quotes");
      count(key, reply, "quotes");
    },
  };
}

function refuse(
  fail: Fail,
  reply: FastifyReply,
  { status, reason }: { status: 400 | 401; reason: string },
): FastifyReply {
  if (status === STATUS.malformed) return fail(reply, status, reason);
  return fail(reply.header("WWW-Authenticate", "OAuth"), status, `Not authorized: ${reason}`);
}
