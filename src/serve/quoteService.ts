/**
 * The Market Quotes Service over HTTP: GET /v1/market/quotes.xml as specified, and the other call classes as far as the
 * specification shows them. The service checks a call in this order: bounds, signature, limit; then it answers.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { QUOTES_PATH } from "../services/reference/writeReference.ts";
import { type AdmissionOptions, type Answer, createAdmission } from "./admission.ts";
import { failWith, setLimitHeaders } from "./answers.ts";
import { type Call, createApp, PATIENCE, type Patience, type ServiceLog } from "./app.ts";
import type { CallClass } from "./limits.ts";
import { type AnswerParts, outcomes, quotesAnswer } from "./quoteCalls.ts";
import type { QuoteSource } from "./source.ts";
import { STATUS } from "./httpStatus.ts";

export { SOURCE_HEADER, XML_TYPE } from "./answers.ts";
export { PATIENCE, type Patience, type ServiceLog } from "./app.ts";
export { REAL_TIME_REFUSED } from "./quoteCalls.ts";

/** Calls of market/quotes; only GET of `.xml` is specified. */
const QUOTES_CALL = /^\/v1\/market\/quotes(?:[./]|$)/;

const ORDERS = /^\/v1\/account\/[^/]+\/orders\.xml$/;

export type QuoteServiceOptions = AdmissionOptions & {
  source: QuoteSource;
  logger?: ServiceLog;
  /** Default: `PATIENCE`. */
  patience?: Patience;
  /** What answers calls of quotes: tests make faults by it. Default: `quotesAnswer`. */
  answerQuotes?: (parts: AnswerParts) => Answer;
};

type QuoteService = {
  /**
   * Begins to listen; port 0: any free port.
   *
   * @returns the base address, without `/v1`
   * @throws QuotekeeperError PORT_IN_USE
   */
  listen: (address: { host: string; port: number }) => Promise<string>;
  close: () => Promise<void>;
};

export function createQuoteService(options: QuoteServiceOptions): QuoteService {
  const { source, clock, answerQuotes = quotesAnswer } = options;
  const newId = responseIds(clock);
  const fail = failWith(newId, clock);
  const failed = (response: ServerResponse, error: unknown): void => {
    options.logger?.error({ err: error }, "a call failed");
    fail(response, isOfDatabase(error) ? STATUS.databaseAway : STATUS.failed, "the service failed");
  };
  const { admit, useUp } = createAdmission(options, fail, failed);
  const quotes = answerQuotes({ source, clock, newId, fail, useUp, outcomeOf: outcomes(source, clock) });
  const notShown =
    (problem: string): Answer =>
    ({ response, headers }) => {
      setLimitHeaders(response, headers);
      fail(response, STATUS.notShown, problem);
    };
  // The specification says how these calls count, and not what they answer.
  const orders = notShown("trade submission is not part of this service");
  const other = notShown("this call is not part of this service");

  const app = createApp({
    log: options.logger,
    newId,
    fail,
    failed,
    patience: options.patience ?? PATIENCE,
    answer: (call) => {
      const callClass = classOf(call);
      if (callClass === "orders") return admit(call, callClass, orders);
      const isShown = callClass === "quotes" && call.request.method === "GET" && call.path === QUOTES_PATH;
      return admit(call, callClass, isShown ? quotes : other);
    },
  });

  return { listen: app.listen, close: app.close };
}

function isOfDatabase(error: unknown): boolean {
  return error instanceof QuotekeeperError && /^(?:DATABASE_|DISK_FULL$)/.test(error.code);
}

/** A path under market/quotes is of the quotes class, with any method and suffix. */
function classOf({ request: { method }, path }: Call): CallClass {
  if (QUOTES_CALL.test(path)) return "quotes";
  return method === "POST" && ORDERS.test(path) ? "orders" : "other";
}

/** Opaque ids of 24 hexadecimal digits: 16 of the run, and a count. */
function responseIds(clock: Clock): () => string {
  const ofRun = Buffer.from(clock.random(8)).toString("hex");
  let count = 0;
  return () => `${ofRun}${(count++ % 2 ** 32).toString(16).padStart(8, "0")}`;
}
