/**
 * How long to keep still after a fault. The first wait is the shortest that what we learnt of the
 * server's rule supports; when the call after it is refused as well, nothing learnt is believed any
 * more and the waits are whole windows, doubling up to `LONGEST_WAIT_WINDOWS`.
 */
import { GUARD_MS, leavesAtMs } from "./ownCalls.ts";
import type { GovernorState } from "./state.ts";

/**
 * Assumed: a lock-out may double with each refused call. Waits that grow fourfold outlast it. They grow up to an hour
 * of minutes; then a budget that has still not returned is asked for once in each such time.
 */
const GROWTH = 4;

/** The longest wait, in windows of the limit. */
export const LONGEST_WAIT_WINDOWS = 60;

/** Assumed: no rule lets a refused caller call again before two calls' share of the window has passed. */
const SHORTEST_WAIT_CALLS = 2;

/** Assumed: a window and a half of answers tell whether the server looks back a whole window. */
const KNOWING_WINDOWS = 1.5;

/** Whether answers lately showed a server that forgets calls younger than a window (fixed window, bucket). */
export function serverForgets(state: GovernorState, atMs: number): boolean {
  return state.forgotAtMs !== null && atMs - state.forgotAtMs < KNOWING_WINDOWS * state.config.windowMs;
}

/** When the fixed window that was seen to begin has surely ended; null when none is known to run. */
export function windowEndsAtMs(state: GovernorState, atMs: number): number | null {
  if (state.resetAtMs === null || !serverForgets(state, atMs)) return null;
  const endsAtMs = leavesAtMs(state, state.resetAtMs);
  return endsAtMs > atMs ? endsAtMs : null;
}

/**
 * When a call may be tried after the fault that arrived at `atMs`.
 *
 * @param expiresInMs what the service says of the limit's end by the machine's clock; below 0 when past or unknown
 */
export function reopensAtMs(state: GovernorState, atMs: number, expiresInMs: number): number {
  const { windowMs } = state.config;
  if (state.faultCount > 1) {
    const windows = Math.min(GROWTH ** (state.faultCount - 2), LONGEST_WAIT_WINDOWS);
    return atMs + windows * windowMs + GUARD_MS;
  }
  const shortestMs = (SHORTEST_WAIT_CALLS * windowMs) / state.limit;
  const believedMs = (believedReturnAtMs(state, atMs) ?? hintedReturnAtMs(state, atMs, expiresInMs)) - atMs;
  return atMs + Math.min(Math.max(believedMs, shortestMs), windowMs + GUARD_MS);
}

function believedReturnAtMs(state: GovernorState, atMs: number): number | null {
  const endsAtMs = windowEndsAtMs(state, atMs);
  if (endsAtMs !== null) return endsAtMs;
  // The window in which the server was seen to have forgotten had begun by then.
  if (state.forgotAtMs !== null && leavesAtMs(state, state.forgotAtMs) > atMs)
    return leavesAtMs(state, state.forgotAtMs);
  const watchedWindow = atMs - state.startedAtMs > state.config.windowMs;
  if (!watchedWindow || serverForgets(state, atMs)) return null;
  const staying = state.finished.filter(({ answeredAtMs }) => leavesAtMs(state, answeredAtMs) > atMs);
  const second = staying[SHORTEST_WAIT_CALLS - 1];
  return second === undefined ? null : leavesAtMs(state, second.answeredAtMs);
}

function hintedReturnAtMs(state: GovernorState, atMs: number, expiresInMs: number): number {
  return atMs + (expiresInMs > 0 ? expiresInMs : state.config.windowMs) + GUARD_MS;
}
