/**
 * Reads the bytes of a connection before undici does. undici breaks a connection off at a 100 Continue that nobody asked
 * for, and sets no limit to chunk extensions, 1xx answers and reason phrases.
 */
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import { QuotekeeperError } from "../../ground/errors.ts";
import { asLookup, type HostAddresses, hostAddresses } from "../../ground/hostAddresses.ts";
import { MAX_BODY_BYTES } from "../../services/bodyText.ts";

/**
 * Assumed: no answer takes more bytes than this on the wire, with its 1xx answers, its headers and the frames of its chunks. The
 * largest body leaves as much again for the rest: the frame of a chunk takes 5 bytes for 8 of the body, and 7 for 1,024.
 */
const MAX_WIRE_BYTES = 2 * MAX_BODY_BYTES;

const [CR, LF] = [0x0d, 0x0a];

/**
 * Connects as undici does; undici never sees the 1xx answers of these connections, nor more than MAX_WIRE_BYTES of an answer.
 * The time for a connection begins when the addresses of the host are known.
 */
export function wireConnector(
  options: buildConnector.BuildOptions,
  addresses: HostAddresses = hostAddresses,
): buildConnector.connector {
  const found = new Map<string, Awaited<ReturnType<HostAddresses>>>();
  const lookup = asLookup(async (hostname) => found.get(hostname) ?? addresses(hostname));
  const connect = buildConnector({ ...options, lookup } as buildConnector.BuildOptions);
  return (address, done) => {
    addresses(address.hostname).then(
      (known) => {
        found.set(address.hostname, known);
        connect(address, (error, socket) => {
          if (error === null) done(null, readFirst(socket));
          else done(error, null);
        });
      },
      (error: Error) => done(error, null),
    );
  };
}

/**
 * Node hands each piece that arrives to `push`, decrypted. `read` would show some bytes twice, because undici puts back what it
 * cannot use yet. undici writes a request only after the answer before has ended, so what arrives after a write is a new answer.
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
function passOverInformation(): (piece: Buffer) => Buffer {
  let answerBegan = false;
  /** What is seen of the status line; as long as INFORMATION in the rest of a 1xx answer. */
  let status = "";
  let lineIsEmpty = false;
  return (piece) => {
    let rest = piece;
    while (!answerBegan && rest.length > 0) {
      if (status.length < INFORMATION.length) {
        const more = rest.toString("latin1", 0, INFORMATION.length - status.length);
        status += more;
        lineIsEmpty = status.endsWith("\n");
        rest = rest.subarray(more.length);
        if (IS_INFORMATION.test(status + INFORMATION.slice(status.length))) continue;
        answerBegan = true;
        rest = Buffer.concat([Buffer.from(status, "latin1"), rest]);
      } else {
        let at = 0;
        for (; at < rest.length && status !== ""; at += 1) {
          const byte = rest.readUInt8(at);
          if (byte === LF && lineIsEmpty) status = "";
          else if (byte !== CR) lineIsEmpty = byte === LF;
        }
        rest = rest.subarray(at);
      }
    }
    return rest;
  };
}

function tooLarge(): QuotekeeperError {
  return new QuotekeeperError(
    "SERVICE_ANSWER_TOO_LARGE",
    `the answer is larger than ${MAX_WIRE_BYTES} bytes with its headers and the frames of its chunks`,
  );
}
