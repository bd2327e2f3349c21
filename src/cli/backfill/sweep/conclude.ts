/** How a sweep ended: its report, what it says to people, and the exit code. */
import { resolve } from "node:path";
import type { SweepPlan } from "../../../backfill/sweep/plan.ts";
import { closeRun, type SweepRun } from "../../../backfill/sweep/runFile.ts";
import { counted, fateLines, leftLine } from "../../../backfill/sweep/words.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import type { Finished } from "../report.ts";
import type { Settled } from "./store.ts";

/** Whether every instrument has come to an end. */
export function isOver(plan: SweepPlan): boolean {
  return plan.left.length === 0 && plan.waiting.length === 0;
}

/**
 * Ends the run when all is polled and loaded; otherwise the next one goes on.
 *
 * @returns the report, and 0 when every instrument was stored, 1 otherwise
 */
export async function conclude(
  { dataDir }: Pick<Config, "dataDir">,
  { plan, run, settled }: { plan: SweepPlan; run: SweepRun; settled: Settled },
): Promise<{ finished: Finished; exitCode: number }> {
  const { report, waiting, problem } = settled;
  const loaded = problem === null && waiting === 0;
  if (isOver(plan) && loaded) await closeRun(resolve(dataDir), run);
  const stored = plan.namesOf("stored").length;
  const without = plan.size - stored;
  const remarks = [
    `Swept     ${counted(plan.size, "instrument")}: ${stored.toLocaleString("en-US")} with a quote, ${without.toLocaleString("en-US")} without`,
    ...fateLines(plan),
    ...leftLine(plan),
    ...(loaded ? [] : [notLoaded(waiting, problem)]),
  ];
  const whole = loaded && isOver(plan) && without === 0 && plan.problems.length === 0;
  return {
    finished: { kind: "sweep", dryRun: false, resumed: run.resumed, report, remarks },
    exitCode: whole && report.deadLetters.length === 0 ? 0 : 1,
  };
}

function notLoaded(waiting: number, problem: string | null): string {
  const why = problem === null ? "" : ` ${problem}`;
  return `Not loaded: ${counted(waiting, "answer")} of the sweep in the journal.${why} Whatever loads the journal next stores them, as \`quotekeeper start\` does, or this command.`;
}
