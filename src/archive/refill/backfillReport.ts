/** What a backfill did, in numbers that add up. Pure. */
import { z } from "zod";
import { addLetterCounts, type LetterCount, letterCounts } from "../load/letterCounts.ts";
import type { LoadReport } from "../load/batch.ts";
import { thousands } from "../../figures.ts";

const count = z.int().nonnegative();

/** Counts of one backfill, over all its runs when it was ended in its midst: `read = stored + repeated + deadLettered`. */
export const backfillReport = z.strictObject({
  answers: count.describe("Answers, or pieces of a file, that were read."),
  newAnswers: count.describe("Those of them that were not in the archive."),
  read: count.describe("Quotes that were read: stored + repeated + deadLettered."),
  stored: count.describe("Quotes that are new in the archive."),
  repeated: count.describe("Quotes that were in the archive already."),
  deadLettered: count.describe("Quotes that could not become rows."),
  deadLetters: letterCounts,
  missing: count.describe("Instruments asked for of which the answer holds no quote."),
  dividends: count.describe("Dividends that are new."),
  slots: count.describe("Slots of the ledger that are new, each account's share by itself."),
  filled: count.describe("Instruments of slots that were missed before and are filled now."),
  // Of an import that replaces, and of a rebuild.
  replaced: count.describe("Quotes that were taken out to be put in anew."),
  // Of the journal, or of files.
  damagedBytes: count.describe("Bytes that could not be read."),
  cutTimes: count.describe("Times of imported rows that said more than microseconds."),
  cutFractions: count.describe("Counts of imported rows of which the fraction was cut off."),
});

export type BackfillReport = z.infer<typeof backfillReport>;

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
