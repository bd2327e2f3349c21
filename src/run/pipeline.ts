/**
 * The data path, read first: jobs -> schedule -> plan -> govern -> fetch -> journal -> parse -> archive.
 * This file joins the stations and computes nothing; what is due and when a call may leave is decided in `collect/`.
 */
import type { Loader } from "../archive/loader.ts";
import type { CallLog } from "../collect/callLog.ts";
import type { Arrived } from "../collect/callEnds.ts";
import type { FetchQuotes } from "../collect/fetchQuotes.ts";
import type { PlannedCall } from "../collect/callPlan.ts";
import type { RecordSource, ResponseRecord } from "../journal/record.ts";
import type { Journal } from "../journal/writer.ts";
import { type Answer, classifyAnswer } from "../quotes-api/answer.ts";

/** The stations behind the governor, each with the few methods needed of it. */
export type Stations = {
  fetchQuotes: FetchQuotes;
  journal: Pick<Journal, "append">;
  loader: Pick<Loader, "notify">;
  /** Where calls are noted, so that a run after this one knows of them. */
  calls: Pick<CallLog, "leaves">;
  /** Makes a request id, UUIDv7. */
  requestId: () => string;
  /** Where an answer comes from, told from its headers. */
  sourceOf: (headers: Readonly<Record<string, string>>) => RecordSource;
};

/** An answer that is safe: it is on disk, and the loader knows of it. */
export type Collected = { record: ResponseRecord; answer: Answer; segment: string };

/**
 * Takes one call through the stations. Rejects when no answer arrived, or it could not be kept.
 *
 * @param options.onArrived told of the answer before it is kept
 */
export async function collectCall(
  { call, jobs, slotAt }: Pick<PlannedCall, "call" | "jobs" | "slotAt">,
  stations: Stations,
  { signal, onArrived }: { signal?: AbortSignal; onArrived?: (arrived: Arrived) => void } = {},
): Promise<Collected> {
  const requestId = stations.requestId();
  const over = stations.calls.leaves(requestId); // counted by the next run too, should this one be killed
  const response = await stations.fetchQuotes(call, signal).finally(over); // signed GET, admitted by the governor
  const answer = classifyAnswer(response);
  onArrived?.({ headers: response.headers, answer }); // the next call may be let go at once: it must be known by then
  const source = stations.sourceOf(response.headers);
  const record: ResponseRecord = {
    kind: "response",
    requestId,
    source,
    jobs,
    slotAt,
    request: call,
    ...response,
  };
  const { segment } = await stations.journal.append(record); // on disk before anything reads it
  stations.loader.notify(segment); // parsed and stored from there, rows and position in one transaction
  return { record, answer, segment };
}
