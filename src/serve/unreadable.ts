/** Refuses requests before they become calls: those that are not HTTP, and those that are too costly to read. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type AbsoluteTarget, givenTwice, hostNameOf } from "../ground/httpHead.ts";
import { writeErrorDocument } from "../services/reference/writeDocument.ts";
import { type Fail, XML_TYPE } from "./answers.ts";
import { STATUS } from "./httpStatus.ts";

/** Assumed: a longer request target, in characters, is refused with 414. */
export const MAX_TARGET_LENGTH = 8_192;

/** Assumed: more headers than this are refused with 431. */
export const MAX_HEADERS = 100;

export type Refusal = { status: number; problem: string };

const NOTHING_HERE: Refusal = { status: STATUS.notFound, problem: "there is nothing at this path" };

/**
 * Why a request is refused by its headers alone; null: it may be a call.
 *
 * @param absolute the target as received, if it has a host
 */
export function refusalUnread(request: IncomingMessage, absolute: AbsoluteTarget | null): Refusal | null {
  if (request.rawHeaders.length > 2 * MAX_HEADERS)
    return { status: STATUS.headersTooLong, problem: `the request has more than ${MAX_HEADERS} headers` };
  const twice = givenTwice(request.rawHeaders);
  if (twice !== null) return { status: STATUS.malformed, problem: `the ${twice} header is given twice` };
  // A caller signs the host, and HTTP requires it (RFC 9112, 3.2).
  const { host } = request.headers;
  if (!host && request.httpVersion !== "1.0")
    return { status: STATUS.malformed, problem: "the Host header is missing" };
  const called = absolute?.authority ?? host;
  if (called !== undefined && hostNameOf(called) === null)
    return { status: STATUS.malformed, problem: "the host is no name or address" };
  const coding = request.headers["transfer-encoding"] ?? "chunked";
  if (coding.toLowerCase() !== "chunked")
    return { status: STATUS.malformed, problem: "Transfer-Encoding is not chunked" };
  return /^\/v1(?:[/?]|$)/.test(request.url ?? "") ? null : NOTHING_HERE;
}

/** An error of the HTTP parser; `rawPacket`: the last bytes received. */
type UnreadableRequest = Error & { code?: string; rawPacket?: unknown };

/**
 * Answers requests that the HTTP parser rejects, in XML and in the order of requests, and ends the connection.
 *
 * @param newId an id for the document
 * @returns a function to call with each response at its beginning
 */
export function answerUnreadable(
  server: Server,
  newId: () => string,
  fail: Fail,
): (response: ServerResponse) => void {
  const latest = new WeakMap<Duplex, ServerResponse>();

  function refuse(socket: Duplex, { status, problem }: Refusal): void {
    if (!socket.writable) return void socket.destroy();
    const body = writeErrorDocument(newId(), problem);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      `Content-Type: ${XML_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  }

  server.on("clientError", (error: UnreadableRequest, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const refusal = refusalOf(error);
    const response = latest.get(socket);
    if (!response || response.closed) return refuse(socket, refusal);
    // The request before is whole, and its answer goes first: else the caller would mistake this answer for it.
    if (response.req.complete) return void response.once("close", () => refuse(socket, refusal));
    // The request was answered before its body came.
    if (response.headersSent) return void (socket as Socket).destroySoon();
    response.shouldKeepAlive = false;
    fail(response, refusal.status, refusal.problem);
  });
  server.on("connect", (_request, socket) => refuse(socket, NOTHING_HERE));
  return (response) => {
    if (response.socket) latest.set(response.socket, response);
  };
}

function refusalOf({ code, rawPacket }: UnreadableRequest): Refusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: STATUS.tooSlow, problem: "the request took too long to arrive" };
  if (code !== "HPE_HEADER_OVERFLOW") return { status: STATUS.malformed, problem: "this is no HTTP request" };
  // A first line without an end, or with a late one, is the request line.
  const lineEnd = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf("\r\n") : 0;
  return lineEnd < 0 || lineEnd > MAX_TARGET_LENGTH
    ? { status: STATUS.lineTooLong, problem: "the request line is too long" }
    : { status: STATUS.headersTooLong, problem: "the request's headers are too long" };
}
