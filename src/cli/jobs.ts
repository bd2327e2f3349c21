/** `quotekeeper jobs check`: every problem of every job file at once. */
import { z } from "zod";
import { count, exchangeDay } from "../ground/jsonWords.ts";
import { command } from "./command.ts";
import { resolve } from "node:path";
import { noJobs, passedByWords, readJobs } from "../schedule/readJobs.ts";
import { describeProblem } from "../config/yamlFile.ts";
import { inSeconds } from "../market/durations.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { counted, thousands } from "../ground/figures.ts";

const contract = z.strictObject({
  underlying: z.string(),
  expiration: z.iso.date(),
  optionType: z.enum(["CALL", "PUT"]),
  strike: z.string(),
});

const chain = z.strictObject({
  underlying: z.string(),
  expirations: z.union([
    z.strictObject({ next: count, kind: z.enum(["monthly", "weekly"]) }),
    z.array(z.iso.date()),
    z.literal("listed"),
  ]),
  strikes: z.union([
    z.strictObject({ around: z.literal("last"), percent: z.string(), step: z.string() }),
    z.array(z.string()),
    z.literal("all"),
  ]),
  types: z.array(z.enum(["CALL", "PUT"])),
});

/** Exit code 0 when all files are right, 2 otherwise; JOBS_UNREADABLE when there is no directory, or no job file in it. */
const check = command({
  does: "validates the job files, all problems at once with file and line; exit code 2 when there are any",
  json: z.strictObject({
    jobs: z.array(
      z.strictObject({
        name: z.string(),
        file: z.string(),
        schedule: z.string(),
        timezone: z.string(),
        session: z.enum(["pre", "regular", "post", "any", "always"]),
        delayed: z.boolean(),
        priority: z.int(),
        account: z.string().nullable(),
        symbols: z.array(z.string()).readonly(),
        symbolsFile: z.string().nullable(),
        watchlist: z.string().nullable(),
        options: z.array(contract).readonly(),
        chains: z.array(chain),
      }),
    ),
    calendar: z.array(
      z.strictObject({
        date: exchangeDay,
        kind: z.enum(["closed", "early", "regular"]),
        close: z.string().optional(),
        reason: z.string().optional(),
      }),
    ),
    accounts: z.array(
      z.strictObject({
        name: z.string(),
        baseUrl: z.string().nullable(),
        limit: count,
        windowMs: count,
      }),
    ),
    problems: z.array(
      z.strictObject({
        file: z.string(),
        line: count,
        message: z.string(),
      }),
    ),
  }),
  readsOnly: true,
  run: async (config, { stdout, stderr, env }, { printJson }) => {
    const dir = resolve(config.jobsDir);
    const { calendar, problems, ...read } = await readJobs(dir, config);
    const jobs = read.jobs.map((job) => ({ ...job, account: job.account ?? null }));
    const accounts = read.accounts.map(({ name, feed, limit, limitWindowMs: windowMs }) => ({
      name,
      baseUrl: feed.kind === "account" ? feed.baseUrl : null,
      limit,
      windowMs,
    }));
    if (jobs.length === 0 && problems.length === 0) throw noJobs(dir);
    if (printJson) printJson({ jobs, calendar, accounts, problems });
    else {
      const rows = jobs.map((job) => [
        job.name,
        job.schedule,
        job.session,
        job.account ?? "any",
        String(job.priority),
        thousands(job.symbols.length + (job.watchlist === null ? 0 : 1)),
        thousands(job.options.length),
        thousands(job.chains.length),
      ]);
      const counts = right("Priority", "Symbols", "Options", "Chains");
      const columns = ["Job", "Schedule", "Session", "Account", ...counts];
      if (rows.length > 0) stdout.write(table(columns, rows, { stdout, env }));
      // An operator with the variables of one account knows that account.
      if (accounts.length > 1 || read.accounts.some(({ feed }) => feed !== config.feed)) {
        stdout.write(
          `\n${table(
            ["Account", "Service", ...right("Limit", "Window")],
            accounts.map(({ name, baseUrl, limit, windowMs }) => [
              name,
              baseUrl ?? "simulated",
              thousands(limit),
              inSeconds(windowMs),
            ]),
            { stdout, env },
          )}\n`,
        );
      }
      for (const problem of problems) say(stderr, describeProblem(problem));
      const passedBy = passedByWords(read.passedBy);
      if (passedBy !== null) say(stderr, passedBy);
      const count = counted(problems.length, "problem");
      say(stdout, `${counted(jobs.length, "job is", "jobs are")} right, ${count} found.`);
    }
    return problems.length > 0 ? 2 : 0;
  },
});

export const jobs = command({ commands: { check } });
