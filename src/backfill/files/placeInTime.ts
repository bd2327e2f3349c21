/**
 * Finds the unique time of each saved answer. File names and mtimes have seconds only: the first answer of a second has that
 * time, each further one the next free microsecond of the source. An answer that the archive knows by its request id keeps
 * its time.
 */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Instant, instantOf, microsOf } from "../../ground/clock.ts";
import { readTimesAround } from "../../archive/refill/knownPieces.ts";
import type { Piece } from "./piece.ts";

/** A piece with the time of its file, which other pieces may have too. */
export type UnplacedPiece = Omit<Piece, "observedAt" | "knownIn"> & { foundAt: Instant };

/** How far an answer may be moved, in µs: it stays within its second. */
const MOST_MICROS = 1_000_000n;

type KnownPiece = { observedAt: Instant; segment: string };

/** @param pool the archive; null: all pieces are new */
export async function placeInTime(
  pool: pg.Pool | null,
  name: string,
  pieces: readonly UnplacedPiece[],
): Promise<Piece[]> {
  const byId = new Map<string, KnownPiece>();
  const taken = new Set<Instant>();
  const times = [...new Set(pieces.map(({ foundAt }) => foundAt))];
  const there = pool === null ? [] : await readTimesAround(pool, name, times);
  for (const { request_id, observed_at, journal_segment } of there) {
    byId.set(request_id, { observedAt: observed_at, segment: journal_segment });
    taken.add(observed_at);
  }
  const next = new Map<Instant, bigint>();
  return pieces.map(({ foundAt, ...piece }) => {
    const known = byId.get(piece.requestId);
    if (known) return { ...piece, observedAt: known.observedAt, knownIn: known.segment };
    const found = microsOf(foundAt);
    let micros = next.get(foundAt) ?? found;
    while (taken.has(instantOf(micros))) micros++;
    if (micros >= found + MOST_MICROS)
      throw new QuotekeeperError("BACKFILL_NOTHING", `more than a million answers bear the time ${foundAt}`);
    const observedAt = instantOf(micros);
    next.set(foundAt, micros + 1n);
    taken.add(observedAt);
    byId.set(piece.requestId, { observedAt, segment: "" });
    return { ...piece, observedAt, knownIn: null };
  });
}
