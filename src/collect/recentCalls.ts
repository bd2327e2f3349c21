import { dateOf, type Instant } from "../clock.ts";
import type { NotedCalls } from "./callLog.ts";
import { CONCURRENCY } from "./dispatcher.ts";
import type { CallHistory } from "./governor/governor.ts";

/**
 * What is known of the calls that still count, so that counting survives a restart.
 *
 * @param noted what the runs before wrote down of their calls
 * @param answers arrival of the answers of the last window that the journal holds and that are not noted
 * @returns null when there were none
 */
export function recentCalls(
  noted: Pick<NotedCalls, "calls" | "certain" | "closedForMs" | "thenNow">,
  answers: readonly Instant[],
): CallHistory | null {
  const { calls, closedForMs } = noted;
  if (calls.length === 0 && answers.length === 0 && closedForMs === 0) return null;
  const certain = noted.certain && answers.length === 0;
  const known = answers
    .map((at) => noted.thenNow.getTime() - dateOf(at).getTime())
    .map((agoMs) => ({ sentAgoMs: agoMs, answeredAgoMs: agoMs }));
  const unknown = { length: certain ? 0 : UNANSWERED_AT_KILL };
  return {
    calls: [...calls, ...known, ...Array.from(unknown, () => ({ sentAgoMs: 0, answeredAgoMs: null }))],
    certain,
    closedForMs,
  };
}

/**
 * Assumed: a run of which not every call is noted was killed with as many under way as can be. Nothing of them is in the
 * journal, and the service may have counted them; a window with a few calls less is cheaper than a refusal.
 */
export const UNANSWERED_AT_KILL = CONCURRENCY;
