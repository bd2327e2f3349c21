/** The calls that wait for their turn, the most urgent first, and what each is missed for when its slot ends. Pure. */
import type { Queue, QueueAddOptions } from "p-queue";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { MissReason } from "../../journal/ledger.ts";
import type { Want } from "../asks.ts";
import { type PlannedCall, split } from "../callPlan.ts";
import { CLOCK_STEP_MS } from "../../schedule/clockSteps.ts";
import { byUrgency } from "../urgency.ts";

export type Ticket = {
  planned: PlannedCall;
  attempt: number;
  /** Why the call waits again; null: it has not been made yet. */
  setback: MissReason | null;
  /** What the call is missed for when the governor has held it back; null: it has not. */
  held: MissReason | null;
};

type MissedCall = [planned: PlannedCall, reason: MissReason];

type Run = () => Promise<unknown>;
type WaitingCall = { run: Run; ticket: Ticket };

export type TicketOptions = QueueAddOptions & { ticket: Ticket };

/**
 * The queue class of p-queue. A call that is removed before its turn leaves nothing: nobody waits for the promise that `add` gave,
 * and there is no signal, whose listeners would cost more than all else with thousands of calls.
 */
export class WaitingCalls implements Queue<Run, TicketOptions> {
  /** In their order; equally urgent ones in the order in which they came. */
  #waiting: WaitingCall[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  /** Epoch ms UTC; Infinity: none has a deadline. */
  get nearestDeadlineMs(): number {
    return this.#waiting.reduce(
      (nearest, { ticket }) => Math.min(nearest, ticket.planned.deadlineMs),
      Infinity,
    );
  }

  enqueue(run: Run, options?: Partial<TicketOptions>): void {
    const { ticket } = options as TicketOptions;
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiting[middle];
      if (other && byUrgency(other.ticket.planned, ticket.planned) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, { run, ticket });
  }

  dequeue(): Run | undefined {
    return this.#waiting.shift()?.run;
  }

  /** For `sizeBy`, which nothing here asks. */
  filter(): Run[] {
    return this.#waiting.map(({ run }) => run);
  }

  setPriority(id: string): never {
    throw new QuotekeeperError("UNEXPECTED", `call ${id} is planned again instead`);
  }

  removeWhere(isGone: (ticket: Ticket) => boolean): Ticket[] {
    const gone: Ticket[] = [];
    const kept: WaitingCall[] = [];
    for (const waiting of this.#waiting)
      if (isGone(waiting.ticket)) gone.push(waiting.ticket);
      else kept.push(waiting);
    this.#waiting = kept;
    return gone;
  }

  /**
   * Removes the calls of which a slot is over.
   *
   * @param isCutShort whether the program could not ask in a part of a slot's time
   * @returns what goes on waiting for other slots, and what is missed, each with its reason
   */
  removeOverdue(
    nowMs: number,
    isCutShort: (want: Want, account: string | null) => boolean,
  ): { lasting: Ticket[]; missed: MissedCall[] } {
    const lasting: Ticket[] = [];
    const missed: MissedCall[] = [];
    for (const ticket of this.removeWhere(({ planned }) => planned.deadlineMs <= nowMs)) {
      const [over, rest] = split(ticket.planned, ({ deadlineMs }) => deadlineMs <= nowMs);
      if (rest) lasting.push({ ...ticket, planned: rest });
      // What waits for the outcome of a probe goes on waiting with what lasts.
      if (over) missed.push(...missedOf({ ...ticket, planned: rest ? withoutPart(over) : over }, isCutShort));
    }
    return { lasting, missed };
  }

  /** The governor holds all of them back. @param reason what they are missed for if their slots end meanwhile */
  hold(reason: MissReason): void {
    for (const { ticket } of this.#waiting) ticket.held = reason;
  }
}

/** A class for p-queue, which makes its queue itself: `calls` is all that it makes. */
export function classOf(calls: WaitingCalls): new () => WaitingCalls {
  return class extends WaitingCalls {
    constructor() {
      super();
      return calls;
    }
  };
}

/** A call whose slots are over, in parts that are missed for different reasons. */
function missedOf(
  { planned, setback, held }: Ticket,
  isCutShort: (want: Want, account: string | null) => boolean,
): MissedCall[] {
  const [closed, next] = split(planned, ({ closes }) => closes);
  const missed: MissedCall[] = closed ? [[closed, setback ?? "closed"]] : [];
  if (!next) return missed;
  const reason = setback ?? held ?? "overrun";
  if (reason !== "budget" && reason !== "overrun") return [...missed, [next, reason]];
  const [cutShort, whole] = split(next, (want) => isCutShort(want, next.account));
  if (cutShort) missed.push([whole ? withoutPart(cutShort) : cutShort, "down"]);
  if (whole) missed.push([whole, reason]);
  return missed;
}

/**
 * The part of a call for slots that lie ahead, because the wall clock was set back, and the part for slots that have begun. A slot
 * without an end comes once, and lasts whatever the clock says.
 */
export function lyingAhead(
  planned: PlannedCall,
  nowMs: number,
): { ahead: PlannedCall | null; present: PlannedCall | null } {
  const isAhead = ({ slotAt, deadlineMs }: Want): boolean =>
    deadlineMs < Infinity && Date.parse(slotAt) >= nowMs + CLOCK_STEP_MS;
  const [ahead, present] = split(planned, isAhead);
  return { ahead: ahead && present ? withoutPart(ahead) : ahead, present };
}

function withoutPart(planned: PlannedCall): PlannedCall {
  return { ...planned, part: undefined };
}
