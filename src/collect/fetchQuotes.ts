/**
 * The edge to a service: one signed call, with deadlines that win over a hanging body and a cap on its size. It tries
 * nothing twice and follows no redirect: an answer of any status is an answer, and what is done about it, or about no
 * answer, is for the dispatcher to say, by the error's code.
 */
import { setMaxListeners } from "node:events";
import { Agent, type Dispatcher, request } from "undici";
import { type Clock, type Instant, instantFromDate, settledOrAborted } from "../clock.ts";
import { type ErrorCode, QuotekeeperError } from "../errors.ts";
import { correctionAfterRefusal } from "../services/clockSkew.ts";
import type { QuoteCall } from "../quotes/call.ts";
import { MAX_BODY_BYTES } from "../services/strictXml.ts";
import type { Credentials, Service, Written } from "../services/service.ts";
import { type Deadlines, type Watch, withDeadlines } from "./transport/deadlines.ts";
import { wireConnector } from "./transport/wire.ts";
import { withholding } from "./transport/withhold.ts";

type RawResponse = {
  requestedAt: Instant;
  observedAt: Instant;
  status: number;
  /** The headers this program uses, lower case. */
  headers: Record<string, string>;
  /** Byte for byte, but for credentials of ours that the service quotes: they are overwritten with `*`. */
  body: Uint8Array;
};

/**
 * Asks the service once.
 *
 * Rejects with SERVICE_UNREACHABLE, SERVICE_CUT_SHORT, SERVICE_TIMEOUT, SERVICE_UNTRUSTED, SERVICE_ANSWER_TOO_LARGE,
 * LEASE_UNSURE when it may not leave, or CALL_CANCELLED after the signal. Nothing signed is in those errors, and they have
 * no cause that could hold it.
 *
 * @param mayLeave asked when a connection is there and the call is about to be written to it: so it is the last word, also
 *   for a call that has waited for a connection, or in a process that was paused. False: no byte of it leaves
 */
export type FetchQuotes = (
  call: QuoteCall,
  signal?: AbortSignal,
  mayLeave?: () => boolean,
) => Promise<RawResponse>;

export const DEADLINES: Deadlines = { connectMs: 5_000, headersMs: 10_000, callMs: 20_000 };

/** Connections kept open to the service, at most. */
const CONNECTIONS = 8;

/** Bytes of a body in which a document that says "not authorized" is looked for; it has no room for quotes. */
const SHORT_BODY = 4_096;

export type FetchOptions = {
  service: Service;
  /** Where it is, without a slash at the end. */
  baseUrl: string;
  credentials: Credentials;
  clock: Clock;
  /** Gives strictly increasing receive times. */
  observe: () => Instant;
  userAgent: string;
  deadlines?: Deadlines;
};

export type OpenFetchQuotes = {
  fetchQuotes: FetchQuotes;
  /** What is added to the machine's clock in timestamps, in ms; 0 unless the service showed that the clock is off. */
  clockCorrectionMs: () => number;
  /** Cuts off what is under way, and closes all connections. */
  close: () => Promise<void>;
};

/** Opens the pool of connections; close it when the last call is done. */
export function openFetchQuotes(options: FetchOptions): OpenFetchQuotes {
  const { service, baseUrl, clock, deadlines = DEADLINES } = options;
  const address = new URL(baseUrl).origin;
  const pool = new Agent({
    connections: CONNECTIONS,
    // Stated, because NODE_TLS_REJECT_UNAUTHORIZED=0 would else turn verification off.
    connect: wireConnector({ timeout: deadlines.connectMs, rejectUnauthorized: true }),
    headersTimeout: deadlines.headersMs,
    bodyTimeout: deadlines.callMs,
  });
  const closing = new AbortController();
  // Each call under way listens to it. Node takes more than ten for a leak, and says so on the terminal.
  setMaxListeners(0, closing.signal);
  let correctionMs = 0;

  const send: FetchQuotes = async (call, signal, mayLeave) => {
    const signedWithMs = correctionMs;
    const signed = signCall(call, options, signedWithMs);
    const callers = signal ? [signal, closing.signal] : [closing.signal];
    const dispatcher = mayLeave ? pool.compose(lastCheck(mayLeave, address)) : pool;
    try {
      const answered = await withDeadlines(
        (watch) => ask(signed, watch, { dispatcher, userAgent: options.userAgent }),
        deadlines,
        {
          address,
          callers,
        },
      );
      const response = toResponse(signed, answered, options);
      // The clock itself: receive times never go back, also when the clock was set back.
      const observedAt = instantFromDate(clock.now());
      if (service.isTimed && isRefusal(response, service))
        correctionMs = correctionAfterRefusal(signedWithMs, { ...response, observedAt });
      return response;
    } catch (cause) {
      throw transportError(cause, address);
    }
  };

  let first: Promise<unknown> | null = null;
  return {
    fetchQuotes: async (call, signal, mayLeave) => {
      if (first === null) {
        // Until one call was answered nobody knows whether the clock is right: many refused for it would cost the budget.
        const sent = send(call, signal, mayLeave);
        first = sent;
        return sent;
      }
      await settledOrAborted(first, signal);
      return send(call, signal, mayLeave);
    },
    clockCorrectionMs: () => correctionMs,
    close: async () => {
      closing.abort();
      await pool.destroy();
    },
  };
}

type SignedCall = Written & { url: string; signed: Record<string, string>; requestedAt: Instant };

/** Signs a call: with a nonce and a timestamp of its own, each time it is made. */
function signCall(
  call: QuoteCall,
  { service, baseUrl, credentials, clock }: FetchOptions,
  correctionMs: number,
): SignedCall {
  const written = service.write(call);
  const url = `${baseUrl}${written.target}`;
  const now = clock.now();
  const signed = service.sign({ ...written, url }, credentials, {
    nonce: Buffer.from(clock.random(16)).toString("hex"),
    timestamp: Math.floor((now.getTime() + correctionMs) / 1000),
  });
  return { ...written, url, signed, requestedAt: instantFromDate(now) };
}

type Answered = { status: number; headers: ResponseHeaders; body: Uint8Array };
type ResponseHeaders = Record<string, string | string[] | undefined>;

async function ask(
  { url, method, body: sent, accept, signed }: SignedCall,
  { signal, headersArrived }: Watch,
  { dispatcher, userAgent }: { dispatcher: Dispatcher; userAgent: string },
): Promise<Answered> {
  const { statusCode, headers, body } = await request(url, {
    dispatcher,
    signal,
    method,
    ...(sent !== undefined && { body: sent }),
    headers: {
      ...signed,
      accept,
      ...(sent !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
      // Damaged gzip has hung readers past their abort signal (field notes, "Traps"). `request` decodes nothing.
      "accept-encoding": "identity",
      "user-agent": userAgent,
    },
  });
  headersArrived();
  return { status: statusCode, headers, body: await readCapped(body) };
}

/** undici asks a handler to start when it has a connection for the request, before the first byte, and again should it try again. */
function lastCheck(mayLeave: () => boolean, address: string): Dispatcher.DispatcherComposeInterceptor {
  const detail = `${address}: its account may be another collector's by now`;
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      if (mayLeave()) start?.(controller, context);
      else controller.abort(new QuotekeeperError("LEASE_UNSURE", detail));
    };
    return dispatch(options, handler);
  };
}

/**
 * How many pieces of a body are kept apart, at most. Each is a view, and keeps all that the socket read with it: perhaps 64 KB for one
 * byte. The largest body comes in some hundred pieces.
 */
const MOST_PIECES = 1_024;

async function readCapped(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) {
      throw new QuotekeeperError(
        "SERVICE_ANSWER_TOO_LARGE",
        `the answer is larger than ${MAX_BODY_BYTES} bytes`,
      );
    }
    chunks.push(chunk);
    if (chunks.length > MOST_PIECES) chunks.splice(0, chunks.length, Buffer.concat(chunks));
  }
  return Buffer.concat(chunks);
}

function toResponse(
  { signed, requestedAt }: SignedCall,
  { status, headers, body }: Answered,
  { service, credentials, observe }: FetchOptions,
): RawResponse {
  const observedAt = observe();
  const withhold = withholding(service.secrets(credentials, signed));
  const kept: Record<string, string> = {};
  for (const name of service.keptHeaders) {
    const value = headers[name];
    if (value !== undefined) kept[name] = withhold.text(Array.isArray(value) ? value.join(", ") : value);
  }
  return { requestedAt, observedAt, status, headers: kept, body: withhold.bytes(body) };
}

/** Whether the credentials, the signature or its timestamp were refused. */
function isRefusal(response: RawResponse, service: Service): boolean {
  const { status, body } = response;
  if (status === 200 && body.byteLength > SHORT_BODY) return false;
  return service.classify(response).outcome === "unauthorized";
}

/** Codes of OpenSSL's verification as Node.js names them, and Node's own for a certificate of another name. */
const CERTIFICATE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT|ERR_TLS_CERT|HOSTNAME_|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;

const TIMEOUT = /TIMEOUT|ETIMEDOUT/;

/** The answer had begun, or the request was on its way: the socket closed, more or fewer bytes came than were announced. */
const CUT_SHORT =
  /^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|EPIPE|HPE_INVALID_EOF_STATE)$/;

const NOT_HTTP = /^(HPE_|HTTPParserError|ERR_ASSERTION|UND_ERR_HEADERS_OVERFLOW)/;

/**
 * A transport error by its code, never by its message. Nothing of the library's own error is passed on but its code: it
 * may hold the request with its Authorization header.
 *
 * @param address scheme, host and port of the service; named in the error, without path and query
 */
function transportError(cause: unknown, address: string): QuotekeeperError {
  if (cause instanceof QuotekeeperError) return cause;
  const code = codeOf(cause);
  return new QuotekeeperError(errorCode(code), `${address}: ${inWords(code)}`);
}

type LibraryError = { code?: string; name?: string; errors?: { code?: string }[]; data?: string };

/**
 * The code of an error, of the first of several (one for each address of a host), or at least its name. The errors of undici's
 * parser have no code; the bytes that it could not read are none where the connection ended.
 */
function codeOf(error: unknown): string {
  const { code, name, errors, data } = error as LibraryError;
  if (name === "HTTPParserError" && data === "") return "HPE_INVALID_EOF_STATE";
  return code ?? errors?.[0]?.code ?? name ?? "unknown error";
}

function errorCode(code: string): ErrorCode {
  if (CERTIFICATE.test(code)) return "SERVICE_UNTRUSTED";
  if (CUT_SHORT.test(code)) return "SERVICE_CUT_SHORT";
  return TIMEOUT.test(code) ? "SERVICE_TIMEOUT" : "SERVICE_UNREACHABLE";
}

function inWords(code: string): string {
  if (CERTIFICATE.test(code)) return `its certificate is not trusted (${code})`;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return `no connection in time (${code})`;
  if (CUT_SHORT.test(code)) return `the connection ended before the answer did (${code})`;
  return NOT_HTTP.test(code) ? `what came is not HTTP (${code})` : code;
}
