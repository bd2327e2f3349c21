/**
 * Gives saved answers the time that names each of them. File names and mtimes have seconds, and several answers of one
 * second are several answers: the first has the time itself, each further one the next microsecond that no answer of
 * the source has. An answer that the archive knows by its request id keeps the time it has there.
 */
import type pg from "pg";
import { QuotekeeperError } from "../../errors.ts";
import { type Instant, instantOf, microsOf } from "../../clock.ts";
import { readTimesAround } from "../../archive/refill/knownPieces.ts";
import type { Piece } from "./piece.ts";

/** A piece with the time that was found, which others may have as well. */
export type UnplacedPiece = Omit<Piece, "observedAt" | "knownIn"> & { foundAt: Instant };

/** How far an answer may be moved, in µs: it stays within the second that was found. */
const MOST_MICROS = 1_000_000n;

type Known = { observedAt: Instant; segment: string };

/**
 * Places a batch.
 *
 * @param pools where answers may be: the archive, and in a trial its copies too
 */
export async function placeInTime(
  pools: readonly pg.Pool[],
  name: string,
  pieces: readonly UnplacedPiece[],
): Promise<Piece[]> {
  const byId = new Map<string, Known>();
  const taken = new Set<Instant>();
  const times = [...new Set(pieces.map(({ foundAt }) => foundAt))];
  for (const pool of pools)
    for (const { request_id, observed_at, journal_segment } of await readTimesAround(pool, name, times)) {
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
