/** What an import adds at a time: a saved answer, or a piece of a file of rows. */
import { createHash, type Hash } from "node:crypto";
import type { Instant } from "../../ground/clock.ts";
import type { ResponseRecord } from "../../journal/record.ts";

/** A piece and its place in time. */
export type Piece = {
  requestId: string;
  observedAt: Instant;
  /** The journal's segment that has the piece; empty: an unknown one; null: the piece is new. */
  knownIn: string | null;
  request: unknown;
  body: Buffer;
};

/** Pieces that are journaled and loaded together. */
export type PieceBatch = {
  pieces: Piece[];
  doing: string;
  /** Bytes of the files that were read so far. */
  done: number;
};

export function recordOf({ requestId, observedAt, request, body }: Piece, name: string): ResponseRecord {
  return {
    kind: "response",
    requestId,
    observedAt,
    requestedAt: observedAt,
    source: { kind: "import", name },
    jobs: [],
    slotAt: null,
    request,
    status: 200,
    headers: {},
    body,
  };
}

/** A hash of the content, so that a piece that is imported again has the same id. Over parts and their lengths: `ab`, `c` has another hash than `a`, `bc`. */
export function hashOf(parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash("sha256");
  for (const part of parts) addPart(hash, part);
  return hash;
}

export function addPart(hash: Hash, part: string | Uint8Array): void {
  hash.update(`${Buffer.byteLength(part)} `).update(part);
}

/** A UUID version 8 (RFC 9562, section 5.8) of the parts so far; more parts may follow. */
export function uuidOf(hash: Hash): string {
  const bytes = hash.copy().digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
