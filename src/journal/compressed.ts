/**
 * A compressed segment: one gzip member (RFC 1952) for each frame, so that a damaged byte costs one
 * record here too, and a reader can skip to an offset without decompressing what lies before it.
 * `zcat` gives the plain segment. What gzip does not say is in an extra field of each member:
 *
 * ```
 *  0  10  gzip header, with the flag FEXTRA
 * 10   2  28, the length of the extra field
 * 12   4  "QK", 24
 * 16   8  offset of these bytes in the uncompressed segment
 * 24   4  their length
 * 28   4  length of the whole member
 * 32   8  SHA-256 of the 16 bytes before, its first 8 bytes
 * 40      compressed bytes, CRC-32, length
 * ```
 *
 * The last member is empty; its offset is the segment's length. A file without it is cut off.
 */
import { createHash } from "node:crypto";
import { gunzip, gzip, gzipSync } from "node:zlib";
import { promisify } from "node:util";

export const MEMBER_HEADER_BYTES = 40;

export const MEMBER_MAGIC = Buffer.from([0x1f, 0x8b, 0x08, 0x04]);

const GZIP_HEADER_BYTES = 10;
const EXTRA = { lengthAt: 10, idAt: 12, numbersAt: 16, sumAt: 32 };
const EXTRA_ID = Buffer.from([0x51, 0x4b, 24, 0]);

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);

export type MemberHeader = { offset: number; length: number; memberBytes: number };

export async function compressMember(bytes: Uint8Array, offset: number): Promise<Buffer> {
  return memberOf(await gzipAsync(bytes), bytes.length, offset);
}

/** The empty member that ends a segment of `total` bytes. */
export function endMarker(total: number): Buffer {
  return memberOf(gzipSync(""), 0, total);
}

export const endMarkerBytes = endMarker(0).length;

/** Whether bytes begin as a member of ours, damaged or not. */
export function isOwnMember(bytes: Buffer): boolean {
  return bytes.compare(EXTRA_ID, 0, 4, EXTRA.idAt, EXTRA.numbersAt) === 0;
}

/** Whether bytes may begin a gzip file of any program (RFC 1952, section 2.3). */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08;
}

/** Bytes behind the compressed ones of any gzip member: CRC-32 and length. */
export const GZIP_TRAILER_BYTES = 8;

const FLAGS = { headerSum: 2, extra: 4, name: 8, comment: 16 };

/** Bytes before the compressed ones of any gzip member (RFC 1952, section 2.3); null when `bytes` begin otherwise. */
export function gzipHeaderBytes(bytes: Buffer): number | null {
  if (!isGzip(bytes) || bytes.length < GZIP_HEADER_BYTES + 2) return null;
  const flags = bytes[3] ?? 0;
  let at = GZIP_HEADER_BYTES;
  if (flags & FLAGS.extra) at += 2 + bytes.readUInt16LE(at);
  for (const text of [FLAGS.name, FLAGS.comment]) {
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end === -1) return null;
    at = end + 1;
  }
  if (flags & FLAGS.headerSum) at += 2;
  return at <= bytes.length ? at : null;
}

/** The segment's length, when these bytes are an end marker. */
export function totalOfEndMarker(bytes: Buffer): number | null {
  const header = readMemberHeader(bytes, 0);
  return header?.length === 0 && header.memberBytes === bytes.length ? header.offset : null;
}

/** Null when no header begins at `at`, or its checksum does not hold. */
export function readMemberHeader(bytes: Buffer, at: number): MemberHeader | null {
  const header = bytes.subarray(at, at + MEMBER_HEADER_BYTES);
  if (header.length < MEMBER_HEADER_BYTES) return null;
  if (header.compare(MEMBER_MAGIC, 0, 4, 0, 4) !== 0) return null;
  if (!isOwnMember(header)) return null;
  if (sumOf(header).compare(header, EXTRA.sumAt) !== 0) return null;
  return {
    offset: Number(header.readBigUInt64LE(EXTRA.numbersAt)),
    length: header.readUInt32LE(EXTRA.numbersAt + 8),
    memberBytes: header.readUInt32LE(EXTRA.numbersAt + 12),
  };
}

/**
 * Zlib's output comes in chunks of 16 KB by default, each by way of the thread pool, which took four times as long for
 * a journal's answers as a single chunk. A member that claims to be longer than this comes in several chunks.
 */
const MOST_AT_ONCE = 4 * 1024 * 1024;

/** The bytes a member was made of, never more than its header says; null when it is damaged. */
export async function decompressMember(member: Uint8Array, header: MemberHeader): Promise<Buffer | null> {
  const maxOutputLength = Math.max(1, header.length);
  const chunkSize = Math.min(Math.max(64, header.length), MOST_AT_ONCE);
  try {
    const bytes = await gunzipAsync(member, { maxOutputLength, chunkSize });
    return bytes.length === header.length ? bytes : null;
  } catch {
    return null;
  }
}

function memberOf(gzipped: Buffer, length: number, offset: number): Buffer {
  const member = Buffer.alloc(gzipped.length + MEMBER_HEADER_BYTES - GZIP_HEADER_BYTES);
  gzipped.copy(member, 0, 0, GZIP_HEADER_BYTES);
  MEMBER_MAGIC.copy(member);
  member.writeUInt16LE(MEMBER_HEADER_BYTES - EXTRA.idAt, EXTRA.lengthAt);
  EXTRA_ID.copy(member, EXTRA.idAt);
  member.writeBigUInt64LE(BigInt(offset), EXTRA.numbersAt);
  member.writeUInt32LE(length, EXTRA.numbersAt + 8);
  member.writeUInt32LE(member.length, EXTRA.numbersAt + 12);
  sumOf(member).copy(member, EXTRA.sumAt);
  gzipped.copy(member, MEMBER_HEADER_BYTES, GZIP_HEADER_BYTES);
  return member;
}

function sumOf(header: Buffer): Buffer {
  const numbers = header.subarray(EXTRA.numbersAt, EXTRA.sumAt);
  return createHash("sha256")
    .update(numbers)
    .digest()
    .subarray(0, MEMBER_HEADER_BYTES - EXTRA.sumAt);
}
