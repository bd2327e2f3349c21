/** What a backfill prints at its end, or, in a dry run, what it has read. */
import { z } from "zod";
import { type Batch, countsOf, NOTHING_LOADED } from "../../archive/load/batch.ts";
import { letterCounts } from "../../archive/load/letterCounts.ts";
import {
  type BackfillReport,
  backfillReport,
  deadLettersText,
  NOTHING_DONE,
  withLoaded,
} from "../../archive/refill/backfillReport.ts";
import { hole } from "../../archive/refill/listHoles.ts";
import type { Edges } from "../../ground/edges.ts";
import { bytes, counted, thousands } from "../../ground/figures.ts";
import { count } from "../../ground/jsonWords.ts";
import type { PrintJson } from "../command.ts";
import { say } from "../terminal/harmless.ts";

const finishedJson = z
  .strictObject({
    kind: z.enum(["journal", "xml", "csv", "parquet", "sweep"]),
    dryRun: z.boolean(),
    resumed: z.boolean(),
    report: backfillReport,
    remarks: z.array(z.string()),
  })
  .describe("Of every source that adds rows:");

const gapsJson = z
  .strictObject({
    dryRun: z.literal(false),
    holes: z.array(hole),
    stored: count,
    deadLetters: letterCounts,
    filled: count,
    derived: count,
    left: z.array(hole),
  })
  .describe("With `--gaps`:");

/** What reading alone can tell. */
const inputReport = backfillReport.pick({
  answers: true,
  read: true,
  deadLettered: true,
  deadLetters: true,
  missing: true,
  damagedBytes: true,
  cutTimes: true,
});

const dryRunJson = z
  .strictObject({
    kind: z.enum(["journal", "xml", "csv", "parquet", "gaps"]),
    dryRun: z.literal(true),
    report: inputReport,
    holes: z.array(hole).optional(),
    remarks: z.array(z.string()),
  })
  .describe("With `--dry-run`:");

export const backfillJson = z.union([finishedJson, gapsJson, dryRunJson]);

export type CommonRequest = { dryRun: boolean; printJson: PrintJson<typeof backfillJson> };

export type FilledGaps = Omit<z.infer<typeof gapsJson>, "dryRun">;

export type FinishedBackfill = Pick<z.infer<typeof finishedJson>, "kind" | "dryRun" | "resumed"> & {
  report: BackfillReport;
  remarks?: readonly string[];
};

export function printReport(
  { stdout }: Edges,
  finished: FinishedBackfill,
  printJson: CommonRequest["printJson"],
): void {
  const { remarks = [], ...rest } = finished;
  if (printJson) printJson({ ...rest, remarks: [...remarks] });
  else say(stdout, ...reportLines(finished));
}

function reportLines({ resumed, report, remarks = [] }: FinishedBackfill): string[] {
  const { answers, newAnswers, read, stored, repeated, deadLettered, missing } = report;
  const lines = [
    `Answers   ${thousands(answers)} read: ${thousands(newAnswers)} new, ${thousands(answers - newAnswers)} there already`,
    `Quotes    ${thousands(read)} read = ${thousands(stored)} stored + ${thousands(repeated)} repeated + ${thousands(deadLettered)} dead-lettered`,
    ...(report.replaced > 0
      ? [`Replaced  ${counted(report.replaced, "quote was", "quotes were")} taken out first`]
      : []),
    `Missing   ${thousands(missing)} asked for, and not in their answers`,
    `Besides   ${counted(report.dividends, "dividend")}, ${counted(report.slots, "slot")} of the ledger, ${thousands(report.filled)} missed filled`,
    ...deadLetterLines(report.deadLetters, "; the table dead_letters has each"),
    ...(report.damagedBytes > 0 ? [`Damaged   ${bytes(report.damagedBytes)} could not be read`] : []),
    ...remarks,
  ];
  if (resumed) lines.unshift("Went on where an earlier run was ended; the numbers are of both.");
  return lines;
}

/** How many dead letters, and why; no line without dead letters. */
export function deadLetterLines(deadLetters: BackfillReport["deadLetters"], where = ""): string[] {
  const text = deadLettersText(deadLetters);
  return text === null ? [] : [`Dead      ${text}${where}`];
}

/**
 * Reads all batches.
 *
 * @param onBatch called after each batch, with the report so far
 * @returns counts of what was read; `stored` counts the quotes that are readable
 */
export async function readInput(
  batches: AsyncIterable<Pick<Batch, "answers">>,
  onBatch: (report: BackfillReport) => void,
): Promise<BackfillReport> {
  let report = NOTHING_DONE;
  for await (const { answers } of batches) {
    const counts = countsOf(answers);
    report = withLoaded(report, { ...NOTHING_LOADED, ...counts, quotes: counts.units });
    onBatch(report);
  }
  return report;
}

type DryRun = Pick<z.infer<typeof dryRunJson>, "kind" | "holes" | "remarks"> & { report: BackfillReport };

/** @returns 0; 1 when a quote could not become a row, or bytes could not be read */
export function printDryRun(
  { stdout }: Pick<Edges, "stdout">,
  { report, ...found }: DryRun,
  printJson: CommonRequest["printJson"],
): number {
  if (printJson) printJson({ ...found, dryRun: true, report: inputReport.strip().parse(report) });
  else say(stdout, "Nothing was changed. This is what was read:", ...readLines(report), ...found.remarks);
  return report.deadLetters.length > 0 || report.damagedBytes > 0 ? 1 : 0;
}

function readLines(report: BackfillReport): string[] {
  const { read, deadLettered, deadLetters, damagedBytes } = report;
  return [
    `Answers   ${counted(report.answers, "answer")} or pieces of files`,
    `Quotes    ${thousands(read)} read = ${thousands(read - deadLettered)} readable + ${thousands(deadLettered)} dead-lettered`,
    `Missing   ${thousands(report.missing)} asked for, and not in their answers`,
    ...deadLetterLines(deadLetters),
    ...(damagedBytes > 0 ? [`Damaged   ${bytes(damagedBytes)} could not be read`] : []),
  ];
}
