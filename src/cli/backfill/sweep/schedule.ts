/** The running schedule, as far as a sweep has to know it: the job files, and the prices that their chains hang on. */
import { resolve } from "node:path";
import { readLatestQuotes } from "../../../archive/queries.ts";
import { type JobsReport, readJobs } from "../../../schedule/readJobs.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import type { Archive } from "../../../run/archive.ts";

/** The job files that can be read, and the operator's calendar; none where there is no directory of them. */
export async function readSchedule({
  jobsDir,
}: Pick<Config, "jobsDir">): Promise<Pick<JobsReport, "jobs" | "calendar">> {
  return readJobs(resolve(jobsDir)).catch(() => ({ jobs: [], calendar: [] }));
}

/** The prices that chains of the job files hang on; none when the archive is away, or no chain needs one. */
export async function schedulePrices(config: Config, archive: Archive | null): Promise<Map<string, string>> {
  const { jobs } = await readSchedule(config);
  const needed = jobs.some(({ chains }) => chains.some(({ strikes }) => !Array.isArray(strikes)));
  return archive !== null && needed && config.feed.kind === "account" ? lastPrices(archive) : new Map();
}

/** The last prices that the archive has, by symbol; none when it cannot be read. */
export async function lastPrices({ pool }: Pick<Archive, "pool">): Promise<Map<string, string>> {
  const quotes = await readLatestQuotes(pool).catch(() => []);
  return new Map(quotes.flatMap(({ instrument, last }) => (last ? [[instrument, last] as const] : [])));
}
