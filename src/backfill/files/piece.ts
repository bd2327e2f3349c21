/** What is imported, one by one: a saved answer, or a piece of a CSV file. */
import type { Instant } from "../../clock.ts";
import type { ResponseRecord } from "../../journal/record.ts";
import { createHash, type Hash } from "node:crypto";

/** A piece whose place in time is known. */
export type Piece = {
  /** Follows from the content (identity.ts). */
  requestId: string;
  /** The record's time. */
  observedAt: Instant;
  /** The journal's segment that has it already, empty when that is not known any more; null: it is new. */
  knownIn: string | null;
  request: unknown;
  headers: Record<string, string>;
  body: Buffer;
};

/** Pieces that are journaled and loaded together, and how far the files were read with them. */
export type PieceBatch = {
  pieces: Piece[];
  doing: string;
  /** Bytes of the files that are read. */
  done: number;
};

/** A piece as the journal keeps it. */
export function recordOf(
  { requestId, observedAt, request, headers, body }: Piece,
  name: string,
): ResponseRecord {
  return {
    ...{ kind: "response", requestId, observedAt, requestedAt: observedAt },
    ...{ source: { kind: "import", name }, jobs: [], slotAt: null },
    ...{ request, status: 200, headers, body },
  };
}

// Names for what is imported that follow from its content: imported again, it has the same name. Pure.

/** A hash over parts, each with its length: `ab`, `c` is another one than `a`, `bc`. */
export function hashOf(parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash("sha256");
  for (const part of parts) addPart(hash, part);
  return hash;
}

/** Adds one more part. */
export function addPart(hash: Hash, part: string | Uint8Array): void {
  hash.update(`${Buffer.byteLength(part)} `).update(part);
}

/** A UUID version 8 (RFC 9562, section 5.8) of what a hash has seen so far; the hash may go on. */
export function uuidOf(hash: Hash): string {
  const bytes = hash.copy().digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
