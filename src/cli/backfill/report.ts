/** The report at a backfill's end. */
import { type BackfillReport, deadLettersText } from "../../archive/refill/report.ts";
import type { Edges } from "../../run/edges.ts";
import { backfillJson } from "../json/backfill.ts";
import { printJson } from "../json/print.ts";
import { say } from "../terminal/harmless.ts";

/** What every source takes. */
export type CommonRequest = { dryRun: boolean; json: boolean };

/** A finished backfill, or one that was only tried. */
export type Finished = {
  kind: "journal" | "xml" | "csv" | "parquet" | "sweep";
  dryRun: boolean;
  /** Whether it went on with one that was ended in its midst; the report is of all of it. */
  resumed: boolean;
  report: BackfillReport;
  /** Further lines for people, such as where the times came from. */
  remarks?: readonly string[];
};

/** Prints it. */
export function printReport({ stdout }: Edges, finished: Finished, json: boolean): void {
  const { remarks = [], ...rest } = finished;
  if (json) printJson(stdout, backfillJson, { ...rest, remarks: [...remarks] });
  else say(stdout, ...reportLines(finished));
}

/** The report in lines for people. */
export function reportLines({ dryRun, resumed, report, remarks = [] }: Finished): string[] {
  const { answers, newAnswers, read, stored, repeated, deadLettered, missing } = report;
  const lines = [
    `Answers   ${count(answers)} read: ${count(newAnswers)} new, ${count(answers - newAnswers)} there already`,
    `Quotes    ${count(read)} read = ${count(stored)} stored + ${count(repeated)} repeated + ${count(deadLettered)} dead-lettered`,
    ...(report.replaced > 0 ? [`Replaced  ${count(report.replaced)} quotes were taken out first`] : []),
    `Missing   ${count(missing)} asked for, and not in their answers`,
    `Besides   ${count(report.dividends)} dividends, ${count(report.slots)} slots of the ledger, ${count(report.filled)} missed ones filled`,
    ...deadLetterLines(report),
    ...(report.damagedBytes > 0 ? [`Damaged   ${count(report.damagedBytes)} bytes could not be read`] : []),
    ...remarks,
  ];
  if (resumed) lines.unshift("Went on where an earlier run was ended; the numbers are of both.");
  if (dryRun) lines.unshift("Nothing was changed. This is what would be:");
  return lines;
}

/** How many dead letters, and why; nothing when there is none. */
export function deadLetterLines({ deadLetters }: Pick<BackfillReport, "deadLetters">): string[] {
  const text = deadLettersText(deadLetters);
  return text === null ? [] : [`Dead      ${text}; the table dead_letters has each`];
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
