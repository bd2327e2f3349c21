/**
 * The HTTP server below the service: bounds of requests, XML for every error, time limits for callers, and a log line for
 * each call. A request beyond the bounds is not decoded, sorted or parsed. The only body that is read is a form, because a
 * form is signed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { performance } from "node:perf_hooks";
import { QuotekeeperError } from "../ground/errors.ts";
import { type AbsoluteTarget, absoluteTarget } from "../ground/httpHead.ts";
import { splitTarget } from "../services/oauth/protocol.ts";
import { declaredBytes, type Fail, type FailureListener, MAX_BODY_BYTES } from "./answers.ts";
import { STATUS } from "./httpStatus.ts";
import {
  answerUnreadable,
  MAX_HEADERS,
  MAX_TARGET_LENGTH,
  type Refusal,
  refusalUnread,
} from "./unreadable.ts";
import { inShort } from "../ground/outsideText.ts";

/** Most bytes of request line and headers: enough that most over-long targets are answered 414, and counted. */
const MAX_HEADER_BYTES = 32_768;

const LOGGED_PATH = 200;

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

/** Assumed: no honest caller is slower than this. A slower one is cut off, so that it cannot hold connections. */
export const PATIENCE: Patience = {
  headersMs: 10_000,
  requestMs: 20_000,
  idleMs: 72_000,
  silenceMs: 120_000,
  checkEveryMs: 2_000,
};

export type ServiceLog = {
  /** Whether what is told to `info` goes anywhere; default: it does. */
  isLevelEnabled?: (level: "info") => boolean;
  info: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
};

/** A request that may be a call of the service. */
export type Call = {
  request: IncomingMessage;
  response: ServerResponse;
  /** The target as it came, when it had a scheme and a host of its own; `request.url` has them no more. */
  absolute: AbsoluteTarget | null;
  path: string;
  form: string | null;
  /** Why it is refused whoever sent it. */
  refusal: Refusal | null;
};

type App = {
  /** Begins to listen. @returns the base address. @throws QuotekeeperError PORT_IN_USE, HTTP_ADDRESS_INVALID */
  listen: (address: { host: string; port: number }) => Promise<string>;
  close: () => Promise<void>;
};

type AppOptions = {
  log: ServiceLog | undefined;
  newId: () => string;
  fail: Fail;
  failed: FailureListener;
  patience: Patience;
  answer: (call: Call) => void;
};

export function createApp({ log, newId, fail, failed, patience, answer }: AppOptions): App {
  const server = patientServer(patience);
  const begun = answerUnreadable(server, newId, fail);
  const logs = log && log.isLevelEnabled?.("info") !== false;
  let closing = false;

  const closeIdle = (): void => {
    if (closing) server.closeIdleConnections();
  };

  // A promise is made only where something has to be waited for: each costs as much as a header that is parsed.
  function serve(request: IncomingMessage, response: ServerResponse, expectation: Refusal | null): void {
    // What comes behind a request that ended its connection.
    if (!request.socket.writable) return;
    begun(response);
    if (logs) {
      const logged = answerLog(request, response);
      response.once("close", () => log.info(logged(), "answered"));
    }
    response.on("close", closeIdle);
    try {
      const absolute = httpTarget(request.url ?? "");
      if (absolute) request.url = absolute.path;
      const unread = refusalUnread(request, absolute);
      if (unread) return fail(response, unread.status, unread.problem);
      const call = callOf({ request, response, absolute }, expectation);
      if (!(call instanceof Promise)) return answer(call);
      call.then((whole) => whole && answer(whole)).catch((error: unknown) => failed(response, error));
    } catch (error) {
      failed(response, error);
    }
  }

  server.on("request", (request, response) => serve(request, response, null));
  server.on("checkContinue", (request, response) => serve(request, response, null));
  server.on("checkExpectation", (request, response) => serve(request, response, UNEXPECTED));

  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        server.once("error", (cause) => reject(notListening(cause, `${host}:${port}`)));
        server.listen({ host, port }, () => resolve(addressOf(server)));
      }),
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function patientServer(patience: Patience): Server {
  const server = createServer({
    insecureHTTPParser: false,
    // Node would refuse these by itself, without a body.
    requireHostHeader: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: patience.headersMs,
    requestTimeout: patience.requestMs,
    keepAliveTimeout: patience.idleMs,
    connectionsCheckingInterval: patience.checkEveryMs,
  });
  server.timeout = patience.silenceMs;
  // One more than are taken, or a `Host` behind them would go unseen.
  server.maxHeadersCount = MAX_HEADERS + 1;
  return server;
}

/** The call that a request is, at once when it has no form; null when its caller left before it was whole. */
function callOf(
  asked: Pick<Call, "request" | "response" | "absolute">,
  expectation: Refusal | null,
): Call | Promise<Call | null> {
  const { request, response, absolute } = asked;
  const path = decodedPath(request.url ?? "");
  const refusal = expectation ?? refusalOf(request, path);
  const call = { request, response, absolute, path: path ?? "", form: null, refusal };
  if (refusal || !hasForm(request)) return call;
  return formOf(request, response).then((form) => {
    if (request.destroyed && !request.complete) return null;
    return form === null ? { ...call, refusal: BODY_TOO_LONG } : { ...call, form };
  });
}

/** A target that a client may send when it takes the service for a proxy (RFC 9112, 3.2.2); null for any other. */
function httpTarget(target: string): AbsoluteTarget | null {
  const absolute = absoluteTarget(target);
  return absolute && /^https?$/.test(absolute.scheme) ? absolute : null;
}

const BODY_TOO_LONG: Refusal = {
  status: STATUS.bodyTooLong,
  problem: `the body is longer than ${MAX_BODY_BYTES} bytes`,
};

const UNEXPECTED: Refusal = {
  status: STATUS.expectationFailed,
  problem: "Expect is not 100-continue",
};

/** Why a request is refused whoever sent it. @param path decoded, null when it cannot be */
function refusalOf({ url = "", headers }: IncomingMessage, path: string | null): Refusal | null {
  if (url.length > MAX_TARGET_LENGTH) {
    const problem = `the request target is longer than ${MAX_TARGET_LENGTH} characters`;
    return { status: STATUS.lineTooLong, problem };
  }
  if (path === null) return { status: STATUS.malformed, problem: "the request's path cannot be read" };
  return declaredBytes(headers) > MAX_BODY_BYTES ? BODY_TOO_LONG : null;
}

function decodedPath(url: string): string | null {
  try {
    const { path } = splitTarget(url);
    return path.includes("%") ? decodeURI(path) : path;
  } catch {
    return null;
  }
}

/** Whether a request has a body that is signed. Those of GET and HEAD mean nothing (RFC 9110, 9.3.1). */
function hasForm({ method, headers }: IncomingMessage): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(headers["content-type"] ?? "");
}

/** The form of a request; null when it is too long, or when its caller left. */
function formOf(request: IncomingMessage, response: ServerResponse): Promise<string | null> {
  if (request.headers.expect !== undefined) response.writeContinue();
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) return void chunks.push(chunk);
      request.off("data", take).pause();
      resolve(null);
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(chunks).toString()));
    request.once("close", () => resolve(null));
  });
}

/** What the log says of a call once it has been answered; not its query. */
function answerLog({ method, url = "" }: IncomingMessage, response: ServerResponse): () => object {
  const started = performance.now();
  const { path } = splitTarget(url);
  const shown = inShort(path, LOGGED_PATH);
  return () => {
    const ms = Math.round(performance.now() - started);
    return { method, path: shown, status: response.statusCode, ms };
  };
}

/** The base address; of one that listens everywhere, how this machine reaches it. */
function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  if (family === "IPv4") return `http://${address === "0.0.0.0" ? "127.0.0.1" : address}:${port}`;
  return `http://[${address === "::" ? "::1" : address}]:${port}`;
}

function notListening(cause: Error, address: string): QuotekeeperError {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new QuotekeeperError("PORT_IN_USE", `${address} is taken by another program`, { cause });
  return new QuotekeeperError(
    "HTTP_ADDRESS_INVALID",
    `the service cannot listen on ${address} (${code ?? message})`,
    { cause },
  );
}
