/**
 * Caution while another collector of ours may call the same account. Whoever cannot renew its lease is *unsure*: it keeps
 * three calls of the window free and makes one at a time. Whoever takes over from one that may still be at it *knocks*:
 * three calls at once, which just fit in there, then none for a moment. Whoever is unsure and hears that *listens*: it
 * calls but rarely, until a whole window shows nobody else. Where answers name no count, nobody can be heard.
 */
import { possiblyCounted } from "./ownCalls.ts";
import { appearedLately, secondClientCount } from "./secondClient.ts";
import type { GovernorState } from "./state.ts";

/** Calls that whoever takes over makes at once, and that whoever is unsure keeps free. */
export const KNOCK_COUNT = 3;

/** One call that nobody explains may be a jostle at the window's edge; two are somebody. */
const HEARD_COUNT = 2;

/** Assumed: who is unsure calls and is answered within 2 s when much is due; when little is, there is room for both. */
const AFTER_KNOCK_MS = 2_000;

/** Assumed: a call that was held back for want of a lease may be tried again after a quarter of a second. */
const AFTER_WITHDRAWAL_MS = 250;

/**
 * Assumed: ten calls a window tell soon enough that the account is free. While somebody is heard, four leave that one
 * more of it.
 */
const LISTENING_SHARE = 0.1;
const HEARING_SHARE = 0.25;

/** Assumed: a call without an answer holds the others up for 2 s at most, where one at a time is made. */
const PATIENCE_MS = 2_000;

/**
 * Assumed: what the one before sent after all, and when, is known to within three calls; for two windows, the heir keeps
 * as many free.
 */
export const WARY_WINDOWS = 2;

/** The calls a window that are ours to make, of `cap` that would be if we were surely alone. */
export function cautiousCap(state: GovernorState, cap: number): number {
  const { nowMs, waryUntilMs, knockCount } = state;
  const isWary = nowMs < waryUntilMs && knockCount === 0;
  return isWary || isCautious(state) ? Math.max(1, cap - KNOCK_COUNT) : cap;
}

/** When the next call may leave where one at a time is made. */
export function patientAtMs({ inFlightSentAtMs }: GovernorState): number {
  const lastSentAtMs = inFlightSentAtMs.at(-1);
  return lastSentAtMs === undefined ? -Infinity : lastSentAtMs + PATIENCE_MS;
}

/** When caution allows the next call. */
export function cautionAtMs(state: GovernorState, atMs: number): number {
  const { config, unsure, quietSinceMs, stillUntilMs, burstAtMs, lastReading } = state;
  if (unsure?.mayCall === false) return atMs + config.windowMs;
  if (!isCautious(state)) return stillUntilMs;
  const share = lastReading?.answeredAtMs === quietSinceMs ? HEARING_SHARE : LISTENING_SHARE;
  const rarelyMs = quietSinceMs === null ? -Infinity : burstAtMs + share * config.windowMs;
  return Math.max(stillUntilMs, patientAtMs(state), rarelyMs);
}

/** Whether the next call is one of a knock: it waits for room for all of them, and for no pace. */
export function isKnocking({ knockCount, phase }: GovernorState): boolean {
  return knockCount > 0 && phase === "open";
}

/** The state with one call less to knock with, sent at `atMs`. */
export function afterKnock(state: GovernorState, atMs: number): GovernorState {
  if (!isKnocking(state)) return state;
  const knockCount = state.knockCount - 1;
  return { ...state, knockCount, stillUntilMs: knockCount > 0 ? state.stillUntilMs : atMs + AFTER_KNOCK_MS };
}

/** The state after a call that was let go and did not leave: it is in no count, and its turn is given back. */
export function afterWithdrawal(state: GovernorState, atMs: number): GovernorState {
  const stillUntilMs = Math.max(state.stillUntilMs, atMs + AFTER_WITHDRAWAL_MS);
  return { ...state, burstCount: state.burstCount + 1, stillUntilMs };
}

/** The state of one who is unsure from `atMs` on, or is sure again. */
export function withUnsure(
  state: GovernorState,
  { on, mayCall }: { on: boolean; mayCall: boolean },
  atMs: number,
): GovernorState {
  if (!on) return { ...state, unsure: null, quietSinceMs: null };
  const knownCount = state.unsure?.knownCount ?? secondClientCount(state, atMs);
  return { ...state, unsure: { mayCall, knownCount } };
}

/** The state at `atMs`, when the answer that may have arrived then is learnt from: whether somebody is heard. */
export function withHearing(state: GovernorState, atMs: number): GovernorState {
  if (!isCautious(state)) return state;
  const { lastReading, quietSinceMs, seesCount, config } = state;
  const read = lastReading?.answeredAtMs === atMs;
  const heard = read && hears(state, lastReading);
  if (heard) return { ...state, quietSinceMs: atMs };
  // Silence is heard where it is listened to, and taken for granted where nothing can be heard.
  const isQuiet = quietSinceMs !== null && atMs - quietSinceMs >= config.windowMs && (read || !seesCount);
  return isQuiet ? { ...state, quietSinceMs: null } : state;
}

/** Whether calls are held back because another collector may call the account, not because the budget is used up. */
export function isHeldForOthers({ unsure, quietSinceMs }: GovernorState): boolean {
  return unsure?.mayCall === false || quietSinceMs !== null;
}

function isCautious({ unsure, quietSinceMs }: GovernorState): boolean {
  return unsure !== null || quietSinceMs !== null;
}

function hears(state: GovernorState, reading: NonNullable<GovernorState["lastReading"]>): boolean {
  const aboveCount = reading.usedCount - possiblyCounted(state, reading);
  const shownCount = Math.max(aboveCount, appearedLately(state, reading.answeredAtMs));
  return shownCount >= (state.unsure?.knownCount ?? 0) + HEARD_COUNT;
}
