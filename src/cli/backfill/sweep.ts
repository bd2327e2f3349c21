/** `quotekeeper backfill --symbols-file|--chain`: every instrument polled once, within the budget. */
import { resolve } from "node:path";
import { openRun } from "../../backfill/sweep/runFile.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { instantFromDate } from "../../clock.ts";
import type { Edges } from "../../run/edges.ts";
import { PROCESSES } from "../../processes.ts";
import { createDisplay } from "./display.ts";
import { endingAtInterrupt } from "./ending.ts";
import { printReport } from "./report.ts";
import { forecast } from "./sweep/forecast.ts";
import { nameOf, readAsk, type SweepRequest } from "./sweep/readAsk.ts";
import { runSweep } from "./sweep/runSweep.ts";

/** @returns 0 when every instrument was stored, 1 otherwise */
export async function backfillSweep(config: Config, edges: Edges, request: SweepRequest): Promise<number> {
  const ask = await readAsk(edges, request);
  const name = nameOf(config, ask, request);
  if (request.dryRun) return forecast(config, edges, { ask, name, request });
  const display = createDisplay(config, edges, "sweeping");
  try {
    const now = instantFromDate(edges.clock.now());
    const options = { now, restart: request.restart, processes: PROCESSES };
    const run = await openRun(resolve(config.dataDir), name, options);
    const { finished, exitCode } = await endingAtInterrupt(edges, (signal) =>
      runSweep(config, edges, { request, ask, run, display, signal }),
    );
    display.end();
    printReport(edges, finished, request.json);
    return exitCode;
  } catch (error) {
    display.end();
    throw error;
  }
}
