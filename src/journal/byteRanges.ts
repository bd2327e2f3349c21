/** The bytes of a segment in order, from a plain or a compressed file, in bounded memory. */
import { Readable } from "node:stream";
import { createInflateRaw, type InflateRaw } from "node:zlib";
import {
  decompressMember,
  GZIP_TRAILER_BYTES,
  gzipHeaderBytes,
  isGzip,
  MEMBER_HEADER_BYTES,
  MEMBER_MAGIC,
  readMemberHeader,
  type MemberHeader,
} from "./compressed.ts";
import { MAX_FRAME_BYTES } from "./frame.ts";
import { readFully, type JournalFile } from "./fs.ts";

/**
 * A range of a segment: its bytes, a hole where the compressed file is damaged, or what stands in the file behind the
 * segment's end. A hole names the damaged bytes of the file; its length is 0 when the file is cut off and nobody can
 * know the length.
 */
type ByteRange =
  | { kind: "bytes"; offset: number; bytes: Buffer }
  | { kind: "hole" | "behind_end"; offset: number; length: number; inFile: { at: number; length: number } };

export const CHUNK_BYTES = 1024 * 1024;

/** The first read is small: most readings are of a few answers, and memory is freed late. */
const FIRST_BYTES = CHUNK_BYTES / 16;

/** A member longer than this is no member: gzip makes incompressible bytes only slightly longer. */
const MAX_MEMBER_BYTES = MAX_FRAME_BYTES + 64 * 1024;

/** A plain segment from `from` to `until` or to the file's present end. The bytes of a range are good until the next one. */
export async function* plainRanges(
  file: JournalFile,
  from: number,
  until: number,
): AsyncGenerator<ByteRange> {
  let chunk = Buffer.allocUnsafeSlow(FIRST_BYTES);
  for (let offset = from; offset < until;) {
    const count = await readFully(file, chunk.subarray(0, Math.min(chunk.length, until - offset)), offset);
    if (count === 0) return;
    yield { kind: "bytes", offset, bytes: chunk.subarray(0, count) };
    offset += count;
    if (count === chunk.length && count < CHUNK_BYTES) chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }
}

/**
 * The same of a compressed segment. What stands behind its end is a range only for readers up to the end, whatever
 * `until` is.
 */
export async function* compressedRanges(
  file: JournalFile,
  from: number,
  until: number,
): AsyncGenerator<ByteRange> {
  const window = fileWindow(file);
  if (await isOfAnotherProgram(window)) return yield* plainGzipSpans(file, from, until);
  let at = 0;
  let expected = 0;
  while (expected < until) {
    const header = readMemberHeader(await window(at, MEMBER_HEADER_BYTES), 0);
    if (header?.length === 0 && header.offset === expected)
      return yield* rest(window, { kind: "behind_end", at: at + header.memberBytes, offset: expected });

    const whole = header?.offset === expected && header.memberBytes <= MAX_MEMBER_BYTES ? header : null;
    const wanted = whole !== null && whole.offset + whole.length > from;
    const bytes =
      whole !== null && wanted ? await decompressMember(await window(at, whole.memberBytes), whole) : null;
    if (whole === null || (wanted && bytes === null)) {
      const next = await nextMember(window, at + 1, expected);
      const length = next.header === null ? 0 : next.header.offset - expected;
      if (expected + length > from || length === 0)
        yield { kind: "hole", offset: expected, length, inFile: { at, length: next.at - at } };
      if (next.header === null) return;
      [at, expected] = [next.at, next.header.offset];
      continue;
    }
    if (bytes !== null) yield* cut(bytes, expected, { from, until });
    [at, expected] = [at + whole.memberBytes, expected + whole.length];
  }
}

/**
 * Whether `gzip` or a similar program wrote the file: it begins as theirs do, and holds no member of ours. A damaged
 * first member alone does not make it theirs.
 */
async function isOfAnotherProgram(window: FileWindow): Promise<boolean> {
  const start = await window(0, MEMBER_HEADER_BYTES);
  if (!isGzip(start) || readMemberHeader(start, 0) !== null) return false;
  return (await nextMember(window, 1, 0)).header === null;
}

/**
 * A segment that another program has compressed, in any number of members. Their checksums are not checked: each frame
 * proves itself. The first bytes that cannot be unpacked end it.
 */
async function* plainGzipSpans(file: JournalFile, from: number, until: number): AsyncGenerator<ByteRange> {
  const window = fileWindow(file);
  let at = 0;
  let offset = 0;
  while (offset < until) {
    const start = await window(at, CHUNK_BYTES / 2);
    if (at > 0 && !isGzip(start)) return yield* rest(window, { kind: "behind_end", at, offset });
    const headerBytes = gzipHeaderBytes(start);
    if (headerBytes === null) return yield* rest(window, { kind: "hole", at, offset });
    const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES / 16 });
    try {
      for await (const bytes of through(inflate, file, at + headerBytes)) {
        if (offset + bytes.length > from) yield* cut(bytes, offset, { from, until });
        offset += bytes.length;
        if (offset >= until) return;
      }
    } catch (error) {
      if (!String((error as NodeJS.ErrnoException).code).startsWith("Z_")) throw error;
      return yield* rest(window, { kind: "hole", at, offset });
    }
    at += headerBytes + inflate.bytesWritten + GZIP_TRAILER_BYTES;
    // Its trailer is cut off.
    if ((await window(at - 1, 1)).length === 0) return yield* rest(window, { kind: "hole", at, offset });
  }
}

/** The unpacked bytes of a file from a place on. Rejects with the file's errors, or zlib's (`Z_...`). */
async function* through(inflate: InflateRaw, file: JournalFile, at: number): AsyncGenerator<Buffer> {
  const source = Readable.from(fileBytes(file, at));
  source.once("error", (error) => inflate.destroy(error));
  try {
    for await (const piece of source.pipe(inflate)) yield piece as Buffer;
  } finally {
    source.destroy();
    inflate.destroy();
  }
}

async function* fileBytes(file: JournalFile, at: number): AsyncGenerator<Buffer> {
  for await (const span of plainRanges(file, at, Number.MAX_SAFE_INTEGER))
    if (span.kind === "bytes") yield Buffer.from(span.bytes);
}

/** The bytes of the file from `at` on, damaged or behind the segment's end; nothing where the file ends at `at`. */
async function* rest(
  window: FileWindow,
  { kind, at, offset }: { kind: "hole" | "behind_end"; at: number; offset: number },
): AsyncGenerator<ByteRange> {
  let end = at;
  for (let bytes = await window(end, CHUNK_BYTES); bytes.length > 0; bytes = await window(end, CHUNK_BYTES))
    end += bytes.length;
  if (end > at || kind === "hole") yield { kind, offset, length: 0, inFile: { at, length: end - at } };
}

function* cut(
  bytes: Buffer,
  offset: number,
  { from, until }: { from: number; until: number },
): Generator<ByteRange> {
  const first = Math.max(from, offset);
  const last = Math.min(until, offset + bytes.length);
  yield { kind: "bytes", offset: first, bytes: bytes.subarray(first - offset, last - offset) };
}

/** Where the next member that proves itself begins, from `at` on; without one, the file's end. */
async function nextMember(
  window: FileWindow,
  at: number,
  expected: number,
): Promise<{ at: number; header: MemberHeader | null }> {
  for (;;) {
    const bytes = await window(at, CHUNK_BYTES / 2);
    for (
      let found = bytes.indexOf(MEMBER_MAGIC);
      found !== -1;
      found = bytes.indexOf(MEMBER_MAGIC, found + 1)
    ) {
      const header = readMemberHeader(await window(at + found, MEMBER_HEADER_BYTES), 0);
      if (header !== null && header.offset >= expected) return { at: at + found, header };
    }
    if (bytes.length < CHUNK_BYTES / 2) return { at: at + bytes.length, header: null };
    at += bytes.length - MEMBER_MAGIC.length + 1;
  }
}

/** `length` bytes of a file at a position, fewer at its end; good until the next call. */
type FileWindow = (at: number, length: number) => Promise<Buffer>;

/** Reads a file front to back in large chunks, however small the ranges asked for. The file does not grow. */
function fileWindow(file: JournalFile): FileWindow {
  let held = Buffer.alloc(0);
  let heldAt = 0;
  let isLast = false;
  let ahead = FIRST_BYTES;
  return async (at, length) => {
    if (at < heldAt || (at + length > heldAt + held.length && !isLast)) {
      const piece = Buffer.allocUnsafe(Math.max(length, ahead));
      ahead = CHUNK_BYTES;
      held = piece.subarray(0, await readFully(file, piece, at));
      heldAt = at;
      isLast = held.length < piece.length;
    }
    return held.subarray(at - heldAt, at - heldAt + length);
  };
}
