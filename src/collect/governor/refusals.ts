/**
 * Places in the window to go around. A second client that runs each minute is refused, or has us
 * refused, at the same place of every window; a call sent a moment earlier or later passes.
 */
import { serverForgets } from "./fault.ts";
import type { GovernorConfig, GovernorState } from "./state.ts";

/** Assumed: 1 % of the window on both sides of a refused call covers the time such a client takes. */
const BERTH_SHARE = 0.01;

/** Assumed: refusals older than half an hour of minutes say nothing of the next window. */
const REMEMBERED_WINDOWS = 30;

/** Assumed: more places than these would cost more of the window than the refusals they spare. */
const REMEMBERED_COUNT = 8;

/**
 * The remembered places with that of a call refused now, sent at `sentAtMs`. In a window that forgets all at once, a
 * call refused as soon as a berth is passed met what filled the window there: a further berth would only have the next
 * call refused behind it, and so on to the window's end.
 */
export function withRefusal(state: GovernorState, sentAtMs: number): readonly number[] {
  const { config, refusedSentAtMs } = state;
  const oldest = sentAtMs - REMEMBERED_WINDOWS * config.windowMs;
  const remembered = refusedSentAtMs.filter((at) => at > oldest);
  const behind = remembered.some((at) => isJustBehind(config, sentAtMs, at));
  if (behind && serverForgets(state, sentAtMs)) return remembered;
  return [...remembered, sentAtMs].slice(-REMEMBERED_COUNT);
}

/** Whether `atMs` lies behind the place of `refusedAtMs` by less than a berth's whole width. */
function isJustBehind(config: GovernorConfig, atMs: number, refusedAtMs: number): boolean {
  const place = placeFrom(config, atMs, refusedAtMs);
  return place < 0 && place > -2 * BERTH_SHARE * config.windowMs;
}

/** The first time from `atMs` on that is at no remembered place. */
export function aroundRefusalsMs(state: GovernorState, atMs: number): number {
  return state.refusedSentAtMs
    .toSorted((a, b) => placeFrom(state.config, atMs, a) - placeFrom(state.config, atMs, b))
    .reduce((earliest, refusedAtMs) => pastBerth(state.config, earliest, refusedAtMs), atMs);
}

/** Whether a remembered place lies between two times. */
export function passedRefusal(
  { config: { windowMs }, refusedSentAtMs }: GovernorState,
  sinceMs: number,
  atMs: number,
): boolean {
  return refusedSentAtMs.some(
    (at) => atMs - at < REMEMBERED_WINDOWS * windowMs && (atMs - at) % windowMs < atMs - sinceMs,
  );
}

/** Assumed: what comes within a twenty-fifth of the window comes at one place of it. */
export const PLACE_SHARE = 0.04;

/** Those of some instants that are at the place of `atMs` in the window. */
export function atPlaceOf(config: GovernorConfig, timesMs: readonly number[], atMs: number): number[] {
  return timesMs.filter((at) => Math.abs(placeFrom(config, atMs, at)) < PLACE_SHARE * config.windowMs);
}

/** How far the place of `otherMs` in the window lies ahead of that of `atMs`, ms; negative when behind. */
function placeFrom({ windowMs }: GovernorConfig, atMs: number, otherMs: number): number {
  const offset = (((otherMs - atMs) % windowMs) + windowMs) % windowMs;
  return offset > windowMs / 2 ? offset - windowMs : offset;
}

function pastBerth(config: GovernorConfig, atMs: number, refusedAtMs: number): number {
  const berthMs = BERTH_SHARE * config.windowMs;
  const place = placeFrom(config, atMs, refusedAtMs);
  const recent = atMs - refusedAtMs < REMEMBERED_WINDOWS * config.windowMs;
  const inBerth = recent && Math.abs(place) < berthMs;
  return inBerth ? atMs + place + berthMs : atMs;
}
