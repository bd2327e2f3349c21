/**
 * A sweep: a job without a schedule, which the ordinary collector polls until every instrument has come to an end.
 *
 * It goes in passes over one slot that has no end. What a pass leaves, because calls failed or the price of a chain came,
 * is the next one's. It is over when nothing is left, or a pass brought nothing while the service answers: what still
 * fails then was not polled, and the next run goes on with it. While nothing at all is answered the service is in doubt:
 * calls are made one by one, more and more seldom, and when that lasts the sweep ends with the last error.
 */
import type { Clock } from "../../clock.ts";
import { type Answer, answerError } from "../../quotes-api/answer.ts";
import { type CalledAccount, Collector, type CollectorOptions } from "../../collect/collector.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { CONCURRENCY, type Send } from "../../collect/dispatcher.ts";
import { namesOf } from "../../collect/asks.ts";
import { QuotekeeperError } from "../../errors.ts";
import { alwaysOpen } from "../../market/calendar/tradingCalendar.ts";
import { type DatedAnswer, mayBeRefusedForTheClock } from "../../quotes-api/clockSkew.ts";
import { describeCall, type QuoteCall } from "../../quotes-api/request.ts";
import type { SweepPlan } from "./sweepPlan.ts";
import type { SweepRun } from "./runFile.ts";
import { ServiceHealth } from "./serviceHealth.ts";

/** What a sweep is made of. */
export type SweepOptions = {
  plan: SweepPlan;
  run: Pick<SweepRun, "name" | "begunAt">;
  /** What its collector is made of; `borrow` asks one that runs beside. */
  collector: Pick<CollectorOptions, "clock" | "log"> & Omit<CalledAccount, "name" | "atOnce">;
  /** Called after each call, and when calls wait. */
  onProgress: (progress: SweepProgress) => void;
  /** Ends it: calls under way are finished, within `GRACE_MS`. */
  signal: AbortSignal;
};

/** How far it has come, in calls of this run: those that brought quotes, and those that are still to be made. */
type SweepProgress = { made: number; left: number; doing: string };

/** How long calls under way are waited for at the end, in ms. */
const GRACE_MS = 1_500;

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
  readonly #clock: Clock;
  readonly #health: ServiceHealth;
  readonly #collector: Collector;
  /** Aborted with the error that ends it. */
  readonly #failed = new AbortController();
  /** Names that were refused when they were asked alone. */
  readonly #refused = new Set<string>();
  readonly #begunAtMs: number;
  #clockTried = false;
  #askedCount = 0;

  constructor(options: SweepOptions) {
    const { clock, log, ...account } = options.collector;
    this.#options = options;
    this.#clock = clock;
    this.#begunAtMs = clock.monotonicMs();
    this.#health = new ServiceHealth(this.#begunAtMs);
    this.#collector = new Collector({
      ...{ clock, log, run: options.run.name, earlier: null },
      ...{ jobs: [], calendar: alwaysOpen, exchange: alwaysOpen },
      // Its slot is none of the schedule's: the report gives the account of it, not the tables of the ledger.
      onNote: () => undefined,
      accounts: [
        {
          ...{ ...account, name: DEFAULT_ACCOUNT },
          atOnce: () => this.#health.atOnce(clock.monotonicMs(), this.#knowsWhoIsBeside() ? CONCURRENCY : 1),
          send: (planned, signal, onArrived) => this.#send(planned, signal, onArrived),
          onClosed: (forMs) => {
            account.onClosed?.(forMs);
            this.#tell("refused; waiting for the budget", this.#collector.status().queued);
          },
        },
      ],
    });
  }

  async run(): Promise<void> {
    const ended = AbortSignal.any([this.#options.signal, this.#failed.signal]);
    const stopped = new Promise<void>((resolve) => {
      if (ended.aborted) resolve();
      ended.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      while (!ended.aborted && (await this.#pass(stopped)));
    } finally {
      await this.#collector.close(GRACE_MS);
    }
    ended.throwIfAborted();
  }

  /** Asks for all that is left, once. @returns whether there is more to do */
  async #pass(stopped: Promise<void>): Promise<boolean> {
    const { plan, run } = this.#options;
    const left = plan.left.map(({ name }) => name);
    const askedBefore = this.#askedCount;
    if (left.length === 0) return false;
    this.#collector.pollOnce(plan.dueOf(run.name), run.begunAt);
    await Promise.race([this.#collector.idle(), stopped]);
    if (this.#health.answered > 0) this.#refused.forEach((name) => plan.fail(name));
    this.#tell("", 0);
    // What makes whole lists fail rests once it was found.
    if (this.#askedCount === askedBefore) return false;
    const still = new Set(plan.left.map(({ name }) => name));
    return this.#health.inDoubt || still.size > left.length || left.some((name) => !still.has(name));
  }

  /**
   * Beside a program that shows in the service's count alone calls go one by one, as long as it is seen and for a window
   * at first: of several, nobody could say which the count holds already, and it would come to light late.
   */
  #knowsWhoIsBeside(): boolean {
    const { evenly, windowMs } = this.#options.collector.governor;
    if (!evenly) return true;
    const watched = this.#clock.monotonicMs() - this.#begunAtMs >= windowMs;
    return watched && this.#collector.budget().secondClientCount === 0;
  }

  readonly #send: Send = async (planned, signal, onArrived) => {
    const { call } = planned;
    this.#askedCount += 1;
    try {
      const kept = await this.#options.collector.send(planned, signal, onArrived);
      this.#take(call, kept.answer, kept.record);
      return kept;
    } catch (error) {
      if (!signal.aborted) this.#unanswered(error as Error);
      throw error;
    } finally {
      this.#tell(describeCall(call), this.#collector.status().queued - 1);
    }
  };

  #take(call: QuoteCall, answer: Answer, record: DatedAnswer): void {
    if (answer.outcome === "quotes") {
      this.#health.succeeded(this.#clock.monotonicMs());
      this.#options.plan.take(call, answer);
      return;
    }
    const error = answerError(answer);
    if (answer.outcome === "unauthorized") {
      // The refusal has shown how far the machine's clock is off: the collector asks once more by the service's.
      if (this.#clockTried || !mayBeRefusedForTheClock(record)) this.#failed.abort(error);
      this.#clockTried = true;
    } else if (answer.outcome !== "quota_fault" && answer.outcome !== "too_long") {
      this.#unwell(error);
      const names = namesOf(call);
      // While nothing is answered it may be the service that refuses, whatever it is asked.
      if (names.length === 1 && answer.outcome !== "server_error" && !this.#health.inDoubt)
        this.#refused.add(names[0] ?? "");
    }
  }

  #unanswered(error: Error): void {
    // An answer that could not be journaled is not kept, and asking for more would not help.
    if (!(error instanceof QuotekeeperError && error.code.startsWith("SERVICE_"))) this.#failed.abort(error);
    else this.#unwell(error);
  }

  #unwell(error: Error): void {
    const nowMs = this.#clock.monotonicMs();
    this.#health.failed(nowMs, (this.#clock.random(4)[3] ?? 0) / 255);
    if (this.#health.isOutOfOrder(nowMs)) this.#failed.abort(error);
  }

  #tell(doing: string, left: number): void {
    this.#options.onProgress({ made: this.#health.answered, left, doing });
  }
}
