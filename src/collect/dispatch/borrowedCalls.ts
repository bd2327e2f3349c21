/**
 * The calls of an account's budget that other programs borrow: `poll` and sweeps on the same data directory. An urgent one, for
 * which a person waits, goes before the calls that wait here; any other goes after them, as far as the schedule leaves calls.
 */
import type { Clock } from "../../clock.ts";
import type { Answer } from "../../quotes/answer.ts";
import { GUARD_MS } from "../governor/ownCalls.ts";
import type { AccountBudget } from "./accountBudget.ts";
import { answeredEnd, type LimitReader } from "./callEnds.ts";

/** How a borrowed call ended; null: no answer came. */
type BorrowedEnd = { headers: Readonly<Record<string, string>>; outcome: Answer["outcome"] } | null;

/** Permission to make one call of another program's budget; the borrower reports how the call ended. */
export type Permit = (end: BorrowedEnd) => void;

type Options = {
  clock: Clock;
  budget: AccountBudget;
  service: LimitReader;
  windowMs: number;
  /** How many calls of a window other programs may borrow if they can wait. */
  borrowable: () => number;
  /** Refuses whoever waits, and all that come. */
  stopped: AbortSignal;
  /** Called when a borrower waits. */
  onWaiting: () => void;
};

type Borrower = { urgent: boolean; go: () => void; refuse: (by: AbortSignal) => void };

export class BorrowedCalls {
  readonly #options: Options;
  #waiting: Borrower[] = [];
  #underWayCount = 0;
  /** Calls that could wait: when they were over, and Infinity for those under way. */
  #patient: { endedAtMs: number }[] = [];

  constructor(options: Options) {
    this.#options = options;
    const { stopped } = options;
    stopped.addEventListener("abort", () => this.#waiting.forEach(({ refuse }) => refuse(stopped)), {
      once: true,
    });
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get underWayCount(): number {
    return this.#underWayCount;
  }

  /**
   * @param signal removes a borrower that still waits
   * @returns as soon as the call may leave; rejects with the signal's reason, or that of `stopped`
   */
  async borrow(urgent: boolean, signal: AbortSignal): Promise<Permit> {
    const { stopped } = this.#options;
    const patient = { endedAtMs: Infinity };
    let sentAtMs = 0;
    await new Promise<void>((resolve, reject) => {
      const borrower: Borrower = {
        urgent,
        go: () => {
          this.#remove(borrower);
          this.#underWayCount += 1;
          if (!urgent) this.#patient.push(patient);
          sentAtMs = this.#options.budget.countCall();
          resolve();
        },
        refuse: (by) => {
          this.#remove(borrower);
          reject(by.reason as Error);
        },
      };
      const refusing = [signal, stopped].find(({ aborted }) => aborted);
      if (refusing) return borrower.refuse(refusing);
      signal.addEventListener("abort", () => borrower.refuse(signal), { once: true });
      this.#waiting.push(borrower);
      this.#options.onWaiting();
    });
    return (end) => {
      const { clock, budget, service } = this.#options;
      this.#underWayCount -= 1;
      patient.endedAtMs = clock.monotonicMs();
      const wallMs = clock.now().getTime();
      budget.notify(
        end
          ? answeredEnd({ headers: end.headers, answer: { outcome: end.outcome } }, service, {
              sentMs: sentAtMs,
              wallMs,
            })
          : { type: "failed", sentAtMs, how: "other" },
      );
    };
  }

  /** The borrower whose call goes next; undefined: none goes before the calls that wait here. */
  next(ownWaitingCount: number): Borrower | undefined {
    return this.#waiting.find(
      ({ urgent }) =>
        urgent || (ownWaitingCount === 0 && this.#patientInWindow() < this.#options.borrowable()),
    );
  }

  #remove(borrower: Borrower): void {
    this.#waiting = this.#waiting.filter((other) => other !== borrower);
  }

  #patientInWindow(): number {
    const { clock, windowMs } = this.#options;
    const sinceMs = clock.monotonicMs() - windowMs - GUARD_MS;
    this.#patient = this.#patient.filter(({ endedAtMs }) => endedAtMs > sinceMs);
    return this.#patient.length;
  }
}
