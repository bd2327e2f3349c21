/**
 * The time that a source plays, as a function of the service's clock: from a start, faster or slower, once or in a loop.
 * No state. Pure.
 */
import { type Instant, instantOf, microsOf } from "../ground/clock.ts";

export type Playback = {
  from: Instant;
  /** The service's clock at the start, epoch ms. */
  startedMs: number;
  /** Seconds played in a second of the service's clock; 1 is the pace of life, 0 stands still. */
  speed: number;
  /** The last time played before the loop returns to `from`; null: no loop. */
  loopTo: Instant | null;
};

/** How long the last moment of a loop lasts, in ms played: the usual time between two polls. */
const LOOP_TAIL_MS = 60_000;

/** The last instant that has a text; a fast playback stands still there. */
const LAST_MICROS = microsOf("9999-12-31T23:59:59.999999Z");

/**
 * The time played at a moment of the service's clock; `from` for a clock that was set back to before the start.
 */
export function playedAt({ from, startedMs, speed, loopTo }: Playback, now: Date): Instant {
  const elapsedMs = Math.max(0, now.getTime() - startedMs);
  const start = microsOf(from);
  const played = BigInt(Math.floor(elapsedMs * 1_000 * speed));
  if (loopTo === null) return instantOf(start + played < LAST_MICROS ? start + played : LAST_MICROS);
  const length = microsOf(loopTo) - start + BigInt(LOOP_TAIL_MS) * 1_000n;
  return instantOf(start + (length > 0n ? played % length : 0n));
}
