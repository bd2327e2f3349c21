/** A way to send calls, and a way to write notes, that tell a meter what passes through them. */
import { type Clock, dateOf } from "../ground/clock.ts";
import { isOnce } from "../collect/callPlan.ts";
import type { Send } from "../collect/dispatch/callEnds.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { isOnceName, type LedgerNote, type MissReason, sharesIn } from "../journal/ledger.ts";
import type { Meter } from "../web/monitoring/meter.ts";

/** The same, metered as an account's. A call that was cut off because the program ends says nothing of the service. */
export function meteredSend(
  send: Send,
  { meter, account, clock }: { meter: Meter; account: string; clock: Clock },
): Send {
  return async (planned, signal, onArrived) => {
    const { slotAt } = planned;
    const now = () => {
      const at = clock.now();
      // What is asked once waits for room: that is no lateness.
      const latenessMs = slotAt === null || isOnce(planned) ? null : at.getTime() - dateOf(slotAt).getTime();
      return { latenessMs, at, account };
    };
    try {
      const kept = await send(planned, signal, onArrived);
      meter.called(kept.answer.outcome, now());
      return kept;
    } catch (error) {
      const code = error instanceof QuotekeeperError ? error.code : null;
      const notKept = code?.startsWith("JOURNAL_") === true;
      // One that was not sent says nothing either.
      if (!signal.aborted && code !== "LEASE_UNSURE") meter.called(notKept ? "not_kept" : "no_answer", now());
      throw error;
    }
  };
}

export type CallCounts = {
  answered: number;
  /** Those whose answer is in the journal. */
  kept: number;
};

export function countedSend(send: Send, counts: CallCounts): Send {
  return async (planned, signal, onArrived) => {
    const kept = await send(planned, signal, (arrived) => {
      counts.answered += 1;
      onArrived(arrived);
    });
    counts.kept += 1;
    return kept;
  };
}

/** The misses of a note of the ledger, or the step of the clock. */
export function meterNote(note: LedgerNote, meter: Meter): void {
  if (note.type === "clock") meter.clockStepped(note);
  else if (note.type === "down")
    for (const { account, due } of sharesIn(note))
      meter.missed("down", note.slots.length * due.length, account);
  else if (note.type === "slots") {
    for (const { job, account, misses } of note.entries) {
      if (isOnceName(job)) continue;
      const reasons = new Map<MissReason, number>();
      for (const [, reason] of misses) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      for (const [reason, count] of reasons) meter.missed(reason, count, account);
    }
  }
}
