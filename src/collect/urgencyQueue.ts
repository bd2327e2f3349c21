/** The order of p-queue's waiting calls: priority, then earliest deadline, then longest unseen. */
import type { Queue, QueueAddOptions } from "p-queue";

/** What decides who goes first. */
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

/** A queue class for p-queue. Equal ones keep the order in which they came. */
export class UrgencyQueue implements Queue<Run, UrgencyOptions> {
  readonly #waiting: { run: Run; options: UrgencyOptions }[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  enqueue(run: Run, options?: Partial<UrgencyOptions>): void {
    const urgency = options?.urgency ?? { priority: 0, deadlineMs: Infinity, unseenSinceMs: Infinity };
    const entry = { run, options: { ...options, urgency } };
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiting[middle];
      if (other && byUrgency(other.options.urgency, urgency) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, entry);
  }

  dequeue(): Run | undefined {
    return this.#waiting.shift()?.run;
  }

  filter(options: Readonly<Partial<UrgencyOptions>>): Run[] {
    return this.#waiting.filter((entry) => entry.options.priority === options.priority).map(({ run }) => run);
  }

  /** p-queue calls it when a waiting call is aborted. */
  remove(id: string): void {
    const index = this.#waiting.findIndex((entry) => entry.options.id === id);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  setPriority(id: string, priority: number): void {
    const index = this.#waiting.findIndex((entry) => entry.options.id === id);
    const [entry] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (entry) this.enqueue(entry.run, { ...entry.options, urgency: { ...entry.options.urgency, priority } });
  }
}
