/**
 * Tells a wall clock that was moved from a machine that slept and from a program that could not run. Pure.
 *
 * Three clocks are compared: the wall clock, which anybody may set; the uptime clock, which nobody sets and which goes
 * on in suspend; the monotonic clock, which stands still in suspend. If the wall clock differs from the uptime clock,
 * it was set. If the uptime clock went further than the monotonic one, the machine slept. If the monotonic clock went
 * further than a timer was to take, the program could not run: the machine was busy, or the program was stopped. Where
 * the monotonic clock goes on in suspend (macOS, Windows), a machine that slept looks like one that was busy.
 */
import type { Clock } from "../ground/clock.ts";
import type { ClockStep } from "../journal/ledger.ts";

/** Less than this, in ms, is no step: a late timer, a leap second, a clock that counts whole seconds. */
export const CLOCK_STEP_MS = 2_000;

type ClockReading = { wallMs: number; uptimeMs: number; monotonicMs: number };

export function readClocks({
  now,
  uptimeMs,
  monotonicMs,
}: Pick<Clock, "now" | "uptimeMs" | "monotonicMs">): ClockReading {
  return { wallMs: now().getTime(), uptimeMs: uptimeMs(), monotonicMs: monotonicMs() };
}

/**
 * Watches the clocks from one reading to the next.
 *
 * @param everyMs how far apart two readings are when nothing is amiss; sooner is fine
 * @returns for each next reading, what was amiss since the last one
 */
export function watchClocks(first: ClockReading, everyMs: number): (next: ClockReading) => ClockStep[] {
  let last = first;
  // Small steps are not reported each, but their sum is: the wall clock is compared with the last reported one.
  let settled = first;
  return (next) => {
    const setMs = wallStepMs(settled, next);
    const monotonicMs = next.monotonicMs - last.monotonicMs;
    const sleptMs = next.uptimeMs - last.uptimeMs - monotonicMs;
    const stoppedMs = monotonicMs - everyMs;
    last = next;
    const steps: ClockStep[] = [];
    if (sleptMs >= CLOCK_STEP_MS) steps.push({ kind: "slept", stepMs: Math.round(sleptMs) });
    if (stoppedMs >= CLOCK_STEP_MS) steps.push({ kind: "stopped", stepMs: Math.round(stoppedMs) });
    if (Math.abs(setMs) >= CLOCK_STEP_MS) {
      settled = next;
      steps.push(setStep(setMs));
    }
    return steps;
  };
}

/** The clocks while a program still ran; `bootId` names the machine's start, null where it has no name. */
export type ClocksLeft = Omit<ClockReading, "monotonicMs"> & { bootId: string | null };

/**
 * How the wall clock was moved while nothing ran. Within one start of the machine the uptime clock tells exactly. After
 * another start only this much is certain: a clock that is behind its last reading was set back, by at least so much.
 */
export function stepWhileAway(left: ClocksLeft, found: ClocksLeft): ClockStep | null {
  const sameStart = left.bootId !== null && left.bootId === found.bootId && found.uptimeMs >= left.uptimeMs;
  const stepMs = sameStart ? wallStepMs(left, found) : Math.min(0, found.wallMs - left.wallMs);
  return Math.abs(stepMs) >= CLOCK_STEP_MS ? setStep(stepMs) : null;
}

type WallAndUptime = Omit<ClockReading, "monotonicMs">;

function wallStepMs(from: WallAndUptime, to: WallAndUptime): number {
  return to.wallMs - from.wallMs - (to.uptimeMs - from.uptimeMs);
}

function setStep(ms: number): ClockStep {
  return { kind: ms < 0 ? "set_back" : "set_forward", stepMs: Math.round(ms) };
}
