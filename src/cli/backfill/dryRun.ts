/** A dry run of a backfill: it reads and checks the input, and asks no database. */
import { z } from "zod";
import { type Batch, countsOf, NOTHING_LOADED } from "../../archive/load/batch.ts";
import {
  type BackfillReport,
  backfillReport,
  NOTHING_DONE,
  withLoaded,
} from "../../archive/refill/backfillReport.ts";
import { hole } from "../../archive/refill/listHoles.ts";
import type { Edges } from "../../ground/edges.ts";
import { printJson } from "../terminal/printJson.ts";
import { say } from "../terminal/harmless.ts";
import { bytes, counted, thousands } from "../../ground/figures.ts";
import { deadLetterLines } from "./report.ts";

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

export const dryRunJson = z
  .strictObject({
    kind: z.enum(["journal", "xml", "csv", "parquet", "gaps"]),
    dryRun: z.literal(true),
    report: inputReport,
    holes: z.array(hole).optional(),
    remarks: z.array(z.string()),
  })
  .describe("With `--dry-run`:");

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
  json: boolean,
): number {
  if (json)
    printJson(stdout, dryRunJson, { ...found, dryRun: true, report: inputReport.strip().parse(report) });
  else say(stdout, "Nothing was changed. This is what was read:", ...lines(report), ...found.remarks);
  return report.deadLetters.length > 0 || report.damagedBytes > 0 ? 1 : 0;
}

function lines(report: BackfillReport): string[] {
  const { read, deadLettered, deadLetters, damagedBytes } = report;
  return [
    `Answers   ${counted(report.answers, "answer")} or pieces of files`,
    `Quotes    ${thousands(read)} read = ${thousands(read - deadLettered)} readable + ${thousands(deadLettered)} dead-lettered`,
    `Missing   ${thousands(report.missing)} asked for, and not in their answers`,
    ...deadLetterLines(deadLetters),
    ...(damagedBytes > 0 ? [`Damaged   ${bytes(damagedBytes)} could not be read`] : []),
  ];
}
