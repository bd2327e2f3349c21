/**
 * The Market Quotes Service over HTTP: GET /v1/market/quotes.xml as the specification has it, and the other
 * call classes as far as it shows them. A call passes in this order: length of its target, authentication, limit,
 * answer.
 */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { NonceMemory } from "../quotes-api/oauth/nonces.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import {
  splitTarget,
  TIMESTAMP_WINDOW_SECONDS,
  verifyRequest,
  type Verdict,
} from "../quotes-api/oauth/verify.ts";
import { parseRequest } from "../quotes-api/parseRequest.ts";
import { QUOTES_PATH } from "../quotes-api/request.ts";
import { writeDocument, writeErrorDocument, writeStringDocument } from "../quotes-api/writeDocument.ts";
import { answerQuotes } from "./answerQuotes.ts";
import { countCall, faultText, SERVICE_LIMITS, type CallClass, type Limits, type Window } from "./limits.ts";
import type { QuoteSource } from "./source.ts";

/** The Content-Type of every answer (specification, "Endpoints"). */
export const XML_TYPE = "application/xml; charset=UTF-8";

/** The header that says what a quote came from; a collector marks its rows by it. Not in the specification. */
export const SOURCE_HEADER = "X-Quotekeeper-Source";

/** Assumed: a longer request target, in characters, is refused with 414. */
export const MAX_TARGET_LENGTH = 8_192;

/** Assumed: delayed quotes are 15 minutes old, the usual delay of US exchanges; the specification names none. */
export const DELAY_MS = 15 * 60_000;

/** Assumed: more nonces than this in twice the timestamp window are an attack or a fault, and are refused. */
export const MAX_NONCES = 100_000;

/** What is read of line and headers together, bytes: enough that an over-long target is met with 414. */
const MAX_HEADER_BYTES = 65_536;

/** What the service logs with; pino is one. Queries and headers are never passed to it. */
export type ServiceLog = {
  info: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};

/** What the service is made of. */
export type QuoteServiceOptions = {
  source: QuoteSource;
  /** Who may call. Limits are counted by access token. */
  keys: readonly Credentials[];
  clock: Clock;
  /** Default: `SERVICE_LIMITS`. */
  limits?: Limits;
  /** How callers reach the service, part of what they sign: `https` behind a proxy that ends TLS. Default `http`. */
  scheme?: "http" | "https";
  logger?: ServiceLog;
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
  const app = createApp(options.logger, () => responseId(options.clock));
  const authenticate = authenticator(options);
  const limits = options.limits ?? SERVICE_LIMITS;
  const windows = new Map<string, Window>();

  /** Authenticates and counts a call; false when it has been answered with a refusal or the fault. */
  function admit(request: FastifyRequest, reply: FastifyReply, callClass: CallClass): boolean {
    const verdict = authenticate(request);
    if (!verdict.ok) {
      if (verdict.status === 401) reply.header("WWW-Authenticate", "OAuth");
      const reason = verdict.status === 401 ? `Not authorized: ${verdict.reason}` : verdict.reason;
      send(reply, verdict.status, writeErrorDocument(responseId(options.clock), reason));
      return false;
    }
    const key = `${callClass} ${verdict.token}`;
    const nowMs = options.clock.now().getTime();
    const { window, admitted, headers } = countCall(
      windows.get(key),
      nowMs,
      limits[callClass],
      limits.windowMs,
    );
    windows.set(key, window);
    // Set on the raw response, which keeps the case of the names as the specification spells them.
    for (const [name, value] of Object.entries(headers)) reply.raw.setHeader(name, value);
    if (!admitted) send(reply, 429, writeStringDocument(faultText(limits[callClass], limits.windowMs)));
    return admitted;
  }

  app.get(QUOTES_PATH, async (request, reply) => {
    if (!admit(request, reply, "quotes")) return reply;
    const parsed = parseRequest(splitTarget(request.raw.url ?? "").query);
    if (!parsed.ok) return fail(reply, 400, parsed.problem);
    const at = new Date(options.clock.now().getTime() - (parsed.delayed ? DELAY_MS : 0));
    const answer = await answerQuotes(options.source, parsed.request, at);
    if (!answer.ok) return fail(reply, answer.status, answer.problem);
    reply.raw.setHeader(SOURCE_HEADER, options.source.name);
    const { instruments } = answer;
    return send(reply, 200, writeDocument({ id: responseId(options.clock), instruments }));
  });

  // Counted as the specification says, but what they answer it does not show.
  app.post("/v1/account/:id/orders.xml", (request, reply) => {
    if (admit(request, reply, "orders")) fail(reply, 501, "trade submission is not part of this service");
  });
  app.all("/v1/*", (request, reply) => {
    if (admit(request, reply, "other")) fail(reply, 501, "this call is not part of this service");
  });

  function fail(reply: FastifyReply, status: number, problem: string): FastifyReply {
    return send(reply, status, writeErrorDocument(responseId(options.clock), problem));
  }

  return {
    listen: (address) => listen(app, address),
    close: async () => {
      await app.close();
    },
  };
}

/** The app without its routes: XML for every error, bodies as text, and a log line that names no query. */
function createApp(log: ServiceLog | undefined, newId: () => string): FastifyInstance {
  const fail = (reply: FastifyReply, status: number, problem: string) =>
    send(reply, status, writeErrorDocument(newId(), problem));
  const app = Fastify({
    exposeHeadRoutes: false,
    bodyLimit: 1_048_576,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    frameworkErrors: (error, _request, reply) => {
      fail(reply as FastifyReply, error.statusCode ?? 400, "the request's path cannot be read");
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", async (request, reply) => {
    if ((request.raw.url ?? "").length > MAX_TARGET_LENGTH) {
      return fail(reply, 414, `the request target is longer than ${MAX_TARGET_LENGTH} characters`);
    }
  });
  app.addHook("onResponse", async (request, reply) => {
    const { path } = splitTarget(request.raw.url ?? "");
    const ms = Math.round(reply.elapsedTime);
    log?.info({ method: request.method, path, status: reply.statusCode, ms }, "answered");
  });
  app.setNotFoundHandler((_request, reply) => fail(reply, 404, "there is nothing at this path"));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) log?.error({ err: error }, "a call failed");
    return fail(reply, status, status >= 500 ? "the service failed" : error.message);
  });
  return app;
}

function authenticator({
  keys,
  clock,
  scheme = "http",
}: QuoteServiceOptions): (request: FastifyRequest) => Verdict {
  const windowSeconds = TIMESTAMP_WINDOW_SECONDS;
  const nonces = new NonceMemory({ windowSeconds, maxNonces: MAX_NONCES });
  return ({ raw, body, headers }) =>
    verifyRequest(
      {
        method: raw.method ?? "",
        scheme,
        host: headers.host ?? "",
        target: raw.url ?? "",
        authorization: raw.headersDistinct["authorization"] ?? [],
        ...(isForm(headers["content-type"]) && typeof body === "string" && { formBody: body }),
      },
      { keys, nonces, nowSeconds: Math.floor(clock.now().getTime() / 1000), windowSeconds },
    );
}

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? "");
}

/** An opaque id, hexadecimal. */
function responseId(clock: Clock): string {
  return Buffer.from(clock.random(12)).toString("hex");
}

function send(reply: FastifyReply, status: number, xml: string): FastifyReply {
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
