/** What a backfill did, in numbers that add up. Pure. */
import { z } from "zod";
import { addLetterCounts, type LetterCount, letterCounts } from "../load/letterCounts.ts";
import type { LoadReport } from "../load/batch.ts";
import { thousands } from "../../ground/figures.ts";

const count = z.int().nonnegative();

/** Counts of one backfill, over all its runs when it was interrupted: `read = stored + repeated + deadLettered`. */
export const backfillReport = z.strictObject({
  answers: count,
  newAnswers: count,
  read: count,
  stored: count,
  repeated: count,
  deadLettered: count,
  deadLetters: letterCounts,
  missing: count,
  dividends: count,
  slots: count,
  filled: count,
  // Of an import that replaces, and of a rebuild.
  replaced: count,
  // Of the journal, or of files.
  damagedBytes: count,
  cutTimes: count,
});

export type BackfillReport = z.infer<typeof backfillReport>;

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
};

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
  };
}

/** `5: 4 malformed (IBM: ...), 1 answered_twice (...)`; null when there is none. */
export function deadLettersText(letters: readonly LetterCount[]): string | null {
  if (letters.length === 0) return null;
  const all = letters.reduce((sum, { count }) => sum + count, 0);
  const reasons = letters.map(({ reason, count, example }) => `${thousands(count)} ${reason} (${example})`);
  return `${thousands(all)}: ${reasons.join(", ")}`;
}
