/**
 * A sweep: a job without a schedule, which the ordinary collector polls until every instrument has come to an end.
 *
 * It goes in passes over one slot that has no end. What a pass leaves, because calls failed or the price of a chain came,
 * is the next one's. It is over when nothing is left, or a pass brought nothing while the service answers: what still
 * fails then was not polled, and the next run goes on with it. While nothing at all is answered the service is in doubt:
 * calls are made one by one, less and less often, and when that lasts the sweep ends with the last error.
 */
import { Shares } from "../../accounts/shares.ts";
import type { Clock } from "../../clock.ts";
import { type Answer } from "../../quotes/answer.ts";
import { errorOf } from "../../services/registry.ts";
import { Collector, type CollectorOptions } from "../../collect/collector.ts";
import { type CalledAccount, sharerOf } from "../../collect/accountDispatchers.ts";
import { CONCURRENCY } from "../../collect/dispatcher.ts";
import { type Send } from "../../collect/dispatch/callEnds.ts";
import { namesOf } from "../../collect/asks.ts";
import { QuotekeeperError } from "../../errors.ts";
import { alwaysOpen } from "../../market/calendar/tradingCalendar.ts";
import { type DatedAnswer, mayBeRefusedForTheClock } from "../../services/clockSkew.ts";
import { describeCall, type QuoteCall } from "../../quotes/call.ts";
import type { SweepPlan } from "./sweepPlan.ts";
import type { SweepRun } from "./runFile.ts";
import { ServiceHealth } from "./serviceHealth.ts";

export type SweepOptions = {
  plan: SweepPlan;
  run: Pick<SweepRun, "name" | "begunAt">;
  /** What its collector is made of. */
  collector: Pick<CollectorOptions, "clock" | "log" | "batch">;
  accounts: readonly Omit<CalledAccount, "atOnce">[];
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
  readonly #shares: Shares;
  readonly #collector: Collector;
  /** Aborted with the error that ends it. */
  readonly #ending = new AbortController();
  /** Names that were refused when they were asked alone. */
  readonly #refused = new Set<string>();
  readonly #begunAtMs: number;
  readonly #clockTried = new Set<string>();
  #askedCount = 0;

  constructor(options: SweepOptions) {
    const { collector, accounts } = options;
    const { clock } = collector;
    this.#options = options;
    this.#clock = clock;
    this.#begunAtMs = clock.monotonicMs();
    this.#health = new ServiceHealth(this.#begunAtMs);
    this.#shares = new Shares(accounts.map(sharerOf), undefined, collector.batch.first);
    this.#collector = new Collector({
      ...collector,
      run: options.run.name,
      earlier: null,
      jobs: [],
      calendar: alwaysOpen,
      exchange: alwaysOpen,
      // Its slot is none of the schedule's: the report gives the account of it, not the tables of the ledger.
      onNote: () => undefined,
      shares: this.#shares,
      accounts: accounts.map((account) => ({
        ...account,
        atOnce: () =>
          this.#health.atOnce(clock.monotonicMs(), this.#knowsWhoIsBeside(account) ? CONCURRENCY : 1),
        send: (...sent) => this.#send(account, ...sent),
        onClosed: (forMs) => {
          account.onClosed?.(forMs);
          this.#tell("refused; waiting for the budget", this.#collector.status().queued);
        },
      })),
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    const end = (): void => this.#ending.abort(signal.reason);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    const ended = this.#ending.signal;
    const stopped = new Promise<void>((resolve) => {
      if (ended.aborted) resolve();
      ended.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      while (!ended.aborted && (await this.#pass(stopped)));
    } finally {
      await this.#collector.close(GRACE_MS);
      signal.removeEventListener("abort", end);
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
  #knowsWhoIsBeside({ name, governor }: Pick<CalledAccount, "name" | "governor">): boolean {
    if (!governor.evenly) return true;
    const watched = this.#clock.monotonicMs() - this.#begunAtMs >= governor.windowMs;
    const own = this.#collector.status().accounts.find((account) => account.name === name);
    return watched && own?.budget.secondClientCount === 0;
  }

  async #send(account: Pick<CalledAccount, "name" | "send">, ...sent: Parameters<Send>): ReturnType<Send> {
    const [{ call }, signal] = sent;
    this.#askedCount += 1;
    try {
      const kept = await account.send(...sent);
      this.#take(call, kept.answer, { ...kept, account: account.name });
      return kept;
    } catch (error) {
      if (!signal.aborted) this.#unanswered(error as Error);
      throw error;
    } finally {
      this.#tell(describeCall(call), this.#collector.status().queued - 1);
    }
  }

  #take(
    call: QuoteCall,
    answer: Answer,
    { record, account }: { record: DatedAnswer; account: string },
  ): void {
    if (answer.outcome === "quotes") {
      this.#health.succeeded(this.#clock.monotonicMs());
      this.#options.plan.take(call, answer);
      return;
    }
    const error = errorOf(answer, record);
    if (answer.outcome === "unauthorized") {
      // The refusal has shown how far the machine's clock is off: the collector asks once more by the service's.
      const forTheClock = !this.#clockTried.has(account) && mayBeRefusedForTheClock(record);
      this.#clockTried.add(account);
      // Another account takes over, as long as there is one.
      if (!forTheClock && !this.#shares.hasAnother(account)) this.#ending.abort(error);
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
    if (!(error instanceof QuotekeeperError && error.code.startsWith("SERVICE_"))) this.#ending.abort(error);
    else this.#unwell(error);
  }

  #unwell(error: Error): void {
    const nowMs = this.#clock.monotonicMs();
    this.#health.failed(nowMs, (this.#clock.random(4)[3] ?? 0) / 255);
    if (this.#health.isOutOfOrder(nowMs)) this.#ending.abort(error);
  }

  #tell(doing: string, left: number): void {
    this.#options.onProgress({ made: this.#health.answered, left, doing });
  }
}
