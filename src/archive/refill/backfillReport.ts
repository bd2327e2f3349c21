/** What a backfill did, in numbers that add up. Pure. */
import { addLetterCounts, type LetterCount } from "../load/letterCounts.ts";
import type { LoadReport } from "../load/batch.ts";
import { thousands } from "../../figures.ts";

/** Counts of one backfill, over all its runs when it was ended in its midst: `read = stored + repeated + deadLettered`. */
export type BackfillReport = {
  /** Answers, or pieces of a file, that were read. */
  answers: number;
  /** Those of them that were not in the archive. */
  newAnswers: number;
  /** Quotes that were read. */
  read: number;
  /** Quotes that were not in the archive and are now. */
  stored: number;
  /** Quotes that were in the archive already. */
  repeated: number;
  /** Quotes that could not become rows. */
  deadLettered: number;
  /** Why: dead letters by reason; those of the ledger's notes are here as well, which are no quotes. */
  deadLetters: LetterCount[];
  /** Instruments that were asked for and of which the answer holds no quote. */
  missing: number;
  /** Dividends that were new. */
  dividends: number;
  /** Slots of the ledger that were new. */
  slots: number;
  /** Instruments of slots that were missed before and are filled now. */
  filled: number;
  /** Quotes that were taken out for others, or to be put in anew: of an import that replaces, of a rebuild. */
  replaced: number;
  /** Bytes of the journal, or of files, that could not be read. */
  damagedBytes: number;
  /** Times of imported rows that said more than microseconds. */
  cutTimes: number;
  /** Counts of imported rows of which the fraction was cut off. */
  cutFractions: number;
};

/** Nothing done. */
export const NOTHING_DONE: BackfillReport = {
  answers: 0,
  newAnswers: 0,
  read: 0,
  stored: 0,
  repeated: 0,
  deadLettered: 0,
  deadLetters: [],
  missing: 0,
  dividends: 0,
  slots: 0,
  filled: 0,
  replaced: 0,
  damagedBytes: 0,
  cutTimes: 0,
  cutFractions: 0,
};

/** A report that has grown by what was loaded. */
export function withLoaded(report: BackfillReport, loaded: LoadReport): BackfillReport {
  const { units, unreadable, unreadableQuotes, quotes, repeated } = loaded;
  return {
    ...report,
    answers: report.answers + loaded.answers,
    newAnswers: report.newAnswers + loaded.responses,
    read: report.read + units + unreadableQuotes,
    stored: report.stored + quotes,
    repeated: report.repeated + repeated,
    replaced: report.replaced + loaded.replaced,
    deadLettered: report.deadLettered + unreadableQuotes + units - quotes - repeated,
    deadLetters: addLetterCounts(addLetterCounts(report.deadLetters, unreadable), loaded.lost),
    missing: report.missing + loaded.missing,
    dividends: report.dividends + loaded.dividends,
    slots: report.slots + loaded.slots,
    cutTimes: report.cutTimes + loaded.cutTimes,
    cutFractions: report.cutFractions + loaded.cutFractions,
  };
}

/** `5: 4 malformed (IBM: ...), 1 answered_twice (...)`; null when there is none. */
export function deadLettersText(letters: readonly LetterCount[]): string | null {
  if (letters.length === 0) return null;
  const all = letters.reduce((sum, { count }) => sum + count, 0);
  const reasons = letters.map(({ reason, count, example }) => `${thousands(count)} ${reason} (${example})`);
  return `${thousands(all)}: ${reasons.join(", ")}`;
}
