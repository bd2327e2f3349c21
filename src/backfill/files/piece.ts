/** What is imported, one by one: a saved answer, or a piece of a CSV file. */
import type { Instant } from "../../clock.ts";
import type { ResponseRecord } from "../../journal/record.ts";

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
