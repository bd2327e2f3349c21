/** The bytes of a segment in order, from a plain or a compressed file, in bounded memory. */
import {
  decompressMember,
  MEMBER_HEADER_BYTES,
  MEMBER_MAGIC,
  readMemberHeader,
  type MemberHeader,
} from "./compressed.ts";
import { MAX_FRAME_BYTES } from "./frame.ts";
import { readFully, type JournalFile } from "./fs.ts";

/**
 * A stretch of a segment: its bytes, or a hole where the compressed file is damaged. A hole names the
 * damaged bytes of the file; its length is 0 when the file is cut off and nobody can know it.
 */
export type Span =
  | { kind: "bytes"; offset: number; bytes: Buffer }
  | { kind: "hole"; offset: number; length: number; inFile: { at: number; length: number } };

/** Bytes read at a time. */
export const CHUNK_BYTES = 1024 * 1024;

/** A member longer than this is no member: gzip makes incompressible bytes only slightly longer. */
const MAX_MEMBER_BYTES = MAX_FRAME_BYTES + 64 * 1024;

/** The stretch of a plain segment from `from` to `until` or to the file's present end. Each span's bytes are good until the next. */
export async function* plainSpans(file: JournalFile, from: number, until: number): AsyncGenerator<Span> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let offset = from; offset < until;) {
    const count = await readFully(file, chunk.subarray(0, Math.min(chunk.length, until - offset)), offset);
    if (count === 0) return;
    yield { kind: "bytes", offset, bytes: chunk.subarray(0, count) };
    offset += count;
  }
}

/** The same stretch of a compressed segment. */
export async function* compressedSpans(file: JournalFile, from: number, until: number): AsyncGenerator<Span> {
  const window = fileWindow(file);
  let at = 0;
  let expected = 0;
  while (expected < until) {
    const header = readMemberHeader(await window(at, MEMBER_HEADER_BYTES), 0);
    if (header?.length === 0 && header.offset === expected) return;

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
    if (bytes !== null) yield* cut(bytes, expected, from, until);
    [at, expected] = [at + whole.memberBytes, expected + whole.length];
  }
}

function* cut(bytes: Buffer, offset: number, from: number, until: number): Generator<Span> {
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

/** Reads a file front to back in large pieces, however small the stretches asked for. */
function fileWindow(file: JournalFile): FileWindow {
  let held = Buffer.alloc(0);
  let heldAt = 0;
  return async (at, length) => {
    if (at < heldAt || at + length > heldAt + held.length) {
      const piece = Buffer.allocUnsafe(Math.max(length, CHUNK_BYTES));
      held = piece.subarray(0, await readFully(file, piece, at));
      heldAt = at;
    }
    return held.subarray(at - heldAt, at - heldAt + length);
  };
}
