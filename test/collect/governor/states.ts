/** Governors in any state, and what happens to them. */
import { createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { FailureKind, GovernorState } from "../../../src/collect/governor/state.ts";
import type { FinishedCall, Reading, SecondClientSample } from "../../../src/collect/governor/state.ts";
import type { RateLimit } from "../../../src/quotes/rateLimit.ts";

export const SIXTY_A_MINUTE = { limit: 60, windowMs: 60_000 };
export const LATENCY_MS = 200;

/** A governor of 60 calls a minute that began at 0 and knows this. */
export function stateOf(known: Partial<GovernorState>): GovernorState {
  return { ...createGovernor(SIXTY_A_MINUTE, 0), ...known };
}

/** Calls answered at these times, `LATENCY_MS` after they were sent. */
export function callsAnsweredAt(...timesMs: readonly number[]): FinishedCall[] {
  return timesMs.map((answeredAtMs) => ({ sentAtMs: answeredAtMs - LATENCY_MS, answeredAtMs }));
}

/** What an answer at `answeredAtMs` told. */
export function readingAt(answeredAtMs: number, usedCount: number): Reading {
  return { sentAtMs: answeredAtMs - LATENCY_MS, answeredAtMs, usedCount };
}

/** An answer that proved `windowCount` calls a window of another program, which came evenly; held for two windows. */
export function sampleAt(
  atMs: number,
  windowCount: number,
  known: Partial<SecondClientSample> = {},
): SecondClientSample {
  return {
    ...{ atMs, spanMs: 30_000, appearedCount: 0, provedCount: windowCount, windowCount },
    ...{ mostCount: windowCount, atOnceCount: 0, holdsUntilMs: atMs + 120_000 },
    ...known,
  };
}

/** `fromMs`, and every `stepMs` after it until `toMs`, which is left out. */
export function every(stepMs: number, fromMs: number, toMs: number): number[] {
  return Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, (_, index) => fromMs + index * stepMs);
}

/** Headers of a service that counts up to 60. */
export function readingOf(used: number): RateLimit {
  return { used, remaining: 60 - used, limit: 60, expire: null };
}

/** A call is sent at `atMs` and answered. */
export function answered(state: GovernorState, atMs: number, rateLimit: RateLimit): GovernorState {
  return step(
    step(state, { type: "sent" }, atMs),
    { type: "answered", sentAtMs: atMs, rateLimit },
    atMs + LATENCY_MS,
  );
}

/** A call is sent at `atMs` and refused. */
export function faulted(
  state: GovernorState,
  atMs: number,
  rateLimit: RateLimit,
  wallMs?: number,
): GovernorState {
  const event = { type: "faulted" as const, sentAtMs: atMs, rateLimit, wallMs };
  return step(step(state, { type: "sent" }, atMs), event, atMs + LATENCY_MS);
}

/** A call is sent at `atMs` and fails. */
export function failed(
  state: GovernorState,
  atMs: number,
  how: FailureKind,
  retryAfterMs: number | null = null,
): GovernorState {
  const event = { type: "failed" as const, sentAtMs: atMs, how, retryAfterMs };
  return step(step(state, { type: "sent" }, atMs), event, atMs + LATENCY_MS);
}

/** A governor that knows this of failures, and this besides. */
export function withFailures(
  failures: Partial<GovernorState["failures"]>,
  known: Partial<GovernorState> = {},
): GovernorState {
  return stateOf({ failures: { ...stateOf({}).failures, ...failures }, ...known });
}
