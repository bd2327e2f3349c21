/** What a backfill prints at its end. */
import { z } from "zod";
import { printJson } from "../terminal/printJson.ts";
import { type BackfillReport, backfillReport, deadLettersText } from "../../archive/refill/backfillReport.ts";
import type { Edges } from "../../ground/edges.ts";
import { say } from "../terminal/harmless.ts";
import { bytes, counted, thousands } from "../../ground/figures.ts";

export const backfillJson = z
  .strictObject({
    kind: z.enum(["journal", "xml", "csv", "parquet", "sweep"]),
    dryRun: z.boolean(),
    resumed: z.boolean(),
    report: backfillReport,
    remarks: z.array(z.string()),
  })
  .describe("Of every source that adds rows:");

export type CommonRequest = { dryRun: boolean; json: boolean };

export type FinishedBackfill = Pick<z.infer<typeof backfillJson>, "kind" | "dryRun" | "resumed"> & {
  report: BackfillReport;
  remarks?: readonly string[];
};

export function printReport({ stdout }: Edges, finished: FinishedBackfill, json: boolean): void {
  const { remarks = [], ...rest } = finished;
  if (json) printJson(stdout, backfillJson, { ...rest, remarks: [...remarks] });
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
