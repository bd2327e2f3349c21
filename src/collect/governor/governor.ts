/**
 * The governor: may a call leave now, and if not, when. A pure state machine without a clock.
 *
 * Phases:
 * - `open`: calls leave as the count, the pace and a second client allow;
 * - `probing`: one call at a time, until one is answered;
 * - `closed`: none, until `closedUntilMs`.
 *
 * Moves:
 * - start -> open; after an earlier run whose calls are not known for certain -> probing (the journal's clock may have
 *   been set); after one that kept still -> closed, for the rest of the time;
 * - open, probing -> closed: a call is refused, or failures look like it (`disguise.ts`);
 * - closed -> probing: a call is sent after `closedUntilMs`;
 * - probing -> open: a call sent while probing is answered. A call that fails moves nothing.
 *
 * A fault of a call that was already on its way when another fault closed belongs to that one.
 */
import { grown, growsAtMs, lowered, steppedLately } from "./backOff.ts";
import { afterScattered, cameBack, isLikelyRefusal, isRun, saysUsedUp, withFailure } from "./disguise.ts";
import { LONGEST_WAIT_WINDOWS, reopensAtMs } from "./fault.ts";
import { GUARD_MS, roomAtMs, withFinished, withoutInFlight } from "./ownCalls.ts";
import { burstAfterSending, largestBurst, paceAtMs } from "./pace.ts";
import { aroundRefusalsMs, withRefusal } from "./refusals.ts";
import { besideSecondClientAtMs } from "./secondClientRoom.ts";
import { capChangesAtMs, learn, ownCap, reckoned, withSuspicion } from "./secondClient.ts";
import type {
  Admission,
  CallEnd,
  CallHistory,
  FinishedCall,
  GovernorConfig,
  GovernorEvent,
  GovernorState,
} from "./state.ts";
import {
  afterKnock,
  afterWithdrawal,
  cautionAtMs,
  cautiousCap,
  isKnocking,
  patientAtMs,
  withHearing,
  withUnsure,
} from "./unsure.ts";
import { NO_RATE_LIMIT, type RateLimit } from "../../quotes-api/rateLimit.ts";

export type {
  Admission,
  CallEnd,
  CallHistory,
  ClosedBy,
  EarlierCall,
  FailureKind,
  GovernorConfig,
  GovernorEvent,
  GovernorState,
} from "./state.ts";

/** Assumed: a `Retry-After` of more than 15 min is not meant seriously: after 15 min one call is made to find out. */
const LONGEST_RETRY_AFTER_MS = 900_000;

/**
 * A governor that begins to count.
 *
 * @param nowMs ms on a clock that is never set back
 * @param history what the last run left; without it nothing of ours is assumed to be counted
 */
export function createGovernor(config: GovernorConfig, nowMs: number, history?: CallHistory): GovernorState {
  const uncertain = history !== undefined && !history.certain;
  const closedForMs = Math.min(history?.closedForMs ?? 0, LONGEST_WAIT_WINDOWS * config.windowMs);
  return {
    config,
    phase: closedForMs > 0 ? "closed" : uncertain ? "probing" : "open",
    nowMs,
    startedAtMs: nowMs,
    continued: uncertain,
    limit: config.limit,
    inFlightSentAtMs: [],
    finished: history === undefined ? [] : restoredCalls(history, nowMs),
    burstCount: largestBurst(config, config.limit),
    burstAtMs: nowMs,
    seesCount: false,
    backOff: null,
    failures: {
      ...{ failedAtMs: [], runCount: 0, countedAtMs: nowMs, closedCount: 0 },
      ...{ knownAtMs: null, cutAtMs: [], unwellAtMs: null },
    },
    lastReading: null,
    samples: [],
    forgotAtMs: null,
    resetAtMs: null,
    closedUntilMs: nowMs + closedForMs,
    closedBy: "refusal",
    faultAtMs: null,
    faultCount: 0,
    refusedSentAtMs: [],
    ...{ unsure: null, quietSinceMs: null, knockCount: 0, stillUntilMs: nowMs, waryUntilMs: nowMs },
  };
}

/** The state after `event` at `nowMs`. */
export function step(state: GovernorState, event: GovernorEvent, nowMs: number): GovernorState {
  const atMs = Math.max(nowMs, state.nowMs);
  const now = withHearing(grown({ ...state, nowMs: atMs }, atMs), atMs);
  switch (event.type) {
    case "tick":
      return now;
    case "unsure":
      return withUnsure(now, event, atMs);
    case "listen":
      return { ...now, quietSinceMs: atMs };
    case "withdrawn":
      return afterWithdrawal({ ...now, inFlightSentAtMs: withoutInFlight(now, event.sentAtMs) }, atMs);
    case "sent":
      return afterSending(now, atMs);
    case "failed":
      return afterFailure(finish(now, event, atMs), event, atMs);
    case "answered":
      return reopen(finish(now, event, atMs), event, atMs);
    case "faulted":
      return close(finish(now, event, atMs), event, atMs);
  }
}

/** Whether a call may leave at `nowMs`, and if not, when to ask again if nothing happens until then. */
export function admission(state: GovernorState, nowMs: number): Admission {
  const atMs = Math.max(nowMs, state.nowMs);
  const beside = reckoned(state, atMs);
  const cap = cautiousCap(state, ownCap(state, atMs, beside));
  const knocking = isKnocking(state);
  const capWithRoom = knocking ? Math.max(1, cap - state.knockCount + 1) : cap;
  const earliestMs = Math.max(
    Math.min(roomAtMs(state, capWithRoom, atMs), capChangesAtMs(state, atMs), growsAtMs(state)),
    knocking ? -Infinity : paceAtMs(state, cap),
    cautionAtMs(state, atMs),
    phaseAtMs(state),
    besideSecondClientAtMs(state, beside, atMs),
  );
  const notBeforeMs = aroundRefusalsMs(state, Math.max(earliestMs, atMs));
  // Whole milliseconds: a rounding error in a fraction would have the caller ask again at once.
  return notBeforeMs <= atMs ? { maySend: true } : { maySend: false, notBeforeMs: Math.ceil(notBeforeMs) };
}

function afterSending(state: GovernorState, atMs: number): GovernorState {
  const reopening = state.phase === "closed" && atMs >= state.closedUntilMs;
  return {
    ...afterKnock(state, atMs),
    phase: reopening ? "probing" : state.phase,
    inFlightSentAtMs: [...state.inFlightSentAtMs, atMs],
    burstCount: burstAfterSending(state, cautiousCap(state, ownCap(state, atMs)), atMs),
    burstAtMs: atMs,
  };
}

function finish(state: GovernorState, { sentAtMs, rateLimit }: CallEnd, atMs: number): GovernorState {
  const call = { sentAtMs: Math.min(sentAtMs, atMs), answeredAtMs: atMs };
  const finished = {
    ...state,
    inFlightSentAtMs: withoutInFlight(state, sentAtMs),
    finished: withFinished(state, call),
  };
  return rateLimit === undefined ? finished : withHearing(learn(finished, call, rateLimit), atMs);
}

function reopen(
  state: GovernorState,
  { sentAtMs, rateLimit }: Extract<GovernorEvent, { type: "answered" }>,
  atMs: number,
): GovernorState {
  const told = { ...state, seesCount: readsCount(rateLimit), failures: { ...state.failures, runCount: 0 } };
  if (state.phase !== "probing" || sentAtMs < state.closedUntilMs) return told;
  const open = { ...told, phase: "open" as const, faultCount: 0 };
  if (state.failures.closedCount === 0) return open;
  const learnt = cameBack(state, atMs) ? refusedAt(open, state.closedUntilMs, atMs) : open;
  const knownAtMs = state.failures.closedCount === 1 ? atMs : state.failures.knownAtMs;
  return { ...learnt, failures: { ...open.failures, closedCount: 0, knownAtMs } };
}

function close(
  state: GovernorState,
  { sentAtMs, rateLimit, wallMs, retryAfterMs }: Extract<GovernorEvent, { type: "faulted" }>,
  atMs: number,
): GovernorState {
  if (leftBeforeFault(state, sentAtMs)) return heeded(state, retryAfterMs, atMs);
  const learnt = refusedAt(state, sentAtMs, atMs);
  const faulted = { ...learnt, faultAtMs: atMs, faultCount: state.faultCount + 1 };
  const expiresInMs = (rateLimit.expire ?? 0) * 1_000 - (wallMs ?? Infinity);
  const closed: GovernorState = {
    ...faulted,
    phase: "closed",
    closedUntilMs: reopensAtMs(faulted, atMs, expiresInMs),
    closedBy: "refusal",
  };
  return heeded(closed, retryAfterMs, atMs);
}

/** What a refusal teaches: beside a second client that is seen through the headers, or else by refusals alone. */
function refusedAt(state: GovernorState, sentAtMs: number, atMs: number): GovernorState {
  return state.seesCount
    ? { ...state, refusedSentAtMs: withRefusal(state, sentAtMs), samples: withSuspicion(state, atMs) }
    : { ...state, backOff: lowered(state, atMs) };
}

/** The state that keeps still for as long as `Retry-After` asks, within its bound. */
function heeded(state: GovernorState, retryAfterMs: number | null | undefined, atMs: number): GovernorState {
  const untilMs = atMs + Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
  return untilMs <= Math.max(atMs, state.closedUntilMs)
    ? state
    : { ...state, phase: "closed", closedUntilMs: untilMs, closedBy: "retry_after" };
}

function afterFailure(
  state: GovernorState,
  event: Extract<GovernorEvent, { type: "failed" }>,
  atMs: number,
): GovernorState {
  const { sentAtMs, how, rateLimit, retryAfterMs } = event;
  if (how === "other") return state;
  if (rateLimit !== undefined && saysUsedUp(rateLimit))
    return close(state, { type: "faulted", sentAtMs, rateLimit, retryAfterMs }, atMs);
  const failed = withFailure(state, sentAtMs, atMs);
  if (isLikelyRefusal(failed, { sentAtMs, answeredAtMs: atMs }))
    return close(failed, { type: "faulted", sentAtMs, rateLimit: NO_RATE_LIMIT, retryAfterMs }, atMs);
  const asked = (retryAfterMs ?? 0) > 0;
  const isProbeAfterRefusal = state.faultCount > 0 || state.failures.closedCount > 0;
  const probed = state.phase === "probing" && isProbeAfterRefusal;
  if (asked || probed || isRun(failed, atMs)) return closeByFailure(failed, event, atMs);
  return state.seesCount ? failed : afterScattered(failed, atMs);
}

function closeByFailure(
  state: GovernorState,
  { sentAtMs, retryAfterMs }: Extract<GovernorEvent, { type: "failed" }>,
  atMs: number,
): GovernorState {
  if (state.phase === "closed" && leftBeforeFault(state, sentAtMs)) return heeded(state, retryAfterMs, atMs);
  const { failures, config } = state;
  const closed: GovernorState = {
    ...state,
    phase: "closed",
    faultAtMs: atMs,
    closedUntilMs: atMs + config.windowMs + GUARD_MS,
    closedBy: "failures",
    backOff: steppedLately(state, atMs) ? lowered(state, atMs) : state.backOff,
    failures: { ...failures, closedCount: failures.closedCount + 1, failedAtMs: [] },
  };
  return heeded(closed, retryAfterMs, atMs);
}

/** Whether a call was on its way already when the latest fault arrived. */
function leftBeforeFault({ faultAtMs }: GovernorState, sentAtMs: number): boolean {
  return faultAtMs !== null && sentAtMs <= faultAtMs;
}

function readsCount({ used, remaining }: RateLimit): boolean {
  return used !== null || remaining !== null;
}

function phaseAtMs(state: GovernorState): number {
  const oneAtATimeMs = patientAtMs(state);
  const closedMs = Math.max(state.closedUntilMs, oneAtATimeMs);
  return { open: -Infinity, probing: oneAtATimeMs, closed: closedMs }[state.phase];
}

function restoredCalls({ calls, certain }: CallHistory, nowMs: number): FinishedCall[] {
  // A negative age means the wall clock was set back in between: the whole list moves, its newest answer to now.
  const setBackMs = certain ? 0 : Math.max(0, ...calls.map(({ answeredAgoMs }) => -(answeredAgoMs ?? 0)));
  return calls
    .map(({ sentAgoMs, answeredAgoMs }) => ({
      sentAtMs: nowMs - (sentAgoMs + setBackMs),
      answeredAtMs: answeredAgoMs === null ? nowMs : nowMs - (answeredAgoMs + setBackMs),
    }))
    .sort((a, b) => a.answeredAtMs - b.answeredAtMs);
}
