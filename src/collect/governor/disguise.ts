/**
 * Failures that are the limit in disguise. A 5xx or a closed connection may be the service's way to refuse, or a failure
 * of its own (`unwell.ts`, `untold.ts`). Three in a row keep us still for a part of the window, then one call asks; as long
 * as that one fails as well, the waits grow up to a window. Where headers tell the count, a failure may be known for a refusal
 * at once.
 */
import { GUARD_MS, possiblyCounted, possiblyCountedBetween, surelyCounted } from "./ownCalls.ts";
import { steppedLately } from "./backOff.ts";
import { atPlaceOf, PLACE_SHARE } from "./refusals.ts";
import { burstsAtMs, reckoned } from "./secondClient.ts";
import type { FinishedCall, GovernorState, Reading } from "./state.ts";
import { goesOn } from "./untold.ts";
import { isUnwell } from "./unwell.ts";
import type { RateLimit } from "../../quotes/rateLimit.ts";

/** Assumed: three failures one after the other are more than a hiccup. */
const RUN_COUNT = 3;

/**
 * Assumed: after a run of failures, a call after a third of the window shows whether they go on, and most refusals are
 * spared by then.
 */
const FIRST_WAIT = 1 / 3;
const WAIT_GROWTH = 2;

/** Assumed: in the first two windows a call that fails after a refusal is refused as well: another program may be unseen yet. */
const NEW_WINDOWS = 2;

/** Assumed: a service that is unwell may answer again after two calls' share of the window. */
const UNWELL_WAIT_CALLS = 2;
const UNWELL_WAIT_GROWTH = 1.5;

/** Assumed: a quarter of an hour of windows shows whether failures have their place in the window. */
const PLACE_WINDOWS = 15;

/** Assumed: where no other program is known, two earlier failures at the same place of the window are not chance. */
const UNKNOWN_PLACE_COUNT = 2;

/**
 * Assumed: a program that was not seen yet makes at most nine tenths of the limit's calls at once. One that was seen makes
 * as many as were seen, or half the limit: its calls are seen late where refusals bear no headers.
 */
const MOST_AT_ONCE_SHARE = 0.9;
const KNOWN_AT_ONCE_SHARE = 1 / 2;

/** Assumed: two failures in a row are the limit's if three quarters of it were used, or another program comes at once. */
const SUSPECT_RUN_COUNT = 2;
const RUN_USED_SHARE = 0.75;

/** Whether an answer's own headers say that the limit is used up. */
export function saysUsedUp({ used, remaining, limit }: RateLimit): boolean {
  return remaining === 0 || (used !== null && limit !== null && used >= limit);
}

/**
 * Whether a call that failed was refused by what its own headers say: the limit is used up, and this call is none of
 * those that used it. The limit's last call says the same count when it was let in; our own calls explain that count then,
 * in the window and since the reading before.
 *
 * @param before the reading before the call's own; null: there is none
 */
export function isSaidRefusal(
  state: GovernorState,
  call: FinishedCall,
  { rateLimit, before }: { rateLimit: RateLimit; before: Reading | null },
): boolean {
  if (!saysUsedUp(rateLimit)) return false;
  const usedCount = rateLimit.used ?? state.limit;
  const sinceBefore =
    before === null ? Infinity : before.usedCount + possiblyCountedBetween(state, before, call);
  const explained = Math.min(possiblyCounted(state, call), sinceBefore);
  return usedCount > state.limit || explained < usedCount || surelyCounted(state, call) > usedCount;
}

/** The state with a failure that arrived at `atMs` booked. */
export function withFailure(state: GovernorState, sentAtMs: number, atMs: number): GovernorState {
  const { failures, config } = state;
  const isLate = (at: number): boolean => at > atMs - PLACE_WINDOWS * config.windowMs;
  const runsAtMs = failures.runsAtMs.filter(isLate);
  // A burst of calls of which several fail is one run, though others of it were answered in between.
  const latestRun = runsAtMs.at(-1);
  const sameBurst = latestRun !== undefined && atMs - latestRun < PLACE_SHARE * config.windowMs;
  // Calls that were on their way together fail of one cause and count as one.
  const another = sentAtMs >= failures.countedAtMs;
  return {
    ...state,
    failures: {
      ...failures,
      failedAtMs: [...failures.failedAtMs.filter(isLate), atMs],
      runsAtMs: failures.runCount === 0 && !sameBurst ? [...runsAtMs, atMs] : runsAtMs,
      runCount: failures.runCount + (another ? 1 : 0),
      countedAtMs: another ? atMs : failures.countedAtMs,
    },
  };
}

/**
 * Whether the call that failed, booked already, was likely refused, by what the headers of earlier answers say: two in
 * a row while much is used, one when a client that comes at once has filled the window or was about to, or one where
 * most runs of failures lately had their place in the window. A service that is unwell fails anywhere. Where the last
 * answer left more calls than another program makes at once, no failure is a refusal.
 */
export function isLikelyRefusal(state: GovernorState, call: FinishedCall): boolean {
  const { failures, lastReading, limit, phase, seesCount } = state;
  const atMs = call.answeredAtMs;
  if (phase !== "open" || !seesCount || lastReading === null || isUnwell(state, atMs)) return false;
  const beside = reckoned(state, atMs);
  const known = beside.secondCount > 0;
  const comesAtOnce = known && beside.comeAtOnce;
  const usedCount = lastReading.usedCount + possiblyCountedBetween(state, lastReading, call);
  const atOnceCount = known
    ? Math.max(beside.secondCount, KNOWN_AT_ONCE_SHARE * limit)
    : MOST_AT_ONCE_SHARE * limit;
  if (usedCount + atOnceCount < limit) return false;
  if (failures.runCount >= SUSPECT_RUN_COUNT && (comesAtOnce || usedCount >= RUN_USED_SHARE * limit))
    return true;
  if (
    comesAtOnce &&
    (usedCount >= limit || atPlaceOf(state.config, burstsAtMs(state, beside), atMs).length > 0)
  )
    return true;
  const otherCount = failures.runsAtMs.length - 1;
  const againCount = runsAtPlace(state, atMs).length;
  return againCount >= (known ? 1 : UNKNOWN_PLACE_COUNT) && 2 * againCount > otherCount;
}

/** Whether a failure came at the place of one in an earlier window: once may be chance, and teaches less. */
export function cameAgain(state: GovernorState, atMs: number): boolean {
  return runsAtPlace(state, atMs).length > 0;
}

/** The runs of failures of earlier windows that began at the same place. */
function runsAtPlace(state: GovernorState, atMs: number): number[] {
  const before = state.failures.runsAtMs.filter((at) => at < atMs - state.config.windowMs / 2);
  return atPlaceOf(state.config, before, atMs);
}

/** Whether the run of failures keeps us still now. */
export function isRun(state: GovernorState, atMs: number): boolean {
  const { runCount } = state.failures;
  if (runCount >= RUN_COUNT) return true;
  return runCount > 0 && !state.seesCount && (steppedLately(state, atMs) || goesOn(state, atMs));
}

/** How long a run of failures keeps us still, ms; longer each time until a call is answered, up to a window. */
export function stillForMs(state: GovernorState, atMs: number): number {
  const { config, limit, failures } = state;
  const unwell = isUnwell(state, atMs);
  const isNew = atMs - state.startedAtMs < NEW_WINDOWS * config.windowMs;
  if ((isNew && state.faultCount > 0 && !unwell) || goesOn(state, atMs)) return config.windowMs + GUARD_MS;
  const first = unwell ? UNWELL_WAIT_CALLS / limit : FIRST_WAIT;
  const share = first * (unwell ? UNWELL_WAIT_GROWTH : WAIT_GROWTH) ** failures.closedCount;
  return Math.min(1, share) * config.windowMs + GUARD_MS;
}
