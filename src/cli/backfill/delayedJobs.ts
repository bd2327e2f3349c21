/** Which jobs ask for delayed quotes. */
import { readJobs } from "../../schedule/readJobs.ts";
import type { Config } from "../../config/loadEnvironment.ts";

/** Their names; none where there are no job files, as on a machine that only keeps an archive. */
export async function delayedJobs(config: Config): Promise<string[]> {
  const { jobs } = await readJobs(config.jobsDir).catch(() => ({ jobs: [] }));
  return jobs.filter(({ delayed }) => delayed).map(({ name }) => name);
}
