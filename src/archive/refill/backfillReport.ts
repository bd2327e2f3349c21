/** What a backfill did, in numbers that add up. Pure. */
import { addLetterCounts, type LetterCount } from "../load/letterCounts.ts";
import type { LoadReport } from "../load/batch.ts";
import { thousands } from "../../figures.ts";

/** Nothing done: counts of one backfill, over all its runs when it was ended in its midst: `read = stored + repeated + deadLettered`. */
export const NOTHING_DONE = {
  /** Answers, or pieces of a file, that were read. */
  answers: 0,
  /** Those of them that were not in the archive. */
  newAnswers: 0,
  /** Quotes that were read. */
  read: 0,
  /** Quotes that were not in the archive and are now. */
  stored: 0,
  /** Quotes that were in the archive already. */
  repeated: 0,
  /** Quotes that could not become rows. */
  deadLettered: 0,
  /** Why: dead letters by reason; those of the ledger's notes are here as well, which are no quotes. */
  deadLetters: [] as LetterCount[],
  /** Instruments that were asked for and of which the answer holds no quote. */
  missing: 0,
  /** Dividends that were new. */
  dividends: 0,
  /** Slots of the ledger that were new. */
  slots: 0,
  /** Instruments of slots that were missed before and are filled now. */
  filled: 0,
  /** Quotes that were taken out for others, or to be put in anew: of an import that replaces, of a rebuild. */
  replaced: 0,
  /** Bytes of the journal, or of files, that could not be read. */
  damagedBytes: 0,
  /** Times of imported rows that said more than microseconds. */
  cutTimes: 0,
  /** Counts of imported rows of which the fraction was cut off. */
  cutFractions: 0,
};

export type BackfillReport = typeof NOTHING_DONE;

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
