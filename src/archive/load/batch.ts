/** What is loaded at once, and what came of it. */
import type { AnswerRows } from "../../read/rowTypes.ts";
import { countLetters, isOfQuote, type LetterCount } from "./letterCounts.ts";
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

type ReadCounts = {
  answers: number;
  /** Quotes that could be read. */
  units: number;
  /** Quotes that could not, and fields that could not be read: why, and how many. */
  unreadable: LetterCount[];
  /** The quotes among `unreadable`. */
  unreadableQuotes: number;
  /** Instruments that were asked for and of which the answer holds no quote. */
  missing: number;
  /** Times and counts of imported rows that said more than is kept. */
  cutTimes: number;
  cutFractions: number;
};

/** What a load did; all counts are of this load alone. */
export type LoadReport = ReadCounts &
  StoredAnswers & {
    /** Slots of the ledger, each account's share counted by itself. */
    slots: number;
  };

export const NOTHING_LOADED: LoadReport = {
  answers: 0,
  units: 0,
  unreadable: [],
  unreadableQuotes: 0,
  missing: 0,
  cutTimes: 0,
  cutFractions: 0,
  responses: 0,
  quotes: 0,
  replaced: 0,
  dividends: 0,
  repeated: 0,
  deadLetters: 0,
  lost: [],
  slots: 0,
};

type Counted = Pick<AnswerRows, "units" | "matched" | "deadLetters" | "cut">;

export function countsOf(answers: readonly Counted[]): ReadCounts {
  const letters = answers.flatMap(({ deadLetters }) => deadLetters);
  const sum = (count: (answer: Counted) => number): number =>
    answers.reduce((all, answer) => all + count(answer), 0);
  return {
    answers: answers.length,
    units: sum(({ units }) => units.length),
    unreadable: countLetters(letters),
    unreadableQuotes: letters.filter(isOfQuote).length,
    missing: sum(
      ({ matched }) => matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length,
    ),
    cutTimes: sum(({ cut }) => cut?.times ?? 0),
    cutFractions: sum(({ cut }) => cut?.fractions ?? 0),
  };
}
