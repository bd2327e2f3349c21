/**
 * One GET over a kept connection. Node's own client passes over the 1xx answers that come before the answer (RFC 9110,
 * 15.2), and refuses endless headers, trailers and extensions of chunks. What it has no bound for is bounded here, by the
 * bytes of the wire: endless 1xx answers, and a body of tiny chunks.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestOverTls } from "node:https";
import type { Socket } from "node:net";
import { QuotekeeperError } from "../../errors.ts";
import { MAX_BODY_BYTES } from "../../quotes-api/strictXml.ts";
import type { Watch } from "./deadlines.ts";

/** An answer as it arrived. */
export type Exchanged = {
  status: number;
  /** All values of each header; names in lower case. */
  headers: Record<string, string[] | undefined>;
  body: Uint8Array;
};

/** What a GET needs. */
type ExchangeOptions = {
  connections: Agent;
  watch: Watch;
  /** Asked when the connection is there, just before the first byte. False: not one byte is written. */
  mayLeave: (() => boolean) | undefined;
  /** Scheme, host and port, for errors. */
  address: string;
};

/**
 * Bytes of one answer on the wire, at most: its 1xx answers, headers, and its body with the frames of its chunks. Frames
 * as long as what they hold are no service's way to answer.
 */
export const MAX_WIRE_BYTES = 2 * MAX_BODY_BYTES;

/** The room that a body is given at first; most answers are smaller. */
const FIRST_ROOM_BYTES = 65_536;

/**
 * Asks once, when a connection is there.
 *
 * @throws QuotekeeperError LEASE_UNSURE, SERVICE_ANSWER_TOO_LARGE, SERVICE_UNREACHABLE; else Node's error, with its code
 */
export function exchange(
  url: string,
  headers: Record<string, string>,
  { connections, watch, mayLeave, address }: ExchangeOptions,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const isTls = url.startsWith("https:");
    const request = isTls ? requestOverTls : requestPlain;
    const asking = request(url, { agent: connections, headers, signal: watch.signal });
    asking.on("error", reject);
    asking.once("socket", (socket) => {
      const connected = isTls ? "secureConnect" : "connect";
      whenConnected(socket, { connected, watch }, () => {
        // Nothing is written before `end`.
        if (mayLeave?.() === false) asking.destroy(leaseUnsure(address));
        else asking.end();
      });
      const overrun = overrunOf(asking, socket);
      asking.on("information", () => void overrun());
      asking.once("response", (answer) => {
        watch.headersArrived();
        answer.on("error", reject);
        readBody(answer, overrun, (body) =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headersDistinct, body }),
        );
      });
    });
    asking.once("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(unaskedUpgrade(address));
    });
  });
}

/** A connection over TLS is there when its handshake is done. One that is kept was there before. */
function whenConnected(
  socket: Socket,
  { connected, watch }: { connected: "connect" | "secureConnect"; watch: Watch },
  go: () => void,
): void {
  if (!socket.connecting) return go();
  const isThere = watch.connecting();
  socket.once(connected, () => {
    isThere();
    go();
  });
}

/** Ends a call whose answer has more bytes than it may; true: it has. */
function overrunOf(asking: ClientRequest, socket: Socket): (bodyBytes?: number) => boolean {
  const before = socket.bytesRead;
  return (bodyBytes = 0) => {
    const isOver = bodyBytes > MAX_BODY_BYTES || socket.bytesRead - before > MAX_WIRE_BYTES;
    if (isOver) asking.destroy(tooLarge());
    return isOver;
  };
}

/** Copies the body together: each piece that Node gives is a view, and keeps all of what the socket has read with it. */
function readBody(
  answer: IncomingMessage,
  overrun: (bodyBytes: number) => boolean,
  done: (body: Uint8Array) => void,
): void {
  let body = Buffer.allocUnsafe(FIRST_ROOM_BYTES);
  let size = 0;
  answer.on("data", (piece: Buffer) => {
    if (overrun(size + piece.length)) return;
    if (size + piece.length > body.length)
      body = Buffer.concat([body], Math.max(2 * body.length, size + piece.length));
    size += piece.copy(body, size);
  });
  answer.once("end", () => done(body.subarray(0, size)));
}

function leaseUnsure(address: string): QuotekeeperError {
  return new QuotekeeperError("LEASE_UNSURE", `${address}: its account may be another collector's by now`);
}

function unaskedUpgrade(address: string): QuotekeeperError {
  return new QuotekeeperError(
    "SERVICE_UNREACHABLE",
    `${address}: it changes the protocol, which nobody asked for`,
  );
}

function tooLarge(): QuotekeeperError {
  const detail = `the answer is larger than ${MAX_BODY_BYTES} bytes, or takes more than ${MAX_WIRE_BYTES} to send`;
  return new QuotekeeperError("SERVICE_ANSWER_TOO_LARGE", detail);
}
