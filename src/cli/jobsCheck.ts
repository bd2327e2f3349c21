/** `quotekeeper jobs check`: every problem of every job file at once. */
import { resolve } from "node:path";
import { noJobs, readJobs } from "../schedule/readJobs.ts";
import { describeProblem } from "../schedule/yamlFile.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../run/edges.ts";
import { jobsCheckJson } from "./json/planning.ts";
import { printJson } from "./json/print.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";

/**
 * @returns 0 when all files are right, 2 otherwise
 * @throws QuotekeeperError JOBS_UNREADABLE when there is no directory, or no job file in it
 */
export async function jobsCheck(
  config: Config,
  { stdout, stderr, env }: Edges,
  { json }: { json: boolean },
): Promise<number> {
  const dir = resolve(config.jobsDir);
  const { jobs, calendar, problems } = await readJobs(dir);
  if (jobs.length === 0 && problems.length === 0) throw noJobs(dir);
  if (json) printJson(stdout, jobsCheckJson, { jobs, calendar, problems });
  else {
    const rows = jobs.map((job) => [
      job.name,
      job.schedule,
      job.session,
      String(job.priority),
      String(job.symbols.length + (job.watchlist === null ? 0 : 1)),
      String(job.options.length),
      String(job.chains.length),
    ]);
    const columns = ["Job", "Schedule", "Session", "Priority", "Symbols", "Options", "Chains"];
    if (rows.length > 0) {
      stdout.write(
        table(
          columns.map((heading, index) => ({ heading, right: index > 2 })),
          rows,
          stdout,
          env,
        ),
      );
    }
    for (const problem of problems) say(stderr, describeProblem(problem));
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    say(stdout, `${jobs.length} ${jobs.length === 1 ? "job is" : "jobs are"} right, ${count} found.`);
  }
  return problems.length > 0 ? 2 : 0;
}
