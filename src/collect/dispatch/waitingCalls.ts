/** The calls that wait for their turn, the most urgent first, and what each is missed for when its slot ends. Pure. */
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

type Missed = [planned: PlannedCall, reason: MissReason];

export class WaitingCalls {
  /** In their order; equally urgent ones in the order in which they came. */
  #tickets: Ticket[] = [];
  #nearestDeadlineMs = Infinity;
  /** What all of them are held for; null: some may not be held. */
  #heldFor: MissReason | null = null;

  get size(): number {
    return this.#tickets.length;
  }

  /** Epoch ms UTC; Infinity: none has a deadline. May be earlier than the nearest one of those that wait now. */
  get nearestDeadlineMs(): number {
    return this.#nearestDeadlineMs;
  }

  add(ticket: Ticket): void {
    let low = 0;
    let high = this.#tickets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#tickets[middle];
      if (other && byUrgency(other.planned, ticket.planned) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#tickets.splice(low, 0, ticket);
    this.#nearestDeadlineMs = Math.min(this.#nearestDeadlineMs, ticket.planned.deadlineMs);
    this.#heldFor = null;
  }

  /** Removes the most urgent one. */
  next(): Ticket | undefined {
    return this.#tickets.shift();
  }

  /** @returns those that were removed, in their order */
  remove(isGone: (ticket: Ticket) => boolean): Ticket[] {
    const gone: Ticket[] = [];
    const kept: Ticket[] = [];
    for (const ticket of this.#tickets) (isGone(ticket) ? gone : kept).push(ticket);
    this.#tickets = kept;
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
  ): { lasting: Ticket[]; missed: Missed[] } {
    const lasting: Ticket[] = [];
    const missed: Missed[] = [];
    if (nowMs < this.#nearestDeadlineMs) return { lasting, missed };
    for (const ticket of this.remove(({ planned }) => planned.deadlineMs <= nowMs)) {
      const [over, rest] = split(ticket.planned, ({ deadlineMs }) => deadlineMs <= nowMs);
      if (rest) lasting.push({ ...ticket, planned: rest });
      // What waits for the outcome of a probe goes on waiting with what lasts.
      if (over) missed.push(...missedOf({ ...ticket, planned: rest ? withoutPart(over) : over }, isCutShort));
    }
    this.#nearestDeadlineMs = Infinity;
    for (const { planned } of this.#tickets)
      this.#nearestDeadlineMs = Math.min(this.#nearestDeadlineMs, planned.deadlineMs);
    return { lasting, missed };
  }

  /** The governor holds all of them back. @param reason what they are missed for if their slots end meanwhile */
  hold(reason: MissReason): void {
    if (this.#heldFor === reason) return;
    for (const ticket of this.#tickets) ticket.held = reason;
    this.#heldFor = reason;
  }
}

/** A call whose slots are over, in parts that are missed for different reasons. */
function missedOf(
  { planned, setback, held }: Ticket,
  isCutShort: (want: Want, account: string | null) => boolean,
): Missed[] {
  const [closed, next] = split(planned, ({ closes }) => closes);
  const missed: Missed[] = closed ? [[closed, setback ?? "closed"]] : [];
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
