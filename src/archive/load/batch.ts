/** What is loaded at once, and what came of it. */
import type { Instant } from "../../ground/clock.ts";
import type { AnswerRows } from "../../read/rowTypes.ts";
import { countLetters, isOfQuote, type LetterCount } from "./letterCounts.ts";
import type { JournaledNote } from "./loadNotes.ts";

/** A stretch of one journal segment, read and ready to be loaded. */
export type Batch = {
  segment: string;
  /** Where the stretch begins and ends in the segment, bytes of the uncompressed stream. */
  from: number;
  to: number;
  answers: AnswerRows[];
  notes: JournaledNote[];
};

const NOTHING_READ = {
  answers: 0,
  /** Quotes that could be read. */
  units: 0,
  /** Quotes that could not, and fields that could not be read: why, and how many. */
  unreadable: [] as LetterCount[],
  /** The quotes among `unreadable`. */
  unreadableQuotes: 0,
  /** Instruments that were asked for and of which the answer holds no quote. */
  missing: 0,
  /** Times and counts of imported rows that said more than is kept. */
  cutTimes: 0,
};

const NOTHING_STORED = {
  responses: 0,
  quotes: 0,
  dividends: 0,
  /** Quotes in the place of others. */
  replaced: 0,
  /** Quotes that were in the archive already. */
  repeated: 0,
  deadLetters: 0,
  /** What was read and could not be stored. */
  lost: [] as LetterCount[],
};

export type StoredAnswers = typeof NOTHING_STORED;

/** What a load did; all counts are of this load alone. `slots`: of the ledger, each account's share counted by itself. */
export type LoadReport = typeof NOTHING_LOADED;

export const NOTHING_LOADED = { ...NOTHING_READ, ...NOTHING_STORED, slots: 0 };

/** Time of the first record of a batch; null: it has none. */
export function firstOf({
  answers: [answer],
  notes: [note],
}: Pick<Batch, "answers" | "notes">): Instant | null {
  const times = [answer?.record.observedAt, note?.at].filter((at) => at !== undefined);
  return times.sort()[0] ?? null;
}

type CountedRows = Pick<AnswerRows, "units" | "matched" | "deadLetters" | "cut">;

export function countsOf(answers: readonly CountedRows[]): typeof NOTHING_READ {
  const letters = answers.flatMap(({ deadLetters }) => deadLetters);
  const sum = (count: (answer: CountedRows) => number): number =>
    answers.reduce((all, answer) => all + count(answer), 0);
  return {
    answers: answers.length,
    units: sum(({ units }) => units.length),
    unreadable: countLetters(letters),
    unreadableQuotes: letters.filter(isOfQuote).length,
    missing: sum(
      ({ matched }) => matched.filter(({ fate }) => fate === "unknown" || fate === "absent").length,
    ),
    cutTimes: sum(({ cut }) => cut ?? 0),
  };
}
