/** Takes up changes of the job files while the collection runs. A broken edit keeps the jobs before, and says why. */
import {
  accountKey,
  accountOptions,
  type Accounts,
  type AccountSettings,
  areSome,
  marketOf,
} from "../accounts/account.ts";
import { describeProblem, type FileProblem, jobsInvalid } from "../config/yamlFile.ts";
import { hindrances, type Job, type JobsReport, passedByWords, readJobs } from "./readJobs.ts";
import type { Log } from "../ground/log.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export type JobSet = {
  jobs: readonly Job[];
  calendar: readonly CalendarOverride[];
  accounts: Accounts;
  /** Files that these hang on as well: lists of symbols, and secrets. */
  others: readonly string[];
};

type Follower = {
  first: JobSet;
  settings: AccountSettings;
  /** Called with what the files say, when it is whole and differs from before. What it throws keeps all of that. */
  onJobs: (jobs: JobSet) => Promise<void>;
  log: Log;
};

/**
 * Watches the files of a directory, and the lists of symbols and the secrets that they name.
 *
 * @returns how to stop
 */
export function followJobs(dir: string, { first, settings, onJobs, log }: Follower): () => void {
  let current = first;
  // Also those that could not be read, which may be mended.
  let others = first.others;
  let broken: string | null = null;
  let idle = "";
  let passed: string | null = null;
  let failed = "";
  return watchJobs(dir, {
    others: () => others,
    onError: (error) => {
      if (failed !== String(error))
        log.error({ err: error }, "the job files have changed and cannot be taken up yet: trying again");
      failed = String(error);
    },
    onChange: async () => {
      const found = await read(dir, settings);
      const problems = hindrances(found);
      others = found.others;
      if (problems.length === 0) problems.push(...marketChange(dir, current, found));
      const neverDue = found.neverDue.map(describeProblem).join("; ");
      if (neverDue !== "" && neverDue !== idle)
        log.error({}, `a job is never due, and the others go on without it: ${neverDue}`);
      idle = neverDue;
      const passedBy = passedByWords(found.passedBy);
      if (passedBy !== null && passedBy !== passed) log.warn({}, passedBy);
      passed = passedBy;
      const { accounts } = found;
      if (problems.length > 0 || !areSome(accounts)) {
        const { message } = jobsInvalid(problems);
        if (message !== broken)
          log.error({}, `the job files have changed, and the jobs before stay in force: ${message}`);
        broken = message;
        return;
      }
      const now = { ...found, accounts };
      if (textOf(now) !== textOf(current)) {
        broken = null;
        await onJobs(now);
        current = now;
        failed = "";
        const names = now.jobs.map(({ name }) => name);
        log.info({ jobs: names }, "the job files have changed and are in force from the next slot on");
      } else if (broken !== null) {
        broken = null;
        log.info({}, "the job files are right again, and as they were before");
      }
    },
  });
}

/** Another market needs a start: so a file that was removed by mistake leads to no simulated quotes. */
function marketChange(dir: string, before: JobSet, found: JobsReport): FileProblem[] {
  const market = ({ accounts }: Pick<JobsReport | JobSet, "accounts">): string => {
    const { simulated, address } = marketOf(accounts);
    return simulated ? "the simulated market" : String(address);
  };
  if (market(found) === market(before)) return [];
  const message = `the accounts are now of ${market(found)}, and ${market(before)} is polled: end the program and start it again to change that`;
  return [{ file: dir, line: 1, message }];
}

/** All of it, the accounts by their keys and options. */
function textOf({ jobs, calendar, accounts }: JobSet): string {
  return JSON.stringify([
    jobs,
    calendar,
    accounts.map((account) => [accountKey(account), accountOptions(account), { ...account, feed: null }]),
  ]);
}

async function read(dir: string, settings: AccountSettings): Promise<JobsReport> {
  const problem = (message: string): JobsReport => ({
    jobs: [],
    calendar: [],
    accounts: [],
    others: [],
    neverDue: [],
    passedBy: [],
    problems: [{ file: dir, line: 1, message }],
  });
  const report = await readJobs(dir, settings).catch((error: Error) => problem(error.message));
  const isEmpty = report.jobs.length === 0 && report.problems.length === 0;
  return isEmpty ? problem("the directory holds no job file any more") : report;
}

const LOOK_EVERY_MS = 2_000;

/**
 * Calls `onChange` at the first look, and when a file of the directory, or one of the others, was added, removed or
 * written since the last one. The first call makes up for changes between reading the files and beginning to watch.
 *
 * @param options.others files in directories below, or elsewhere, to look at as well (symbol lists, secrets), asked again each time
 * @param options.onError what `onChange` threw, which is called again at the next look
 * @returns how to stop
 */
function watchJobs(
  dir: string,
  {
    others,
    onChange,
    onError,
  }: { others: () => readonly string[]; onChange: () => Promise<void>; onError: (error: unknown) => void },
): () => void {
  let seen: string | null = null;
  let looking = false;

  const look = async (): Promise<void> => {
    // Acquired before the files are read: what is written meanwhile is seen at the next look.
    const now = await signature(dir, others());
    if (now === seen) return;
    await onChange();
    // Not before: what could not be taken up, for example an account that another collector has still, is tried again.
    seen = now;
  };

  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void look()
      .catch(onError)
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Names, sizes and times of all files, as one text. */
export async function signature(dir: string, others: readonly string[]): Promise<string> {
  const names = await readdir(dir).catch(() => []);
  const paths = [...names.sort().map((name) => join(dir, name)), ...others];
  const parts = await Promise.all(
    paths.map(async (path) => {
      const found = await stat(path).catch(() => null);
      return `${path} ${found?.size} ${found?.mtimeMs} ${found?.ino}`;
    }),
  );
  return parts.join("\n");
}
