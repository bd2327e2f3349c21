/**
 * Caution beside a second client. What the last reading left over is not ours alone, and in a fixed
 * window it does not come back before the window ends.
 */
import { serverForgets, windowEndsAtMs } from "./fault.ts";
import { passedRefusal } from "./refusals.ts";
import { perhapsLost, type SecondClientEstimate } from "./secondClient.ts";
import type { GovernorState, Reading } from "./state.ts";

/** Assumed: beside a second client, a reading older than a tenth of the window says little. */
const STALE_SHARE = 0.1;

/** Assumed: of the calls left over, a third may be risked at once. */
const RISKED_SHARE = 1 / 3;

/** When a call may leave as far as the second client goes; long past when there is none. */
export function besideSecondClientAtMs(
  state: GovernorState,
  { secondCount, spareCount }: SecondClientEstimate,
  atMs: number,
): number {
  const { lastReading } = state;
  const proved = secondCount > 0;
  if (lastReading === null || !(proved || perhapsLost(state, atMs))) return -Infinity;
  const oneByOneMs = untilOneIsBackMs(state, lastReading, atMs);
  // Suspicion alone never waits for a window's end: a full window of our own calls is what we aim for.
  return proved && serverForgets(state, atMs)
    ? Math.max(oneByOneMs, untilWindowEndsMs(state, lastReading, spareCount))
    : oneByOneMs;
}

/**
 * While the last reading leaves little, is stale or is from before a place where calls were refused, calls leave one by
 * one, none waiting longer than a call's share.
 */
function untilOneIsBackMs(state: GovernorState, reading: Reading, atMs: number): number {
  const { inFlightSentAtMs, limit } = state;
  const { windowMs } = state.config;
  const { answeredAtMs } = reading;
  const stale = atMs - answeredAtMs > STALE_SHARE * windowMs || passedRefusal(state, answeredAtMs, atMs);
  const atOnce = stale ? 1 : (limit - reading.usedCount) * RISKED_SHARE;
  const lastSentAtMs = inFlightSentAtMs.at(-1);
  return lastSentAtMs === undefined || inFlightSentAtMs.length < atOnce
    ? -Infinity
    : lastSentAtMs + windowMs / limit;
}

/** A window that forgets its calls at its end gives nothing back before. */
function untilWindowEndsMs(state: GovernorState, reading: Reading, keptCount: number): number {
  const { inFlightSentAtMs, limit } = state;
  const spare = limit - reading.usedCount - inFlightSentAtMs.length - keptCount;
  if (spare >= 1) return -Infinity;
  const { answeredAtMs } = reading;
  return windowEndsAtMs(state, answeredAtMs) ?? answeredAtMs + ((1 - spare) * state.config.windowMs) / limit;
}
