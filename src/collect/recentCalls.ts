import { dateOf, type Instant } from "../instant.ts";
import { CONCURRENCY } from "./dispatcher.ts";
import type { CallHistory } from "./governor/governor.ts";

/**
 * What the journal tells of the calls that still count, so that counting survives a restart.
 *
 * @param observedAt arrival of the answers of the last window
 * @returns null when there were none
 */
export function recentCalls(observedAt: readonly Instant[], now: Date): CallHistory | null {
  if (observedAt.length === 0) return null;
  return {
    calls: [
      ...observedAt
        .map((at) => now.getTime() - dateOf(at).getTime())
        .map((agoMs) => ({ sentAgoMs: agoMs, answeredAgoMs: agoMs })),
      ...Array.from({ length: UNANSWERED_AT_KILL }, () => ({ sentAgoMs: 0, answeredAgoMs: null })),
    ],
    certain: false,
  };
}

/**
 * Assumed: a run that was killed had as many calls under way as can be. Nothing of them is in the journal, and the
 * service may have counted them; a window with a few calls less is cheaper than a refusal.
 */
export const UNANSWERED_AT_KILL = CONCURRENCY;
