/**
 * Pace within the window. A third of the limit may leave at once; the calls after it follow a little
 * faster than the limit's own rate, so that one job's burst leaves room for a slot half a minute on.
 * More than one call is earned only by not sending while there was room to: a full window earns none,
 * so under constant demand calls spread evenly.
 */
import { roomAtMs } from "./ownCalls.ts";
import type { GovernorConfig, GovernorState } from "./state.ts";

/** Assumed: a third of the limit at once starts a program promptly and leaves the others their slots. */
const BURST_SHARE = 1 / 3;

/** Assumed: 3 % faster than the limit's rate makes up for lost moments without forming bursts. */
const HASTE = 1.03;

/** The most calls that may leave at once when `cap` of the window are ours. */
export function largestBurst(cap: number): number {
  return Math.max(1, Math.ceil(cap * BURST_SHARE));
}

/** Calls earned per ms when `cap` of the window are ours. */
function ratePerMs(config: GovernorConfig, cap: number): number {
  return (HASTE * cap) / config.windowMs;
}

/** When the pace allows the next call. */
export function paceAtMs(state: GovernorState, cap: number): number {
  return state.burstAtMs + Math.max(0, 1 - state.burstCount) / ratePerMs(state.config, cap);
}

/**
 * The burst left after a call sent at `atMs`.
 *
 * @param cap calls that may be in the count at once
 */
export function burstAfterSending(state: GovernorState, cap: number, atMs: number): number {
  const rate = ratePerMs(state.config, cap);
  const whileFull = Math.min(1, state.burstCount + (atMs - state.burstAtMs) * rate);
  const earningSince = Math.max(state.burstAtMs, roomAtMs(state, cap, atMs));
  const withRoom = state.burstCount + Math.max(0, atMs - earningSince) * rate;
  return Math.max(0, Math.min(largestBurst(cap), Math.max(whileFull, withRoom)) - 1);
}
