/**
 * Pace within the window. A third of the limit may leave at once; the calls after it spread over the time until the
 * first of them leaves the count, so that no long pause follows and a slot half a minute on finds room. Room that is
 * left over is made up for faster than the limit's own rate. More than one call at once is earned only by not sending while
 * there was room to: a full window earns none, so under constant demand calls spread evenly.
 */
import { nextLeavesAtMs, roomAtMs, roomCount } from "./ownCalls.ts";
import { cautiousCap } from "./unsure.ts";
import type { GovernorConfig, GovernorState } from "./state.ts";

/** Assumed: a third of the limit at once starts a program promptly and leaves the others their slots. */
const BURST_SHARE = 1 / 3;

/** Assumed: 12 % faster than the limit's rate makes up for lost moments without forming bursts. */
const HASTE = 1.12;

/** Assumed: beside a second client room is not ours alone; 3 % faster than our own share's rate is enough. */
const HASTE_BESIDE = 1.03;

/**
 * Assumed: 10 % faster for each call of room, up to twice the rate, makes up for a pause within seconds. Calls made one
 * at a time form no burst: they may be as fast as that always.
 */
const HASTE_PER_CALL = 0.1;
const MOST_HASTE = 2;

/** The most calls that may leave at once when `cap` of the window are ours, from 1. */
export function largestBurst({ evenly }: GovernorConfig, cap: number): number {
  return evenly ? 1 : Math.ceil(cap * BURST_SHARE);
}

/** The time from one call to the next, ms, from the last call on. */
function gapMs(state: GovernorState, cap: number): number {
  const { burstAtMs, config } = state;
  if (cap < cautiousCap(state, state.limit) || config.evenly) return config.windowMs / (HASTE_BESIDE * cap);
  const room = roomCount(state, cap, burstAtMs);
  const haste = state.unsure ? MOST_HASTE : Math.min(MOST_HASTE, HASTE + HASTE_PER_CALL * room);
  const leastMs = config.windowMs / (haste * cap);
  const leavesAtMs = nextLeavesAtMs(state, burstAtMs);
  return Math.max(leastMs, (leavesAtMs - burstAtMs) / (room + 1));
}

/** When the pace allows the next call. */
export function paceAtMs(state: GovernorState, cap: number): number {
  return state.burstAtMs + Math.max(0, 1 - state.burstCount) * gapMs(state, cap);
}

/**
 * The burst left after a call sent at `atMs`.
 *
 * @param cap calls that may be in the count at once
 */
export function burstAfterSending(state: GovernorState, cap: number, atMs: number): number {
  const earningSince = Math.max(state.burstAtMs, roomAtMs(state, cap, atMs));
  const earned = state.burstCount + Math.max(0, atMs - earningSince) / gapMs(state, cap);
  return Math.max(0, Math.min(largestBurst(state.config, cap), earned) - 1);
}
