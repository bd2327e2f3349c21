/** How answers are sent: XML, all of them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import { remembered } from "../remembered.ts";
import { writeErrorDocument } from "../quotes-api/writeDocument.ts";
import type { Fault } from "./faults/faults.ts";
import { HTML_PAGE, sendTruncated } from "./faults/edge.ts";
import { LIMIT_HEADERS, type LimitHeaders } from "./limits.ts";

/** The Content-Type of every answer (specification, "Endpoints"). */
export const XML_TYPE = "application/xml; charset=UTF-8";

/** The header that says what a quote came from; a collector marks its rows by it. Not in the specification. */
export const SOURCE_HEADER = "X-Quotekeeper-Source";

/** Assumed: a body of more bytes is refused with 413. */
export const MAX_BODY_BYTES = 16_384;

/** What is taken of a body that nobody reads, bytes, so that its sender gets to the answer. */
const MOST_DISCARDED = 524_288;

/** The text of a date, which is the same for all answers of a second. */
const dateOfSecond = remembered(1, (second: number) => new Date(second * 1_000).toUTCString());

/** An answer to be sent; nothing is, when the call has been answered meanwhile. */
type Content = { status: number; type?: string; body: string | Buffer };

/** Sends an answer of any status. */
export function send(response: ServerResponse, { status, type = XML_TYPE, body }: Content): void {
  if (response.headersSent) return;
  response.statusCode = status;
  response.setHeader("Content-Type", type);
  response.setHeader("Content-Length", Buffer.byteLength(body));
  end(response, body);
}

/** Sends an error document that says what is wrong. */
export type Fail = (response: ServerResponse, status: number, problem: string) => void;

/** Answers a call whose answer could not be made, and logs why. */
export type Failed = (response: ServerResponse, error: unknown) => void;

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

/** Sets the date to that of the clock that timestamps are held against: by it a caller learns how far its own is off. */
export function setDate(response: ServerResponse, now: Date): void {
  if (!response.headersSent) response.setHeader("Date", now.toUTCString());
}

/** Sets the four headers. */
export function setLimitHeaders(response: ServerResponse, headers: LimitHeaders): void {
  if (response.headersSent) return;
  for (const name of LIMIT_HEADERS) response.setHeader(name, headers[name]);
}

/**
 * Sends quotes with all their headers at once: if a single one had been set before, node would set each anew, which
 * takes as long as everything else it does for an answer.
 *
 * @param sourceName see `QuoteSource.name`
 * @param now see `setDate`
 */
export function sendQuotes(
  response: ServerResponse,
  xml: string | Buffer,
  { headers, sourceName, now }: { headers: LimitHeaders; sourceName: string; now: Date },
): void {
  if (response.headersSent) return;
  const length = Buffer.byteLength(xml);
  const head = [
    "Date",
    dateOfSecond(Math.floor(now.getTime() / 1_000)),
    "Content-Type",
    XML_TYPE,
    "Content-Length",
    String(length),
  ];
  head.push(SOURCE_HEADER, sourceName);
  for (const name of LIMIT_HEADERS) head.push(name, headers[name]);
  if (hasUnreadBody(response.req)) response.shouldKeepAlive = false;
  response.writeHead(200, head);
  // A text that is no longer as UTF-8 is ASCII, which is written faster when that is known.
  end(response, xml, typeof xml === "string" && xml.length === length ? "latin1" : "utf8");
}

/** Sends an answer with quotes as its fault will have it. */
export function sendFaulty(response: ServerResponse, xml: string, fault: Fault): void {
  switch (fault.kind) {
    case null:
    case "429":
      return send(response, { status: 200, body: xml });
    case "500":
      return send(response, { status: 500, body: writeErrorDocument("", "the service failed") });
    case "html":
      return send(response, { status: 200, type: "text/html; charset=UTF-8", body: HTML_PAGE });
    case "drop":
      // Closes the connection without an answer.
      response.socket?.destroy();
      return;
    default:
      response.setHeader("Content-Type", XML_TYPE);
      sendTruncated(response, xml, { keep: fault.keep, way: fault.kind });
  }
}

/** Whether more of a body is to come than is worth waiting for: much of it, or nobody knows how much. */
function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  return !complete && ("transfer-encoding" in headers || declaredBytes(headers) > MAX_BODY_BYTES);
}

/** The length that a request says its body has. */
export function declaredBytes(headers: IncomingMessage["headers"]): number {
  return Number(headers["content-length"] ?? 0);
}

/**
 * Ends an answer. One that comes before the body of its request ends the connection with it: the rest is thrown away, up
 * to a bound, for a connection that is cut while its caller still sends may take the answer with it.
 */
function end(response: ServerResponse, body: string | Buffer, encoding: BufferEncoding = "utf8"): void {
  const { req: request, socket } = response;
  if (!hasUnreadBody(request)) {
    if (typeof body !== "string") return void response.end(body);
    // Written before it is ended: a text that node ends with goes to the socket in two pieces, the second of them empty.
    response.write(body, encoding);
    socket?.uncork();
    return void response.end();
  }
  response.shouldKeepAlive = false;
  response.write(body, encoding, () => socket?.end());
  if ("expect" in request.headers) return void response.end();
  let discarded = 0;
  request.on("data", ({ length }: Buffer) => {
    discarded += length;
    if (discarded > MOST_DISCARDED) socket?.destroy();
  });
  request.once("end", () => socket?.destroy());
  request.resume();
}
