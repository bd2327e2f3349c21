/** What is loaded at once, and what came of it. */
import type { AnswerRows } from "../read/rowTypes.ts";
import { addLetterCounts } from "./letterCounts.ts";
import type { JournaledNote } from "./loadNotes.ts";
import type { StoredAnswers } from "./storeAnswers.ts";

/** A stretch of one journal segment, read and ready to be loaded. */
export type Batch = {
  segment: string;
  /** Where the stretch begins and ends in the segment, bytes of the uncompressed stream. */
  from: number;
  to: number;
  answers: AnswerRows[];
  /** Notes of the ledger, in the journal's order. */
  notes: JournaledNote[];
};

/** What a load did; all counts are of this load alone. */
export type LoadReport = StoredAnswers & {
  /** Slots of the ledger. */
  slots: number;
};

/** Nothing loaded. */
export const NOTHING_LOADED: LoadReport = {
  responses: 0,
  quotes: 0,
  dividends: 0,
  repeated: 0,
  deadLetters: 0,
  lost: [],
  slots: 0,
};

/** Two reports as one. */
export function addReports(a: LoadReport, b: LoadReport): LoadReport {
  return {
    responses: a.responses + b.responses,
    quotes: a.quotes + b.quotes,
    dividends: a.dividends + b.dividends,
    repeated: a.repeated + b.repeated,
    deadLetters: a.deadLetters + b.deadLetters,
    lost: addLetterCounts(a.lost, b.lost),
    slots: a.slots + b.slots,
  };
}
