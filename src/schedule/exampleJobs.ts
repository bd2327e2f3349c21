/** The job files that come with the program, for whoever starts it where there are none. */
import { cp, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DEFAULT_JOBS_DIR } from "../config/environment.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { PACKAGE_ROOT } from "../ground/packageRoot.ts";
import type { Sink } from "../ground/edges.ts";

const EXAMPLES = join(PACKAGE_ROOT, "jobs");

/**
 * Writes the examples to ./jobs and says so, where there is no such directory and none was named. Not for an account:
 * its calls are for what its owner asks for.
 *
 * @throws QuotekeeperError JOBS_UNREADABLE when they cannot be written
 */
export async function offerExampleJobs(
  { jobsDir, feed }: Pick<Config, "jobsDir" | "feed">,
  { write }: Pick<Sink, "write">,
  examples = EXAMPLES,
): Promise<void> {
  const dir = resolve(jobsDir);
  if (jobsDir !== DEFAULT_JOBS_DIR || feed.kind !== "simulated" || (await isThere(dir))) return;
  const names = (await readdir(examples).catch(() => [])).filter((name) => name.endsWith(".yaml"));
  // A container's image has none: its jobs are mounted.
  if (names.length === 0) return;
  const draft = `${dir}.new-${process.pid}`;
  try {
    await mkdir(draft);
    for (const name of names) await cp(join(examples, name), join(draft, name));
    await rename(draft, dir).catch((error: NodeJS.ErrnoException) => {
      // Somebody else made the directory meanwhile, and it is taken as it is.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new QuotekeeperError(
      "JOBS_UNREADABLE",
      `${dir} is not there, and the example jobs cannot be written to it (${code ?? message})`,
      { cause },
    );
  } finally {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
  }
  write(
    `There was no ${dir}: it now holds the example jobs, ${names.join(" and ")}. Edit them as you like.\n`,
  );
}

async function isThere(path: string): Promise<boolean> {
  // A link that leads nowhere is there, too.
  return lstat(path).then(
    () => true,
    // What cannot be looked at is there.
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
}
