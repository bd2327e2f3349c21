/** The command `quotekeeper backfill --symbols-file`: sweeps what is open, loads, and says what became of it. */
import { closeRun } from "../../../backfill/sweep/runFile.ts";
import { sweep } from "../../../backfill/sweep/sweep.ts";
import type { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import { fateLines, leftLine } from "../../../backfill/sweep/sweepWords.ts";
import { inOne } from "../../../accounts/account.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { counted, thousands } from "../../../figures.ts";
import type { Edges } from "../../../run/edges.ts";
import { accountsToCall } from "../../../run/operatorsWord.ts";
import { collectCall } from "../../../run/pipeline.ts";
import { say } from "../../terminal/harmless.ts";
import { type Backfilling, backfilling } from "../display.ts";
import { type Finished, printReport } from "../report.ts";
import { announce, forecast } from "./forecast.ts";
import { lookAhead, type OpenSweep, openSweep } from "./openSweep.ts";
import { quotesIn } from "./planning.ts";
import { readWanted, type SweepRequest } from "./sweepRequest.ts";
import type { Settled } from "./sweepStore.ts";

/** @returns 0 when every instrument was stored, 1 otherwise; of a dry run 0 */
export async function backfillSweep(settings: Config, edges: Edges, request: SweepRequest): Promise<number> {
  const accounts = await accountsToCall(settings, request.account);
  // Whoever counts calls counts those of all accounts together.
  const config = { ...settings, ...inOne(accounts) };
  const wanted = await readWanted(config, edges, request);
  if (request.dryRun) return forecast(edges, wanted, await lookAhead(config, edges.clock, wanted));
  const { finished, exitCode } = await backfilling({ config, edges, title: "sweeping" }, async (shown) => {
    const opened = await openSweep(config, edges, { accounts, wanted, display: shown.display });
    return runSweep(opened, edges, shown).finally(opened.close);
  });
  printReport(edges, finished, request.json);
  return exitCode;
}

/** Where the sweep shows how far it has come, and what ends it early. */
type Shown = Pick<Backfilling, "display" | "signal">;

/** @throws Interrupted after Ctrl-C; QuotekeeperError of the service, the journal or the data directory */
async function runSweep(
  opened: OpenSweep,
  edges: Edges,
  shown: Shown,
): Promise<{ finished: Finished; exitCode: number }> {
  announce(edges, opened);
  await poll(opened, edges, shown);
  const settled = await opened.store.settle(isOver(opened.plan));
  shown.signal.throwIfAborted();
  return conclude(opened, settled);
}

async function poll(
  { plan, run, earlier, room, batch, called }: OpenSweep,
  { clock, stderr }: Pick<Edges, "clock" | "stderr">,
  { display, signal }: Shown,
): Promise<void> {
  let { quotes } = earlier;
  try {
    await sweep({
      plan,
      run,
      signal,
      collector: { clock, log: display.log, batch },
      accounts: called.map(({ budget, path }) => ({
        ...budget,
        send: async (planned, ending, onArrived) => {
          const collected = await collectCall(planned, path, { signal: ending, onArrived });
          quotes += quotesIn(collected.answer);
          return collected;
        },
      })),
      onProgress: ({ made: callCount, left, doing }) => {
        const leftMs = room.timeFor(left, clock.now());
        const done = earlier.calls + callCount;
        display.progress({
          done,
          total: done + left,
          doing,
          unit: "calls",
          quotes,
          ...(leftMs !== null && { leftMs: Math.round(leftMs) }),
        });
      },
    });
  } catch (error) {
    display.end();
    say(
      stderr,
      `${counted(plan.size - plan.left.length, "instrument")} of ${thousands(plan.size)} are polled and kept; the same command goes on with the rest.`,
    );
    throw error;
  }
}

function isOver(plan: SweepPlan): boolean {
  return plan.left.length === 0 && plan.waiting.length === 0;
}

/**
 * Ends the run when all is polled and loaded; otherwise the next one goes on.
 *
 * @returns the report, and 0 when every instrument was stored, 1 otherwise
 */
async function conclude(
  { plan, run }: Pick<OpenSweep, "plan" | "run">,
  { report, waiting, problem }: Settled,
): Promise<{ finished: Finished; exitCode: number }> {
  const loaded = problem === null && waiting === 0;
  if (isOver(plan) && loaded) await closeRun(run);
  const stored = plan.namesOf("stored").length;
  const without = plan.size - stored;
  const remarks = [
    `Swept     ${counted(plan.size, "instrument")}: ${thousands(stored)} with a quote, ${thousands(without)} without`,
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
