/**
 * Sends planned calls, the most urgent first, as the governor allows.
 *
 * A call is waiting -> under way -> done. From under way it waits again, while its slot lasts: after the quota
 * fault, after a transport error or a 5xx that closes the budget like one, and after any other of them a few times.
 * Whatever it waits after, the governor lets it go as any other call. Once the service refuses the credentials, one call a slot
 * asks whether it still does, later one a minute; the others wait for its end, and are missed with it. What is wanted of a call
 * for a slot that ends while the call waits is missed; the rest goes on waiting. Each wish that was given in comes out once:
 * answered or missed.
 */
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import PQueue from "p-queue";
import { PROBED_EVERY_MS, REFUSED_FOR_MS } from "../accounts/shares.ts";
import { type Clock, type Instant, instantFromDate } from "../clock.ts";
import { ERRORS, QuotekeeperError } from "../errors.ts";
import type { MissReason } from "../journal/ledger.ts";
import type { Log } from "../log.ts";
import { type Answer, answerError } from "../quotes-api/answer.ts";
import { type DatedAnswer, mayBeRefusedForTheClock } from "../quotes-api/clockSkew.ts";
import { readRetryAfter } from "../quotes-api/rateLimit.ts";
import { describeCall } from "../quotes-api/request.ts";
import { type Arrived, answeredEnd, unansweredEnd } from "./callEnds.ts";
import { type BudgetState, budgetState } from "./governor/budgetState.ts";
import {
  admission,
  type CallHistory,
  type ClosedBy,
  createGovernor,
  type GovernorConfig,
  type GovernorEvent,
  type GovernorState,
  step,
} from "./governor/governor.ts";
import { handOver, type HandedOver, inherit, type Inheritance } from "./governor/handover.ts";
import { GUARD_MS } from "./governor/ownCalls.ts";
import { isHeldForOthers } from "./governor/unsure.ts";
import type { Want } from "./asks.ts";
import { type PlannedCall, split, symbolCount } from "./callPlan.ts";
import { CLOCK_STEP_MS } from "../schedule/clockSteps.ts";
import { queueClass, type UrgencyOptions, UrgencyQueue } from "./urgencyQueue.ts";

type Kept = { record: DatedAnswer; answer: Answer };

/**
 * Makes one call and keeps its answer; rejects when there is none, or it could not be kept.
 *
 * @param onArrived told of the answer before it is kept: what it says of the limit holds for the next call already
 */
export type Send = (
  planned: PlannedCall,
  signal: AbortSignal,
  onArrived: (arrived: Arrived) => void,
) => Promise<Kept>;

/** How a borrowed call ended: what is read of its answer, as of `Kept`; null when none came. */
export type BorrowedEnd = { headers: Readonly<Record<string, string>>; outcome: Answer["outcome"] } | null;

/** Leave to make one call of another program's budget, which is to be told how the call ended. */
export type Leave = (end: BorrowedEnd) => void;

type Borrower = { urgent: boolean; go: () => void };

/** How a call ended. `askedMs`: when it was asked for, epoch ms UTC; that may be later than it was let go. */
export type Result =
  { kind: "answered"; answer: Answer; askedMs: number } | { kind: "missed"; reason: MissReason };

export type DispatcherOptions = {
  clock: Clock;
  send: Send;
  governor: GovernorConfig;
  /** What the last run left of the current window; null when nothing is known to be counted. */
  history: CallHistory | null;
  /** What whoever called the account before has left of its governor; calls that `history` has besides count as well. */
  inherited?: Omit<Inheritance, "history"> | undefined;
  /** Begins unsure, and listens first whether another collector calls the account. */
  startsListening?: boolean;
  /** Whether calls are made while another collector may call the account. Default: go. */
  whenUnsure?: "stop" | "go";
  log: Log;
  /** Told for how long nothing will be sent, ms, whenever that becomes another time. */
  onClosed?: (forMs: number) => void;
  onResult: (planned: PlannedCall, result: Result) => void;
  /** Calls under way at once, at most, as things stand now. Default: `CONCURRENCY`. */
  atOnce?: () => number;
  /**
   * Each call is made once, whatever came of the others: by hand. Only a call that may be refused for the machine's clock is made
   * again. Default: false.
   */
  once?: boolean;
  /** Called for how long, in ms, the budget holds calls back. */
  onHeld?: (forMs: number) => void;
  /** Asks the program that holds the account's budget for a call; null: none does, and the budget is one's own. */
  borrow?: (signal: AbortSignal) => Promise<Leave | null>;
  /** Calls of a window that programs beside may have which can wait. */
  lendable: () => number;
  /** Whether the program could not ask in a part of a slot's time. Default: it could in all of it. */
  isCutShort?: (want: Want, account: string | null) => boolean;
};

/** Calls under way at once, at most. */
export const CONCURRENCY = 6;

/** Attempts at one call within its slot, and the wait before the second in ms; it doubles, with jitter. */
const ATTEMPTS = 3;
const RETRY_WAIT_MS = 1_000;

/** What a call is missed for that waited while the budget was closed, by what closed it. */
const HELD: Readonly<Record<ClosedBy, MissReason>> = {
  refusal: "budget",
  retry_after: "refused",
  failures: "transport",
};

/** Calls whose misses are told of in a turn of the event loop: what has arrived would wait for thousands. */
export const MISSED_AT_ONCE = 250;

/** Longest sleep between two looks at the governor in ms, should the wall clock be moved meanwhile. */
const LONGEST_WAIT_MS = 5_000;

/** Why a signal is aborted that nobody reads: an error of its own with a stack, at every call, would cost more. */
const DONE = "done";

type Ticket = {
  planned: PlannedCall;
  attempt: number;
  /** Why it is still here. */
  setback: MissReason | null;
  /** What it is missed for when the governor has held it back; null: it has not. */
  held: MissReason | null;
};

/** The calls that wait and those under way, and the governor that lets them go. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #order = new UrgencyQueue();
  /** Paused but for the moment in which the governor lets one call go: so the most urgent goes, not the oldest. */
  readonly #queue = new PQueue<UrgencyQueue, UrgencyOptions>({
    queueClass: queueClass(this.#order),
    autoStart: false,
  });
  readonly #waiting = new Set<Ticket>();
  /** What all of these are held for; null: some may not be. */
  #heldFor: MissReason | null = null;
  /** Calls whose slots are over, of which nobody was told yet, and why they are missed. */
  readonly #over: [PlannedCall, MissReason][] = [];
  readonly #sending = new Set<Promise<void>>();
  #borrowers: Borrower[] = [];
  #lentCount = 0;
  /** Calls lent to programs that can wait: when they were over, and those under way. */
  #lent: { endedAtMs: number }[] = [];
  /** The leave of the call that goes next, where it is borrowed. */
  #leaveOfNext: Leave | null = null;
  readonly #retrying = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #governor: GovernorState;
  #pumping: Promise<void> | null = null;
  #wake = new AbortController();
  #nearestDeadlineMs = Infinity;
  #sentAtMs: number[] = [];
  #lastError: Error | null = null;
  #closing = false;
  /** Whether the wall clock was set, and no second attempt has shown since whether calls are signed by the right time. */
  #clockInDoubt = false;
  /** Since when the service has refused the credentials, and the last call that it was asked by; null: it does not. */
  #unauthorized: { sinceMs: number; triedMs: number; slotAt: Instant | null } | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { governor, inherited } = options;
    const history = options.history ?? undefined;
    const nowMs = options.clock.monotonicMs();
    this.#governor = inherited
      ? inherit(governor, { ...inherited, history }, nowMs)
      : createGovernor(governor, nowMs, history);
    if (options.startsListening) this.listen();
  }

  /** Is unsure from now on, and listens for a window whether another collector calls the account before much is called. */
  listen(): void {
    this.beUnsure(true);
    this.#learn({ type: "listen" });
  }

  /** Whether another collector may call the same account from now on; if not, one is surely alone. */
  beUnsure(on: boolean): void {
    this.#learn({ type: "unsure", on, mayCall: this.#options.whenUnsure !== "stop" });
  }

  /** What whoever calls the account next is to know. */
  handOver(): HandedOver {
    return handOver(step(this.#governor, { type: "tick" }, this.#options.clock.monotonicMs()));
  }

  add(planned: PlannedCall): void {
    this.#enter({ planned, attempt: 1, setback: null, held: null });
  }

  /**
   * Lets a program beside make a call of this budget.
   *
   * @param urgent before all that waits here; else after it, and as far as `lendable` goes
   * @param signal withdraws what still waits
   * @returns as soon as it may leave; rejects with the signal's reason, or when this one closes
   */
  async lend(urgent: boolean, signal: AbortSignal): Promise<Leave> {
    const withdrawn = AbortSignal.any([signal, this.#stop.signal]);
    const lent = { endedAtMs: Infinity };
    let sentAtMs = 0;
    await new Promise<void>((resolve, reject) => {
      const borrower: Borrower = {
        urgent,
        go: () => {
          this.#borrowers = this.#borrowers.filter((other) => other !== borrower);
          this.#lentCount += 1;
          if (!urgent) this.#lent.push(lent);
          sentAtMs = this.#sent();
          resolve();
        },
      };
      const leave = (): void => {
        this.#borrowers = this.#borrowers.filter((other) => other !== borrower);
        reject(withdrawn.reason as Error);
      };
      if (withdrawn.aborted || this.#closing) return leave();
      withdrawn.addEventListener("abort", leave, { once: true });
      this.#borrowers.push(borrower);
      this.#start();
    });
    return (end) => {
      const { clock } = this.#options;
      this.#lentCount -= 1;
      lent.endedAtMs = clock.monotonicMs();
      const wallMs = clock.now().getTime();
      this.#learn(
        end
          ? answeredEnd({ headers: end.headers, answer: { outcome: end.outcome } }, sentAtMs, wallMs)
          : { type: "failed", sentAtMs, how: "other" },
      );
    };
  }

  /** Takes the calls back that only wait for their turn, so that they can be planned anew. */
  withdraw(): PlannedCall[] {
    const fresh = [...this.#waiting].filter(({ setback, planned }) => setback === null && !planned.part);
    this.#leave(fresh);
    return fresh.map(({ planned }) => planned);
  }

  /**
   * Misses what waits for a slot that is over, in steps: it leaves the queue in the first, and so many calls are told of in
   * each. Whoever goes through them has been told of all when the last is done. Done at each tick.
   */
  *expire(): Iterable<void> {
    this.#takeOver();
    while (this.#over.length > 0) {
      for (const [planned, reason] of this.#over.splice(0, MISSED_AT_ONCE)) this.#tooLate(planned, reason);
      if (this.#over.length > 0) yield;
    }
  }

  #takeOver(): void {
    const nowMs = this.#options.clock.now().getTime();
    if (nowMs < this.#nearestDeadlineMs) return;
    this.#nearestDeadlineMs = Infinity;
    const over: Ticket[] = [];
    for (const ticket of this.#waiting)
      if (ticket.planned.deadlineMs > nowMs) this.#watchDeadline(ticket);
      else over.push(ticket);
    this.#leave(over);
    for (const ticket of over) this.#miss(ticket, nowMs);
  }

  /** The wall clock was set: a call that is refused may be so for that, and is worth one more attempt. */
  clockSet(): void {
    this.#clockInDoubt = true;
  }

  /** Misses what waits for slots that lie ahead, because the wall clock was set back: they come once more. */
  missAhead(): void {
    const waiting = [...this.#waiting];
    this.#leave(waiting);
    for (const ticket of waiting) this.#enter(ticket);
  }

  /** Calls waiting or under way. */
  get queued(): number {
    return this.#waiting.size + this.#sending.size + this.#retrying.size;
  }

  get callsUsed(): number {
    const sinceMs = this.#options.clock.monotonicMs() - this.#options.governor.windowMs;
    this.#sentAtMs = this.#sentAtMs.filter((at) => at > sinceMs);
    return this.#sentAtMs.length;
  }

  get budget(): BudgetState {
    return budgetState(this.#governor, this.#options.clock.monotonicMs());
  }

  get lastError(): Error | null {
    return this.#lastError;
  }

  async idle(): Promise<void> {
    while (this.queued > 0 || this.#pumping)
      await Promise.all([this.#pumping, ...this.#sending, ...this.#retrying]);
  }

  /** Sends nothing more; waits for the calls under way, at most `graceMs`, then cuts them off. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#leave([...this.#waiting]);
    for (const [planned, reason] of this.#over.splice(0)) this.#tooLate(planned, reason);
    const finished = Promise.all(this.#sending);
    await Promise.race([finished, this.#options.clock.sleep(graceMs, this.#stop.signal)]);
    this.#stop.abort();
    this.#wake.abort(DONE);
    await Promise.all([this.#pumping, ...this.#sending, ...this.#retrying]);
  }

  #enter({ planned, ...entry }: Ticket): void {
    if (this.#closing) return;
    const aheadMs = this.#options.clock.now().getTime() + CLOCK_STEP_MS;
    // A slot without an end comes once, and lasts whatever the clock says.
    const [ahead, present] = split(
      planned,
      ({ slotAt, deadlineMs }) => deadlineMs < Infinity && Date.parse(slotAt) >= aheadMs,
    );
    if (ahead)
      this.#finish(present ? { ...ahead, part: undefined } : ahead, { kind: "missed", reason: "down" });
    if (!present) return;
    const ticket: Ticket = { ...entry, planned: present };
    if (!this.#mayTry(present)) {
      this.#over.push([present, "unauthorized"]);
      return this.#start();
    }
    this.#waiting.add(ticket);
    this.#heldFor = null;
    this.#watchDeadline(ticket);
    // It never rejects: nobody waits for what leaves the queue, and `#launch` sees to what goes wrong.
    void this.#queue.add(() => this.#launch(ticket), { urgency: ticket.planned });
    this.#start();
  }

  #start(): void {
    this.#wake.abort(DONE);
    this.#pumping ??= this.#pump().finally(() => (this.#pumping = null));
  }

  #leave(tickets: readonly Ticket[]): void {
    if (tickets.length === 0) return;
    for (const ticket of tickets) this.#waiting.delete(ticket);
    this.#order.leave(new Set(tickets.map(({ planned }) => planned)));
  }

  #watchDeadline({ planned }: Ticket): void {
    this.#nearestDeadlineMs = Math.min(this.#nearestDeadlineMs, planned.deadlineMs);
  }

  /** Lets one call go whenever the governor allows and there is room, until none waits. */
  async #pump(): Promise<void> {
    const { clock, borrow, atOnce } = this.#options;
    // Calls that come together enter before the first leaves, so that the most urgent of them is the first.
    await Promise.resolve();
    while (this.#waiting.size + this.#borrowers.length + this.#over.length > 0 && !this.#closing) {
      for (const _ of this.expire()) await setImmediate();
      if (this.#closing) break;
      if (this.#waiting.size + this.#borrowers.length === 0) continue;
      const most = this.#unauthorized ? 1 : (atOnce?.() ?? CONCURRENCY);
      const roomy = this.#sending.size + this.#lentCount < most;
      if (borrow && roomy && this.#waiting.size > 0 && (await this.#sendBorrowed(borrow))) continue;
      const nowMs = clock.monotonicMs();
      const allowed = admission(this.#governor, nowMs);
      const borrower = this.#borrowers.find(
        ({ urgent }) =>
          urgent || (this.#waiting.size === 0 && this.#lentInWindow(nowMs) < this.#options.lendable()),
      );
      if (allowed.maySend && roomy && borrower) {
        borrower.go();
      } else if (allowed.maySend && roomy && this.#waiting.size > 0) {
        // Starts its first task at once, which pauses it again.
        this.#queue.start();
      } else {
        if (!allowed.maySend) this.#options.onHeld?.(allowed.notBeforeMs - nowMs);
        const byBudget = HELD[this.#closed ? this.#governor.closedBy : "refusal"];
        const held = isHeldForOthers(this.#governor) ? "down" : byBudget;
        if (!allowed.maySend && this.#heldFor !== held) {
          for (const ticket of this.#waiting) ticket.held = held;
          this.#heldFor = held;
        }
        // A call that is over makes room; until then nothing else does.
        if (!roomy && this.#sending.size > 0) await this.#rest(Infinity);
        else await this.#rest(allowed.maySend ? LONGEST_WAIT_MS : allowed.notBeforeMs - nowMs);
      }
    }
  }

  /** Lets the most urgent call go by the leave of another program. @returns whether that is done with */
  async #sendBorrowed(borrow: NonNullable<DispatcherOptions["borrow"]>): Promise<boolean> {
    const leave = await borrow(this.#stop.signal).catch(() => null);
    if (leave === null) return this.#closing;
    if (this.#closing || this.#waiting.size === 0) leave(null);
    else {
      this.#leaveOfNext = leave;
      this.#queue.start();
    }
    return true;
  }

  /** Calls in the count that were lent to programs that can wait. */
  #lentInWindow(nowMs: number): number {
    const sinceMs = nowMs - this.#options.governor.windowMs - GUARD_MS;
    this.#lent = this.#lent.filter(({ endedAtMs }) => endedAtMs > sinceMs);
    return this.#lent.length;
  }

  /** Sleeps until there may be something to do: an answer, another call, a deadline, or the time is up. */
  async #rest(waitMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#wake = new AbortController();
    const untilDeadlineMs = this.#nearestDeadlineMs - clock.now().getTime();
    if (Math.min(waitMs, untilDeadlineMs) === Infinity)
      return once(this.#wake.signal, "abort").then(() => undefined);
    const ms = Math.max(1, Math.min(waitMs, LONGEST_WAIT_MS, untilDeadlineMs));
    await clock.sleep(ms, this.#wake.signal).catch(() => undefined);
  }

  /** The queue's task: lets one call go, and closes the gate behind it. */
  #launch(ticket: Ticket): void {
    this.#queue.pause();
    this.#waiting.delete(ticket);
    const leave = this.#leaveOfNext;
    this.#leaveOfNext = null;
    const sending = track(this.#sending, this.#send(ticket, this.#sent(), leave));
    // Whoever waits for all that is under way is told of what went wrong.
    void sending.catch(() => undefined).finally(() => this.#wake.abort(DONE));
  }

  /** Counts a call that leaves now. @returns when that is, on the monotonic clock */
  #sent(): number {
    const sentAtMs = this.#options.clock.monotonicMs();
    this.#governor = step(this.#governor, { type: "sent" }, sentAtMs);
    this.#sentAtMs.push(sentAtMs);
    return sentAtMs;
  }

  async #send(ticket: Ticket, sentAtMs: number, leave: Leave | null): Promise<void> {
    const { clock, send } = this.#options;
    let arrived = false;
    let kept: Kept;
    try {
      kept = await send(ticket.planned, this.#stop.signal, (answered) => {
        arrived = true;
        leave?.({ headers: answered.headers, outcome: answered.answer.outcome });
        this.#learn(answeredEnd(answered, sentAtMs, clock.now().getTime()));
      });
    } catch (error) {
      const withheld = error instanceof QuotekeeperError && error.code === "LEASE_UNSURE";
      if (!arrived) {
        leave?.(null);
        this.#learn(withheld ? { type: "withdrawn", sentAtMs } : unansweredEnd(error, sentAtMs));
      }
      if (withheld) {
        this.#sentAtMs = this.#sentAtMs.filter((at) => at !== sentAtMs);
        return this.#enter(ticket);
      }
      if (!this.#stop.signal.aborted) this.#failed(ticket, error);
      return;
    }
    this.#take(ticket, kept);
  }

  #learn(event: GovernorEvent): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { closedUntilMs } = this.#governor;
    this.#governor = step(this.#governor, event, nowMs);
    if (this.#closed && this.#governor.closedUntilMs !== closedUntilMs)
      this.#options.onClosed?.(this.#governor.closedUntilMs - nowMs);
    this.#wake.abort(DONE);
  }

  #take(ticket: Ticket, { answer, record }: Kept): void {
    const { planned } = ticket;
    const { once } = this.#options;
    if (answer.outcome === "quotes") {
      this.#lastError = null;
      this.#unauthorized = null;
    } else this.#complain(planned, answerError(answer));
    // By the clock itself: receive times never go back, also when the clock was set back.
    const seen = { ...record, observedAt: instantFromDate(this.#options.clock.now()) };
    const unauthorized = answer.outcome === "unauthorized";
    const mayBeTheClock = this.#clockInDoubt || mayBeRefusedForTheClock(seen);
    const forTheClock = unauthorized && ticket.attempt === 1 && mayBeTheClock;
    // A second attempt shows it: answered, the time is right; refused, it was not the clock.
    if (!forTheClock && ticket.attempt > 1) this.#clockInDoubt = false;
    if (answer.outcome === "quota_fault" && !once) this.#enter({ ...ticket, setback: "refused" });
    // The refusal has shown how far the machine's clock is off: the next attempt signs by the service's.
    else if (forTheClock) this.#enter({ ...ticket, attempt: 2, setback: "unauthorized" });
    else if (unauthorized) this.#refused(ticket, answer, record);
    // A call that looks into another one's failure tells enough by failing once.
    else if (answer.outcome !== "server_error" || once || planned.part || !this.#again(ticket, record))
      this.#finish(planned, { kind: "answered", answer, askedMs: Date.parse(record.requestedAt) });
  }

  /** The service has refused the credentials: what waits would be refused as well. */
  #refused({ planned }: Ticket, answer: Answer, { requestedAt }: DatedAnswer): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { sinceMs = nowMs } = this.#unauthorized ?? {};
    this.#unauthorized = { sinceMs, triedMs: nowMs, slotAt: planned.slotAt };
    this.#finish(planned, { kind: "answered", answer, askedMs: Date.parse(requestedAt) });
    const vain = [...this.#waiting].filter((ticket) => !this.#mayTry(ticket.planned));
    this.#leave(vain);
    for (const ticket of vain) this.#over.push([ticket.planned, "unauthorized"]);
  }

  /** Whether a call may ask if the credentials are refused still: one for each slot, later for the first one of a minute. */
  #mayTry({ slotAt }: PlannedCall): boolean {
    if (this.#unauthorized === null || this.#options.once) return true;
    const { sinceMs, triedMs, slotAt: triedFor } = this.#unauthorized;
    const nowMs = this.#options.clock.monotonicMs();
    return slotAt !== triedFor && (nowMs - sinceMs < REFUSED_FOR_MS || nowMs - triedMs >= PROBED_EVERY_MS);
  }

  /** Another attempt after a 5xx; when it may be the limit in disguise, as soon as the budget is back. */
  #again(ticket: Ticket, { headers }: DatedAnswer): boolean {
    // The last attempt at a list is for one of its symbols alone: if that is answered, the list was why, not the limit.
    if (!this.#closed) return this.#retry(ticket, symbolCount(ticket.planned) > 1 ? ATTEMPTS - 1 : ATTEMPTS);
    this.#enter({ ...ticket, setback: readRetryAfter(headers) === null ? "transport" : "refused" });
    return true;
  }

  #failed(ticket: Ticket, error: unknown): void {
    if (!(error instanceof QuotekeeperError))
      this.#options.log.error({ err: error }, "a call failed in an unexpected way");
    this.#complain(ticket.planned, error as Error);
    const code = error instanceof QuotekeeperError ? error.code : null;
    // An answer that could not be journaled is not kept, and asking again would not help.
    if (!code?.startsWith("SERVICE_") || this.#options.once)
      this.#finish(ticket.planned, { kind: "missed", reason: "down" });
    else if (code === "SERVICE_CUT_SHORT" && this.#closed) this.#enter({ ...ticket, setback: "transport" });
    else if (!ERRORS[code].retryable || !this.#retry(ticket))
      this.#finish(ticket.planned, { kind: "missed", reason: "transport" });
  }

  /** Whether a failure may be the limit in disguise: then the call waits for the budget, and uses up no attempt. */
  get #closed(): boolean {
    return this.#governor.phase === "closed";
  }

  /** Again after a wait, if there is time left in the slot; the governor decides as for any call. */
  #retry(ticket: Ticket, attempts = ATTEMPTS): boolean {
    const { clock } = this.#options;
    const { planned, attempt } = ticket;
    const jitter = 1 + (clock.random(1)[0] ?? 0) / 255;
    const waitMs = RETRY_WAIT_MS * 2 ** (attempt - 1) * jitter;
    if (attempt >= attempts || clock.now().getTime() + waitMs >= planned.deadlineMs) return false;
    const again = clock.sleep(waitMs, this.#stop.signal).then(
      () => this.#enter({ ...ticket, attempt: attempt + 1, setback: "transport" }),
      () => undefined,
    );
    track(this.#retrying, again);
    return true;
  }

  /** What was wanted until now is missed; what is wanted longer waits on. */
  #miss(ticket: Ticket, nowMs: number): void {
    const { setback, held } = ticket;
    const [over, lasting] = split(ticket.planned, ({ deadlineMs }) => deadlineMs <= nowMs);
    if (lasting) this.#enter({ ...ticket, planned: lasting });
    if (!over) return;
    // Whoever waits for the outcome of a probe waits on with it.
    const planned = lasting ? { ...over, part: undefined } : over;
    const [closed, next] = split(planned, ({ closes }) => closes);
    if (closed) this.#over.push([closed, setback ?? "closed"]);
    if (!next) return;
    const reason = setback ?? held ?? "overrun";
    if (reason !== "budget" && reason !== "overrun") return void this.#over.push([next, reason]);
    const [cutShort, whole] = split(next, (want) => this.#options.isCutShort?.(want, next.account) === true);
    if (cutShort) this.#over.push([whole ? { ...cutShort, part: undefined } : cutShort, "down"]);
    if (whole) this.#over.push([whole, reason]);
  }

  #tooLate(planned: PlannedCall, reason: MissReason): void {
    const { jobs, slotAt, call } = planned;
    // Described by whoever writes it down: of thousands a calm log says one.
    const missed = {
      get call() {
        return describeCall(call);
      },
      jobs,
      slotAt,
      reason,
    };
    const why = reason === "unauthorized" ? "the service refuses the credentials" : "its slot is over";
    this.#options.log.warn(missed, `missed: ${why}`);
    this.#finish(planned, { kind: "missed", reason });
  }

  #finish(planned: PlannedCall, result: Result): void {
    this.#options.onResult(planned, result);
  }

  #complain({ call, jobs }: PlannedCall, error: Error): void {
    this.#lastError = error;
    this.#options.log.error({ call: describeCall(call), jobs }, error.message);
  }
}

function track(set: Set<Promise<void>>, work: Promise<void>): Promise<void> {
  const tracked = work.finally(() => set.delete(tracked));
  set.add(tracked);
  return tracked;
}
