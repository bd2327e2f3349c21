/** Journals for the tests of what reads them. */
import { type Clock, instantFromDate, type Instant } from "../../src/ground/clock.ts";
import type { JournalRecord, ResponseRecord } from "../../src/journal/record.ts";
import { uuidv7 } from "../../src/journal/uuid.ts";
import { openJournal } from "../../src/journal/writer.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { createTestClock } from "./clock.ts";

/** The instant `seconds` after Friday 20 November 2026, 22:50:00 UTC. */
export function at(seconds: number): Instant {
  return instantFromDate(new Date(Date.UTC(2026, 10, 20, 22, 50) + Math.round(seconds * 1_000)));
}

/** A call for symbols. */
export function symbolsCall(...symbols: string[]): QuoteCall {
  return { form: "symbols", symbols, delayed: false };
}

/** A call whose answer may hold anything. */
export const WATCHLIST_CALL: QuoteCall = { form: "watchlist", watchlist: "DEFAULT", delayed: false };

/** An answer with status 200 of the account's service, received at an instant. */
export function answerRecord(
  observedAt: Instant,
  body: string,
  fields: Partial<ResponseRecord> & { request?: QuoteCall } = {},
): ResponseRecord {
  const digits = observedAt.replace(/\D/g, "");
  return {
    kind: "response",
    requestId: uuidv7(Date.parse(observedAt), Buffer.from(digits.padStart(20, "0").slice(-20), "hex")),
    observedAt,
    requestedAt: observedAt,
    source: { kind: "account", name: "account" },
    jobs: ["us-equities"],
    slotAt: null,
    request: WATCHLIST_CALL,
    status: 200,
    headers: { date: "Fri, 20 Nov 2026 22:50:00 GMT" },
    body: Buffer.from(body),
    ...fields,
  };
}

/** Appends records to a new segment of the journal in a directory. */
export async function appendAll(
  dir: string,
  records: readonly JournalRecord[],
  { clock = createTestClock(), maxSegmentBytes }: { clock?: Clock; maxSegmentBytes?: number } = {},
): Promise<void> {
  const onProblem = (problem: Error) => {
    throw problem;
  };
  const options = { dir, clock, onProblem, upkeep: false, ...(maxSegmentBytes && { maxSegmentBytes }) };
  const journal = await openJournal(options);
  await Promise.all(records.map((record) => journal.append(record)));
  await journal.close();
}
