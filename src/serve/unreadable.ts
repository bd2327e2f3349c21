/** Requests that never become one for the service: what cannot be read as HTTP, and targets in absolute form. */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { writeErrorDocument } from "../quotes-api/writeDocument.ts";

/** What the HTTP parser says of a request; `rawPacket` is what came last. */
export type UnreadableRequest = Error & { code?: string; rawPacket?: unknown };

/**
 * Answers what the HTTP parser gave up, in XML as everything else, and ends the connection.
 *
 * @param newId an id for the document
 * @param contentType of the answer
 */
export function clientErrorHandler(newId: () => string, contentType: string) {
  return (error: UnreadableRequest, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const { status, problem } = refusalOf(error);
    const body = writeErrorDocument(newId(), problem);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  };
}

function refusalOf({ code, rawPacket }: UnreadableRequest): {
  status: number;
  problem: string;
} {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: 408, problem: "the request took too long to arrive" };
  if (code !== "HPE_HEADER_OVERFLOW") return { status: 400, problem: "this is no HTTP request" };
  // Without the end of a line in what came last, it is the request line that has no end.
  return Buffer.isBuffer(rawPacket) && !rawPacket.includes("\r\n")
    ? { status: 414, problem: "the request line is too long" }
    : { status: 431, problem: "the request's headers are too long" };
}

/** The target without scheme and host, which a client may send when it takes the service for a proxy (RFC 9112, 3.2.2). */
export function originForm({ url = "" }: Pick<IncomingMessage, "url">): string {
  const absolute = /^https?:\/\/[^/?#]*([^]*)$/i.exec(url);
  if (!absolute) return url;
  const [, rest = ""] = absolute;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
