/**
 * The count of our own calls, anchored at answers. The server has counted a call no later than the
 * moment its answer arrived, so a call that stays in our count from its sending until a window after
 * its answer is there at least as long as in any count of the server's that looks back one window.
 */
import type { FinishedCall, GovernorState } from "./state.ts";

/** Assumed: a timer fires up to 1 ms early and two clocks drift apart by less than 9 ms in a window. */
export const GUARD_MS = 10;

/** When a call answered at `answeredAtMs` leaves our count. */
export function leavesAtMs(state: GovernorState, answeredAtMs: number): number {
  return answeredAtMs + state.config.windowMs + GUARD_MS;
}

/** Calls in our count at `atMs`: in flight, or answered within the window before. */
export function countedAt(state: GovernorState, atMs: number): number {
  return state.inFlightSentAtMs.length + state.finished.length - firstStaying(state, atMs);
}

/**
 * When our count is below `cap`, if nothing more is sent.
 *
 * @returns a time at or before `atMs` when it is so already; a window after `atMs` when that hangs on answers still to come
 */
export function roomAtMs(state: GovernorState, cap: number, atMs: number): number {
  const { finished, inFlightSentAtMs } = state;
  const leavingCount = inFlightSentAtMs.length + finished.length - cap + 1;
  if (leavingCount <= 0) return -Infinity;
  const lastToLeave = finished[leavingCount - 1];
  return lastToLeave === undefined ? leavesAtMs(state, atMs) : leavesAtMs(state, lastToLeave.answeredAtMs);
}

/** Calls that may still enter our count at `atMs`, from 0. */
export function roomCount(state: GovernorState, cap: number, atMs: number): number {
  return Math.max(0, cap - countedAt(state, atMs));
}

/** When the next call leaves our count after `atMs`; a window later while none that is answered is in it. */
export function nextLeavesAtMs(state: GovernorState, atMs: number): number {
  const next = state.finished[firstStaying(state, atMs)];
  return leavesAtMs(state, next === undefined ? atMs : next.answeredAtMs);
}

/** The most calls of ours that a server looking back one window can have counted when it counted `call`. */
export function possiblyCounted(state: GovernorState, call: FinishedCall): number {
  const since = call.sentAtMs - state.config.windowMs;
  return (
    state.inFlightSentAtMs.length + countFromEnd(state.finished, ({ answeredAtMs }) => answeredAtMs >= since)
  );
}

/** The fewest calls of ours that a server looking back one full window has counted when it counted `call`. */
export function surelyCounted(state: GovernorState, call: FinishedCall): number {
  const since = call.answeredAtMs - state.config.windowMs;
  const within = state.finished.filter(
    ({ sentAtMs, answeredAtMs }) => sentAtMs > since && answeredAtMs <= call.sentAtMs,
  );
  return within.length + 1;
}

/** The most calls of ours counted after `earlier` and until `later`, `later` included and `earlier` not. */
export function possiblyCountedBetween(
  state: GovernorState,
  earlier: FinishedCall,
  later: FinishedCall,
): number {
  const finished = countFromEnd(state.finished, ({ answeredAtMs }) => answeredAtMs >= earlier.sentAtMs);
  return state.inFlightSentAtMs.filter((sentAtMs) => sentAtMs <= later.answeredAtMs).length + finished - 1;
}

/** `finished` with one call more, in the order of the answers and without what is too old to matter. */
export function withFinished(state: GovernorState, call: FinishedCall): readonly FinishedCall[] {
  const oldest = call.answeredAtMs - 2 * state.config.windowMs;
  const kept = state.finished.filter(({ answeredAtMs }) => answeredAtMs > oldest);
  return [...kept, call];
}

/** `inFlightSentAtMs` without one call: the one sent at that time, or else the oldest. */
export function withoutInFlight(state: GovernorState, sentAtMs: number): readonly number[] {
  const at = Math.max(0, state.inFlightSentAtMs.indexOf(sentAtMs));
  return state.inFlightSentAtMs.filter((_, index) => index !== at);
}

function firstStaying(state: GovernorState, atMs: number): number {
  const { finished } = state;
  return (
    finished.length - countFromEnd(finished, ({ answeredAtMs }) => leavesAtMs(state, answeredAtMs) > atMs)
  );
}

function countFromEnd(calls: readonly FinishedCall[], holds: (call: FinishedCall) => boolean): number {
  let from = calls.length;
  while (from > 0 && holds(calls[from - 1] as FinishedCall)) from -= 1;
  return calls.length - from;
}
