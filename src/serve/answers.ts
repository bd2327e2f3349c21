/** How answers are sent: XML, all of them. */
import type { FastifyReply } from "fastify";
import { writeErrorDocument } from "../quotes-api/writeDocument.ts";
import type { Fault } from "./faults/decide.ts";
import { dropConnection, HTML_PAGE, sendTruncated } from "./faults/edge.ts";
import { LIMIT_HEADERS, type LimitHeaders } from "./limits.ts";

/** The Content-Type of every answer (specification, "Endpoints"). */
export const XML_TYPE = "application/xml; charset=UTF-8";

/** The header that says what a quote came from; a collector marks its rows by it. Not in the specification. */
export const SOURCE_HEADER = "X-Quotekeeper-Source";

/** Sends an answer of any status. */
export function send(reply: FastifyReply, status: number, xml: string | Buffer): FastifyReply {
  return reply.code(status).header("Content-Type", XML_TYPE).send(xml);
}

/** Sends an error document that says what is wrong. */
export type Fail = (reply: FastifyReply, status: number, problem: string) => FastifyReply;

/** @param newId an id for each document */
export function failWith(newId: () => string): Fail {
  return (reply, status, problem) => send(reply, status, writeErrorDocument(newId(), problem));
}

/** Sets the four headers, on the raw response, which keeps the case of the names as the specification spells them. */
export function setLimitHeaders({ raw }: FastifyReply, headers: LimitHeaders): void {
  for (const name of LIMIT_HEADERS) raw.setHeader(name, headers[name]);
}

/**
 * Sends quotes the short way: with all their headers at once, and none of the reading and merging of headers that
 * `FastifyReply.send` does for whatever else it may be given.
 *
 * @param sourceName see `QuoteSource.name`
 */
export function sendQuotes(
  reply: FastifyReply,
  xml: string | Buffer,
  headers: LimitHeaders,
  sourceName: string,
): void {
  const length = Buffer.byteLength(xml);
  const head = ["Content-Type", XML_TYPE, "Content-Length", String(length), SOURCE_HEADER, sourceName];
  for (const name of LIMIT_HEADERS) head.push(name, headers[name]);
  const { raw } = reply.hijack();
  raw.writeHead(200, head);
  // A text that is no longer as UTF-8 is ASCII, which is written faster when that is known.
  if (typeof xml === "string" && xml.length === length) raw.end(xml, "latin1");
  else raw.end(xml);
}

/** Sends an answer with quotes as its fault will have it. */
export function sendFaulty(reply: FastifyReply, xml: string, fault: Fault): FastifyReply {
  switch (fault.kind) {
    case null:
    case "429":
      return send(reply, 200, xml);
    case "500":
      return send(reply, 500, writeErrorDocument("", "the service failed"));
    case "html":
      return reply.code(200).header("Content-Type", "text/html; charset=UTF-8").send(HTML_PAGE);
    case "drop":
      dropConnection(reply);
      return reply;
    default:
      reply.raw.setHeader("Content-Type", XML_TYPE);
      sendTruncated(reply, xml, fault, fault.kind);
      return reply;
  }
}
