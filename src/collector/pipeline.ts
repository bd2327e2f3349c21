/**
 * The data path, read first: schedule -> plan -> govern -> fetch -> journal -> read -> archive.
 *
 * `pollSlots` runs at each tick of the clock, `collectCall` when the governor lets a call go. This file computes nothing: each line
 * that names a station calls the room that does its work. `collection.ts` opens the stations, `collector.ts` joins those before the
 * governor.
 */
import type { ArrivedAnswer } from "../collect/dispatch/callEnds.ts";
import type { PlannedCall } from "../collect/callPlan.ts";
import type { DueShares } from "../collect/dueShares.ts";
import type { Planner } from "../collect/planner.ts";
import type { ResponseRecord } from "../journal/record.ts";
import type { Answer } from "../quotes/answer.ts";
import type { TickWindow } from "../schedule/ticker.ts";
import type { CallPath } from "./stations.ts";

type SlotPath = {
  due: Pick<DueShares, "slotsAt">;
  planner: Pick<Planner, "callsFor">;
  govern: (call: PlannedCall) => void;
};

/** Polls what is due at an instant, or became due in a window. Between two steps the answers that have arrived have their turn. */
export function* pollSlots(at: Date | TickWindow, { due, planner, govern }: SlotPath): Iterable<void> {
  const slots = due.slotsAt(at); // schedule: the slots of each job, by src/schedule/slots.ts
  for (const calls of planner.callsFor(slots)) {
    // plan: each instrument once, in as few calls as can be, the most urgent first: src/collect/callPlan.ts
    for (const call of calls) govern(call); // govern: it waits until src/collect/governor/ lets it go, which is `collectCall`
    yield;
  }
}

/** An answer that is safe: it is on disk, and the loader knows of it. */
export type CollectedAnswer = { record: ResponseRecord; answer: Answer; segment: string };

/**
 * Takes a call that may leave to the archive. Rejects when no answer arrived, or it could not be kept.
 *
 * @param options.onArrived notified of the answer before it is kept
 * @param options.mayLeave see `FetchQuotes`
 */
export async function collectCall(
  { call, jobs, slotAt }: Pick<PlannedCall, "call" | "jobs" | "slotAt">,
  { account: { name, service }, requestId: newRequestId, calls, fetchQuotes, sourceOf, ...kept }: CallPath,
  options: {
    signal?: AbortSignal;
    onArrived?: (arrived: ArrivedAnswer) => void;
    mayLeave?: () => boolean;
  } = {},
): Promise<CollectedAnswer> {
  const { signal, onArrived, mayLeave } = options;
  const requestId = newRequestId();
  const over = calls.leaves(requestId); // counted by the next run too, should this one be killed
  const response = await fetchQuotes(call, signal, mayLeave).finally(over); // fetch: one signed call
  const answer = service.classify(response, response.request);
  onArrived?.({ headers: response.headers, answer }); // the next call may be let go at once: the governor must know by then
  const asked = { requestId, source: sourceOf(response), account: name, service: service.name };
  const record: ResponseRecord = { kind: "response", ...asked, jobs, slotAt, ...response };
  const { segment } = await kept.journal.append(record); // journal: on disk before anything reads it
  kept.loader.notify(segment); // read and archive: src/read/ makes rows of it, src/archive/load/ stores them with its place, in one transaction
  return { record, answer, segment };
}
