/**
 * Failures that are the service's own, and cost the budget nothing. They come anywhere in the window, as refusals do not,
 * and nothing that we leave unsent stops them.
 *
 * Where headers tell the count, they show that no other program has filled the window. Where no header tells, failures cut
 * the calls a window to what was answered of them: were they the limit's, it is as many. What goes on after four such cuts
 * is the service's own.
 */
import { lowered, steppedLately } from "./backOff.ts";
import { countedAt, surelyCounted } from "./ownCalls.ts";
import { atPlaceOf } from "./refusals.ts";
import { reckoned } from "./secondClient.ts";
import type { GovernorState } from "./state.ts";

/** Assumed: three failures in five windows among answered calls are the limit's edge, or a service that is unwell. */
const SCATTERED_COUNT = 3;
const SCATTERED_WINDOWS = 5;

/**
 * Assumed: two windows show whether a cut has stopped the failures; those that four cuts in an hour of windows did not stop
 * are the service's own. A token bucket's limit is found by three.
 */
const CUTS = 4;
const CUT_SHOWS_WINDOWS = 2;
const CUTS_WINDOWS = 60;

/** Assumed: cuts that leave more than a third of the failures have not stopped them; they leave fewer calls that can fail. */
const UNSTOPPED_SHARE = 1 / 3;

/** Assumed: a service that is unwell stays so for an hour of windows after the last sign of it. */
const UNWELL_WINDOWS = 60;

/** Assumed: where no header tells, failures of more than two in five calls are the limit's. */
const MOST_SHARE = 0.4;

/**
 * Assumed: a failure while two fifths of the limit's calls are counted, or three fifths of what is ours of them, is hardly
 * the limit's.
 */
const LOW_SHARE = 0.4;
const LOW_SHARE_OF_OURS = 0.6;

/** Assumed: three runs of failures, two where no other program is about, are enough to see whether they have a place. */
const RUNS_SHOWN = 3;
const RUNS_SHOWN_ALONE = 2;

/** Assumed: two calls more than ours are a jostle at the window's edge, and no other program. */
const JOSTLE_COUNT = 2;

/** Whether failures are taken for the service's own. */
export function isUnwell(state: GovernorState, atMs: number): boolean {
  const { finished, seesCount, failures } = state;
  const { unwellAtMs, failedAtMs } = failures;
  if (!isWithinHour(state, unwellAtMs, atMs)) return false;
  const sinceMs = finished[0]?.answeredAtMs ?? atMs;
  return seesCount || failedAtMs.filter((at) => at >= sinceMs).length <= MOST_SHARE * finished.length;
}

/** Whether failures were taken for the service's own lately, and then so many came that they were the limit's. */
export function isRefuted(state: GovernorState, atMs: number): boolean {
  return isWithinHour(state, state.failures.refutedAtMs, atMs);
}

function isWithinHour({ config }: GovernorState, sinceMs: number | null, atMs: number): boolean {
  return sinceMs !== null && atMs - sinceMs < UNWELL_WINDOWS * config.windowMs;
}

/** Whether so few calls are counted that a failure is hardly the limit's. */
export function isLow({ limit, backOff }: GovernorState, count: number): boolean {
  return count <= Math.min(LOW_SHARE * limit, LOW_SHARE_OF_OURS * (backOff?.capCount ?? limit));
}

/** The state after a failure that says itself that calls remain, so that it is no refusal. */
export function withOwnFailure(state: GovernorState, atMs: number): GovernorState {
  return { ...state, failures: { ...state.failures, unwellAtMs: atMs } };
}

/** The state after an answer that ends a run of failures: whether what it says shows that they were the service's own. */
export function afterRun(state: GovernorState, atMs: number): GovernorState {
  const { failures, seesCount, lastReading } = state;
  if (failures.runCount === 0) return state;
  const ended = { ...state, failures: { ...failures, runCount: 0 } };
  if (!seesCount || lastReading?.answeredAtMs !== atMs) return ended;
  const runs = isAlone(state, atMs) ? RUNS_SHOWN_ALONE : RUNS_SHOWN;
  return failures.runsAtMs.length >= runs && isAnywhere(state) ? withOwnFailure(ended, atMs) : ended;
}

/** Whether the count that an answer tells holds nobody's calls but ours, in the window of the failure before it. */
function isAlone(state: GovernorState, atMs: number): boolean {
  const { failures, lastReading, forgotAtMs, config } = state;
  const failedAtMs = failures.failedAtMs.at(-1) ?? -Infinity;
  const sameWindow =
    atMs - failedAtMs < config.windowMs / 2 && (forgotAtMs === null || forgotAtMs < failedAtMs);
  return (
    sameWindow &&
    lastReading !== null &&
    lastReading.usedCount <= surelyCounted(state, lastReading) + JOSTLE_COUNT &&
    reckoned(state, atMs).secondCount === 0
  );
}

/** Whether no place of the window has more than half of the runs of failures. */
export function isAnywhere({ config, failures: { runsAtMs } }: GovernorState): boolean {
  return runsAtMs.every((at) => 2 * atPlaceOf(config, runsAtMs, at).length <= runsAtMs.length);
}

/** What failures scattered among answered calls do where no header tells: three of them in five windows cut. */
export function afterScattered(state: GovernorState, atMs: number): GovernorState {
  const { failures, config, backOff } = state;
  if (isLow(state, countedAt(state, atMs))) return state;
  const sinceMs = Math.max(backOff?.changedAtMs ?? -Infinity, atMs - SCATTERED_WINDOWS * config.windowMs);
  const lately = failures.failedAtMs.filter((at) => at > sinceMs);
  return lately.length < SCATTERED_COUNT ? state : afterCut(state, atMs);
}

/**
 * The state with the calls a window cut at `atMs`, where no header tells; or without any cut, when cuts do not help.
 *
 * @param asked whether a `Retry-After` came with the failure: from the second one on it is the limit that asks
 */
export function afterCut(state: GovernorState, atMs: number, asked = false): GovernorState {
  const { failures, config, backOff } = state;
  if (isUnwell(state, atMs)) return state;
  if (steppedLately(state, atMs)) return { ...state, backOff: lowered(state, atMs) };
  // What was answered says so much only a window after the cut before.
  if (backOff !== null && atMs - backOff.changedAtMs < config.windowMs) return state;
  const before = failures.cutAtMs.filter((at) => at > atMs - CUTS_WINDOWS * config.windowMs);
  const isShown = atMs - (before.at(-1) ?? -Infinity) > CUT_SHOWS_WINDOWS * config.windowMs;
  const isTested = isShown && before.length >= CUTS && !isRefuted(state, atMs);
  if (isTested && !asked && isAnywhere(state) && isUnstopped(state, atMs))
    return { ...state, backOff: null, failures: { ...failures, cutAtMs: [], unwellAtMs: atMs } };
  const cutAtMs = isShown ? [...before, atMs] : before;
  const { unwellAtMs, refutedAtMs } = failures;
  const refuted = isWithinHour(state, unwellAtMs, atMs) ? atMs : refutedAtMs;
  const cut = { ...state, failures: { ...failures, cutAtMs, unwellAtMs: null, refutedAtMs: refuted } };
  if (asked) return before.length === 0 ? cut : { ...cut, backOff: lowered(state, atMs) };
  return { ...cut, backOff: { ...lowered(state, atMs), capCount: capAfterCut(state, atMs) } };
}

/** Whether the cuts have left the failures as many as they were, or nearly so. */
function isUnstopped({ failures: { failedAtMs }, config }: GovernorState, atMs: number): boolean {
  const spanMs = SCATTERED_WINDOWS * config.windowMs;
  const latelyCount = failedAtMs.filter((at) => at > atMs - spanMs).length;
  return latelyCount >= UNSTOPPED_SHARE * mostWithin(failedAtMs, spanMs);
}

/** One call less than were answered of a window, and never less than a refusal leaves. */
function capAfterCut(state: GovernorState, atMs: number): number {
  const { limit, backOff, startedAtMs, config } = state;
  const cap = Math.min(limit, backOff?.capCount ?? limit);
  const isWatched = atMs - startedAtMs >= config.windowMs;
  const answeredCount = isWatched ? Math.min(cap, mostAnswered(state)) : cap;
  return Math.max(lowered(state, atMs).capCount, answeredCount - 1);
}

/** The most calls that were answered within a window, of the last two. */
function mostAnswered({ finished, failures, config }: GovernorState): number {
  const failed = new Set(failures.failedAtMs);
  const answeredAtMs = finished.map((call) => call.answeredAtMs).filter((at) => !failed.has(at));
  return mostWithin(answeredAtMs, config.windowMs);
}

/** How many calls were answered in the last window, those that failed not included. */
export function answeredLately({ finished, failures, config }: GovernorState, atMs: number): number {
  const failed = new Set(failures.failedAtMs);
  const isLate = (at: number): boolean => at > atMs - config.windowMs;
  return finished.filter(({ answeredAtMs }) => isLate(answeredAtMs) && !failed.has(answeredAtMs)).length;
}

/** The most of ascending instants that lie within a span. */
function mostWithin(timesMs: readonly number[], spanMs: number): number {
  let from = 0;
  return timesMs.reduce((most, at, to) => {
    while (at - (timesMs[from] ?? at) >= spanMs) from += 1;
    return Math.max(most, to - from + 1);
  }, 0);
}
