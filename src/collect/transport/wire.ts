/**
 * Reads what a connection brings before undici does, for two things that undici lacks: it breaks a connection off at a
 * 100 Continue that nobody asked for, and it sets no limit to chunk extensions, 1xx answers and reason phrases.
 */
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import { QuotekeeperError } from "../../errors.ts";
import { MAX_BODY_BYTES } from "../../quotes-api/strictXml.ts";

/**
 * Bytes of one answer on the wire, at most: its 1xx answers, its headers, and its body with the frames of its chunks. The largest
 * body leaves as much again for all the rest: chunks of 8 bytes take 5 for their frames, chunks of 1 KiB take 7.
 */
export const MAX_WIRE_BYTES = 2 * MAX_BODY_BYTES;

const [CR, LF] = [0x0d, 0x0a];

/** Connects as undici does; undici never sees the 1xx answers of these connections, nor more than MAX_WIRE_BYTES of an answer. */
export function wireConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (address, done) =>
    connect(address, (error, socket) => {
      if (error === null) done(null, readFirst(socket));
      else done(error, null);
    });
}

/**
 * Node gives a socket each piece that has arrived, decrypted, by `push`; only there is each byte seen once, because undici puts
 * back what it cannot use yet. undici writes a request when the answer before has ended: what comes after a write belongs to a new
 * answer.
 */
function readFirst(socket: Socket): Socket {
  const push = socket.push.bind(socket);
  let written = 0;
  let size = 0;
  let passOver = passOverInformation();
  socket.push = (piece: Buffer | null): boolean => {
    if (piece === null) return push(null);
    if (socket.bytesWritten > written) {
      written = socket.bytesWritten;
      size = 0;
      passOver = passOverInformation();
    }
    size += piece.length;
    if (size <= MAX_WIRE_BYTES) return push(passOver(piece));
    socket.destroy(tooLarge());
    return false;
  };
  return socket;
}

/** How the status line of a 1xx answer begins; each digit and the end may be another one. */
const INFORMATION = "HTTP/1.1 100 ";

/** But for 101, which changes the protocol: nobody asked for that, and undici refuses it. */
const IS_INFORMATION = /^HTTP\/1\.\d 1(?!01)\d\d[ \r\n]$/;

/**
 * Removes the 1xx answers that come before an answer (RFC 9110, 15.2).
 *
 * @returns takes the pieces of the wire in order, and gives what is left of each: nothing until the answer begins
 */
export function passOverInformation(): (piece: Buffer) => Buffer {
  let where: "status" | "information" | "answer" = "status";
  let status = "";
  let lineIsEmpty = false;
  return (piece) => {
    if (where === "answer") return piece;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece.readUInt8(at);
      if (where === "information") {
        if (byte === LF && lineIsEmpty) where = "status";
        else if (byte !== CR) lineIsEmpty = byte === LF;
        continue;
      }
      status += String.fromCharCode(byte);
      if (!IS_INFORMATION.test(status + INFORMATION.slice(status.length))) {
        where = "answer";
        return Buffer.concat([Buffer.from(status, "latin1"), piece.subarray(at + 1)]);
      }
      if (status.length === INFORMATION.length) {
        where = "information";
        status = "";
        lineIsEmpty = byte === LF;
      }
    }
    return Buffer.alloc(0);
  };
}

function tooLarge(): QuotekeeperError {
  return new QuotekeeperError(
    "SERVICE_ANSWER_TOO_LARGE",
    `the answer is larger than ${MAX_WIRE_BYTES} bytes with its headers and the frames of its chunks`,
  );
}
