/**
 * Failures where no header tells the count: whether they are the limit's shows in how many of our calls are counted when
 * they come. A limit refuses when its calls are used, and does so again soon while we make as many calls as before. So
 * failures that go on after they kept us still keep us still for a whole window; when they go on after that, they cut.
 *
 * Signs that they are the service's own: one comes while few calls are counted; none comes for long, though we call as
 * much as before. Two signs are enough; where they are low counts, a failure at a middling count completes them.
 */
import { countedAt } from "./ownCalls.ts";
import { lowered, steppedLately } from "./backOff.ts";
import {
  afterCut,
  answeredLately,
  isAnywhere,
  isLow,
  isRefuted,
  isUnwell,
  withOwnFailure,
} from "./unwell.ts";
import type { GovernorState } from "./state.ts";

/** Assumed: failures that go on show it within a window and a half after they kept us still: by two in a row. */
const TRIAL_WINDOWS = 1.5;
const TRIAL_RUN_COUNT = 2;

/** Assumed: so many failures within a sixth of the window, after a cut, are the limit's: it was cut too little. */
const DENSE_COUNT = 3;
const DENSE_WINDOWS = 1 / 6;

/** Assumed: two signs are no chance, for a quarter of an hour of windows. */
const SIGNS = 2;
const SIGNS_WINDOWS = 15;

/** Assumed: nine tenths of the calls that are ours are clearly fewer than the limit that refuses the next one. */
const MIDDLING_SHARE = 0.9;

/** Assumed: more than a third of a window's calls fail only of the limit. */
const MOST_SHARE = 1 / 3;

/** Assumed: a limit that refused before does so again within two windows; just after a reopening within one and a half. */
const QUIET_WINDOWS = 2;
const QUIET_REOPENED_WINDOWS = 1.5;

/** Assumed: a window with 85 % of the limit's calls, of which nine tenths may be ours, is as full as one that was refused. */
const FULL_SHARE = 0.85;
const UNCUT_SHARE = 0.9;

/** Whether failures go on after they kept us still or cut: not those that come at a count at which no limit refuses. */
export function goesOn(state: GovernorState, atMs: number): boolean {
  const { phase, closedBy, closedUntilMs, config, seesCount, failures } = state;
  if (phase !== "open" || seesCount || isUnwell(state, atMs)) return false;
  const count = countedAt(state, atMs);
  if (isLow(state, count) || (failures.signsAtMs.length >= SIGNS && isMiddling(state, count))) return false;
  const isOnTrial = closedBy === "failures" && atMs < closedUntilMs + TRIAL_WINDOWS * config.windowMs;
  return (isOnTrial && failures.runCount >= TRIAL_RUN_COUNT) || isDense(state, atMs);
}

function isDense({ backOff, failures, config }: GovernorState, atMs: number): boolean {
  if (backOff === null || backOff.tookStep) return false;
  if (atMs - backOff.changedAtMs > TRIAL_WINDOWS * config.windowMs) return false;
  const sinceMs = Math.max(backOff.changedAtMs, atMs - DENSE_WINDOWS * config.windowMs);
  return failures.failedAtMs.filter((at) => at > sinceMs).length >= DENSE_COUNT;
}

/**
 * What failures teach that keep us still from now on.
 *
 * @param asked whether a `Retry-After` came with the last one
 */
export function afterRunOfFailures(state: GovernorState, atMs: number, asked: boolean): GovernorState {
  const { phase, seesCount, closedUntilMs, faultAtMs, config } = state;
  if (phase !== "open" || seesCount || isLow(state, countedAt(state, atMs))) return state;
  if (!goesOn(state, atMs)) return afterCut(state, atMs, asked);
  const keptStillMs = closedUntilMs - (faultAtMs ?? closedUntilMs);
  return keptStillMs > config.windowMs || isDense(state, atMs) ? cutDeep(state, atMs) : state;
}

/** The state with the calls a window cut to what the last one answered, between one refusal's cut and two. */
function cutDeep(state: GovernorState, atMs: number): GovernorState {
  const once = lowered(state, atMs);
  if (steppedLately(state, atMs)) return { ...state, backOff: once };
  const twice = lowered({ ...state, backOff: once }, atMs);
  const answeredCount = answeredLately(state, atMs);
  const capCount = Math.max(twice.capCount, Math.min(once.capCount, answeredCount - 1));
  return { ...state, backOff: { ...once, capCount } };
}

/** The state after a failure at `atMs` that is booked already, with what it shows; `before` has not booked it. */
export function withSigns(before: GovernorState, booked: GovernorState, atMs: number): GovernorState {
  const { failures, config, seesCount } = booked;
  const begins = failures.runsAtMs.at(-1) === atMs;
  if (seesCount || !begins) return booked;
  const count = countedAt(booked, atMs);
  const signsAtMs = failures.signsAtMs.filter((at) => at > atMs - SIGNS_WINDOWS * config.windowMs);
  const seen = { ...booked, failures: { ...failures, signsAtMs } };
  if (isAfterQuiet(before, atMs) && isAnywhere(booked)) return withSign(seen, atMs);
  if (isLow(booked, count)) return { ...seen, failures: { ...failures, signsAtMs: [...signsAtMs, atMs] } };
  return signsAtMs.length >= SIGNS && isMiddling(booked, count) && isSome(booked, atMs)
    ? asOwn(seen, atMs)
    : seen;
}

/** The state after an answer: a full window without failures, since they kept us still, is a sign. */
export function afterQuiet(state: GovernorState, atMs: number): GovernorState {
  const { phase, closedBy, closedUntilMs, config, failures, limit, backOff, seesCount } = state;
  const { failedAtMs, signsAtMs } = failures;
  if (phase !== "open" || closedBy !== "failures" || seesCount || isUnwell(state, atMs)) return state;
  const isQuiet = Math.max(failedAtMs.at(-1) ?? -Infinity, signsAtMs.at(-1) ?? -Infinity) <= closedUntilMs;
  const isLong = atMs - closedUntilMs >= QUIET_REOPENED_WINDOWS * config.windowMs;
  const isUncut = (backOff?.capCount ?? limit) >= UNCUT_SHARE * limit;
  const isFull = answeredLately(state, atMs) >= FULL_SHARE * limit;
  return isQuiet && isLong && isUncut && isFull ? withSign(state, atMs) : state;
}

/** Whether a failure now is the first for long, although as many calls were made as when those before it came. */
function isAfterQuiet(
  { backOff, failures, config, closedUntilMs, phase }: GovernorState,
  atMs: number,
): boolean {
  const lastAtMs = failures.failedAtMs.at(-1);
  if (backOff === null || backOff.tookStep || phase !== "open" || lastAtMs === undefined) return false;
  return atMs - Math.max(lastAtMs, closedUntilMs, backOff.changedAtMs) > QUIET_WINDOWS * config.windowMs;
}

function withSign(state: GovernorState, atMs: number): GovernorState {
  const signsAtMs = [...state.failures.signsAtMs, atMs];
  const seen = { ...state, failures: { ...state.failures, signsAtMs } };
  return signsAtMs.length >= SIGNS ? asOwn(seen, atMs) : seen;
}

/** The state that takes failures for the service's own, unless that was refuted lately. */
function asOwn(state: GovernorState, atMs: number): GovernorState {
  if (isRefuted(state, atMs)) return state;
  return withOwnFailure(
    { ...state, backOff: null, failures: { ...state.failures, signsAtMs: [], cutAtMs: [] } },
    atMs,
  );
}

function isMiddling({ limit, backOff }: GovernorState, count: number): boolean {
  return count <= MIDDLING_SHARE * Math.min(limit, backOff?.capCount ?? limit);
}

/** Whether so few of the last window's calls failed that it need not be the limit. */
function isSome(state: GovernorState, atMs: number): boolean {
  const failedCount = state.failures.failedAtMs.filter((at) => at > atMs - state.config.windowMs).length;
  return failedCount <= MOST_SHARE * (failedCount + answeredLately(state, atMs));
}
