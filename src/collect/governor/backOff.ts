/**
 * How many calls a window are ours where no header tells: a count learnt from refusals. It falls at a refusal, half
 * the way to half the limit, so that two of us on one account meet in the middle, whoever came first; below that by a
 * tenth. It grows again in steps, each three times the last as long as none is refused. A step that is refused is taken
 * back, and the next one waits twice as long: what is asked for in vain is asked for ever more rarely.
 */
import type { BackOff, GovernorState } from "./state.ts";

/** Assumed: twenty windows without a refusal are long enough to try for one call more. */
const PATIENCE_WINDOWS = 20;

/** Each step is three times the last one: a limit that rose by half is used again after three steps. */
const STEP_GROWTH = 3;

/** Assumed: after a step that was refused, thirty windows; after another one, an hour of them. */
const REFUSED_PATIENCE_WINDOWS = 30;
const LONGEST_PATIENCE_WINDOWS = 60;

/** Assumed: a refusal within three windows of a step is the step's. */
const STEP_SHOWS_WINDOWS = 3;

/** Assumed: below half the limit, a tenth less at each refusal finds soon enough what is left. */
const KEPT_SHARE = 0.9;

/** Whether the last step up was so lately that a refusal now is its doing. */
export function steppedLately({ backOff, config }: GovernorState, atMs: number): boolean {
  return backOff?.tookStep === true && atMs - backOff.changedAtMs < STEP_SHOWS_WINDOWS * config.windowMs;
}

/** The calls a window after a refusal at `atMs`. */
export function lowered(state: GovernorState, atMs: number): BackOff {
  const { backOff, limit } = state;
  if (backOff !== null && steppedLately(state, atMs)) {
    const again = backOff.patienceWindows > PATIENCE_WINDOWS;
    const patienceWindows = again ? LONGEST_PATIENCE_WINDOWS : REFUSED_PATIENCE_WINDOWS;
    const capCount = backOff.capCount - backOff.stepCount;
    return { capCount, stepCount: 1, tookStep: false, changedAtMs: atMs, patienceWindows };
  }
  const cap = Math.min(limit, backOff?.capCount ?? limit);
  const half = limit / 2;
  const capCount = cap > half + 1 ? Math.floor((cap + half) / 2) : Math.max(1, Math.floor(cap * KEPT_SHARE));
  return {
    capCount,
    stepCount: 1,
    tookStep: false,
    changedAtMs: atMs,
    patienceWindows: PATIENCE_WINDOWS,
  };
}

/** When the calls a window grow next, if none is refused until then; Infinity when nothing holds them down, or the budget is not open. */
export function growsAtMs({ backOff, config, phase }: GovernorState): number {
  if (backOff === null || phase !== "open") return Infinity;
  return backOff.changedAtMs + backOff.patienceWindows * config.windowMs;
}

/** The state with the step that is due at `atMs`, if one is. */
export function grown(state: GovernorState, atMs: number): GovernorState {
  const { backOff } = state;
  if (backOff === null || atMs < growsAtMs(state)) return state;
  const stepCount = backOff.tookStep ? STEP_GROWTH * backOff.stepCount : backOff.stepCount;
  const capCount = backOff.capCount + stepCount;
  // A step after a refused one is still on trial: refused as well, it waits longest.
  const { patienceWindows } = backOff;
  return {
    ...state,
    backOff:
      capCount >= state.limit
        ? null
        : { capCount, stepCount, tookStep: true, changedAtMs: atMs, patienceWindows },
  };
}
