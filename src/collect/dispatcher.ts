/**
 * Sends planned calls, the most urgent first, as the governor allows: they wait in a queue that is paused, and a gate opens it
 * for one call whenever one may leave.
 *
 * A call is waiting -> under way -> done. From under way it waits again, while its slot lasts: after the quota
 * fault, after a transport error or a 5xx that closes the budget like one, and after any other of them a few times; the governor
 * lets it go as any other call. While the service refuses the credentials, one call at a time asks whether it still does; the
 * others wait for its end, and are missed with it. What is wanted of a call for a slot that ends while the call waits is missed;
 * the rest goes on waiting. Each wish comes out once: answered or missed.
 */
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import PQueue from "p-queue";
import { instantFromDate } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { refusesCredentials, wantsLogin } from "../quotes/answer.ts";
import { errorOf } from "../services/registry.ts";
import type { Service } from "../services/service.ts";
import { describeCall } from "../quotes/call.ts";
import type { Want } from "./asks.ts";
import { isOnce, type PlannedCall } from "./callPlan.ts";
import { AccountBudget, type BudgetOptions } from "./dispatch/accountBudget.ts";
import {
  afterAnswer,
  afterFailure,
  answeredEnd,
  type LimitReader,
  type KeptAnswer,
  type Next,
  type Result,
  type Send,
  unansweredEnd,
} from "./dispatch/callEnds.ts";
import { Credentials, type CredentialsOptions } from "./dispatch/credentials.ts";
import { MissedCalls } from "./dispatch/missedCalls.ts";
import {
  classOf,
  lyingAhead,
  type Ticket,
  type TicketOptions,
  WaitingCalls,
} from "./dispatch/waitingCalls.ts";

export type DispatcherOptions = BudgetOptions &
  CredentialsOptions & {
    service: LimitReader & Pick<Service, "token">;
    send: Send;
    onResult: (planned: PlannedCall, result: Result) => void;
    /** Calls under way at once, at most, as things stand now. Default: `CONCURRENCY`. */
    atOnce?: () => number;
    /** Called for how long, in ms, the budget holds calls back. */
    onHeld?: (forMs: number) => void;
    /** Whether the program was unable to send for part of a slot. Default: never. */
    isCutShort?: (want: Want, account: string | null) => boolean;
  };

/** Calls under way at once, at most. */
export const CONCURRENCY = 6;

/** Longest sleep between two looks at the governor in ms, should the wall clock be moved meanwhile. */
const LONGEST_WAIT_MS = 5_000;

/** Errors of a call of which no byte has left: it waits again. */
const UNSENT: ReadonlySet<string> = new Set(["LEASE_UNSURE", "LOGIN_NEEDED"]);

/** Abort reason that nobody reads; a constant, because a new Error with a stack for each call is slow. */
const DONE = "done";

export class Dispatcher {
  readonly budget: AccountBudget;
  readonly #options: DispatcherOptions;
  readonly credentials: Credentials;
  readonly #waiting = new WaitingCalls();
  readonly #queue = new PQueue<WaitingCalls, TicketOptions>({
    queueClass: classOf(this.#waiting),
    autoStart: false,
  });
  readonly #missed: MissedCalls;
  /** Calls that have left and are not over: under way, or before another attempt. */
  readonly #begun = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #keepingGate: Promise<void> | null = null;
  lastError: Error | null = null;
  #closing = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.credentials = new Credentials(options);
    this.#missed = new MissedCalls(options);
    this.budget = new AccountBudget(options, () => this.#wake.abort(DONE));
    this.#queue.on("next", () => this.#wake.abort(DONE));
  }

  add(planned: PlannedCall): void {
    this.#enter({ planned, attempt: 1, setback: null, held: null });
  }

  /** Removes the calls of slots with an end that only wait for their turn, so that they can be planned again. */
  removeWaiting(): PlannedCall[] {
    const fresh = this.#waiting.removeWhere(
      ({ setback, planned }) => setback === null && !planned.part && !planned.pages && !isOnce(planned),
    );
    return fresh.map(({ planned }) => planned);
  }

  withdraw(isGone: (planned: PlannedCall) => boolean): void {
    this.#waiting.removeWhere(({ planned }) => isGone(planned));
  }

  /** Misses what waits for a slot that is over: the first step removes it, all steps together settle it. Done at each tick. */
  *expire(): Iterable<void> {
    const { clock, isCutShort = () => false } = this.#options;
    const { lasting, missed } = this.#waiting.removeOverdue(clock.now().getTime(), isCutShort);
    for (const ticket of lasting) this.#enter(ticket);
    for (const [planned, reason] of missed) this.#missed.add(planned, reason);
    yield* this.#missed.settle();
  }

  /** Misses what waits for slots that lie ahead, because the wall clock was set back: they come once more. */
  missAhead(): void {
    for (const ticket of this.#waiting.removeWhere(() => true)) this.#enter(ticket);
  }

  get governor(): BudgetOptions["governor"] {
    return this.#options.governor;
  }

  get queued(): number {
    return this.#queue.size + this.#begun.size;
  }

  async idle(): Promise<void> {
    while (!this.#closing && (this.queued > 0 || this.#keepingGate)) {
      // A gate that failed is kept once more: who waits for its end is told of what went wrong.
      if (this.#queue.size > 0) this.#start();
      await Promise.all([this.#keepingGate, ...this.#begun]);
    }
  }

  /** Sends nothing more; waits for the calls under way, at most `graceMs`, then cuts them off. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#waiting.removeWhere(() => true);
    for (const _ of this.#missed.settle());
    const begun = [...this.#begun];
    await Promise.race([this.#queue.onPendingZero(), this.#options.clock.sleep(graceMs, this.#stop.signal)]);
    this.#stop.abort();
    this.#wake.abort(DONE);
    await Promise.all([this.#keepingGate, ...begun, ...this.#begun]);
  }

  #enter({ planned, ...entry }: Ticket): void {
    if (this.#closing) return;
    const { ahead, present } = lyingAhead(planned, this.#options.clock.now().getTime());
    if (ahead) this.#options.onResult(ahead, { kind: "missed", reason: "down" });
    if (!present) return;
    const ticket = { ...entry, planned: present };
    if (this.#mayTry(present)) void this.#queue.add(() => this.#launch(ticket), { ticket });
    else this.#missed.add(present, "unauthorized");
    this.#start();
  }

  #mayTry({ slotAt, once }: PlannedCall): boolean {
    return once?.single === true || this.credentials.mayTry(slotAt, this.#options.clock.monotonicMs());
  }

  #start(): void {
    this.#wake.abort(DONE);
    // It is null again in the very turn in which the gate finds nothing to do: who adds a call next starts it.
    this.#keepingGate ??= this.#keepGate();
  }

  /** Opens the queue for one call whenever the governor allows it and there is room, until none waits. */
  async #keepGate(): Promise<void> {
    const { clock, atOnce } = this.#options;
    // Calls that come together enter before the first leaves, so that the most urgent of them is the first.
    await Promise.resolve();
    try {
      while (this.#queue.size + this.#missed.size > 0 && !this.#closing) {
        for (const _ of this.expire()) await setImmediate();
        if (this.#closing) break;
        if (this.#queue.size === 0) continue;
        const most = this.credentials.areRefused ? 1 : (atOnce?.() ?? CONCURRENCY);
        // p-queue refuses zero: without room the gate does not open.
        this.#queue.concurrency = Math.max(1, most);
        const isRoomy = this.#queue.pending < most;
        if (!this.credentials.lookAtSession()) {
          this.#waiting.hold("login");
          // Somebody waits for the answer, and a login may never come.
          const vain = this.#waiting.removeWhere(({ planned }) => isOnce(planned));
          for (const { planned } of vain) this.#missed.add(planned, "login");
          if (vain.length === 0) await this.#rest(LONGEST_WAIT_MS);
          continue;
        }
        const allowed = this.budget.admission();
        if (allowed.maySend && isRoomy) this.#queue.start();
        else {
          const heldMs = allowed.maySend ? LONGEST_WAIT_MS : allowed.notBeforeMs - clock.monotonicMs();
          if (!allowed.maySend) {
            this.#options.onHeld?.(heldMs);
            this.#waiting.hold(this.budget.heldFor);
          }
          // A call that is over makes room; until then nothing else does.
          await this.#rest(!isRoomy && this.#queue.pending > 0 ? Infinity : heldMs);
        }
      }
    } finally {
      this.#keepingGate = null;
    }
  }

  /** Sleeps until there may be something to do: an answer, another call, a deadline, or the time is up. */
  async #rest(waitMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#wake = new AbortController();
    const untilDeadlineMs = this.#waiting.nearestDeadlineMs - clock.now().getTime();
    if (Math.min(waitMs, untilDeadlineMs) === Infinity)
      return once(this.#wake.signal, "abort").then(() => undefined);
    const ms = Math.max(1, Math.min(waitMs, LONGEST_WAIT_MS, untilDeadlineMs));
    await clock.sleep(ms, this.#wake.signal).catch(() => undefined);
  }

  /** The queue's task for a call: shuts the gate behind it, and sends it. Never rejects. */
  async #launch(ticket: Ticket): Promise<void> {
    this.#queue.pause();
    // Whoever waits for all that has begun is told of what went wrong.
    await track(this.#begun, this.#send(ticket, this.budget.countCall())).catch(() => undefined);
  }

  async #send(ticket: Ticket, sentAtMs: number): Promise<void> {
    const { clock, send, service } = this.#options;
    let arrived = false;
    let kept: KeptAnswer;
    try {
      kept = await send(ticket.planned, this.#stop.signal, (answered) => {
        arrived = true;
        this.budget.notify(
          answeredEnd(answered, service, { sentMs: sentAtMs, wallMs: clock.now().getTime() }),
        );
      });
    } catch (error) {
      if (error instanceof QuotekeeperError && UNSENT.has(error.code)) {
        if (!arrived) this.budget.uncountCall(sentAtMs);
        return this.#enter(ticket);
      }
      if (!arrived) this.budget.notify(unansweredEnd(error, sentAtMs));
      if (!this.#stop.signal.aborted) this.#failed(ticket, error);
      return;
    }
    this.#answered(ticket, kept);
  }

  #answered(ticket: Ticket, { answer, record }: KeptAnswer): void {
    const { planned, attempt } = ticket;
    const { clock, service } = this.#options;
    const isRefusal = refusesCredentials(answer);
    const forTheToken =
      service.token !== undefined && isRefusal && attempt === 1 && !this.credentials.areRefused;
    if (answer.outcome === "quotes") this.lastError = null;
    // A session that slept and was woken is no trouble, nor is a token that has ended early: the call is made again.
    else if (!forTheToken && (!wantsLogin(answer) || !this.credentials.lookAtSession()))
      this.#logError(planned, errorOf(answer, record));
    // By the clock itself: receive times never go back, also when the clock was set back.
    const seen = { ...record, observedAt: instantFromDate(clock.now()) };
    const isMended = this.credentials.answered(answer.outcome, seen, attempt) || forTheToken;
    const isRefused = isRefusal && !isMended && !wantsLogin(answer);
    if (isRefused) this.#refused(planned);
    const given = { ...this.#options, isClosed: this.budget.isClosed };
    this.#follow(planned, afterAnswer(ticket, { answer, record, isMended }, given));
  }

  /** The service refuses the credentials: what waits would be refused as well. */
  #refused({ slotAt }: PlannedCall): void {
    this.credentials.refused(slotAt, this.#options.clock.monotonicMs());
    for (const { planned } of this.#waiting.removeWhere((waiting) => !this.#mayTry(waiting.planned)))
      this.#missed.add(planned, "unauthorized");
  }

  #failed(ticket: Ticket, error: unknown): void {
    if (!(error instanceof QuotekeeperError))
      this.#options.log.error({ err: error }, "a call failed in an unexpected way");
    this.#logError(ticket.planned, error as Error);
    const given = { ...this.#options, isClosed: this.budget.isClosed };
    const next = afterFailure(ticket, error, given);
    if ("over" in next && next.over.kind === "answered") this.#refused(ticket.planned);
    this.#follow(ticket.planned, next);
  }

  #follow(planned: PlannedCall, next: Next): void {
    if ("over" in next) return this.#options.onResult(planned, next.over);
    const { again, afterMs } = next;
    if (afterMs === 0) return this.#enter(again);
    const enter = (): void => this.#enter(again);
    const entered = this.#options.clock.sleep(afterMs, this.#stop.signal).then(enter, () => undefined);
    void track(this.#begun, entered);
  }

  #logError({ call, jobs }: PlannedCall, error: Error): void {
    this.lastError = error;
    this.#options.log.error({ call: describeCall(call), jobs }, error.message);
  }
}

function track(set: Set<Promise<void>>, work: Promise<void>): Promise<void> {
  const tracked = work.finally(() => set.delete(tracked));
  set.add(tracked);
  return tracked;
}
