/** What an import adds at a time: a saved answer, or a piece of a file of rows. */
import type { Instant } from "../../clock.ts";
import type { ResponseRecord } from "../../journal/record.ts";

/** A piece and its place in time. */
export type Piece = {
  /** Follows from the content alone. */
  requestId: string;
  /** The record's time. */
  observedAt: Instant;
  /** The journal's segment that has the piece; empty: an unknown one; null: the piece is new. */
  knownIn: string | null;
  request: unknown;
  headers: Record<string, string>;
  body: Buffer;
};

/** Pieces that are journaled and loaded together. */
export type PieceBatch = {
  pieces: Piece[];
  doing: string;
  /** Bytes of the files that were read so far. */
  done: number;
};

export function recordOf(
  { requestId, observedAt, request, headers, body }: Piece,
  name: string,
): ResponseRecord {
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
    headers,
    body,
  };
}
