import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type { GovernorState } from "../../../src/collect/governor/state.ts";
import { NO_RATE_LIMIT } from "../../../src/quotes/rateLimit.ts";
import { anyMoves, anyRateLimit, drive, historyOf, type Move } from "./drive.ts";
import { SIXTY_A_MINUTE } from "./states.ts";

/** After a refusal one call is out for so long that the calls a window would grow, were it answered. */
const WAITING_PROBE: Move[] = [
  { kind: "send", count: 1 },
  { kind: "refuse", pick: 0, rateLimit: NO_RATE_LIMIT, how: "other", retryAfterMs: null },
  { kind: "wait", ms: 1_010 },
  { kind: "send", count: 1 },
  { kind: "wait", ms: 18_990 },
  { kind: "send", count: 1 },
];

test("never more calls than the limit are in flight or answered within one window", () => {
  const configs = fc.record({
    limit: fc.integer({ min: 1, max: 60 }),
    windowMs: fc.constantFrom(1_000, 60_000),
  });

  fc.assert(
    fc.property(anyMoves, configs, (moves, config) => {
      drive(moves, config, (calls, nowMs) => {
        const counted = calls.filter(
          ({ endedAtMs }) => endedAtMs === null || endedAtMs > nowMs - config.windowMs,
        );
        expect(counted.length).toBeLessThanOrEqual(config.limit);
      });
    }),
    { numRuns: 300, examples: [[WAITING_PROBE, { limit: 1, windowMs: 1_000 }]] },
  );
});

test("a call that is not admitted names a later time, within sixty windows", () => {
  fc.assert(
    fc.property(anyMoves, (moves) => {
      const { state, nowMs } = drive(moves, SIXTY_A_MINUTE);
      const admitted = admission(state, nowMs);

      if (admitted.maySend) return;
      expect(admitted.notBeforeMs).toBeGreaterThan(nowMs);
      expect(admitted.notBeforeMs).toBeLessThanOrEqual(nowMs + 60 * 60_000 + 5_000);
    }),
    { numRuns: 300 },
  );
});

test("once all calls have ended, one is admitted within sixty-one windows", () => {
  fc.assert(
    fc.property(anyMoves, (moves) => {
      const { state, nowMs, calls } = drive(moves, SIXTY_A_MINUTE);
      const ended = calls
        .filter(({ endedAtMs }) => endedAtMs === null)
        .reduce((now, { sentAtMs }) => step(now, { type: "failed", sentAtMs, how: "other" }, nowMs), state);

      const { askedCount, admittedAtMs } = askUntilAdmitted(ended, nowMs);

      expect(admittedAtMs).toBeLessThanOrEqual(nowMs + 61 * 60_000);
      expect(askedCount).toBeLessThan(500);
    }),
    { numRuns: 200 },
  );
});

test("a state written as JSON and read again decides the same", () => {
  fc.assert(
    fc.property(anyMoves, fc.nat(120_000), (moves, laterMs) => {
      const { state, nowMs } = drive(moves, SIXTY_A_MINUTE);
      const again = JSON.parse(JSON.stringify(state)) as GovernorState;

      expect(again).toEqual(state);
      expect(admission(again, nowMs + laterMs)).toEqual(admission(state, nowMs + laterMs));
    }),
  );
});

test("a restart goes on counting: old and new calls together keep the limit", () => {
  fc.assert(
    fc.property(anyMoves, fc.nat(90_000), (moves, awayMs) => {
      const { nowMs, calls } = drive(moves, SIXTY_A_MINUTE);
      const backAtMs = nowMs + awayMs;
      let next = createGovernor(SIXTY_A_MINUTE, backAtMs, historyOf(calls, backAtMs));
      let sentCount = 0;

      for (let atMs = backAtMs; atMs < backAtMs + 1_000;) {
        const admitted = admission(next, atMs);
        if (!admitted.maySend) {
          atMs = admitted.notBeforeMs;
          continue;
        }
        sentCount += 1;
        next = step(next, { type: "sent" }, atMs);
        next = step(next, { type: "answered", sentAtMs: atMs, rateLimit: NO_RATE_LIMIT }, atMs);
      }

      const stillCounted = calls.filter(
        ({ endedAtMs }) => endedAtMs === null || endedAtMs > backAtMs + 1_000 - 60_000,
      );
      expect(sentCount + stillCounted.length).toBeLessThanOrEqual(60);
    }),
    { numRuns: 200 },
  );
});

test("an hour of lying headers brings few calls, ever more slowly, and never a busy loop", () => {
  fc.assert(
    fc.property(fc.infiniteStream(anyRateLimit), fc.nat(10 ** 13), (rateLimits, wallMs) => {
      let state = createGovernor(SIXTY_A_MINUTE, 0);
      const sentAtMs: number[] = [];
      let askedCount = 0;

      for (let atMs = 0; atMs < 3_600_000; askedCount += 1) {
        const admitted = admission(state, atMs);
        if (!admitted.maySend) {
          atMs = admitted.notBeforeMs;
          continue;
        }
        sentAtMs.push(atMs);
        state = step(state, { type: "sent" }, atMs);
        const [rateLimit] = rateLimits.take(1);
        state = step(
          state,
          { type: "faulted", sentAtMs: atMs, rateLimit: rateLimit ?? NO_RATE_LIMIT, wallMs },
          atMs + 100,
        );
      }

      const gaps = sentAtMs.slice(1).map((at, index) => at - (sentAtMs[index] ?? 0));
      expect(sentAtMs.length).toBeLessThan(20);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2_000);
      expect(gaps.slice(1).every((gap) => gap >= 60_000)).toBe(true);
      expect(askedCount).toBeLessThan(2_000);
    }),
    { numRuns: 50 },
  );
});

function askUntilAdmitted(
  state: GovernorState,
  fromMs: number,
): { askedCount: number; admittedAtMs: number } {
  let admittedAtMs = fromMs;
  for (let askedCount = 1; ; askedCount += 1) {
    const admitted = admission(state, admittedAtMs);
    if (admitted.maySend || askedCount > 10_000) return { askedCount, admittedAtMs };
    admittedAtMs = admitted.notBeforeMs;
  }
}
