/** The order of waiting calls: priority, then earliest deadline, then longest unseen. */

/** What decides who goes first. */
export type Urgency = {
  /** Higher first. */
  priority: number;
  /** Epoch ms UTC; earlier first. */
  deadlineMs: number;
  /** When the instrument longest without a quote was last asked, epoch ms UTC; earlier first. */
  unseenSinceMs: number;
};

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

/** Things in the order of their urgency. Equal ones keep the order in which they came. */
export class UrgencyQueue<Item> {
  readonly #waiting: Item[] = [];
  readonly #urgencyOf: (item: Item) => Urgency;

  /** @param urgencyOf of a thing, the same as long as it waits */
  constructor(urgencyOf: (item: Item) => Urgency) {
    this.#urgencyOf = urgencyOf;
  }

  /** Takes one in. */
  add(item: Item): void {
    const urgency = this.#urgencyOf(item);
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiting[middle];
      if (other !== undefined && byUrgency(this.#urgencyOf(other), urgency) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, item);
  }

  /** Gives the most urgent one out; undefined when none waits. */
  take(): Item | undefined {
    return this.#waiting.shift();
  }

  /** Forgets one, if it waits. */
  remove(item: Item): void {
    const place = this.#waiting.indexOf(item);
    if (place >= 0) this.#waiting.splice(place, 1);
  }
}
