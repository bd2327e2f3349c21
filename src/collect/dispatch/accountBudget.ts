/** The budget of one account: its governor, which is told of each call and its end, and says when the next call may leave. Pure. */
import type { Clock } from "../../ground/clock.ts";
import type { MissReason } from "../../journal/ledger.ts";
import { type BudgetState, budgetState } from "../governor/budgetState.ts";
import { admission, createGovernor, step } from "../governor/governor.ts";
import type {
  CallHistory,
  ClosedBy,
  GovernorConfig,
  GovernorEvent,
  GovernorState,
} from "../governor/state.ts";
import { handOver, type HandedOver, inherit, type Inheritance } from "../governor/handover.ts";
import { isHeldForOthers } from "../governor/unsure.ts";

export type BudgetOptions = {
  clock: Clock;
  governor: GovernorConfig;
  /** What the last run left of the current window; null when nothing is known to be counted. */
  history: CallHistory | null;
  /** What the account's last caller has left of its governor; calls that only `history` has count as well. */
  inherited?: Omit<Inheritance, "history"> | undefined;
  /** Begins unsure, and listens first whether another collector calls the account. */
  startsListening?: boolean;
  /** Whether calls are made while another collector may call the account. Default: go. */
  whenUnsure?: "stop" | "go";
  /** Notified for how long nothing will be sent, ms, whenever that becomes another time. */
  onClosed?: (forMs: number) => void;
};

/** What a call is missed for that waited while the budget was closed, by what closed it. */
const HELD: Readonly<Record<ClosedBy, MissReason>> = {
  refusal: "budget",
  retry_after: "refused",
  failures: "transport",
};

export class AccountBudget {
  readonly #options: BudgetOptions;
  readonly #onEvent: () => void;
  #governor: GovernorState;
  #sentAtMs: number[] = [];

  /** @param onEvent called whenever a call may leave at another time than before */
  constructor(options: BudgetOptions, onEvent: () => void) {
    this.#options = options;
    this.#onEvent = onEvent;
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
    this.notify({ type: "listen" });
  }

  /** Whether another collector may call the same account from now on; if not, this one is surely alone. */
  beUnsure(on: boolean): void {
    this.notify({ type: "unsure", on, mayCall: this.#options.whenUnsure !== "stop" });
  }

  handOver(): HandedOver {
    return handOver(step(this.#governor, { type: "tick" }, this.#options.clock.monotonicMs()));
  }

  admission(): ReturnType<typeof admission> {
    return admission(this.#governor, this.#options.clock.monotonicMs());
  }

  /** Counts a call that leaves now. @returns when that is, on the monotonic clock */
  countCall(): number {
    const sentAtMs = this.#options.clock.monotonicMs();
    this.#governor = step(this.#governor, { type: "sent" }, sentAtMs);
    this.#sentAtMs.push(sentAtMs);
    return sentAtMs;
  }

  uncountCall(sentAtMs: number): void {
    this.notify({ type: "withdrawn", sentAtMs });
    this.#sentAtMs = this.#sentAtMs.filter((at) => at !== sentAtMs);
  }

  notify(event: GovernorEvent): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { closedUntilMs } = this.#governor;
    this.#governor = step(this.#governor, event, nowMs);
    if (this.isClosed && this.#governor.closedUntilMs !== closedUntilMs)
      this.#options.onClosed?.(this.#governor.closedUntilMs - nowMs);
    this.#onEvent();
  }

  /** Whether a failure may be the limit in disguise: then the call waits for the budget, and uses up no attempt. */
  get isClosed(): boolean {
    return this.#governor.phase === "closed";
  }

  /** What a call is missed for that the governor holds back now. */
  get heldFor(): MissReason {
    if (isHeldForOthers(this.#governor)) return "down";
    return HELD[this.isClosed ? this.#governor.closedBy : "refusal"];
  }

  get callsUsed(): number {
    const sinceMs = this.#options.clock.monotonicMs() - this.#options.governor.windowMs;
    this.#sentAtMs = this.#sentAtMs.filter((at) => at > sinceMs);
    return this.#sentAtMs.length;
  }

  get state(): BudgetState {
    return budgetState(this.#governor, this.#options.clock.monotonicMs());
  }
}
