/**
 * How far the machine's clock is from the service's, learned from the `Date` header of refused answers, so that calls
 * are signed with a timestamp that the service accepts (it refuses one more than 10 s off: field notes, "Requests").
 *
 * The correction is none -> learned -> none. A refusal whose `Date` shows that the timestamp was off teaches it. A
 * refusal under a correction that `Date` confirms ends it: then the clock was not the reason, or that header does not
 * show the clock that verifies. Any other answer proves the timestamp right, and changes nothing, whatever its `Date`
 * says.
 */
import type { Instant } from "../ground/clock.ts";
import { readHttpDate } from "../quotes/rateLimit.ts";

/**
 * A timestamp this far from the service's clock, in ms, may be why a call was refused. Half of what the service
 * tolerates.
 */
export const SUSPECT_SKEW_MS = 5_000;

/**
 * Assumed: nobody polls with a clock that is off by more than a day, and a `Date` that says so is wrong itself. Times
 * of receipt would be as wrong as that, so it is for a person to put right.
 */
const MAX_SKEW_MS = 86_400_000;

/** The times are the machine's. A record of the journal is one. */
export type DatedAnswer = {
  requestedAt: Instant;
  observedAt: Instant;
  /** Names in lower case; `date` is read. */
  headers: Readonly<Record<string, string>>;
  /** Name of the service; absent: the specification's. */
  service?: string;
};

/** `Date` has whole seconds: it may have been written so much later. */
const DATE_RESOLUTION_MS = 1_000;

/**
 * What to add to the machine's clock to have the service's, in ms: the middle of what the answer allows.
 *
 * @returns null when there is no readable `Date`, when the answer took so long that it shows nothing, or when it shows
 *   a difference beyond MAX_SKEW_MS
 */
export function estimateSkew({ requestedAt, observedAt, headers }: DatedAnswer): number | null {
  const dateMs = readHttpDate(headers["date"]) ?? NaN;
  const least = dateMs - Date.parse(observedAt);
  const most = dateMs + DATE_RESOLUTION_MS - Date.parse(requestedAt);
  // Not a number, or the machine's clock was moved while the answer was under way, or the answer took too long.
  if (!(most >= least) || most - least > 2 * SUSPECT_SKEW_MS) return null;
  const skewMs = Math.round((least + most) / 2);
  return Math.abs(skewMs) > MAX_SKEW_MS ? null : skewMs;
}

/**
 * The correction for the next call after a refused one, in ms.
 *
 * @param correctionMs what was added to the machine's clock when the refused call was signed
 */
export function correctionAfterRefusal(correctionMs: number, answer: DatedAnswer): number {
  const skewMs = estimateSkew(answer);
  if (skewMs === null) return correctionMs;
  const wasOff = Math.abs(skewMs - correctionMs) > SUSPECT_SKEW_MS;
  if (!wasOff) return 0;
  return Math.abs(skewMs) > SUSPECT_SKEW_MS ? skewMs : 0;
}

/** Whether the machine's clock may be why a call was refused: then one more attempt at once is worth a call. */
export function mayBeRefusedForTheClock(answer: DatedAnswer): boolean {
  return Math.abs(estimateSkew(answer) ?? 0) > SUSPECT_SKEW_MS;
}
