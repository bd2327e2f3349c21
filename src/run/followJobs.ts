/** Takes up changes of the job files while the collection runs. A broken edit keeps the jobs before, and says why. */
import { type Job, jobsInvalid, type JobsReport, readJobs } from "../schedule/readJobs.ts";
import { watchJobs } from "../schedule/watchJobs.ts";
import type { Log } from "../log.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";

/** What the job files say. */
export type JobSet = { jobs: readonly Job[]; calendar: readonly CalendarOverride[] };

/**
 * Watches the files of a directory and the lists of symbols they name.
 *
 * @param options.first what was read at the start
 * @param options.onJobs called with what the files say, when it is whole and differs from before
 * @returns how to stop
 */
export function followJobs(
  dir: string,
  { first, onJobs, log }: { first: JobSet; onJobs: (jobs: JobSet) => void; log: Log },
): () => void {
  let current: JobSet = { jobs: first.jobs, calendar: first.calendar };
  let broken = false;
  return watchJobs(dir, {
    others: () => current.jobs.flatMap(({ symbolsFile }) => symbolsFile ?? []),
    onError: (error) => log.error({ err: error }, "the job files have changed and could not be taken up"),
    onChange: async () => {
      const { jobs, calendar, problems } = await read(dir);
      const wasBroken = broken;
      broken = problems.length > 0;
      if (broken) {
        const why = jobsInvalid(problems).message;
        log.error({}, `the job files have changed, and the jobs before stay in force: ${why}`);
      } else if (JSON.stringify({ jobs, calendar }) !== JSON.stringify(current)) {
        current = { jobs, calendar };
        onJobs(current);
        const names = jobs.map(({ name }) => name);
        log.info({ jobs: names }, "the job files have changed and are in force from the next slot on");
      } else if (wasBroken) log.info({}, "the job files are right again, and as they were before");
    },
  });
}

async function read(dir: string): Promise<JobsReport> {
  const problem = (message: string): JobsReport => ({
    jobs: [],
    calendar: [],
    problems: [{ file: dir, line: 1, message }],
  });
  const report = await readJobs(dir).catch((error: Error) => problem(error.message));
  const isEmpty = report.jobs.length === 0 && report.problems.length === 0;
  return isEmpty ? problem("the directory holds no job file any more") : report;
}
