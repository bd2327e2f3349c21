/**
 * Another program on the same account, seen through `Used`. Two proofs, both of the careful kind: a
 * count above what our own calls can explain, and a rise above what our own calls since the last
 * reading can explain. Neither ever speaks of a second client where there is none, under any rule.
 */
import { possiblyCounted, possiblyCountedBetween, surelyCounted } from "./ownCalls.ts";
import {
  appearedAtOnce,
  AT_ONCE_SHARE,
  mostAtOnce,
  REMEMBERED_WINDOWS,
  seenAt,
  type Appearance,
  type SampleCounts,
} from "./samples.ts";
import type { FinishedCall, GovernorConfig, GovernorState, Reading, SecondClientSample } from "./state.ts";
import type { RateLimit } from "../../quotes/rateLimit.ts";

/** Assumed: a second client seen is reckoned with for two windows; a fixed window shows it whole only at its end. */
const HOLD_WINDOWS = 2;

/** Assumed: right after a restart, calls that nobody explains are our own that the journal lost; they do not
 * come back, and a full count gives way within two calls' share of the window. */
const LOST_HOLD_CALLS = 2;

/** Assumed: what a new run sees in less than a tenth of the window is not projected to more than ten times that. */
const LEAST_WATCHED_SHARE = 0.1;

/** Assumed: a refusal beside a second client means that it makes two calls more than we knew of. */
const SUSPECTED_COUNT = 2;

/**
 * Assumed: a refusal where no other program was known means that one makes four calls a window that the count does not
 * show.
 */
const UNSEEN_COUNT = 4;

/**
 * Assumed: a client that comes all at once and fills the window shows only what we left. Above eleven calls known, a
 * refusal again within three windows halves what is ours: two calls fewer each time would be refused for long.
 */
const FILLS_COUNT = 11;

/** Assumed: four windows show whether half was too much to leave; a client that gets all it asks for shows it sooner. */
const FILLS_WINDOWS = 4;

/** Assumed: a refusal within three windows of the last means twice as many, up to half the limit, for six windows. */
const AGAIN_WINDOWS = 3;
const SUSPICION_WINDOWS = 6;

/** Assumed: rises are summed over a little less than a window, so that a burst each minute is not counted twice. */
const RISE_SPAN = 0.95;

/** Assumed: beside a second client one call stays unsent, or a full count would hide what it still asks for. */
const SPARE_COUNT = 1;

/** Assumed: one of fewer than twenty calls is more than the twentieth that a spare one may cost. */
const FEW_COUNT = 20;

export type SecondClientEstimate = SampleCounts & {
  /** Calls that stay unsent beside them. */
  readonly spareCount: number;
};

/** Calls a window to leave to other programs. */
export function secondClientCount(state: GovernorState, atMs: number): number {
  return reckoned(state, atMs).secondCount;
}

const NOBODY: SecondClientEstimate = { secondCount: 0, regularCount: 0, comeAtOnce: true, spareCount: 0 };

export function reckoned(state: GovernorState, atMs: number): SecondClientEstimate {
  if (state.samples.length === 0) return NOBODY;
  const seen = seenAt(state, atMs);
  return { ...seen, spareCount: spareBeside(state, seen) };
}

/** When the bursts of a client that comes at once were seen, ms. */
export function burstsAtMs(
  { samples, config }: GovernorState,
  { secondCount }: SecondClientEstimate,
): number[] {
  return samples
    .filter((sample) => appearedAtOnce(sample, config.windowMs) >= AT_ONCE_SHARE * secondCount)
    .map(({ atMs }) => atMs);
}

/**
 * The samples after a refusal. Our careful count alone is never refused: another program asks for more than it gets,
 * and a full count hides how much. It is taken for as much again as was ever counted of it since it is about.
 */
export function withSuspicion(state: GovernorState, atMs: number): readonly SecondClientSample[] {
  const { config, limit, faultAtMs } = state;
  const { secondCount, regularCount, comeAtOnce } = reckoned(state, atMs);
  if (perhapsLost(state, atMs)) return state.samples;
  const { mostCount = 0, atOnceCount = 0 } = state.samples.at(-1) ?? {};
  const unseen = secondCount === 0;
  // What was counted of it before, or comes from window to window, is what it asks for: there is nothing to guess.
  const isKnown = secondCount < mostCount || secondCount <= regularCount + SUSPECTED_COUNT;
  const again = !isKnown && faultAtMs !== null && atMs - faultAtMs < AGAIN_WINDOWS * config.windowMs;
  const doubled = again ? Math.min(2 * secondCount, Math.floor(limit / 2)) : 0;
  const fills = again && secondCount >= FILLS_COUNT && comeAtOnce;
  const halved = fills ? limit - Math.floor((limit - secondCount) / 2) : 0;
  const suspected = secondCount + (unseen ? UNSEEN_COUNT : SUSPECTED_COUNT);
  const count = Math.min(limit, Math.max(doubled, halved, suspected, mostCount));
  const guessWindows = fills ? FILLS_WINDOWS : SUSPICION_WINDOWS;
  const holdsUntilMs = atMs + (again || unseen ? guessWindows : HOLD_WINDOWS) * config.windowMs;
  const seen = { atMs, spanMs: 0, appearedCount: 0, provedCount: count, windowCount: count };
  return [...state.samples, { ...seen, mostCount, atOnceCount, holdsUntilMs }];
}

/** Whether calls that nobody explains may be our own of an earlier run whose journal does not show them. */
export function perhapsLost({ continued, startedAtMs, config }: GovernorState, atMs: number): boolean {
  return continued && atMs - startedAtMs < config.windowMs;
}

/**
 * Calls that stay unsent beside a second client. Nothing need stay free once what it takes is known from window to
 * window and either it comes all at once, so that our next answer shows what it asks for, or few calls are ours.
 * Where the server never forgot, what it takes once beyond that, at the window's edge, is what the spare call was for.
 */
function spareBeside(state: GovernorState, { secondCount, regularCount, comeAtOnce }: SampleCounts): number {
  if (secondCount === 0) return 0;
  if (state.config.evenly) return WAITING_SPARE_COUNT;
  const beyondCount = secondCount - regularCount;
  const needsNone = comeAtOnce || state.limit - secondCount < FEW_COUNT;
  const wasMeant = regularCount > 0 && beyondCount === SPARE_COUNT && state.forgotAtMs === null;
  return (needsNone ? beyondCount === 0 : wasMeant) ? 0 : SPARE_COUNT;
}

/** Assumed: work that can wait leaves a second client three calls a window more than that one was seen to make. */
const WAITING_SPARE_COUNT = 3;

/** The calls a window that are ours to make. */
export function ownCap(
  state: GovernorState,
  atMs: number,
  { secondCount, spareCount } = reckoned(state, atMs),
): number {
  const left = Math.max(1, state.limit - secondCount - spareCount);
  return state.seesCount || state.backOff === null ? left : Math.min(left, state.backOff.capCount);
}

/** Assumed: no account is given more than ten times what the specification says. */
const MOST_RISEN = 10;

/** The limit the headers name when they agree among themselves; one above the configured only if it may rise. */
function limitIn(
  { used, remaining, limit }: RateLimit,
  { limit: configured, mayRise }: GovernorConfig,
): number {
  const agree = limit !== null && used !== null && remaining !== null && used + remaining === limit;
  return agree ? Math.min(mayRise === true ? MOST_RISEN * configured : configured, limit) : configured;
}

/** The state after an answer's headers; `call` is among the finished calls already. */
export function learn(state: GovernorState, call: FinishedCall, rateLimit: RateLimit): GovernorState {
  const limit = limitIn(rateLimit, state.config);
  const used = rateLimit.used ?? (rateLimit.remaining === null ? null : limit - rateLimit.remaining);
  if (used === null || used < 0) return { ...state, limit };
  const reading: Reading = { ...call, usedCount: Math.min(limit, used) };
  if (perhapsOutOfOrder(state, reading)) return { ...state, limit };
  return {
    ...learnForgetting(state, reading),
    limit,
    lastReading: reading,
    samples: withSample(state, reading),
  };
}

/**
 * Whether a higher count may be an older one: two calls under way at once, and between them a fixed window began anew.
 * It is passed over when our own calls explain it; were it another program's, the next reading shows it as well.
 */
function perhapsOutOfOrder(state: GovernorState, reading: Reading): boolean {
  const { lastReading: last } = state;
  if (last === null || reading.sentAtMs >= last.answeredAtMs) return false;
  const rises = reading.usedCount > last.usedCount + possiblyCountedBetween(state, last, reading);
  return rises && reading.usedCount <= possiblyCounted(state, reading);
}

function withSample(state: GovernorState, reading: Reading): readonly SecondClientSample[] {
  const { windowMs } = state.config;
  const { lastReading: last } = state;
  const atMs = reading.answeredAtMs;
  const oldest = state.samples.findIndex((sample) => sample.atMs > atMs - REMEMBERED_WINDOWS * windowMs);
  const kept = oldest === -1 ? [] : state.samples.slice(oldest);
  const rise =
    last === null ? 0 : reading.usedCount - last.usedCount - possiblyCountedBetween(state, last, reading);
  const latest = {
    atMs,
    spanMs: last === null ? 0 : atMs - last.answeredAtMs,
    appearedCount: Math.max(0, rise),
  };
  const lately = latelyOf([...kept, latest], atMs, windowMs);
  const appeared = sumAppeared(lately, atMs - windowMs);
  const above = reading.usedCount - possiblyCounted(state, reading);
  if (above <= 0 && appeared === 0) return kept;
  const lost = appeared < above && perhapsLost(state, atMs);
  const lostHoldMs = reading.usedCount < state.limit ? 0 : (LOST_HOLD_CALLS * windowMs) / state.limit;
  const holdsUntilMs = atMs + (lost ? lostHoldMs : HOLD_WINDOWS * windowMs);
  const before = kept.at(-1);
  const watchedMs = atMs - state.startedAtMs;
  const isProjected = watchedMs < windowMs;
  const inWindow = isProjected ? projected(state, [...kept, latest], { appeared, watchedMs }) : appeared;
  const provedCount = Math.max(above, inWindow);
  const windowCount = Math.min(provedCount, before?.provedCount ?? 0);
  const mostCount = Math.max(before?.mostCount ?? 0, isProjected ? 0 : windowCount);
  const { spanMs, appearedCount } = latest;
  // A burst can hide behind the one before it for good, as that leaves the count: nothing appears then.
  const atOnce = appearedAtOnce(latest, windowMs);
  const evenly = appeared - mostAtOnce(lately, windowMs);
  const comesEvenly = windowCount > 0 && evenly >= AT_ONCE_SHARE * windowCount;
  const atOnceCount = comesEvenly ? atOnce : Math.max(before?.atOnceCount ?? 0, atOnce);
  return [
    ...kept,
    { atMs, spanMs, appearedCount, provedCount, windowCount, mostCount, atOnceCount, holdsUntilMs },
  ];
}

/** Calls that appeared within a window and cannot be ours. */
export function appearedLately({ samples, config: { windowMs } }: GovernorState, atMs: number): number {
  return sumAppeared(latelyOf(samples, atMs, windowMs), atMs - windowMs);
}

function latelyOf<T extends Appearance>(samples: readonly T[], atMs: number, windowMs: number): T[] {
  return samples.slice(samples.findLastIndex((sample) => sample.atMs <= atMs - RISE_SPAN * windowMs) + 1);
}

function sumAppeared(samples: readonly Appearance[], sinceMs: number): number {
  return samples.reduce((sum, sample) => sum + appearedSince(sample, sinceMs), 0);
}

/** Of the calls that appeared between two readings, those after `sinceMs` if they came evenly. */
function appearedSince({ atMs, spanMs, appearedCount }: Appearance, sinceMs: number): number {
  return Math.floor(appearedCount * Math.min(1, (atMs - sinceMs) / Math.max(1, spanMs)));
}

/**
 * A count below what we surely sent in one window shows a server that does not look back a whole
 * window. When it fell at one stroke, a fixed window began anew before this answer.
 */
function learnForgetting(state: GovernorState, reading: Reading): GovernorState {
  if (reading.usedCount >= surelyCounted(state, reading) - 1) return state;
  const { lastReading: last } = state;
  const atMs = reading.answeredAtMs;
  if (last === null) return { ...state, forgotAtMs: atMs };
  const fall = last.usedCount + 1 - reading.usedCount;
  const refilled = ((atMs - last.sentAtMs) * state.limit) / state.config.windowMs;
  return { ...state, forgotAtMs: atMs, resetAtMs: fall > refilled + 3 ? atMs : state.resetAtMs };
}

/**
 * What appeared while we have watched for less than a window, as far as it goes on so; up to half the limit. What came
 * at once comes once a window.
 */
function projected(
  { limit, config: { windowMs } }: GovernorState,
  samples: readonly Appearance[],
  { appeared, watchedMs }: { appeared: number; watchedMs: number },
): number {
  const most = mostAtOnce(samples, windowMs);
  const atOnce = most > AT_ONCE_SHARE * appeared ? most : 0;
  const goingOn = atOnce + (appeared - atOnce) / Math.max(watchedMs / windowMs, LEAST_WATCHED_SHARE);
  return Math.max(appeared, Math.floor(Math.min(goingOn, limit / 2)));
}
