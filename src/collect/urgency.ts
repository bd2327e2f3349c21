/** Which call goes first: priority, then earliest deadline, then longest unseen. Pure. */

export type Urgency = {
  priority: number;
  deadlineMs: number;
  /** When the instrument longest without a quote was last asked, epoch ms UTC; earlier first. */
  unseenSinceMs: number;
};

export function byUrgency(a: Urgency, b: Urgency): number {
  return (
    b.priority - a.priority ||
    compare(a.deadlineMs, b.deadlineMs) ||
    compare(a.unseenSinceMs, b.unseenSinceMs)
  );
}

/** Infinity may meet Infinity, whose difference is no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
