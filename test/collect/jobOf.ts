import type { Job } from "../../src/schedule/readJobs.ts";

/** A job of a job file: every minute, around the clock, unless said otherwise. */
export function jobOf(fields: Partial<Job> & { name: string }): Job {
  return {
    file: `${fields.name}.yaml`,
    schedule: "* * * * *",
    timezone: "America/New_York",
    session: "always",
    delayed: false,
    priority: 0,
    symbols: [],
    symbolsFile: null,
    watchlist: null,
    options: [],
    chains: [],
    ...fields,
  };
}
