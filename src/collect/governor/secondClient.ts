/**
 * Another program on the same account, seen through `Used`. Two proofs, both of the careful kind: a
 * count above what our own calls can explain, and a rise above what our own calls since the last
 * reading can explain. Neither ever speaks of a second client where there is none, under any rule.
 */
import { possiblyCounted, possiblyCountedBetween, surelyCounted } from "./ownCalls.ts";
import { serverForgets } from "./fault.ts";
import type { FinishedCall, GovernorConfig, GovernorState, Reading, SecondClientSample } from "./state.ts";
import type { RateLimit } from "../../quotes-api/rateLimit.ts";

/** Assumed: a second client seen is reckoned with for two windows; a fixed window shows it whole only at its end. */
const HOLD_WINDOWS = 2;

/**
 * Assumed: what four of fifteen windows showed comes back each minute; less often is a chance visit. Few
 * of many, because a client that we crowd out shows less of what it asks for.
 */
const REMEMBERED_WINDOWS = 15;
const REGULAR_WINDOWS = 4;

/** Assumed: right after a restart, calls that nobody explains are our own that the journal lost; they do not
 * come back, and a full count gives way within two calls' share of the window. */
const LOST_HOLD_CALLS = 2;

/** Assumed: what a new run sees in less than a tenth of the window is not projected further than tenfold. */
const LEAST_WATCHED_SHARE = 0.1;

/** Assumed: a refusal beside a second client means two calls more than we knew of. */
const SUSPECTED_COUNT = 2;

/** Assumed: a refusal where no other program was known means four calls a window that the count does not show. */
const UNSEEN_COUNT = 4;

/**
 * Assumed: in a window that forgets all at once a client that fills it shows only what we left. Above eleven calls
 * known, a refusal again within three windows halves what is ours: two calls fewer each time would be refused for long.
 */
const FILLS_COUNT = 11;

/** Assumed: a refusal within three windows of the last means twice as many, up to half the limit, for six windows. */
const AGAIN_WINDOWS = 3;
const SUSPICION_WINDOWS = 6;

/** Assumed: rises are summed over a little less than a window, so that a burst each minute is not counted twice. */
const RISE_SPAN = 0.95;

/** Assumed: beside a second client one call stays unsent, or a full count would hide what it still asks for. */
const SPARE_COUNT = 1;

/** Assumed: one of fewer than twenty calls is more than the twentieth that a spare one may cost. */
const FEW_COUNT = 20;

/** Assumed: a client of which half the calls appear between two answers makes them all at once. */
const AT_ONCE_SHARE = 0.5;

/** Calls a window to leave to other programs. */
export function secondClientCount(state: GovernorState, atMs: number): number {
  const lately = state.samples.reduce(
    (most, { windowCount, holdsUntilMs }) => (holdsUntilMs > atMs && windowCount > most ? windowCount : most),
    0,
  );
  return Math.max(lately, regularCount(state, atMs));
}

/** What other programs took in most windows, and so will take again. */
function regularCount({ samples, config }: GovernorState, atMs: number): number {
  if (samples.length < REGULAR_WINDOWS) return 0;
  const perWindow: number[] = [];
  for (const { atMs: at, windowCount } of samples) {
    const age = ((atMs - at) / config.windowMs) | 0;
    if (windowCount > (perWindow[age] ?? 0)) perWindow[age] = windowCount;
  }
  const recent = perWindow.slice(0, REMEMBERED_WINDOWS).filter((count) => count > 0);
  return recent.sort((a, b) => b - a)[REGULAR_WINDOWS - 1] ?? 0;
}

/** When the calls a window that are ours next become more, if nothing new is learnt: when a sample is held no longer. */
export function capChangesAtMs(state: GovernorState, atMs: number): number {
  return state.samples.reduce(
    (next, { holdsUntilMs }) => (holdsUntilMs > atMs && holdsUntilMs < next ? holdsUntilMs : next),
    Infinity,
  );
}

/**
 * The samples after a refusal. Our careful count alone is never refused: another program asks for more than it gets,
 * and a full count hides how much.
 */
export function withSuspicion(state: GovernorState, atMs: number): readonly SecondClientSample[] {
  const { config, limit, faultAtMs } = state;
  const secondCount = secondClientCount(state, atMs);
  if (perhapsLost(state, atMs)) return state.samples;
  const unseen = secondCount === 0;
  const again = !unseen && faultAtMs !== null && atMs - faultAtMs < AGAIN_WINDOWS * config.windowMs;
  const doubled = again ? Math.min(2 * secondCount, Math.floor(limit / 2)) : 0;
  const fills = again && secondCount >= FILLS_COUNT && serverForgets(state, atMs);
  const halved = fills ? limit - Math.max(1, Math.floor((limit - secondCount) / 2)) : 0;
  const suspected = secondCount + (unseen ? UNSEEN_COUNT : SUSPECTED_COUNT);
  const count = Math.min(limit, Math.max(doubled, halved, suspected));
  const holdsUntilMs = atMs + (again || unseen ? SUSPICION_WINDOWS : HOLD_WINDOWS) * config.windowMs;
  return [...state.samples, { atMs, appearedCount: 0, provedCount: count, windowCount: count, holdsUntilMs }];
}

/** Whether calls that nobody explains may be our own of an earlier run whose journal does not show them. */
export function perhapsLost({ continued, startedAtMs, config }: GovernorState, atMs: number): boolean {
  return continued && atMs - startedAtMs < config.windowMs;
}

/**
 * Calls that stay unsent beside a second client. Nothing need stay free once what it takes is known from window to
 * window and either it comes all at once, so that our next answer shows what it asks for, or few calls are ours.
 */
export function spareCount(state: GovernorState, secondCount: number, atMs: number): number {
  if (secondCount === 0) return 0;
  const atOnce = state.samples.some(({ appearedCount }) => appearedCount >= AT_ONCE_SHARE * secondCount);
  const dispensable = atOnce || state.limit - secondCount < FEW_COUNT;
  return dispensable && secondCount <= regularCount(state, atMs) ? 0 : SPARE_COUNT;
}

/** The calls a window that are ours to make. */
export function ownCap(state: GovernorState, atMs: number): number {
  const secondCount = secondClientCount(state, atMs);
  const left = Math.max(1, state.limit - secondCount - spareCount(state, secondCount, atMs));
  return state.seesCount || state.backOff === null ? left : Math.min(left, state.backOff.capCount);
}

/** Assumed: no account is given more than ten times what the specification says. */
const MOST_RISEN = 10;

/** The limit the headers name when they agree among themselves; one above the configured only if it may rise. */
export function limitIn(
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
  const kept = state.samples.filter((sample) => sample.atMs > atMs - REMEMBERED_WINDOWS * windowMs);
  const rise =
    last === null ? 0 : reading.usedCount - last.usedCount - possiblyCountedBetween(state, last, reading);
  const appearedCount = Math.max(0, rise);
  const appeared = kept.reduce(
    (sum, sample) => (sample.atMs > atMs - RISE_SPAN * windowMs ? sum + sample.appearedCount : sum),
    appearedCount,
  );
  const above = reading.usedCount - possiblyCounted(state, reading);
  if (above <= 0 && appeared === 0) return kept;
  const lost = appeared < above && perhapsLost(state, atMs);
  const lostHoldMs = reading.usedCount < state.limit ? 0 : (LOST_HOLD_CALLS * windowMs) / state.limit;
  const holdsUntilMs = atMs + (lost ? lostHoldMs : HOLD_WINDOWS * windowMs);
  const provedCount = Math.max(above, inWholeWindow(state, appeared, atMs));
  const windowCount = Math.min(provedCount, kept.at(-1)?.provedCount ?? 0);
  return [...kept, { atMs, appearedCount, provedCount, windowCount, holdsUntilMs }];
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

/** What appeared while we have watched for less than a window, as far as it goes on so; up to half the limit. */
function inWholeWindow(state: GovernorState, appearedCount: number, atMs: number): number {
  const watchedShare = (atMs - state.startedAtMs) / state.config.windowMs;
  const projected = appearedCount / Math.max(watchedShare, LEAST_WATCHED_SHARE);
  return watchedShare >= 1
    ? appearedCount
    : Math.max(appearedCount, Math.floor(Math.min(projected, state.limit / 2)));
}
