/** The edge to the service: one signed GET, with deadlines that win over a hanging body. No retries, no redirects. */
import { Agent, request } from "undici";
import type { Clock } from "../clock.ts";
import { type ErrorCode, QuotekeeperError } from "../errors.ts";
import type { Instant } from "../instant.ts";
import { instantFromDate } from "../instant.ts";
import { type Credentials, signRequest } from "../quotes-api/oauth/signature.ts";
import { type QuoteCall, requestTarget } from "../quotes-api/request.ts";
import { MAX_BODY_BYTES } from "../quotes-api/xml.ts";

/** The answer as it arrived. */
export type RawResponse = {
  requestedAt: Instant;
  /** When the last byte had arrived. */
  observedAt: Instant;
  status: number;
  /** The headers this program uses, lower case. */
  headers: Record<string, string>;
  body: Uint8Array;
};

/** Asks the service once. */
export type FetchQuotes = (call: QuoteCall, signal?: AbortSignal) => Promise<RawResponse>;

/** Longest wait for a connection, for the headers, and for the whole call, in ms. */
export const CONNECT_TIMEOUT_MS = 5_000;
export const HEADERS_TIMEOUT_MS = 10_000;
export const CALL_TIMEOUT_MS = 20_000;

/** Connections kept open to the service. */
const CONNECTIONS = 8;

const KEPT_HEADERS = [
  "content-type",
  "date",
  "x-ratelimit-used",
  "x-ratelimit-expire",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-quotekeeper-source",
];

/** What the edge is made of. */
export type FetchOptions = {
  /** The base address, without `/v1`. */
  baseUrl: string;
  credentials: Credentials;
  clock: Clock;
  /** Gives strictly increasing receive times. */
  observe: () => Instant;
  userAgent: string;
};

/** Opens the pool of connections; close it when the last call is done. */
export function openFetchQuotes(options: FetchOptions): {
  fetchQuotes: FetchQuotes;
  close: () => Promise<void>;
} {
  const { baseUrl, credentials, clock, observe, userAgent } = options;
  const dispatcher = new Agent({
    connections: CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: CALL_TIMEOUT_MS,
  });

  const fetchQuotes: FetchQuotes = async (call, signal) => {
    const url = `${baseUrl}${requestTarget(call)}`;
    const now = clock.now();
    const authorization = signRequest({
      method: "GET",
      url,
      credentials,
      nonce: Buffer.from(clock.random(16)).toString("hex"),
      timestamp: Math.floor(now.getTime() / 1000),
    });
    const deadline = AbortSignal.timeout(CALL_TIMEOUT_MS);
    try {
      const response = await request(url, {
        dispatcher,
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        headers: {
          authorization,
          accept: "application/xml",
          // Damaged gzip has hung readers past their abort signal (field notes, "Traps").
          "accept-encoding": "identity",
          "user-agent": userAgent,
        },
      });
      const body = await readCapped(response.body);
      return {
        requestedAt: instantFromDate(now),
        observedAt: observe(),
        status: response.statusCode,
        headers: keptHeaders(response.headers),
        body,
      };
    } catch (cause) {
      throw transportError(cause, baseUrl);
    }
  };
  return { fetchQuotes, close: () => dispatcher.destroy() };
}

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
  }
  return Buffer.concat(chunks);
}

function keptHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value !== undefined) kept[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return kept;
}

/** A transport error by its code. The address is named without path and query; nothing signed is in the message. */
function transportError(cause: unknown, baseUrl: string): QuotekeeperError {
  if (cause instanceof QuotekeeperError) return cause;
  const { name, code, message } = cause as { name?: string; code?: string; message?: string };
  const { origin } = new URL(baseUrl);
  const timedOut = name === "TimeoutError" || name === "AbortError" || /TIMEOUT/.test(code ?? "");
  const errorCode: ErrorCode = timedOut ? "SERVICE_TIMEOUT" : "SERVICE_UNREACHABLE";
  const why = code ?? (cause as AggregateError).errors?.[0]?.code ?? message ?? "unknown error";
  // The library's own error object may hold the request with its Authorization header: it is not passed on.
  return new QuotekeeperError(errorCode, `${origin}: ${why}`);
}
