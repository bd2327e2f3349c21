/**
 * The edge to the service: one signed GET, with deadlines that win over a hanging body and a cap on its size. It tries
 * nothing twice and follows no redirect: an answer of any status is an answer, and what is done about it, or about no
 * answer, is for the dispatcher to say, by the error's code.
 */
import { setMaxListeners } from "node:events";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { type Clock, type Instant, instantFromDate } from "../clock.ts";
import { type ErrorCode, QuotekeeperError } from "../errors.ts";
import { classifyAnswer } from "../quotes-api/answer.ts";
import { correctionAfterRefusal } from "../quotes-api/clockSkew.ts";
import { type Credentials, signRequest } from "../quotes-api/oauth/signature.ts";
import { type QuoteCall, requestTarget } from "../quotes-api/request.ts";
import { type Deadlines, settledOrAborted, withDeadlines } from "./transport/deadlines.ts";
import { exchange, type Exchanged } from "./transport/exchange.ts";
import { withholding } from "./transport/withhold.ts";

/** The answer as it arrived. */
type RawResponse = {
  requestedAt: Instant;
  /** When the last byte had arrived. */
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

/** The longest waits of a call. */
export const DEADLINES: Deadlines = { connectMs: 5_000, headersMs: 10_000, callMs: 20_000 };

/**
 * Connections to the service at once, at most, and how long one that nobody uses stays open, in ms: less than services are
 * known to wait, so that a call rarely meets a connection that is just being closed.
 */
const CONNECTIONS = { maxSockets: 8, timeout: 4_000 };

const KEPT_HEADERS = [
  "content-type",
  "content-encoding",
  "date",
  "retry-after",
  "x-ratelimit-used",
  "x-ratelimit-expire",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-quotekeeper-source",
];

/** Bytes of a body in which a document that says "not authorized" is looked for; it has no room for quotes. */
const SHORT_BODY = 4_096;

/** What the edge is made of. */
export type FetchOptions = {
  /** The base address, without `/v1`. */
  baseUrl: string;
  credentials: Credentials;
  clock: Clock;
  /** Gives strictly increasing receive times. */
  observe: () => Instant;
  userAgent: string;
  /** Default: `DEADLINES`. */
  deadlines?: Deadlines;
};

/** The open edge. */
export type OpenFetchQuotes = {
  fetchQuotes: FetchQuotes;
  /** What is added to the machine's clock in timestamps, in ms; 0 unless the service showed that the clock is off. */
  clockCorrectionMs: () => number;
  /** Cuts off what is under way, and closes all connections. */
  close: () => Promise<void>;
};

/** Opens the pool of connections; close it when the last call is done. */
export function openFetchQuotes(options: FetchOptions): OpenFetchQuotes {
  const { baseUrl, clock, deadlines = DEADLINES } = options;
  const address = new URL(baseUrl).origin;
  // Stated, because NODE_TLS_REJECT_UNAUTHORIZED=0 would else turn verification off.
  const connections = address.startsWith("https:")
    ? new TlsAgent({ keepAlive: true, ...CONNECTIONS, rejectUnauthorized: true })
    : new Agent({ keepAlive: true, ...CONNECTIONS });
  const closing = new AbortController();
  // Each call under way listens to it. Node takes more than ten for a leak, and says so on the terminal.
  setMaxListeners(0, closing.signal);
  let correctionMs = 0;

  const send: FetchQuotes = async (call, signal, mayLeave) => {
    const signedWithMs = correctionMs;
    const signed = signCall(call, options, signedWithMs);
    const callers = signal ? [signal, closing.signal] : [closing.signal];
    try {
      const answered = await withDeadlines(
        (watch) =>
          exchange(signed.url, headersOf(signed, options.userAgent), {
            connections,
            watch,
            mayLeave,
            address,
          }),
        deadlines,
        { address, callers },
      );
      const response = toResponse(signed, answered, options);
      // The clock itself: receive times never go back, also when the clock was set back.
      const observedAt = instantFromDate(clock.now());
      if (isRefusal(response))
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
    close: () => {
      closing.abort();
      connections.destroy();
      return Promise.resolve();
    },
  };
}

/** A call ready to go. */
type SignedCall = { url: string; authorization: string; requestedAt: Instant };

/** Signs a call: with a nonce and a timestamp of its own, each time it is made. */
function signCall(
  call: QuoteCall,
  { baseUrl, credentials, clock }: FetchOptions,
  correctionMs: number,
): SignedCall {
  const url = `${baseUrl}${requestTarget(call)}`;
  const now = clock.now();
  const authorization = signRequest({
    method: "GET",
    url,
    credentials,
    nonce: Buffer.from(clock.random(16)).toString("hex"),
    timestamp: Math.floor((now.getTime() + correctionMs) / 1000),
  });
  return { url, authorization, requestedAt: instantFromDate(now) };
}

function headersOf({ authorization }: SignedCall, userAgent: string): Record<string, string> {
  return {
    authorization,
    accept: "application/xml",
    // Damaged gzip has hung readers past their abort signal (field notes, "Traps"). Nothing here decodes it.
    "accept-encoding": "identity",
    "user-agent": userAgent,
  };
}

function toResponse(
  { authorization, requestedAt }: SignedCall,
  { status, headers, body }: Exchanged,
  { credentials, observe }: FetchOptions,
): RawResponse {
  const observedAt = observe();
  const withhold = withholding(credentials, authorization);
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value !== undefined) kept[name] = withhold.text(value.join(", "));
  }
  return { requestedAt, observedAt, status, headers: kept, body: withhold.bytes(body) };
}

/** Whether the credentials, the signature or its timestamp were refused. */
function isRefusal(response: RawResponse): boolean {
  const { status, body } = response;
  if (status === 200 && body.byteLength > SHORT_BODY) return false;
  return classifyAnswer(response).outcome === "unauthorized";
}

/** Codes of OpenSSL's verification as Node.js names them, and Node's own for a certificate of another name. */
const CERTIFICATE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT|ERR_TLS_CERT|HOSTNAME_|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;

/** The answer had begun, or the request was on its way: the connection ended. */
const CUT_SHORT = /^(ECONNRESET|EPIPE|HPE_INVALID_EOF_STATE)$/;

const NOT_HTTP = /^HPE_/;

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

/** The code of an error, of the first of several (one for each address of a host), or at least its name. */
function codeOf(error: unknown): string {
  const { code, name, errors } = error as { code?: string; name?: string; errors?: { code?: string }[] };
  return code ?? errors?.[0]?.code ?? name ?? "unknown error";
}

function errorCode(code: string): ErrorCode {
  if (CERTIFICATE.test(code)) return "SERVICE_UNTRUSTED";
  if (CUT_SHORT.test(code)) return "SERVICE_CUT_SHORT";
  return code === "ETIMEDOUT" ? "SERVICE_TIMEOUT" : "SERVICE_UNREACHABLE";
}

function inWords(code: string): string {
  if (CERTIFICATE.test(code)) return `its certificate is not trusted (${code})`;
  if (CUT_SHORT.test(code)) return `the connection ended before the answer did (${code})`;
  return NOT_HTTP.test(code) ? `what came is not HTTP (${code})` : code;
}
