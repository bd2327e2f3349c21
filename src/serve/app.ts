/** The HTTP server below the service: XML for every error, patience with callers, and a log line for each call. */
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { QuotekeeperError } from "../errors.ts";
import { splitTarget } from "../quotes-api/oauth/protocol.ts";
import { failWith, XML_TYPE } from "./answers.ts";
import { STATUS } from "./status.ts";
import { clientErrorHandler, originForm } from "./unreadable.ts";

/** Assumed: a longer request target, in characters, is refused with 414. */
export const MAX_TARGET_LENGTH = 8_192;

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
  /** Whether what is told to `info` goes anywhere; default: it does. */
  isLevelEnabled?: (level: "info") => boolean;
  info: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};

/** The app without its routes: XML for every error, bodies as text, and a log line that names no query. */
export function createApp(
  log: ServiceLog | undefined,
  newId: () => string,
  patience: Patience,
): FastifyInstance {
  const fail = failWith(newId);
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
  if (log && log.isLevelEnabled?.("info") !== false) {
    app.addHook("onResponse", (request, reply, done) => {
      const { path } = splitTarget(request.raw.url ?? "");
      const ms = Math.round(reply.elapsedTime);
      log.info({ method: request.method, path, status: reply.statusCode, ms }, "answered");
      done();
    });
  }
  app.setNotFoundHandler((_request, reply) => fail(reply, STATUS.notFound, "there is nothing at this path"));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) log?.error({ err: error }, "a call failed");
    return fail(reply, status, status >= 500 ? "the service failed" : error.message);
  });
  return app;
}

/** Begins to listen. @throws QuotekeeperError PORT_IN_USE, HTTP_ADDRESS_INVALID */
export async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
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
