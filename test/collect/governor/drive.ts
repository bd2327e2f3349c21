/** Drives a governor through arbitrary histories, keeping its own books of what was sent and answered. */
import fc from "fast-check";
import { admission, createGovernor, step } from "../../../src/collect/governor/governor.ts";
import type {
  CallHistory,
  EarlierCall,
  FailureKind,
  GovernorEvent,
  GovernorState,
} from "../../../src/collect/governor/state.ts";
import type { RateLimit } from "../../../src/quotes/rateLimit.ts";

/** What the world does next. `pick` chooses among the calls in flight. */
export type Move =
  | { kind: "wait"; ms: number }
  | { kind: "send"; count: number }
  | {
      kind: "answer" | "refuse" | "fail";
      pick: number;
      rateLimit: RateLimit;
      how: FailureKind;
      retryAfterMs: number | null;
    };

/** A call by the driver's own books. */
export type BookedCall = { sentAtMs: number; endedAtMs: number | null };

const figure = fc.oneof(
  fc.constant(null),
  fc.integer({ min: 0, max: 70 }),
  fc.integer({ min: 0, max: 10 ** 12 }),
);

/** Headers that may say anything at all. */
export const anyRateLimit: fc.Arbitrary<RateLimit> = fc.record({
  used: figure,
  remaining: figure,
  limit: figure,
  expire: figure,
});

/** Moves in any order. */
export const anyMoves: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("wait" as const), ms: fc.oneof(fc.nat(500), fc.nat(70_000)) }),
    fc.record({ kind: fc.constant("send" as const), count: fc.integer({ min: 1, max: 30 }) }),
    fc.record({
      kind: fc.constantFrom(
        "answer" as const,
        "answer" as const,
        "answer" as const,
        "refuse" as const,
        "fail" as const,
      ),
      pick: fc.nat(),
      rateLimit: anyRateLimit,
      how: fc.constantFrom("server_error", "closed", "other"),
      retryAfterMs: fc.oneof(fc.constant(null), fc.nat(10 ** 9)),
    }),
  ),
  { maxLength: 300 },
);

function eventOf(move: Extract<Move, { pick: number }>, sentAtMs: number): GovernorEvent {
  const { kind, rateLimit, how, retryAfterMs } = move;
  if (kind === "answer") return { type: "answered", sentAtMs, rateLimit };
  if (kind === "fail") return { type: "failed", sentAtMs, how, rateLimit, retryAfterMs };
  return { type: "faulted", sentAtMs, rateLimit, wallMs: 0, retryAfterMs };
}

/** What a run that is killed at `atMs` leaves, by the driver's books. */
export function historyOf(calls: readonly BookedCall[], atMs: number): CallHistory {
  const ageOf = ({ sentAtMs, endedAtMs }: BookedCall): EarlierCall => ({
    sentAgoMs: atMs - sentAtMs,
    answeredAgoMs: endedAtMs === null ? null : atMs - endedAtMs,
  });
  return { calls: calls.map(ageOf), certain: true };
}

/** Runs the moves; a call is sent only when the governor admits it. Returns the final state and the books. */
export function drive(
  moves: readonly Move[],
  { limit, windowMs }: { limit: number; windowMs: number },
  onSend: (calls: readonly BookedCall[], nowMs: number) => void = () => undefined,
): { state: GovernorState; calls: BookedCall[]; nowMs: number } {
  let nowMs = 0;
  let state = createGovernor({ limit, windowMs }, nowMs);
  const calls: BookedCall[] = [];
  for (const move of moves) {
    if (move.kind === "wait") {
      nowMs += move.ms;
      state = step(state, { type: "tick" }, nowMs);
    } else if (move.kind === "send") {
      for (let sent = 0; sent < move.count && admission(state, nowMs).maySend; sent += 1) {
        state = step(state, { type: "sent" }, nowMs);
        calls.push({ sentAtMs: nowMs, endedAtMs: null });
        onSend(calls, nowMs);
      }
    } else {
      const open = calls.filter(({ endedAtMs }) => endedAtMs === null);
      const call = open[move.pick % Math.max(1, open.length)];
      if (call === undefined) continue;
      call.endedAtMs = nowMs;
      const { sentAtMs } = call;
      state = step(state, eventOf(move, sentAtMs), nowMs);
    }
  }
  return { state, calls, nowMs };
}
