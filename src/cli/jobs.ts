/** `quotekeeper jobs check`: every problem of every job file at once. */
import { z } from "zod";
import { count, exchangeDay } from "../run/jsonWords.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { resolve } from "node:path";
import { noJobs, passedByWords, readJobs } from "../schedule/readJobs.ts";
import { describeProblem } from "../config/yamlFile.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "../run/edges.ts";
import { inSeconds } from "../run/durations.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { counted, thousands } from "../figures.ts";

const contract = z.strictObject({
  underlying: z.string().describe("Symbol of the underlying."),
  expiration: z.iso.date().describe("Expiration date."),
  optionType: z.enum(["CALL", "PUT"]).describe("Kind of the contract."),
  strike: z.string().describe("Strike price, decimal text."),
});

const chain = z.strictObject({
  underlying: z.string().describe("Symbol of the underlying."),
  expirations: z
    .union([
      z.strictObject({ next: count, kind: z.enum(["monthly", "weekly"]) }),
      z.array(z.iso.date()),
      z.literal("listed"),
    ])
    .describe("The next expirations, their dates, or `listed`: all that the service lists."),
  strikes: z
    .union([
      z.strictObject({ around: z.literal("last"), percent: z.string(), step: z.string() }),
      z.array(z.string()),
      z.literal("all"),
    ])
    .describe("Strikes around the last price, the strikes themselves, or `all`: whole expirations."),
  types: z.array(z.enum(["CALL", "PUT"])).describe("Kinds of the contracts."),
});

export const jobsCheckJson = z.strictObject({
  jobs: z
    .array(
      z.strictObject({
        name: z.string().describe("Name of the job."),
        file: z.string().describe("The file it comes from."),
        schedule: z.string().describe("Cron expression."),
        timezone: z.string().describe("IANA time zone of the schedule."),
        session: z.enum(["pre", "regular", "post", "any", "always"]).describe("Part of the trading day."),
        delayed: z.boolean().describe("Whether delayed quotes are asked for."),
        priority: z.int().describe("Higher before lower."),
        account: z.string().nullable().describe("The account that alone polls it; null: any."),
        symbols: z.array(z.string()).readonly().describe("Its symbols."),
        symbolsFile: z.string().nullable().describe("The file they come from."),
        watchlist: z.string().nullable().describe("Id of its watchlist."),
        options: z.array(contract).readonly().describe("Its single contracts."),
        chains: z.array(chain).describe("Its chains."),
      }),
    )
    .describe("The jobs that are right."),
  calendar: z
    .array(
      z.strictObject({
        date: exchangeDay.describe("Day of the exchange."),
        kind: z.enum(["closed", "early", "regular"]).describe("What the operator says it is."),
        close: z.string().optional().describe("When its session ends, HH:MM in New York."),
        reason: z.string().optional().describe("Why."),
      }),
    )
    .describe("The days of `jobs/calendar.yaml`."),
  accounts: z
    .array(
      z.strictObject({
        name: z.string().describe("Name of the account."),
        baseUrl: z.string().nullable().describe("Base address of its service; null: the simulated market."),
        limit: count.describe("Calls that it may make in a window."),
        windowMs: count.describe("Length of the window in ms."),
      }),
    )
    .describe("The accounts that share the jobs; none when `accounts.yaml` is wrong."),
  problems: z
    .array(
      z.strictObject({
        file: z.string().describe("The file."),
        line: count.describe("The line, counted from 1."),
        message: z.string().describe("What is wrong there."),
      }),
    )
    .describe("Everything that is wrong; the exit code is 2 when there is any."),
});

export const addJobs: AddCommand = (jobs, { run, edges }) => {
  jobs
    .command("check")
    .description(
      "validates the job files, all problems at once with file and line; exit code 2 when there are any",
    )
    .option("--json", "print JSON", false)
    .action(({ json }: { json: boolean }) =>
      run((config) => jobsCheck(config, edges, json), { readsOnly: true }),
    );
};

/**
 * @returns 0 when all files are right, 2 otherwise
 * @throws QuotekeeperError JOBS_UNREADABLE when there is no directory, or no job file in it
 */
async function jobsCheck(config: Config, { stdout, stderr, env }: Edges, json: boolean): Promise<number> {
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
  if (json) printJson(stdout, jobsCheckJson, { jobs, calendar, accounts, problems });
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
}
