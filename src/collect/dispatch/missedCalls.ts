/** Calls that will not be made any more: they are logged and settled in steps, for what has arrived would wait for thousands. */
import type { MissReason } from "../../journal/ledger.ts";
import type { Log } from "../../ground/log.ts";
import { describeCall } from "../../quotes/call.ts";
import type { PlannedCall } from "../callPlan.ts";
import type { Result } from "./callEnds.ts";

type Options = { log: Log; onResult: (planned: PlannedCall, result: Result) => void };

const WHY: Partial<Record<MissReason, string>> = {
  unauthorized: "the service refuses the credentials",
  login: "nobody has logged in",
  down: "the program could not ask in the whole of its slot",
};

/** How many are settled in a turn of the event loop. */
const MISSED_AT_ONCE = 250;

export class MissedCalls {
  readonly #options: Options;
  readonly #unsettled: [PlannedCall, MissReason][] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  get size(): number {
    return this.#unsettled.length;
  }

  add(planned: PlannedCall, reason: MissReason): void {
    this.#unsettled.push([planned, reason]);
  }

  *settle(): Iterable<void> {
    while (this.size > 0) {
      for (const [planned, reason] of this.#unsettled.splice(0, MISSED_AT_ONCE))
        this.#settle(planned, reason);
      if (this.size > 0) yield;
    }
  }

  #settle(planned: PlannedCall, reason: MissReason): void {
    const { log, onResult } = this.#options;
    const { jobs, slotAt, call } = planned;
    // The log describes the call when it writes the line: of thousands a calm log writes one.
    const missed = {
      get call() {
        return describeCall(call);
      },
      jobs,
      slotAt,
      reason,
    };
    // A start in the middle of a slot is no trouble, and a pause of the program is told by itself.
    log[reason === "down" ? "info" : "warn"](missed, `missed: ${WHY[reason] ?? "its slot is over"}`);
    onResult(planned, { kind: "missed", reason });
  }
}
