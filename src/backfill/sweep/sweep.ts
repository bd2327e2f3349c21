/**
 * Makes the calls of a sweep, within the budget, until every instrument has come to an end.
 *
 * A call is waiting -> under way -> done. From under way it waits again: after the quota fault; once when the machine's
 * clock may be why it was not authorized; after a transport error or a 5xx, with a wait that doubles. A list that is too
 * long, or that fails while other calls are answered, becomes two halves, until what fails stands alone.
 * While nothing at all is answered the service is in doubt: then calls are made one by one and given up by none of them,
 * and the sweep ends when that lasts; the next run goes on.
 */
import type { Clock } from "../../clock.ts";
import { atMost } from "../../clock.ts";
import { answerError } from "../../collect/answerError.ts";
import { type Arrived, type CallEnd, answeredEnd, unansweredEnd } from "../../collect/callEnds.ts";
import { afterSuccess, afterTooLong, firstBatchSize, MIN_BATCH_SIZE } from "../../collect/batchSize.ts";
import { ERRORS, QuotekeeperError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Collected } from "../../run/pipeline.ts";
import { mayBeRefusedForTheClock } from "../../quotes-api/clockSkew.ts";
import { describeCall, type QuoteCall } from "../../quotes-api/request.ts";
import type { SweepBudget } from "./budget.ts";
import { halvesOf, sizeOf } from "./halves.ts";
import { namesOf, type SweepPlan } from "./plan.ts";
import { freshPiece, type Piece, type Setback, SweepQueue } from "./queue.ts";
import { ATTEMPTS, ServiceHealth } from "./serviceHealth.ts";

/** What a sweep is made of. */
export type SweepOptions = {
  plan: SweepPlan;
  delayed: boolean;
  budget: SweepBudget;
  clock: Clock;
  log: Log;
  /** Makes a call and keeps its answer; tells of the answer before it is kept. */
  collect: (
    call: QuoteCall,
    signal: AbortSignal,
    onArrived: (arrived: Arrived) => void,
  ) => Promise<Collected>;
  /** Tells the budget of the calls that others have made since the last look. */
  look: () => Promise<void>;
  /** Told for how long nothing will be sent, ms, after a call that closes the budget. */
  onClosed?: (forMs: number) => void;
  /** Called after each call, and while calls wait. */
  onProgress: (progress: SweepProgress) => void;
  /** Ends it: calls under way are finished, within `GRACE_MS`. */
  signal: AbortSignal;
};

/** How far it has come, in calls of this run: those that brought quotes, and those that are still to be made. */
export type SweepProgress = { made: number; left: number; doing: string };

/** Longest sleep between two looks around, in ms. */
const LONGEST_REST_MS = 1_000;

/** How long calls under way are waited for at the end, in ms. */
export const GRACE_MS = 1_500;

/** Why a signal is aborted that nobody reads. */
const DONE = "done";

/**
 * Runs it to its end; what the plan has left then was not polled, and the next run goes on with it.
 *
 * @throws the signal's reason; the error that ended it: SERVICE_UNAUTHORIZED, JOURNAL_*, or the service's last one
 */
export async function sweep(options: SweepOptions): Promise<void> {
  await new Sweep(options).run();
}

class Sweep {
  readonly #options: SweepOptions;
  readonly #queue: SweepQueue;
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #serviceHealth: ServiceHealth;
  #batch = firstBatchSize;
  #wake = new AbortController();
  #fatal: unknown = null;
  #pausedUntilMs = -Infinity;
  /** Calls whose answer was not taken in yet. */
  #untaken = 0;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#queue = new SweepQueue(options.delayed);
    this.#serviceHealth = new ServiceHealth(options.clock.monotonicMs());
  }

  async run(): Promise<void> {
    const { plan, signal } = this.#options;
    const wake = (): void => this.#wake.abort(DONE);
    signal.addEventListener("abort", wake);
    this.#queue.add(plan.fresh());
    try {
      while (!signal.aborted && this.#fatal === null) if (!(await this.#turn())) break;
    } finally {
      signal.removeEventListener("abort", wake);
      await this.#finishSending();
    }
    signal.throwIfAborted();
    if (this.#fatal !== null) throw this.#fatal;
  }

  /** One look around: lets a call go, or rests until there may be something to do. @returns whether there is more */
  async #turn(): Promise<boolean> {
    const { budget, clock, look } = this.#options;
    await look();
    const nowMs = clock.monotonicMs();
    const { readyAtMs } = this.#queue;
    if (readyAtMs === Infinity && this.#sending.size === 0) return false;
    // Until one call was answered nobody knows how long a list may be, nor whether the credentials are right.
    const oneByOne = this.#serviceHealth.answered === 0 || this.#serviceHealth.inDoubt;
    const roomy = this.#sending.size < (oneByOne ? 1 : budget.concurrency(nowMs));
    if (readyAtMs === Infinity || !roomy) {
      await this.#oneEnds();
      return true;
    }
    const atMs = Math.max(readyAtMs, this.#pausedUntilMs, budget.nextAtMs(nowMs));
    if (atMs > nowMs) await this.#rest(atMs - nowMs);
    else this.#launch(nowMs);
    return true;
  }

  #launch(nowMs: number): void {
    const piece = this.#queue.next(nowMs, this.#batch);
    if (piece === null) return;
    this.#options.budget.sent(nowMs);
    this.#untaken += 1;
    const sending = this.#send(piece, nowMs)
      .catch((error: unknown) => void (this.#fatal ??= error))
      .finally(() => {
        this.#sending.delete(sending);
        this.#wake.abort(DONE);
        this.#tell(describeCall(piece.call));
      });
    this.#sending.add(sending);
  }

  async #send(piece: Piece, sentAtMs: number): Promise<void> {
    const { clock, collect, look } = this.#options;
    const heard: { end?: CallEnd } = {};
    let collected: Collected;
    try {
      collected = await collect(piece.call, this.#stop.signal, (arrived) => {
        heard.end = answeredEnd(arrived, sentAtMs, clock.now().getTime());
        // What may be a refusal holds for the next call already.
        if (heard.end.type !== "answered") this.#learn(heard.end);
      });
    } catch (error) {
      if (!heard.end) this.#learn(unansweredEnd(error, sentAtMs));
      else if (heard.end.type === "answered") this.#learn(heard.end);
      this.#untaken -= 1;
      if (!this.#stop.signal.aborted) this.#unanswered(piece, error);
      return;
    }
    // The calls of others that the headers count are in the journal by now: known first, they are no riddle.
    await look();
    if (heard.end?.type === "answered") this.#learn(heard.end);
    this.#untaken -= 1;
    this.#take(piece, collected);
  }

  #learn(end: CallEnd): void {
    const { budget, clock, onClosed } = this.#options;
    const nowMs = clock.monotonicMs();
    budget.ended(end, nowMs);
    const closedForMs = budget.closedForMs(nowMs);
    if (closedForMs > 0) onClosed?.(closedForMs);
  }

  #take(piece: Piece, { answer, record }: Collected): void {
    const { plan, log, clock } = this.#options;
    if (answer.outcome === "quotes") {
      this.#serviceHealth.succeeded(clock.monotonicMs());
      this.#batch = afterSuccess(this.#batch, sizeOf(piece.call));
      plan.take(piece.call, answer);
      return this.#queue.add(plan.fresh());
    }
    const error = answerError(answer);
    switch (answer.outcome) {
      case "quota_fault":
        log.warn({}, `${error.message} The call is made again when the budget is back.`);
        return this.#queue.again(piece);
      case "unauthorized":
        if (!piece.clockTried && mayBeRefusedForTheClock(record))
          return this.#queue.again({ ...piece, clockTried: true });
        this.#fatal ??= error;
        return;
      case "too_long":
        return this.#tooLong(piece, error);
      default:
        return this.#setback(piece, answer.outcome, error);
    }
  }

  #tooLong(piece: Piece, error: QuotekeeperError): void {
    const halves = sizeOf(piece.call) > MIN_BATCH_SIZE ? halvesOf(piece.call) : null;
    if (halves === null) return this.#setback(piece, "refused", error);
    this.#batch = afterTooLong(this.#batch, sizeOf(piece.call));
    for (const half of halves) this.#queue.again(freshPiece(half));
  }

  #unanswered(piece: Piece, error: unknown): void {
    const code = error instanceof QuotekeeperError ? error.code : null;
    if (code === "SERVICE_ANSWER_TOO_LARGE") return this.#setback(piece, "refused", error as Error);
    // An answer that could not be journaled is not kept, and asking for more would not help.
    if (code?.startsWith("SERVICE_") && ERRORS[code].retryable)
      return this.#setback(piece, "transport", error as Error);
    this.#fatal ??= error;
  }

  /** A call failed. It is made again, or split, or what it asks for has failed. */
  #setback(before: Piece, setback: Setback, error: Error): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#serviceHealth.failed();
    const answeredBefore = before.answeredBefore ?? this.#serviceHealth.answered;
    const piece: Piece = { ...before, setback, answeredBefore, failures: before.failures + 1 };
    const waitMs = this.#serviceHealth.waitMs((clock.random(4)[3] ?? 0) / 255);
    if (this.#serviceHealth.pauses) this.#pausedUntilMs = nowMs + waitMs;
    log.warn({ call: describeCall(piece.call), attempt: piece.failures }, error.message);
    if (this.#serviceHealth.isToBeParted(piece)) this.#part(piece);
    else this.#queue.again({ ...piece, notBeforeMs: nowMs + waitMs });
    if (this.#serviceHealth.isOutOfOrder(nowMs)) this.#fatal ??= error;
    this.#giveUpTheRest();
  }

  /** Halves of a list that fails; an instrument that fails alone costs itself. */
  #part({ call, setback }: Piece): void {
    // What does not arrive says nothing of what was asked.
    const halves = setback === "transport" ? null : halvesOf(call);
    if (halves) for (const half of halves) this.#queue.again(freshPiece(half));
    else if (setback === "refused" || setback === "malformed")
      namesOf(call).forEach((name) => this.#options.plan.fail(name));
  }

  /** Gives up what alone is left, and fails. */
  #giveUpTheRest(): void {
    if (this.#serviceHealth.answered === 0 || this.#sending.size > 1 || !this.#queue.allFailed(ATTEMPTS))
      return;
    for (const piece of this.#queue.giveUp()) if (namesOf(piece.call).length === 1) this.#part(piece);
  }

  #tell(doing: string): void {
    const left = this.#queue.callsLeft(this.#batch) + this.#untaken;
    this.#options.onProgress({ made: this.#serviceHealth.answered, left, doing });
  }

  async #rest(ms: number): Promise<void> {
    if (ms > LONGEST_REST_MS) this.#tell(this.#waitingFor());
    this.#wake = new AbortController();
    await this.#options.clock
      .sleep(Math.max(1, Math.min(ms, LONGEST_REST_MS)), this.#wake.signal)
      .catch(() => undefined);
  }

  #waitingFor(): string {
    const { budget, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (budget.closedForMs(nowMs) > 0) return "refused; waiting for the budget";
    const failing = Math.max(this.#queue.readyAtMs, this.#pausedUntilMs) > nowMs;
    return failing ? "failed; waiting to ask again" : "waiting for the budget";
  }

  /** Waits until a call under way is over; or until the sweep is to end. */
  async #oneEnds(): Promise<void> {
    const { signal } = this.#options;
    const aborted = new Promise<void>((resolve) => {
      this.#wake = new AbortController();
      this.#wake.signal.addEventListener("abort", () => resolve());
      if (signal.aborted) resolve();
    });
    await Promise.race([aborted, ...this.#sending]);
  }

  /** Calls under way are finished, at most `GRACE_MS`, then cut off: they are not in the journal and are made again. */
  async #finishSending(): Promise<void> {
    const { clock } = this.#options;
    if (this.#sending.size > 0) await atMost(GRACE_MS, Promise.all(this.#sending), clock);
    this.#stop.abort(DONE);
    await Promise.all(this.#sending);
  }
}
