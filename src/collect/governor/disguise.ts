/**
 * Failures that are the limit in disguise. A 5xx or a closed connection may be the service's way to refuse. Three in a
 * row keep us still for one window, whatever they were: when the next call is answered they went with the window, as
 * the limit's do, and when they come back they count as refusals. A service that is down fails that call as well; it
 * is asked once a window until it answers.
 */
import { countedAt, possiblyCountedBetween } from "./ownCalls.ts";
import { lowered, steppedLately } from "./backOff.ts";
import { placeFrom } from "./refusals.ts";
import { burstsAtMs, reckoned } from "./secondClient.ts";
import type { FinishedCall, GovernorState } from "./state.ts";
import type { RateLimit } from "../../quotes-api/rateLimit.ts";

/** Assumed: three failures one after the other are more than a hiccup; two, once they went with the window. */
const RUN_COUNT = 3;
const KNOWN_RUN_COUNT = 2;

/** Assumed: if failures came and went with the window within the last hour of windows, new ones are the limit's too. */
const KNOWN_WINDOWS = 60;

/** Assumed: three failures in five windows among answered calls are the limit's edge, or a service that is unwell. */
const SCATTERED_COUNT = 3;
const SCATTERED_WINDOWS = 5;

/** Assumed: failures within a twenty-fifth of the window are at one place of it, for a quarter of an hour of windows. */
const PLACE_SHARE = 0.04;
const PLACE_WINDOWS = 15;

/** Assumed: where no other program is known, two earlier failures at the same place of the window are not chance. */
const UNKNOWN_PLACE_COUNT = 2;

/** Assumed: two failures in a row are the limit's if three quarters of it were used. */
const RUN_USED_SHARE = 0.75;

/**
 * Assumed: failures of less than a fifth of the calls that six cuts did not stop are the service's own; for an hour of
 * windows such failures are then ignored.
 */
const SCATTERED_SHARE = 0.2;
const CURES = 6;
const CURE_WINDOWS = 30;
const UNWELL_WINDOWS = 60;

/** Whether an answer's own headers say that the limit is used up. */
export function saysUsedUp({ used, remaining, limit }: RateLimit): boolean {
  return remaining === 0 || (used !== null && limit !== null && used >= limit);
}

/** The state with a failure that arrived at `atMs` booked. */
export function withFailure(state: GovernorState, sentAtMs: number, atMs: number): GovernorState {
  const { failures, config } = state;
  const lately = failures.failedAtMs.filter((at) => at > atMs - PLACE_WINDOWS * config.windowMs);
  // Calls that were on their way together fail of one cause and count as one.
  const another = sentAtMs >= failures.countedAtMs;
  return {
    ...state,
    failures: {
      ...failures,
      failedAtMs: [...lately, atMs],
      runCount: failures.runCount + (another ? 1 : 0),
      countedAtMs: another ? atMs : failures.countedAtMs,
    },
  };
}

/**
 * Whether the call that failed, booked already, was likely refused, by what the headers of earlier answers say: two in
 * a row while much is used, one when a client that comes at once has filled the window or was about to, or one where
 * most of the failures lately had their place in the window. A service that merely loses answers now and then fails
 * anywhere.
 */
export function isLikelyRefusal(state: GovernorState, call: FinishedCall): boolean {
  const { failures, lastReading, limit, phase, seesCount } = state;
  if (phase !== "open" || !seesCount || lastReading === null) return false;
  const beside = reckoned(state, call.answeredAtMs);
  const known = beside.secondCount > 0;
  const usedCount = lastReading.usedCount + possiblyCountedBetween(state, lastReading, call);
  if (failures.runCount >= KNOWN_RUN_COUNT && (known || usedCount >= RUN_USED_SHARE * limit)) return true;
  if (known && beside.comeAtOnce) {
    const atBurst = atPlaceOf(state, burstsAtMs(state, beside), call).length > 0;
    if (atBurst || usedCount >= limit) return true;
  }
  const before = failures.failedAtMs.filter((at) => at < call.answeredAtMs - state.config.windowMs / 2);
  const samePlaceCount = atPlaceOf(state, before, call).length;
  return samePlaceCount >= (known ? 1 : UNKNOWN_PLACE_COUNT) && 2 * samePlaceCount > before.length;
}

function atPlaceOf({ config }: GovernorState, timesMs: readonly number[], call: FinishedCall): number[] {
  const near = PLACE_SHARE * config.windowMs;
  return timesMs.filter((at) => Math.abs(placeFrom(config, call.answeredAtMs, at)) < near);
}

/** Whether the run of failures keeps us still now. */
export function isRun(state: GovernorState, atMs: number): boolean {
  const { runCount } = state.failures;
  if (runCount > 0 && steppedLately(state, atMs)) return true;
  return runCount >= (isKnown(state, atMs) ? KNOWN_RUN_COUNT : RUN_COUNT);
}

/** Whether failures that came back went with the window before, too: then they count as refusals. */
export function cameBack(state: GovernorState, atMs: number): boolean {
  return state.failures.closedCount === 1 && isKnown(state, atMs);
}

function isKnown({ failures: { knownAtMs }, config }: GovernorState, atMs: number): boolean {
  return knownAtMs !== null && atMs - knownAtMs < KNOWN_WINDOWS * config.windowMs;
}

/**
 * What failures scattered among answered calls do: they cut the calls a window, as refusals do, until it shows that
 * this cures nothing.
 */
export function afterScattered(state: GovernorState, atMs: number): GovernorState {
  const { failures, config } = state;
  const { unwellAtMs } = failures;
  const failedAtMs = failures.failedAtMs.filter((at) => at > atMs - SCATTERED_WINDOWS * config.windowMs);
  const unwell = unwellAtMs !== null && atMs - unwellAtMs < UNWELL_WINDOWS * config.windowMs;
  if (unwell || failedAtMs.length < SCATTERED_COUNT) return state;
  const share = failedAtMs.length / countedAt(state, atMs);
  const cutAtMs = failures.cutAtMs.filter((at) => at > atMs - CURE_WINDOWS * config.windowMs);
  return share < SCATTERED_SHARE && cutAtMs.length >= CURES
    ? { ...state, backOff: null, failures: { ...failures, failedAtMs: [], unwellAtMs: atMs } }
    : {
        ...state,
        backOff: lowered(state, atMs),
        failures: { ...failures, failedAtMs: [], cutAtMs: [...cutAtMs, atMs] },
      };
}
