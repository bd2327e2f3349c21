/** A process that sends what is due as soon as its governor lets it. */
import { budgetState } from "../../src/collect/governor/budgetState.ts";
import { admission, createGovernor, step } from "../../src/collect/governor/governor.ts";
import type { CallHistory, GovernorConfig, GovernorEvent } from "../../src/collect/governor/state.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtualTime.ts";

/** How late a timer fires, at most, ms. */
const TIMER_LATE_MS = 2;

/** Calls under way at once, at most, as the dispatcher has it. */
const CONCURRENCY = 6;

export type SenderOptions = {
  time: VirtualTime;
  random: Random;
  config: GovernorConfig;
  history: CallHistory | undefined;
  /**
   * Makes one call.
   *
   * @param sentAtMs on the governor's clock, which begins with the process
   * @param onEnd to be told what has become of it
   */
  call: (sentAtMs: number, onEnd: (event: GovernorEvent) => void) => void;
};

export type Sender = {
  /** So many calls are due now, in place of what has not left. */
  due: (count: number) => void;
  /** Ends it: it hears of no call any more. @returns for how long it would have kept still, ms */
  kill: () => number;
};

/** Starts one, to which nothing is due. */
export function startSender({ time, random, config, history, call }: SenderOptions): Sender {
  const startedAtMs = time.nowMs;
  const monotonicMs = () => time.nowMs - startedAtMs;
  let alive = true;
  let underWayCount = 0;
  let waitingCount = 0;
  let cancelTimer = (): void => undefined;
  let state = createGovernor(config, 0, history);

  const pump = (): void => {
    cancelTimer();
    while (underWayCount < CONCURRENCY && waitingCount > 0) {
      const admitted = admission(state, monotonicMs());
      if (!admitted.maySend) {
        cancelTimer = time.at(startedAtMs + admitted.notBeforeMs + random() * TIMER_LATE_MS, pump);
        return;
      }
      send();
    }
  };
  const send = (): void => {
    const sentAtMs = monotonicMs();
    underWayCount += 1;
    waitingCount -= 1;
    state = step(state, { type: "sent" }, sentAtMs);
    call(sentAtMs, (event) => {
      if (!alive) return;
      underWayCount -= 1;
      state = step(state, event, monotonicMs());
      pump();
    });
  };
  return {
    due: (count) => {
      if (!alive) return;
      waitingCount = count;
      pump();
    },
    kill: () => {
      alive = false;
      cancelTimer();
      return budgetState(state, monotonicMs()).closedForMs;
    },
  };
}
