/** What a backfill did, in numbers that add up. Pure. */
import { addLetterCounts, countLetters, type LetterCount } from "../archive/letterCounts.ts";
import type { Batch, LoadReport } from "../archive/batch.ts";
import type { DeadLetter } from "../read/rowTypes.ts";

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
  /** Quotes that were taken out to be put in anew; only of a rebuild. */
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

/** A report that has grown by one batch. */
export function withBatch(
  report: BackfillReport,
  { answers }: Pick<Batch, "answers">,
  loaded: LoadReport,
): BackfillReport {
  const letters = answers.flatMap(({ deadLetters }) => deadLetters);
  const units = answers.reduce((sum, answer) => sum + answer.units.length, 0);
  const unreadable = letters.filter(isOfQuote).length;
  const refused = units - loaded.quotes - loaded.repeated;
  return {
    ...report,
    answers: report.answers + answers.length,
    newAnswers: report.newAnswers + loaded.responses,
    read: report.read + units + unreadable,
    stored: report.stored + loaded.quotes,
    repeated: report.repeated + loaded.repeated,
    deadLettered: report.deadLettered + unreadable + refused,
    deadLetters: addLetterCounts(addLetterCounts(report.deadLetters, countLetters(letters)), loaded.lost),
    missing: report.missing + answers.reduce((sum, { matched }) => sum + matched.filter(isMissing).length, 0),
    dividends: report.dividends + loaded.dividends,
    slots: report.slots + loaded.slots,
    cutTimes: report.cutTimes + answers.reduce((sum, { cut }) => sum + (cut?.times ?? 0), 0),
    cutFractions: report.cutFractions + answers.reduce((sum, { cut }) => sum + (cut?.fractions ?? 0), 0),
  };
}

/** Whether it stands for a quote that is lost: a field that could not be read costs itself, and its quote is stored. */
export function isOfQuote({ reason }: Pick<DeadLetter, "reason">): boolean {
  return reason !== "odd_field";
}

/** Two reports as one. */
export function addReports(a: BackfillReport, b: BackfillReport): BackfillReport {
  const { deadLetters: first, ...counts } = a;
  const { deadLetters: second, ...further } = b;
  const sums = (Object.keys(counts) as (keyof typeof counts)[]).map((key) => [
    key,
    counts[key] + further[key],
  ]);
  return { ...(Object.fromEntries(sums) as typeof counts), deadLetters: addLetterCounts(first, second) };
}

function isMissing({ fate }: { fate: string }): boolean {
  return fate === "unknown" || fate === "absent";
}

/** `5: 4 malformed (IBM: ...), 1 answered_twice (...)`; null when there is none. */
export function deadLettersText(letters: readonly LetterCount[]): string | null {
  if (letters.length === 0) return null;
  const all = letters.reduce((sum, { count }) => sum + count, 0);
  const reasons = letters.map(
    ({ reason, count, example }) => `${count.toLocaleString("en-US")} ${reason} (${example})`,
  );
  return `${all.toLocaleString("en-US")}: ${reasons.join(", ")}`;
}
