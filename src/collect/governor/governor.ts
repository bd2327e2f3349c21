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
import { grown, growsAtMs, lowered } from "./backOff.ts";
import {
  cameAgain,
  isLikelyRefusal,
  isRun,
  isSaidRefusal,
  saysUsedUp,
  stillForMs,
  withFailure,
} from "./disguise.ts";
import { LONGEST_WAIT_WINDOWS, reopensAtMs } from "./fault.ts";
import { roomAtMs, withFinished, withoutInFlight } from "./ownCalls.ts";
import { burstAfterSending, largestBurst, paceAtMs } from "./pace.ts";
import { aroundRefusalsMs, withRefusal } from "./refusals.ts";
import { capChangesAtMs } from "./samples.ts";
import { besideSecondClientAtMs } from "./secondClientRoom.ts";
import { learn, ownCap, reckoned, withSuspicion } from "./secondClient.ts";
import type {
  Admission,
  CallEnd,
  CallHistory,
  FinishedCall,
  GovernorConfig,
  GovernorEvent,
  GovernorState,
  Reading,
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
import { afterQuiet, afterRunOfFailures, withSigns } from "./untold.ts";
import { afterRun, afterScattered, isUnwell, withOwnFailure } from "./unwell.ts";
import { NO_RATE_LIMIT, type RateLimit } from "../../quotes/rateLimit.ts";

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
      failedAtMs: [],
      runsAtMs: [],
      runCount: 0,
      countedAtMs: nowMs,
      closedCount: 0,
      cutAtMs: [],
      unwellAtMs: null,
      refutedAtMs: null,
      signsAtMs: [],
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
    unsure: null,
    quietSinceMs: null,
    knockCount: 0,
    stillUntilMs: nowMs,
    waryUntilMs: nowMs,
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
      return afterFailure(finish(now, event, atMs), { event, before: now.lastReading }, atMs);
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
  const { lastReading, config } = state;
  // Where every other answer tells the count, it is known between them as well.
  const seesCount =
    readsCount(rateLimit) || (lastReading !== null && atMs - lastReading.answeredAtMs < config.windowMs);
  const told = { ...afterRun(afterQuiet(state, atMs), atMs), seesCount };
  if (state.phase !== "probing" || sentAtMs < state.closedUntilMs) return told;
  // What was earned by keeping still would all be refused together.
  const isCareful = told.failures.closedCount > 0 && !seesCount && !isUnwell(told, atMs);
  const open = isCareful ? { ...told, burstCount: 0, burstAtMs: atMs } : told;
  return { ...open, phase: "open", faultCount: 0, failures: { ...told.failures, closedCount: 0 } };
}

type Refusal = Extract<GovernorEvent, { type: "faulted" }>;

function close(state: GovernorState, refusal: Refusal, atMs: number): GovernorState {
  const { sentAtMs, retryAfterMs } = refusal;
  return leftBeforeFault(state, sentAtMs)
    ? heeded(state, retryAfterMs, atMs)
    : closed(refusedAt(state, sentAtMs, atMs), refusal, atMs);
}

/** @param learnt the state that knows already what the refusal teaches */
function closed(
  learnt: GovernorState,
  { rateLimit, wallMs, retryAfterMs }: Refusal,
  atMs: number,
): GovernorState {
  const faulted = { ...learnt, faultAtMs: atMs, faultCount: learnt.faultCount + 1 };
  const expiresInMs = (rateLimit.expire ?? 0) * 1_000 - (wallMs ?? Infinity);
  const untilMs = reopensAtMs(faulted, atMs, expiresInMs);
  const still: GovernorState = { ...faulted, phase: "closed", closedUntilMs: untilMs, closedBy: "refusal" };
  return heeded(still, retryAfterMs, atMs);
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
  { event, before }: { event: Extract<GovernorEvent, { type: "failed" }>; before: Reading | null },
  atMs: number,
): GovernorState {
  const { sentAtMs, how, rateLimit = NO_RATE_LIMIT, retryAfterMs } = event;
  if (how === "other") return state;
  const refusal: Refusal = { type: "faulted", sentAtMs, rateLimit, retryAfterMs };
  const call = { sentAtMs, answeredAtMs: atMs };
  if (isSaidRefusal(state, call, { rateLimit, before })) return close(state, refusal, atMs);
  const booked = withSigns(state, withFailure(state, sentAtMs, atMs), atMs);
  const isOwn = readsCount(rateLimit) && !saysUsedUp(rateLimit);
  const failed = isOwn ? withOwnFailure(booked, atMs) : booked;
  if (isLikelyRefusal(failed, call))
    return cameAgain(failed, atMs)
      ? close(failed, refusal, atMs)
      : closed({ ...failed, refusedSentAtMs: withRefusal(failed, sentAtMs) }, refusal, atMs);
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
  const learnt = afterRunOfFailures(state, atMs, (retryAfterMs ?? 0) > 0);
  const closed: GovernorState = {
    ...learnt,
    phase: "closed",
    faultAtMs: atMs,
    closedUntilMs: atMs + stillForMs(state, atMs),
    closedBy: "failures",
    failures: { ...learnt.failures, closedCount: learnt.failures.closedCount + 1 },
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
