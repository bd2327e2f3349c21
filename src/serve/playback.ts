/**
 * The time that a source plays, as a function of the service's clock: from a start, faster or slower, once or in a loop.
 * Nothing is remembered between two questions. Pure.
 */
import { type Instant, instantOf, microsOf } from "../clock.ts";

/** A playback under way. */
export type Playback = {
  /** The time played at the moment it was begun. */
  from: Instant;
  /** The service's clock at that moment, epoch ms. */
  startedMs: number;
  /** Seconds played in a second of the service's clock; 1 is the pace of life, 0 stands still. */
  speed: number;
  /** The last time played before it begins again at `from`; null: it goes on for ever. */
  loopTo: Instant | null;
};

/** How long the last moment of a loop lasts, in ms played: the usual time between two polls. */
export const LOOP_TAIL_MS = 60_000;

/** The last instant there is a text for; a fast playback stands still there. */
const LAST_MICROS = microsOf("9999-12-31T23:59:59.999999Z");

/**
 * The time played at a moment of the service's clock. A clock that was set back to before the beginning has it stand
 * at `from`.
 */
export function playedAt({ from, startedMs, speed, loopTo }: Playback, now: Date): Instant {
  const elapsedMs = Math.max(0, now.getTime() - startedMs);
  const start = microsOf(from);
  const played = BigInt(Math.floor(elapsedMs * 1_000 * speed));
  if (loopTo === null) return instantOf(start + played < LAST_MICROS ? start + played : LAST_MICROS);
  const length = microsOf(loopTo) - start + BigInt(LOOP_TAIL_MS) * 1_000n;
  return instantOf(start + (length > 0n ? played % length : 0n));
}
