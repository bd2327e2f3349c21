/**
 * The calls of one-off jobs. Each waits here until the schedule leaves room for it, and then in its account's queue, by its
 * priority: what the jobs of its priority and above need in their busiest window stays free.
 *
 * A call is waiting -> entered -> over. A few are entered at a time, so that the rest hangs on what is known by then.
 */
import type { Clock } from "../../ground/clock.ts";
import { halved, type PlannedCall, symbolCount } from "../callPlan.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Result } from "../dispatch/callEnds.ts";
import { GUARD_MS } from "../governor/ownCalls.ts";
import type { Slot } from "../slotBook.ts";

/** Calls that an account has entered at once, at most. */
const ENTERED_AT_ONCE = 6;

/** Assumed: after so many failures in a row without an answer, the service is at fault and not what is asked for. */
const MOST_FAILURES = 6;

/** How often it is looked whether there is room again, in ms. */
const LOOK_AGAIN_MS = 1_000;

type OnceCallsOptions = {
  clock: Clock;
  /** The queue of an account, or null: of the only one; undefined: it is not called here. */
  dispatcherOf: (
    account: string | null,
  ) => { name: string; windowMs: number; dispatcher: Dispatcher } | undefined;
  /** Calls of a window that the jobs of at least this priority leave; Infinity: there are none. */
  roomOf: (account: string, priority: number) => number;
  /** How long a list may be now. */
  batchSize: () => number;
  onResult: (planned: PlannedCall, result: Result) => void;
};

/** What an account has made of late: when each was over, by the monotonic clock; Infinity: it is not. */
type CallEntries = Map<PlannedCall, number>;

export class OnceCalls {
  readonly #given: OnceCallsOptions;
  #waiting: PlannedCall[] = [];
  readonly #entered = new Map<string, CallEntries>();
  #failures = 0;
  #looking: AbortController | null = null;

  constructor(given: OnceCallsOptions) {
    this.#given = given;
  }

  add(planned: PlannedCall): void {
    const place = this.#waiting.findIndex(({ priority }) => priority < planned.priority);
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, planned);
    this.look();
  }

  /** Told of the end of each call, before anything that follows from it. */
  ended(planned: PlannedCall, result: Result): void {
    for (const entered of this.#entered.values())
      if (entered.has(planned)) {
        entered.set(planned, this.#given.clock.monotonicMs());
        this.#judge(planned, result);
      }
  }

  /** A service that fails so often in a row is left alone: what waits for the slot is missed as this call is. */
  #judge({ slotAt }: PlannedCall, result: Result): void {
    const isFailure =
      result.kind === "missed" ? result.reason === "transport" : result.answer.outcome === "server_error";
    this.#failures = isFailure ? this.#failures + 1 : 0;
    if (this.#failures < MOST_FAILURES) return;
    this.#failures = 0;
    const left = this.#waiting.filter((waiting) => waiting.slotAt === slotAt);
    this.#waiting = this.#waiting.filter((waiting) => waiting.slotAt !== slotAt);
    for (const waiting of left) this.#given.onResult(waiting, { kind: "missed", reason: "transport" });
  }

  /** Enters what there is room for. */
  look(): void {
    const full = new Set<string>();
    let isHeld = false;
    const before = this.#waiting;
    this.#waiting = [];
    const left: PlannedCall[] = [];
    for (const planned of before) {
      const queue = this.#given.dispatcherOf(planned.account);
      if (!queue) {
        this.#given.onResult(planned, { kind: "missed", reason: "down" });
        continue;
      }
      const room = full.has(queue.name) ? "none" : this.#roomIn(queue, planned.priority);
      if (room !== "some") {
        full.add(queue.name);
        isHeld ||= room === "later";
        left.push(planned);
        continue;
      }
      const halves =
        planned.once?.single || symbolCount(planned) <= this.#given.batchSize() ? null : halved(planned);
      if (halves) left.push(halves[1]);
      const next = halves ? halves[0] : planned;
      const entered = this.#entered.get(queue.name) ?? new Map<PlannedCall, number>();
      this.#entered.set(queue.name, entered.set(next, Infinity));
      queue.dispatcher.add(next);
    }
    // What came meanwhile, of a call that was over at once, goes behind.
    this.#waiting = [...left, ...this.#waiting];
    if (isHeld) this.#lookAgain();
  }

  /** Calls of a slot that wait for room. */
  waiting(slot: Slot): PlannedCall[] {
    return this.#waiting.filter((planned) => isOf(planned, slot));
  }

  /** Withdraws what waits for a slot; a call under way ends as it does. */
  withdraw(slot: Slot): void {
    const isGone = (planned: PlannedCall): boolean => isOf(planned, slot);
    this.#waiting = this.#waiting.filter((planned) => !isGone(planned));
    for (const [account, entered] of this.#entered) {
      this.#given.dispatcherOf(account)?.dispatcher.withdraw(isGone);
      for (const [planned, endedMs] of entered)
        if (endedMs === Infinity && isGone(planned)) entered.delete(planned);
    }
  }

  /** An account is called no more: what it had entered is over. */
  forget(account: string): void {
    this.#entered.delete(account);
    this.look();
  }

  close(): void {
    this.#waiting = [];
    this.#looking?.abort();
  }

  /** `none`: until one of its own is over; `later`: time makes it. */
  #roomIn(
    { name, windowMs }: { name: string; windowMs: number },
    priority: number,
  ): "some" | "none" | "later" {
    const entered = this.#entered.get(name) ?? new Map<PlannedCall, number>();
    const sinceMs = this.#given.clock.monotonicMs() - windowMs - GUARD_MS;
    for (const [planned, endedMs] of entered) if (endedMs <= sinceMs) entered.delete(planned);
    const underWay = [...entered.values()].filter((endedMs) => endedMs === Infinity).length;
    if (underWay >= ENTERED_AT_ONCE) return "none";
    return entered.size < this.#given.roomOf(name, priority) ? "some" : "later";
  }

  #lookAgain(): void {
    if (this.#looking) return;
    const looking = new AbortController();
    this.#looking = looking;
    void this.#given.clock.sleep(LOOK_AGAIN_MS, looking.signal).then(
      () => {
        this.#looking = null;
        this.look();
      },
      () => undefined,
    );
  }
}

function isOf({ jobs, slotAt }: PlannedCall, slot: Slot): boolean {
  return slotAt === slot.slotAt && jobs.includes(slot.job);
}
