/** The order of p-queue's waiting calls: priority, then earliest deadline, then longest unseen. */
import type { Queue, QueueAddOptions } from "p-queue";

export type Urgency = {
  /** Higher first. */
  priority: number;
  /** Epoch ms UTC; earlier first. */
  deadlineMs: number;
  /** When the instrument longest without a quote was last asked, epoch ms UTC; earlier first. */
  unseenSinceMs: number;
};

/** Options of `add` with the urgency of the call. */
export type UrgencyOptions = QueueAddOptions & { urgency: Urgency };

type Run = () => Promise<unknown>;

/** Negative when `a` goes before `b`. */
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

/** A queue for p-queue. Equal ones keep the order in which they came. */
export class UrgencyQueue implements Queue<Run, UrgencyOptions> {
  #waiting: { run: Run; urgency: Urgency }[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  enqueue(run: Run, options?: Partial<UrgencyOptions>): void {
    const urgency = options?.urgency ?? { priority: 0, deadlineMs: Infinity, unseenSinceMs: Infinity };
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiting[middle];
      if (other && byUrgency(other.urgency, urgency) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, { run, urgency });
  }

  dequeue(): Run | undefined {
    return this.#waiting.shift()?.run;
  }

  /** p-queue asks by its own priority, which nothing here has. */
  filter(): Run[] {
    return this.#waiting.map(({ run }) => run);
  }

  /** p-queue's own way, by its id: nothing here changes its urgency while it waits. */
  setPriority(): never {
    throw new RangeError("what waits keeps its urgency");
  }

  /** Forgets what was added with these urgencies, the very objects. A signal for each that waits would cost far more. */
  leave(gone: ReadonlySet<Urgency>): void {
    this.#waiting = this.#waiting.filter(({ urgency }) => !gone.has(urgency));
  }
}

/** A class for p-queue, which makes its queue itself: what it makes is `queue`. */
export function queueClass(queue: UrgencyQueue): new () => UrgencyQueue {
  return function () {
    return queue;
  } as unknown as new () => UrgencyQueue;
}
