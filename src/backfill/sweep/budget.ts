/**
 * The budget of a sweep: the account's governor, which is told of every call that the journal shows, whoever made it,
 * and a share of the window while a collector runs beside. Time comes in as numbers.
 */
import {
  admission,
  type CallHistory,
  createGovernor,
  type GovernorConfig,
  step,
} from "../../collect/governor/governor.ts";
import type { CallEnd } from "../../collect/callEnds.ts";
import type { GovernorState } from "../../collect/governor/state.ts";
import { CONCURRENCY } from "../../collect/dispatcher.ts";
import { GUARD_MS } from "../../collect/governor/ownCalls.ts";
import { secondClientCount } from "../../collect/governor/secondClient.ts";
import { shareOf } from "./reserve.ts";

/** A call that the journal shows: when it was answered, on the monotonic clock, and whether a sweep made it. */
export type SeenCall = { answeredAtMs: number; bySweep: boolean };

/** Assumed: 3 % faster than the share's rate makes up for lost moments, as the collector's pace has it. */
const HASTE = 1.03;

export class SweepBudget {
  readonly #config: GovernorConfig;
  readonly #alone: boolean;
  #governor: GovernorState;
  /** Calls of sweeps, of this process and others: when they were answered; those under way count besides. */
  #sweeps: number[];
  #others: number[];
  #underWay = 0;
  #lastSentAtMs = -Infinity;
  #reserved = 0;
  readonly #startedAtMs: number;

  /**
   * @param recent answers of the last window that the journal shows, and who asked
   * @param options.history all calls of the last window, whoever made them
   * @param options.alone whether nobody else can use the account: the simulated one in the process
   */
  constructor(
    config: GovernorConfig,
    recent: readonly SeenCall[],
    { nowMs, history, alone = false }: { nowMs: number; history: CallHistory | null; alone?: boolean },
  ) {
    this.#alone = alone;
    this.#startedAtMs = nowMs;
    this.#config = config;
    this.#governor = createGovernor(config, nowMs, history ?? undefined);
    this.#sweeps = recent.filter(({ bySweep }) => bySweep).map(({ answeredAtMs }) => answeredAtMs);
    this.#others = recent.filter(({ bySweep }) => !bySweep).map(({ answeredAtMs }) => answeredAtMs);
  }

  /** Calls of other programs that have come to light. */
  saw(calls: readonly SeenCall[], nowMs: number): void {
    if (calls.length === 0) return;
    for (const { answeredAtMs, bySweep } of calls) (bySweep ? this.#sweeps : this.#others).push(answeredAtMs);
    this.#governor = withOthers(
      this.#governor,
      calls.map(({ answeredAtMs }) => Math.min(answeredAtMs, nowMs)),
    );
  }

  /** Keeps so many calls of each window free for the schedule from now on; 0: no collector runs. */
  reserve(calls: number): void {
    this.#reserved = calls;
  }

  /**
   * The calls a window that are the sweep's at the moment: what the schedule needs, or takes, is not, nor what a program
   * takes that shows in the service's count alone. That one's need is a guess, so beside it a sweep never stands still.
   */
  share(nowMs: number): number {
    const schedule = this.#reserved === 0 ? 0 : Math.max(this.#reserved, this.#counted(this.#others, nowMs));
    const share = shareOf(this.#config, schedule + this.strangers(nowMs));
    return schedule === 0 ? Math.max(1, share) : share;
  }

  /** The calls a window of programs that show in the service's count alone. */
  strangers(nowMs: number): number {
    return secondClientCount(this.#governor, nowMs);
  }

  /**
   * Calls under way at once, at most. One, until a window was watched, and beside a program that shows in the service's
   * count alone: of several, nobody could say which the count holds already, and that program would come to light late.
   */
  concurrency(nowMs: number): number {
    if (this.#alone) return CONCURRENCY;
    const watched = nowMs - this.#startedAtMs >= this.#config.windowMs;
    return watched && this.strangers(nowMs) === 0 ? CONCURRENCY : 1;
  }

  /** When the next call may leave: now, when it is not later than `nowMs`. */
  nextAtMs(nowMs: number): number {
    const governed = admission(this.#governor, nowMs);
    const governedAtMs = governed.maySend ? nowMs : governed.notBeforeMs;
    if (this.#alone) return governedAtMs;
    const share = this.share(nowMs);
    // Calls leave evenly: a burst of ours would meet one of a program that nobody knows of yet.
    const pacedAtMs = this.#lastSentAtMs + this.#config.windowMs / (HASTE * Math.max(1, share));
    const used = this.#counted(this.#sweeps, nowMs) + this.#underWay;
    const roomAtMs = used < share ? nowMs : this.#firstLeavesAtMs(nowMs);
    const atMs = Math.max(governedAtMs, pacedAtMs, roomAtMs);
    // Whole milliseconds, but for the present: clocks tell fractions, and rounded up it would never come.
    return atMs <= nowMs ? nowMs : Math.ceil(atMs);
  }

  /** A call leaves. */
  sent(nowMs: number): void {
    this.#governor = step(this.#governor, { type: "sent" }, nowMs);
    this.#underWay += 1;
    this.#lastSentAtMs = nowMs;
  }

  /** What became of it. */
  ended(event: CallEnd, nowMs: number): void {
    this.#governor = step(this.#governor, event, nowMs);
    this.#underWay -= 1;
    this.#sweeps.push(nowMs);
    this.#forget(nowMs);
  }

  /** Whether the governor keeps still after a refusal, and for how long, ms. */
  closedForMs(nowMs: number): number {
    const { phase, closedUntilMs } = this.#governor;
    return phase === "closed" ? Math.max(0, closedUntilMs - nowMs) : 0;
  }

  #counted(answered: number[], nowMs: number): number {
    const sinceMs = nowMs - this.#config.windowMs - GUARD_MS;
    return answered.filter((at) => at > sinceMs).length;
  }

  #forget(nowMs: number): void {
    const sinceMs = nowMs - this.#config.windowMs - GUARD_MS;
    this.#sweeps = this.#sweeps.filter((at) => at > sinceMs);
    this.#others = this.#others.filter((at) => at > sinceMs);
  }

  /** When the oldest call in the count leaves it, or soon, when that hangs on answers still to come. */
  #firstLeavesAtMs(nowMs: number): number {
    const staysMs = this.#config.windowMs + GUARD_MS;
    this.#forget(nowMs);
    const soonMs = nowMs + this.#config.windowMs / this.#config.limit;
    return this.#sweeps.length === 0 ? soonMs : Math.max(soonMs, Math.min(...this.#sweeps) + staysMs + 1);
  }
}

/** A governor that counts calls of other programs as if they were its own, by the time of their answers. */
function withOthers(state: GovernorState, answeredAtMs: readonly number[]): GovernorState {
  const calls = answeredAtMs.map((at) => ({ sentAtMs: at, answeredAtMs: at }));
  const finished = [...state.finished, ...calls].sort((a, b) => a.answeredAtMs - b.answeredAtMs);
  return { ...state, finished };
}
