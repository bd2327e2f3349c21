/**
 * The Market Quotes Service over HTTP: GET /v1/market/quotes.xml as the specification has it, and the other
 * call classes as far as it shows them. A call passes in this order: length of its target, authentication, limit,
 * answer.
 */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { splitTarget } from "../quotes-api/oauth/protocol.ts";
import { parseRequest } from "../quotes-api/parseRequest.ts";
import { QUOTES_PATH } from "../quotes-api/request.ts";
import {
  writeDocument,
  writeDocumentBytes,
  writeErrorDocument,
  writeStringDocument,
} from "../quotes-api/writeDocument.ts";
import { answerQuotes } from "./answerQuotes.ts";
import { authenticator, type AuthenticateOptions } from "./authenticate.ts";
import type { ServiceKey } from "./keys/key.ts";
import type { Fault } from "./faults/decide.ts";
import { dropConnection, type Faults, HTML_PAGE, inFaultyOrder, sendTruncated } from "./faults/edge.ts";
import {
  countCall,
  LIMIT_HEADERS,
  faultText,
  SERVICE_LIMITS,
  type CallClass,
  type Limits,
  type Window,
} from "./limits.ts";
import type { QuoteSource } from "./source.ts";
import { createTurns, oncePerTurn } from "./turns.ts";
import { STATUS } from "./status.ts";
import { clientErrorHandler, originForm } from "./unreadable.ts";

/** The Content-Type of every answer (specification, "Endpoints"). */
export const XML_TYPE = "application/xml; charset=UTF-8";

/** The header that says what a quote came from; a collector marks its rows by it. Not in the specification. */
export const SOURCE_HEADER = "X-Quotekeeper-Source";

/** Assumed: a longer request target, in characters, is refused with 414. */
export const MAX_TARGET_LENGTH = 8_192;

/**
 * Assumed: a token whose access level is delayed quotes alone, and which asks for real-time ones, is refused with 403
 * and told so. Delayed quotes in their place would be stored and traded on as real-time ones.
 */
export const REAL_TIME_REFUSED = 403;

/** Calls of market/quotes besides the one that is specified, GET of its `.xml`. */
const OTHER_QUOTES_CALL = /^\/v1\/market\/quotes(?:[./]|$)/;

const NOT_SHOWN = "this call is not part of this service";
const DELAYED_ONLY = "this token may see delayed quotes alone; ask with delayed=true";

/** Answers of more instruments than these go out as bytes. */
const MOST_AS_TEXT = 8;

/** What is read of line and headers together, bytes: enough that an over-long target is met with 414. */
const MAX_HEADER_BYTES = 65_536;

/** How long the service waits for a caller, in ms. */
export type Patience = {
  /** For the request line and all headers, from the first byte; and for the first byte of a new connection. */
  headersMs: number;
  /** For the whole request, body and all. */
  requestMs: number;
  /** For the next request on a connection. */
  idleMs: number;
  /** For a sign of life while an answer is being taken. */
  silenceMs: number;
  /** How often headers and requests under way are looked at. */
  checkEveryMs: number;
};

/** Assumed: no honest caller is slower than this. What is slower is cut off, so that it cannot hold connections. */
export const PATIENCE: Patience = {
  headersMs: 10_000,
  requestMs: 20_000,
  idleMs: 72_000,
  silenceMs: 120_000,
  checkEveryMs: 2_000,
};

/** What the service logs with; pino is one. Queries and headers are never passed to it. */
export type ServiceLog = {
  info: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};

/** What the service is made of. */
export type QuoteServiceOptions = AuthenticateOptions & {
  source: QuoteSource;
  /** Default: `SERVICE_LIMITS`. */
  limits?: Limits;
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
export function createQuoteService(given: QuoteServiceOptions): QuoteService {
  const { faults } = given;
  const options = { ...given, clock: faults?.clock ?? given.clock };
  const responseId = responseIds(options.clock);
  const app = createApp(options.logger, responseId, options.patience ?? PATIENCE);
  if (faults) app.addHook("onSend", async (_request, reply) => faults.skewHeaders(reply));
  const { keys } = options;
  // Keys are looked up anew in each turn: one that was revoked is refused from the next on.
  const authenticate = authenticator({
    ...options,
    keys: typeof keys === "function" ? oncePerTurn(keys) : keys,
  });
  const endOfTurn = createTurns();
  const limits = options.limits ?? SERVICE_LIMITS;
  const windows = new Map<string, Window>();

  /** Authenticates and counts a call; null when it has been answered with a refusal or the fault. */
  function admit(request: FastifyRequest, reply: FastifyReply, callClass: CallClass): ServiceKey | null {
    const verdict = authenticate(request);
    if (!verdict.ok) {
      if (verdict.status === 401) reply.header("WWW-Authenticate", "OAuth");
      const reason = verdict.status === 401 ? `Not authorized: ${verdict.reason}` : verdict.reason;
      send(reply, verdict.status, writeErrorDocument(responseId(), reason));
      return null;
    }
    return count(verdict.key, reply, callClass) ? verdict.key : null;
  }

  /** Counts a call; false when it has been answered with the fault. */
  function count(key: ServiceKey, reply: FastifyReply, callClass: CallClass): boolean {
    const counted = `${callClass} ${key.accessToken}`;
    const limit = callClass === "quotes" ? (key.quoteLimit ?? limits.quotes) : limits[callClass];
    const nowMs = options.clock.now().getTime();
    const { window, admitted, headers } = countCall(windows.get(counted), nowMs, limit, limits.windowMs);
    windows.set(counted, window);
    // Set on the raw response, which keeps the case of the names as the specification spells them.
    for (const name of LIMIT_HEADERS) reply.raw.setHeader(name, headers[name]);
    if (!admitted) send(reply, STATUS.limitReached, writeStringDocument(faultText(limit, limits.windowMs)));
    return admitted;
  }

  /** As if somebody had used up the rest of the token's quote calls: the fault, until the limit expires. */
  function useUp(key: ServiceKey, reply: FastifyReply): void {
    const counted = `quotes ${key.accessToken}`;
    const window = windows.get(counted);
    if (window) windows.set(counted, { ...window, used: key.quoteLimit ?? limits.quotes });
    count(key, reply, "quotes");
  }

  app.get(QUOTES_PATH, async (request, reply) => {
    const key = admit(request, reply, "quotes");
    if (!key) return reply;
    const fault = faults && (await faults.next());
    if (fault?.kind === "429") {
      useUp(key, reply);
      return reply;
    }
    const parsed = parseRequest(splitTarget(request.raw.url ?? "").query);
    if (!parsed.ok) return fail(reply, STATUS.malformed, parsed.problem);
    const isDelayedOnly = key.access === "delayed";
    if (isDelayedOnly && parsed.delayedAsked === false) return fail(reply, REAL_TIME_REFUSED, DELAYED_ONLY);
    const asked = { now: options.clock.now(), delayed: isDelayedOnly ? true : parsed.delayedAsked };
    const answer = await answerQuotes(options.source, parsed.request, asked);
    if (!answer.ok) return fail(reply, STATUS.malformed, answer.problem);
    reply.raw.setHeader(SOURCE_HEADER, options.source.name);
    const { instruments } = answer;
    const id = responseId();
    await endOfTurn();
    if (!fault) {
      // A short text leaves in one piece with its headers; a long one is not to be encoded once more.
      const isLong = instruments.length > MOST_AS_TEXT;
      return send(reply, 200, (isLong ? writeDocumentBytes : writeDocument)({ id, instruments }));
    }
    // What is written past fastify passes no hook of its own.
    if (fault.kind?.startsWith("truncate-")) faults.skewHeaders(reply);
    return sendFaulty(reply, writeDocument({ id, instruments: inFaultyOrder(instruments, fault) }), fault);
  });

  // Counted as the specification says, but what they answer it does not show. A path under market/quotes is of the
  // quotes class whatever its method and suffix.
  app.all("/v1/market/*", (request, reply) => {
    const { path } = splitTarget(request.raw.url ?? "");
    const callClass = OTHER_QUOTES_CALL.test(path) ? "quotes" : "other";
    if (admit(request, reply, callClass)) fail(reply, STATUS.notShown, NOT_SHOWN);
  });
  app.post("/v1/account/:id/orders.xml", (request, reply) => {
    if (admit(request, reply, "orders"))
      fail(reply, STATUS.notShown, "trade submission is not part of this service");
  });
  app.all("/v1/*", (request, reply) => {
    if (admit(request, reply, "other")) fail(reply, STATUS.notShown, NOT_SHOWN);
  });

  function fail(reply: FastifyReply, status: number, problem: string): FastifyReply {
    return send(reply, status, writeErrorDocument(responseId(), problem));
  }

  return {
    listen: (address) => listen(app, address),
    close: async () => {
      faults?.close();
      await app.close();
    },
  };
}

/** The app without its routes: XML for every error, bodies as text, and a log line that names no query. */
function createApp(log: ServiceLog | undefined, newId: () => string, patience: Patience): FastifyInstance {
  const fail = (reply: FastifyReply, status: number, problem: string) =>
    send(reply, status, writeErrorDocument(newId(), problem));
  const app = Fastify({
    exposeHeadRoutes: false,
    bodyLimit: 1_048_576,
    // Queries are read as they were signed, by `parseRequest`; fastify's own reading would be a second one.
    routerOptions: { querystringParser: () => ({}) },
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: patience.headersMs,
      connectionsCheckingInterval: patience.checkEveryMs,
    },
    requestTimeout: patience.requestMs,
    keepAliveTimeout: patience.idleMs,
    connectionTimeout: patience.silenceMs,
    rewriteUrl: originForm,
    clientErrorHandler: clientErrorHandler(newId, XML_TYPE),
    frameworkErrors: (error, _request, reply) => {
      fail(reply as FastifyReply, error.statusCode ?? 400, "the request's path cannot be read");
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", (request, reply, done) => {
    if ((request.raw.url ?? "").length <= MAX_TARGET_LENGTH) done();
    else {
      const problem = `the request target is longer than ${MAX_TARGET_LENGTH} characters`;
      fail(reply, STATUS.lineTooLong, problem);
    }
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { path } = splitTarget(request.raw.url ?? "");
    const ms = Math.round(reply.elapsedTime);
    log?.info({ method: request.method, path, status: reply.statusCode, ms }, "answered");
    done();
  });
  app.setNotFoundHandler((_request, reply) => fail(reply, STATUS.notFound, "there is nothing at this path"));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) log?.error({ err: error }, "a call failed");
    return fail(reply, status, status >= 500 ? "the service failed" : error.message);
  });
  return app;
}

/** Sends an answer with quotes as its fault will have it. */
function sendFaulty(reply: FastifyReply, xml: string, fault: Fault): FastifyReply {
  switch (fault.kind) {
    case null:
    case "429":
      return send(reply, 200, xml);
    case "500":
      return send(reply, 500, writeErrorDocument("", "the service failed"));
    case "html":
      return reply.code(200).header("Content-Type", "text/html; charset=UTF-8").send(HTML_PAGE);
    case "drop":
      dropConnection(reply);
      return reply;
    default:
      reply.raw.setHeader("Content-Type", XML_TYPE);
      sendTruncated(reply, xml, fault, fault.kind);
      return reply;
  }
}

/** Opaque ids, 24 hexadecimal digits: 16 that are the run's own, and a count. */
function responseIds(clock: Clock): () => string {
  const ofRun = Buffer.from(clock.random(8)).toString("hex");
  let count = 0;
  return () => `${ofRun}${(count++ % 2 ** 32).toString(16).padStart(8, "0")}`;
}

function send(reply: FastifyReply, status: number, xml: string | Buffer): FastifyReply {
  return reply.code(status).header("Content-Type", XML_TYPE).send(xml);
}

async function listen(app: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new QuotekeeperError("PORT_IN_USE", `${host}:${port} is taken by another program`, { cause });
    throw new QuotekeeperError(
      "HTTP_ADDRESS_INVALID",
      `the service cannot listen on ${host}:${port} (${code ?? message})`,
      { cause },
    );
  }
}
