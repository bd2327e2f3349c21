/** Sends answers, all of them XML. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../ground/clock.ts";
import { writeErrorDocument } from "../services/reference/writeDocument.ts";
import { LIMIT_HEADERS, type LimitHeaders } from "./limits.ts";

export const XML_TYPE = "application/xml; charset=UTF-8";

/** Names the source of the quotes; a collector marks its rows with it. Not in the specification. */
export const SOURCE_HEADER = "X-Quotekeeper-Source";

/** Assumed: a body of more bytes is refused with 413. */
export const MAX_BODY_BYTES = 16_384;

/** Most bytes that are read and discarded of an unread body, so that its sender receives the answer. */
const MOST_DISCARDED = 524_288;

type Content = { status: number; type?: string; body: string };

export function send(response: ServerResponse, { status, type = XML_TYPE, body }: Content): void {
  if (response.headersSent) return;
  response.statusCode = status;
  response.setHeader("Content-Type", type);
  response.setHeader("Content-Length", Buffer.byteLength(body));
  end(response, body);
}

export type Fail = (response: ServerResponse, status: number, problem: string) => void;

export type FailureListener = (response: ServerResponse, error: unknown) => void;

/**
 * @param newId an id for each document
 * @param clock see `setDate`
 */
export function failWith(newId: () => string, clock: Pick<Clock, "now">): Fail {
  return (response, status, problem) => {
    setDate(response, clock.now());
    send(response, { status, body: writeErrorDocument(newId(), problem) });
  };
}

/** Sets the date of the clock that timestamps are compared with: callers learn from it how far their clock is off. */
export function setDate(response: ServerResponse, now: Date): void {
  if (!response.headersSent) response.setHeader("Date", now.toUTCString());
}

export function setLimitHeaders(response: ServerResponse, headers: LimitHeaders): void {
  if (response.headersSent) return;
  for (const name of LIMIT_HEADERS) response.setHeader(name, headers[name]);
}

/**
 * Sends quotes with all headers at once. After a single earlier header node would set each header again, which takes as
 * long as the rest of an answer.
 *
 * @param sourceName see `QuoteSource.name`
 * @param now see `setDate`
 */
export function sendQuotes(
  response: ServerResponse,
  xml: string,
  { headers, sourceName, now }: { headers: LimitHeaders; sourceName: string; now: Date },
): void {
  if (response.headersSent) return;
  const head = {
    Date: now.toUTCString(),
    "Content-Type": XML_TYPE,
    "Content-Length": Buffer.byteLength(xml),
    [SOURCE_HEADER]: sourceName,
    ...headers,
  };
  if (hasUnreadBody(response.req)) response.shouldKeepAlive = false;
  response.writeHead(200, head);
  end(response, xml);
}

/** Whether a body is still to come that is too long to wait for, or of unknown length. */
function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  return !complete && ("transfer-encoding" in headers || declaredBytes(headers) > MAX_BODY_BYTES);
}

export function declaredBytes(headers: IncomingMessage["headers"]): number {
  return Number(headers["content-length"] ?? 0);
}

/**
 * Ends an answer. An answer before the end of the request's body also ends the connection. The rest of the body is read
 * and discarded, up to a bound, because a caller may lose the answer when it is cut off while it sends.
 */
function end(response: ServerResponse, body: string): void {
  const { req: request, socket } = response;
  if (!hasUnreadBody(request)) {
    // Written before the end: a text given to `end` goes to the socket in two pieces, the second of them empty.
    response.write(body);
    socket?.uncork();
    return void response.end();
  }
  response.shouldKeepAlive = false;
  response.write(body, "utf8", () => socket?.end());
  if ("expect" in request.headers) return void response.end();
  let discarded = 0;
  request.on("data", ({ length }: Buffer) => {
    discarded += length;
    if (discarded > MOST_DISCARDED) socket?.destroy();
  });
  request.once("end", () => socket?.destroy());
  request.resume();
}
