/**
 * The Market Quotes Service over HTTP: GET /v1/market/quotes.xml as the specification has it, and the other
 * call classes as far as it shows them. A call passes in this order: length of its target, authentication, limit,
 * answer.
 */
import type { FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { splitTarget } from "../quotes-api/oauth/protocol.ts";
import { QUOTES_PATH } from "../quotes-api/request.ts";
import { type AdmissionOptions, type Answer, createAdmission } from "./admission.ts";
import { failWith, setLimitHeaders } from "./answers.ts";
import { createApp, listen, PATIENCE, type Patience, type ServiceLog } from "./app.ts";
import type { Faults } from "./faults/edge.ts";
import type { CallClass } from "./limits.ts";
import { faultyQuotesAnswer, quotesAnswer } from "./quoteCalls.ts";
import type { QuoteSource } from "./source.ts";
import { STATUS } from "./status.ts";

export { SOURCE_HEADER, XML_TYPE } from "./answers.ts";
export { MAX_TARGET_LENGTH, PATIENCE, type Patience, type ServiceLog } from "./app.ts";
export { REAL_TIME_REFUSED } from "./quoteCalls.ts";

/** Calls of market/quotes besides the one that is specified, GET of its `.xml`. */
const OTHER_QUOTES_CALL = /^\/v1\/market\/quotes(?:[./]|$)/;

/** What the service is made of. */
export type QuoteServiceOptions = AdmissionOptions & {
  source: QuoteSource;
  logger?: ServiceLog;
  /** Default: `PATIENCE`. */
  patience?: Patience;
  /** Faults to make on purpose; default: none. */
  faults?: Faults;
};

/** The service, not yet listening. */
export type QuoteService = {
  /**
   * Begins to listen; port 0 takes any free one.
   *
   * @returns the base address, without `/v1`
   * @throws QuotekeeperError PORT_IN_USE
   */
  listen: (address: { host: string; port: number }) => Promise<string>;
  /** Stops listening and waits for the answers under way. */
  close: () => Promise<void>;
};

/** Makes the service. */
export function createQuoteService(options: QuoteServiceOptions): QuoteService {
  const { source, faults } = options;
  const clock = faults?.clock ?? options.clock;
  const newId = responseIds(clock);
  const fail = failWith(newId);
  const app = createApp(options.logger, newId, options.patience ?? PATIENCE);
  if (faults) app.addHook("onSend", async (_request, reply) => faults.skewHeaders(reply));
  const { limited, useUp } = createAdmission({ ...options, clock }, fail);
  const calls = { source, clock, newId, fail };
  const quotes = faults ? faultyQuotesAnswer(calls, { faults, useUp }) : quotesAnswer(calls);
  const notShown =
    (problem = "this call is not part of this service"): Answer =>
    ({ reply, headers }) => {
      setLimitHeaders(reply, headers);
      return fail(reply, STATUS.notShown, problem);
    };

  app.get(QUOTES_PATH, limited("quotes", quotes));
  // Counted as the specification says, but what they answer it does not show.
  app.all("/v1/market/*", limited(marketClass, notShown()));
  app.post(
    "/v1/account/:id/orders.xml",
    limited("orders", notShown("trade submission is not part of this service")),
  );
  app.all("/v1/*", limited("other", notShown()));

  return {
    listen: (address) => listen(app, address),
    close: async () => {
      faults?.close();
      await app.close();
    },
  };
}

/** A path under market/quotes is of the quotes class whatever its method and suffix. */
function marketClass({ raw }: FastifyRequest): CallClass {
  return OTHER_QUOTES_CALL.test(splitTarget(raw.url ?? "").path) ? "quotes" : "other";
}

/** Opaque ids, 24 hexadecimal digits: 16 that are the run's own, and a count. */
function responseIds(clock: Clock): () => string {
  const ofRun = Buffer.from(clock.random(8)).toString("hex");
  let count = 0;
  return () => `${ofRun}${(count++ % 2 ** 32).toString(16).padStart(8, "0")}`;
}
