/**
 * One-off jobs: their slots, which have no end, and their calls. Each call waits here until the schedule leaves room for it, and then
 * in its account's queue, by its priority: what the jobs of its priority and above need in their busiest window stays free. Each host
 * of the service has a queue and a window of its own.
 *
 * A call is waiting -> entered -> over. A few are entered at a time, so that the rest hangs on what is known by then.
 */
import type { Clock, Instant } from "../../ground/clock.ts";
import type { Chain, OptionAsk } from "../../market/optionChain.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import type { ReadDocument } from "../../quotes/document.ts";
import type { Batch } from "../../services/service.ts";
import type { AccountDispatchers, AccountQueue } from "../accountDispatchers.ts";
import { type DueJob, dueNames, type Once } from "../asks.ts";
import { halved, type PlannedCall, planOnce, symbolCount, withoutNames } from "../callPlan.ts";
import type { ChainBook } from "../chainBook.ts";
import type { Result } from "../dispatch/callEnds.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { DueShares } from "../dueShares.ts";
import { GUARD_MS } from "../governor/ownCalls.ts";
import type { Outcomes } from "../outcomes.ts";
import { listedBy, ReadPages } from "../pages.ts";
import type { Slot } from "../slotBook.ts";
import { Reserved } from "./reserve.ts";

/** Calls that an account has entered at a host at once, at most. */
const ENTERED_AT_ONCE = 6;

/** Assumed: after so many failures in a row without an answer, the host is at fault and not what is asked for. */
const MOST_FAILURES = 6;

const LOOK_AGAIN_MS = 1_000;

type OnceCallsOptions = {
  clock: Clock;
  due: DueShares;
  chains: ChainBook;
  dispatchers: AccountDispatchers;
  outcomes: Outcomes;
  batch: Batch;
};

/** What a one-off job polls, but what has an answer already. */
type OncePoll = Pick<DueJob, "job" | "symbols"> & {
  slotAt: Instant;
  options: readonly OptionAsk[];
  chains: readonly Chain[];
  known: ReadonlySet<string>;
};

/** What an account has made of late: when each was over, by the monotonic clock; Infinity: it is not. */
type CallEntries = Map<PlannedCall, number>;

export class OnceCalls {
  readonly #given: OnceCallsOptions;
  #waiting: PlannedCall[] = [];
  readonly #entered = new Map<string, CallEntries>();
  readonly #reserved = new Reserved();
  /** In a row, of each host. */
  readonly #failures = new Map<string | undefined, number>();
  readonly #lists = new ReadPages<string>();
  #looking: AbortController | null = null;

  constructor(given: OnceCallsOptions) {
    this.#given = given;
  }

  /**
   * Polls a job at a slot that has no end: now, and once more when the same slot is asked for again with what is left of it.
   * It is over when its slot is open no more.
   */
  poll({ job, slotAt, symbols, options, chains, known }: OncePoll, once: Once): void {
    const { due, outcomes, batch, chains: book } = this.#given;
    const { today, slots } = due;
    outcomes.turnTo(today);
    due.settleOwners();
    const dueSlot = { job, slotAt, deadlineMs: Infinity, closes: false, once };
    const { contracts: all, pending, broken, priceless, unlisted } = book.expand({ options, chains }, today);
    const { contracts } = withoutNames({ job, symbols, contracts: all }, known);
    const names = [...dueNames({ job, symbols, contracts }), ...pending, ...broken];
    const slot = { job: job.name, slotAt };
    slots.open({ ...slot, deadlineMs: Infinity, delayed: job.delayed, due: names, ownerOf: once.ownerOf });
    slots.settle([slot], broken, "malformed");
    book.await({ due: dueSlot, chains: [...chains] }, pending, today);
    const asked = {
      ...dueSlot,
      symbols: [...new Set([...symbols, ...priceless])],
      contracts: [...contracts, ...unlisted],
    };
    const { planOptions } = outcomes;
    const batchSize = once.single ? batch.most : planOptions.batchSize;
    for (const planned of planOnce(asked, once, { ...planOptions, batchSize })) this.add(planned);
  }

  /** Takes what an answer to an earlier call of a one-off job says of chains. @param at when it was asked for */
  know(call: QuoteCall, document: ReadDocument, at: Date): void {
    const { chains } = this.#given;
    chains.recordAnswer(document);
    if (call.form !== "expirations") return;
    const expirations = listedBy(this.#lists, call, document);
    if (expirations !== null) chains.list(call.underlying, expirations, chains.contractDate(at));
  }

  isOpen(slot: Slot): boolean {
    return this.#given.due.slots.isOpen(slot);
  }

  isSuspect(name: string): boolean {
    return this.#given.outcomes.askBackoff.isSuspect(name);
  }

  /** What the jobs leave, of `limit` calls a window, to the calls of a slot that wait for room; null: none waits for it. */
  room(slot: Slot): { calls: number; spare: number; limit: number; windowMs: number } | null {
    const waiting = this.#waiting.filter((planned) => isOf(planned, slot));
    const queues = waiting.flatMap((planned) => this.#queueOf(planned) ?? []);
    const each = new Map(queues.map((queue) => [queue.dispatcher, queue]));
    const rooms = Array.from(each.values(), (queue) => {
      const { limit, windowMs } = queue.dispatcher.governor;
      const calls = queues.filter(({ dispatcher }) => dispatcher === queue.dispatcher).length;
      return { calls, spare: this.#roomOf(queue, waiting[0]?.priority ?? 0).spare, limit, windowMs };
    });
    // A call to a host that no job needs waits for no room.
    const scarce = rooms.filter(({ spare }) => spare < Infinity);
    const [{ windowMs } = { windowMs: 0 }] = scarce;
    if (windowMs === 0) return null;
    const sum = (of: "calls" | "spare" | "limit"): number =>
      scarce.reduce((total, room) => total + room[of], 0);
    return { calls: sum("calls"), spare: sum("spare"), limit: sum("limit"), windowMs };
  }

  /** Asks for nothing more of a slot: what is left of it is missed. A call under way ends as it does. */
  withdraw(slot: Slot): void {
    const isGone = (planned: PlannedCall): boolean => isOf(planned, slot);
    this.#waiting = this.#waiting.filter((planned) => !isGone(planned));
    for (const dispatcher of this.#given.dispatchers.all) dispatcher.withdraw(isGone);
    for (const entered of this.#entered.values())
      for (const [planned, endedMs] of entered)
        if (endedMs === Infinity && isGone(planned)) entered.delete(planned);
    this.#given.due.slots.settleSlot(slot, "down");
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

  /** A host that fails so often in a row is left alone: what waits for it and the slot is missed as this call is. */
  #judge({ call, slotAt }: PlannedCall, result: Result): void {
    const { dispatchers, outcomes } = this.#given;
    const host = dispatchers.hostOf(call);
    const isFailure =
      result.kind === "missed" ? result.reason === "transport" : result.answer.outcome === "server_error";
    const failures = isFailure ? (this.#failures.get(host) ?? 0) + 1 : 0;
    this.#failures.set(host, failures % MOST_FAILURES);
    if (failures < MOST_FAILURES) return;
    const isLeft = (waiting: PlannedCall): boolean =>
      waiting.slotAt === slotAt && dispatchers.hostOf(waiting.call) === host;
    const left = this.#waiting.filter(isLeft);
    this.#waiting = this.#waiting.filter((waiting) => !isLeft(waiting));
    for (const waiting of left) outcomes.end(waiting, { kind: "missed", reason: "transport" });
  }

  look(): void {
    const full = new Set<Dispatcher>();
    let isHeld = false;
    const before = this.#waiting;
    this.#waiting = [];
    const left: PlannedCall[] = [];
    const { outcomes } = this.#given;
    for (const planned of before) {
      const queue = this.#queueOf(planned);
      if (!queue) {
        outcomes.end(planned, { kind: "missed", reason: "down" });
        continue;
      }
      const room = full.has(queue.dispatcher) ? "none" : this.#roomIn(queue, planned.priority);
      if (room !== "some") {
        full.add(queue.dispatcher);
        isHeld ||= room === "later";
        left.push(planned);
        continue;
      }
      const isShort = planned.once?.single || symbolCount(planned) <= outcomes.planOptions.batchSize;
      const halves = isShort ? null : halved(planned);
      if (halves) left.push(halves[1]);
      const next = halves ? halves[0] : planned;
      this.#entriesOf(queue.name).set(next, Infinity);
      queue.dispatcher.add(next);
    }
    // What came meanwhile, of a call that was over at once, goes behind.
    this.#waiting = [...left, ...this.#waiting];
    if (isHeld) this.#lookAgain();
  }

  /** An account is called no more: what it had entered is over. */
  forget(account: string): void {
    this.#entered.delete(account);
    this.look();
  }

  /** Jobs or accounts are others: what the schedule needs is reckoned anew. */
  reckonAnew(): void {
    this.#reserved.clear();
  }

  close(): void {
    this.#waiting = [];
    this.#looking?.abort();
  }

  #queueOf(planned: PlannedCall): AccountQueue | undefined {
    return this.#given.dispatchers.queueOf(planned);
  }

  #entriesOf(account: string): CallEntries {
    const entered = this.#entered.get(account) ?? new Map<PlannedCall, number>();
    this.#entered.set(account, entered);
    return entered;
  }

  /** `none`: until one of its own is over; `later`: time makes it. */
  #roomIn(queue: AccountQueue, priority: number): "some" | "none" | "later" {
    const { clock, dispatchers } = this.#given;
    const sinceMs = clock.monotonicMs() - queue.dispatcher.governor.windowMs - GUARD_MS;
    const entries = this.#entriesOf(queue.name);
    const entered = [...entries].filter(([{ call }]) => dispatchers.hostOf(call) === queue.host);
    for (const [planned, endedMs] of entered) if (endedMs <= sinceMs) entries.delete(planned);
    const underWay = entered.filter(([, endedMs]) => endedMs === Infinity).length;
    if (underWay >= ENTERED_AT_ONCE) return "none";
    const counted = entered.filter(([, endedMs]) => endedMs > sinceMs).length;
    return counted < this.#roomOf(queue, priority).now ? "some" : "later";
  }

  /** Calls of an account's window at a host that the jobs of a priority and above do not need. */
  #roomOf({ name, host, dispatcher }: AccountQueue, priority: number): ReturnType<Reserved["left"]> {
    const { clock, due, chains, batch, dispatchers } = this.#given;
    const { governor, budget } = dispatcher;
    const { limit, secondClientCount } = budget.state;
    const { jobs, ownerOf } = due;
    const schedule = { jobs, chains, ownerOf, batchSize: batch.first, nowMs: clock.now().getTime() };
    const isOurs = (call: PlannedCall): boolean =>
      (call.account === null || call.account === name) && dispatchers.hostOf(call.call) === host;
    const queue = `${name} ${host ?? ""}`;
    const asked = { queue, isOurs, priority, ...governor, limit: limit - secondClientCount };
    return this.#reserved.left(asked, schedule);
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
