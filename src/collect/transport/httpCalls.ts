/**
 * HTTP as this program speaks it to a service: deadlines that win over a hanging body, a cap on its size, verified certificates, no
 * redirect followed, nothing tried twice, and errors of our own without anything signed in them.
 */
import { setMaxListeners } from "node:events";
import { Agent, type Dispatcher } from "undici";
import { type ErrorCode, QuotekeeperError } from "../../ground/errors.ts";
import { type HostAddresses, hostAddresses, LOOKUP_TIMEOUT } from "../../ground/hostAddresses.ts";
import type { WrittenCall } from "../../services/service.ts";
import { MAX_BODY_BYTES } from "../../services/bodyText.ts";
import { type Deadlines, type Watch, withDeadlines } from "./deadlines.ts";
import { wireConnector } from "./wire.ts";

export const DEADLINES: Deadlines = { connectMs: 5_000, headersMs: 10_000, callMs: 20_000 };

const PARTIAL_CONTENT = 206;

/** Connections kept open to the service, at most. */
const CONNECTIONS = 8;

/** A call as it is sent. `signed`: the headers that show whose it is. */
export type SignedCall = WrittenCall & { url: string; signed: Readonly<Record<string, string>> };

export type HttpAnswer = { status: number; headers: ResponseHeaders; body: Uint8Array };
type ResponseHeaders = Record<string, string | string[] | undefined>;

async function ask(
  { url, method, body: sent, accept, signed }: SignedCall,
  { signal, headersArrived }: Watch,
  { dispatcher, userAgent }: { dispatcher: Dispatcher; userAgent: string },
): Promise<HttpAnswer> {
  const { origin, pathname, search } = new URL(url);
  const { statusCode, headers, body } = await dispatcher.request({
    origin,
    path: `${pathname}${search}`,
    signal,
    method,
    ...(sent && { body: sent.text }),
    headers: {
      ...signed,
      accept,
      ...(sent && { "content-type": sent.type }),
      // Damaged gzip has hung readers past their abort signal (field notes, "Traps"). `request` decodes nothing.
      "accept-encoding": "identity",
      "user-agent": userAgent,
    },
  });
  headersArrived();
  const answered = { status: statusCode, headers, body: await readCapped(body) };
  // Nobody asked for a part.
  if (statusCode === PARTIAL_CONTENT)
    throw new QuotekeeperError("SERVICE_CUT_SHORT", `${origin}: the answer is a part alone (HTTP 206)`);
  return answered;
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

type Caller = {
  /** Rejects as `FetchQuotes` does. */
  call: (
    signed: SignedCall,
    asked: { callers: readonly AbortSignal[]; mayLeave?: (() => boolean) | undefined },
  ) => Promise<HttpAnswer>;
  close: () => Promise<void>;
};

type CallerOptions = {
  userAgent: string;
  deadlines?: Deadlines | undefined;
  addresses?: HostAddresses | undefined;
};

/** Opens a pool of connections to a service; close it when the last call is done. @param baseUrl named in errors, without its path */
export function openCaller(
  baseUrl: string,
  { userAgent, deadlines = DEADLINES, addresses = hostAddresses }: CallerOptions,
): Caller {
  const address = new URL(baseUrl).origin;
  const pool = new Agent({
    connections: CONNECTIONS,
    // Stated, because NODE_TLS_REJECT_UNAUTHORIZED=0 would else turn verification off.
    connect: wireConnector({ timeout: deadlines.connectMs, rejectUnauthorized: true }, addresses),
    headersTimeout: deadlines.headersMs,
    bodyTimeout: deadlines.callMs,
  });
  const closing = new AbortController();
  // Each call under way listens to it. Node takes more than ten for a leak, and says so on the terminal.
  setMaxListeners(0, closing.signal);
  return {
    call: async (signed, { callers, mayLeave }) => {
      const dispatcher = mayLeave ? pool.compose(lastCheck(mayLeave, address)) : pool;
      try {
        return await withDeadlines((watch) => ask(signed, watch, { dispatcher, userAgent }), deadlines, {
          address,
          callers: [...callers, closing.signal],
        });
      } catch (cause) {
        throw transportError(cause, address);
      }
    },
    close: async () => {
      closing.abort();
      await pool.destroy();
    },
  };
}

/** Codes of OpenSSL's verification as Node.js names them, and Node's own for a certificate of another name. */
const CERTIFICATE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT|ERR_TLS_CERT|HOSTNAME_|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;

const TIMEOUT = /TIMEOUT|ETIMEDOUT/;

/** The answer had begun, or the request was on its way: the socket closed, more or fewer bytes came than were announced. */
const CUT_SHORT =
  /^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|EPIPE|HPE_INVALID_EOF_STATE)$/;

const NOT_HTTP = /^(HPE_|HTTPParserError|ERR_ASSERTION)/;

const LARGE_HEADERS = /^(UND_ERR_HEADERS_OVERFLOW|HPE_HEADER_OVERFLOW)$/;

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

/** What kept an answer away, in words that hold its code alone. */
export function transportFailure(cause: unknown): string {
  return inWords(codeOf(cause));
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
  if (LARGE_HEADERS.test(code)) return "SERVICE_ANSWER_TOO_LARGE";
  return TIMEOUT.test(code) ? "SERVICE_TIMEOUT" : "SERVICE_UNREACHABLE";
}

function inWords(code: string): string {
  if (CERTIFICATE.test(code)) return `its certificate is not trusted (${code})`;
  if (LARGE_HEADERS.test(code)) return `the headers of the answer are too large (${code})`;
  if (code === LOOKUP_TIMEOUT)
    return `the address of the host was not found in time (${code}): check the name servers`;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return `no connection in time (${code})`;
  if (CUT_SHORT.test(code)) return `the connection ended before the answer did (${code})`;
  return NOT_HTTP.test(code) ? `what came is not HTTP (${code})` : code;
}
