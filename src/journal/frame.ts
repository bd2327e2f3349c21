/**
 * One record as bytes. Every frame proves itself: its lengths before they are believed, its content
 * before it is handed out, and that it belongs to this segment.
 *
 * ```
 *  0   8  magic FF 51 4B 4A 0D 0A 1A FE (no UTF-8 text contains FF)
 *  8   2  version of this layout, little endian, as all numbers here
 * 10   2  1: the segment is in the journal's list (segmentList.ts); 0: it was made before there was one
 * 12   4  length of the head
 * 16   4  length of the body
 * 20  16  id of the segment (the UUID in its name)
 * 36  20  SHA-256 of head and body, its first 20 bytes
 * 56   8  SHA-256 of bytes 0 to 55, its first 8 bytes
 * 64      head (JSON, UTF-8), then the body's bytes
 * ```
 *
 * The segment's id keeps two things from being taken for records: a journal that somebody stored
 * inside a body, and stale blocks of an older file that a file system may show after a power cut.
 */
import { createHash } from "node:crypto";
import { QuotekeeperError } from "../ground/errors.ts";
import { joinRecord, splitRecord, type JournalRecord } from "./record.ts";

export const FRAME_MAGIC = Buffer.from([0xff, 0x51, 0x4b, 0x4a, 0x0d, 0x0a, 0x1a, 0xfe]);

export const FRAME_HEADER_BYTES = 64;

/** The largest answer (design, section 8). */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** A note has everything in its head. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;

export const MAX_FRAME_BYTES = FRAME_HEADER_BYTES + MAX_HEAD_BYTES + MAX_BODY_BYTES;

const FRAME_VERSION = 1;

/** Older versions wrote 0 there and do not read it. */
const LISTED = { at: 10, yes: 1 };
const CONTENT_SUM = { at: 36, bytes: 20 };
const HEADER_SUM = { at: 56, bytes: 8 };

/** A record ready for any segment: its frame without the header. */
export type Content = { head: Uint8Array; body: Uint8Array; frameBytes: number };

export function contentOf(record: JournalRecord): Content {
  const { head, body } = splitRecord(record);
  if (head.length > MAX_HEAD_BYTES || body.length > MAX_BODY_BYTES)
    throw new QuotekeeperError(
      "JOURNAL_RECORD_TOO_LARGE",
      `a ${record.kind} with ${head.length} bytes of head and ${body.length} bytes of body exceeds ` +
        `${MAX_HEAD_BYTES} and ${MAX_BODY_BYTES}`,
    );
  return { head, body, frameBytes: FRAME_HEADER_BYTES + head.length + body.length };
}

/**
 * Writes a frame into `target` at `at`.
 *
 * @param segmentId 16 bytes
 * @returns where in `target` the frame ends
 */
// eslint-disable-next-line max-params -- once for each record: an object would cost more than it says
export function writeFrame(target: Buffer, at: number, content: Content, segmentId: Uint8Array): number {
  const { head, body, frameBytes } = content;
  const frame = target.subarray(at, at + frameBytes);
  frame.set(FRAME_MAGIC, 0);
  frame.writeUInt16LE(FRAME_VERSION, 8);
  frame.writeUInt16LE(LISTED.yes, LISTED.at);
  frame.writeUInt32LE(head.length, 12);
  frame.writeUInt32LE(body.length, 16);
  frame.set(segmentId, 20);
  frame.set(head, FRAME_HEADER_BYTES);
  frame.set(body, FRAME_HEADER_BYTES + head.length);
  frame.set(sha256(frame.subarray(FRAME_HEADER_BYTES)).subarray(0, CONTENT_SUM.bytes), CONTENT_SUM.at);
  frame.set(sha256(frame.subarray(0, HEADER_SUM.at)).subarray(0, HEADER_SUM.bytes), HEADER_SUM.at);
  return at + frameBytes;
}

export type HeaderProblem = "zeroed" | "no_magic" | "header_sum" | "unknown_version" | "foreign";

/**
 * `frameBytes` is proven without a `problem`. With one it is what the damaged header says, or null where that cannot be
 * true.
 */
type FrameHeader =
  | { problem: null; headBytes: number; frameBytes: number }
  | { problem: HeaderProblem; frameBytes: number | null };

/**
 * Reads the header at `at`; `FRAME_HEADER_BYTES` bytes must be there.
 *
 * @param segmentId the id that frames of this segment carry
 */
export function readHeader(bytes: Buffer, at: number, segmentId: Uint8Array): FrameHeader {
  const header = bytes.subarray(at, at + FRAME_HEADER_BYTES);
  if (header.subarray(0, FRAME_MAGIC.length).compare(FRAME_MAGIC) !== 0)
    return { problem: header.every((byte) => byte === 0) ? "zeroed" : "no_magic", frameBytes: null };

  const headBytes = header.readUInt32LE(12);
  const bodyBytes = header.readUInt32LE(16);
  const possible = headBytes <= MAX_HEAD_BYTES && bodyBytes <= MAX_BODY_BYTES;
  const frameBytes = possible ? FRAME_HEADER_BYTES + headBytes + bodyBytes : null;
  const sum = sha256(header.subarray(0, HEADER_SUM.at)).subarray(0, HEADER_SUM.bytes);
  if (sum.compare(header, HEADER_SUM.at) !== 0) return { problem: "header_sum", frameBytes };
  if (header.readUInt16LE(8) !== FRAME_VERSION) return { problem: "unknown_version", frameBytes };
  if (header.compare(segmentId, 0, 16, 20, 36) !== 0) return { problem: "foreign", frameBytes };
  return frameBytes === null
    ? { problem: "header_sum", frameBytes }
    : { problem: null, headBytes, frameBytes };
}

/** Whether head and body of the whole frame at `at` are as they were written. */
export function contentHolds(bytes: Buffer, at: number, frameBytes: number): boolean {
  const sum = sha256(bytes.subarray(at + FRAME_HEADER_BYTES, at + frameBytes)).subarray(0, CONTENT_SUM.bytes);
  return (
    bytes.compare(sum, 0, sum.length, at + CONTENT_SUM.at, at + CONTENT_SUM.at + CONTENT_SUM.bytes) === 0
  );
}

/** The record of a proven frame, with a body of its own; null when this version does not know such a record. */
export function recordOf(
  bytes: Buffer,
  at: number,
  { headBytes, frameBytes }: { headBytes: number; frameBytes: number },
): JournalRecord | null {
  const bodyAt = at + FRAME_HEADER_BYTES + headBytes;
  const body = new Uint8Array(bytes.subarray(bodyAt, at + frameBytes));
  return joinRecord(bytes.subarray(at + FRAME_HEADER_BYTES, bodyAt), body);
}

/** Whether the segment with these first bytes was in its journal's list; false also when they are no frame. */
export function frameSaysListed(start: Buffer): boolean {
  return idOf(start) !== null && start.readUInt16LE(LISTED.at) === LISTED.yes;
}

/** The id of the segment with these first bytes, 32 hexadecimal digits; null when they are no proven frame. */
export function idOf(start: Buffer): string | null {
  if (start.length < FRAME_HEADER_BYTES) return null;
  const id = start.subarray(20, 36);
  return readHeader(start, 0, id).problem === null ? id.toString("hex") : null;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
