/**
 * Time that moves only when told to. Events run in order of their time, then of their scheduling.
 * `runWithGlobals` also lends the virtual clock to `setTimeout`, `setInterval`, `Date.now` and
 * `performance.now`, so that libraries run as they are, and lets promises settle between events.
 */

type Task = { atMs: number; order: number; run: () => void; cancelled: boolean };

/** An agenda of events in virtual time, in ms from 0. */
export class VirtualTime {
  nowMs = 0;
  readonly #heap: Task[] = [];
  #order = 0;

  /** Runs `run` at `atMs`, or now when that is past. Returns how to cancel it. */
  at(atMs: number, run: () => void): () => void {
    const task = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run, cancelled: false };
    this.#push(task);
    return () => void (task.cancelled = true);
  }

  /** Runs all events until `untilMs`. */
  run(untilMs: number): void {
    while (this.#runNext(untilMs));
  }

  /** As `run`, with the global clock and timers replaced meanwhile. */
  async runWithGlobals(untilMs: number, start: () => void): Promise<void> {
    const settle = promiseSettler();
    const restore = this.#lendGlobals();
    try {
      start();
      do await settle();
      while (this.#runNext(untilMs));
    } finally {
      restore();
    }
  }

  #runNext(untilMs: number): boolean {
    const next = this.#heap[0];
    if (next === undefined || next.atMs >= untilMs) return false;
    this.#pop();
    if (next.cancelled) return true;
    this.nowMs = next.atMs;
    next.run();
    return true;
  }

  #lendGlobals(): () => void {
    const real = {
      setTimeout: globalThis.setTimeout,
      clearTimeout: globalThis.clearTimeout,
      setInterval: globalThis.setInterval,
      clearInterval: globalThis.clearInterval,
    };
    const dateNow = Date.now;
    const performanceNow = performance.now;
    const fake = this.#timers();
    Object.assign(globalThis, fake);
    Date.now = () => EPOCH_MS + Math.floor(this.nowMs);
    performance.now = () => this.nowMs;
    return () => {
      Object.assign(globalThis, real);
      Date.now = dateNow;
      performance.now = performanceNow;
    };
  }

  #timers(): Record<string, unknown> {
    type Timer = { cancel: () => void; unref: () => Timer; ref: () => Timer; hasRef: () => boolean };
    const timer = (): Timer => {
      const made: Timer = { cancel: () => undefined, unref: () => made, ref: () => made, hasRef: () => true };
      return made;
    };
    const clear = (made: Timer | undefined) => made?.cancel();
    const once = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const made = timer();
      made.cancel = this.at(this.nowMs + Math.max(1, ms), () => run(...args));
      return made;
    };
    const again = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const made = timer();
      const arm = () => {
        made.cancel = this.at(this.nowMs + Math.max(1, ms), () => {
          arm();
          run(...args);
        });
      };
      arm();
      return made;
    };
    return { setTimeout: once, clearTimeout: clear, setInterval: again, clearInterval: clear };
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(task, heap[parent] as Task)) break;
      heap[at] = heap[parent] as Task;
      at = parent;
    }
    heap[at] = task;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Task;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Task, heap[child] as Task)) child += 1;
      if (!before(heap[child] as Task, last)) break;
      heap[at] = heap[child] as Task;
      at = child;
    }
    heap[at] = last;
  }
}

/** The wall clock's reading at virtual time 0, epoch ms UTC: a full minute. */
export const EPOCH_MS = 1_699_999_980_000;

function before(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Waits until every promise that can settle has settled. */
function promiseSettler(): () => Promise<void> {
  const immediate = globalThis.setImmediate;
  return () => new Promise((resolve) => immediate(resolve));
}
