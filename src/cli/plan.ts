/** `quotekeeper plan`: what the jobs cost over a trading day, before a single call is made. */
import { Option } from "commander";
import { z } from "zod";
import { count as countJson, date as instantDate, exchangeDay } from "../run/jsonWords.ts";
import { parseDate } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { resolve } from "node:path";
import { marketOf } from "../accounts/account.ts";
import { readLastPrices } from "../archive/ask/lastPrices.ts";
import { grouped } from "../collect/asks.ts";
import { GOVERNOR_REACH } from "../collect/budgetPlan.ts";
import { ChainBook, underlyingsOf } from "../collect/chainBook.ts";
import { type DayPlan, dueOn, nextSession, planDay } from "../collect/dayPlan.ts";
import { type Job, requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { jobsInvalid } from "../config/yamlFile.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { type Edges, Interrupted } from "../run/edges.ts";
import { archiveExists, requireSchema, withArchive } from "../run/archive.ts";
import { table } from "./terminal/table.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { counted, thousands, percent } from "../figures.ts";
import { exchangeTime } from "../market/calendar/dates.ts";

const together = {
  callsPerPass: countJson.describe("Calls of the fullest slot."),
  passMs: z.number().describe("Time they take at the pace of the limits, in ms."),
  fits: z.boolean().describe("Whether the calls are within the limits."),
  missedAtReach: countJson.describe("As `missedAtReach` of the whole plan."),
  starving: z.array(z.string()).describe("The jobs that do not fit."),
};

/** `plan --json`. */
export const planJson = z.strictObject({
  date: exchangeDay.describe("The day that was planned."),
  limit: countJson.describe("Calls that the account may make in a window; of several accounts the sum."),
  windowMs: countJson.describe("Length of the window in ms; of several accounts the longest."),
  slots: z
    .array(
      z.strictObject({
        at: instantDate.describe("The slot."),
        calls: countJson.describe("Calls that fall due."),
        doneMs: z
          .number()
          .nullable()
          .describe("When the last of them leaves, in ms after the slot; null when some never do."),
      }),
    )
    .describe("Every slot of the day."),
  jobs: z
    .array(
      z.strictObject({
        job: z.string().describe("Name of the job."),
        slots: countJson.describe("Its slots of the day."),
        instruments: countJson.describe("Instruments due at its fullest slot."),
        due: countJson.describe("Instruments due over the day."),
        starved: countJson.describe("Those of them that no call reaches in time."),
      }),
    )
    .describe("Each job's part."),
  batches: z
    .array(z.string())
    .describe(
      "The calls of the fullest slot, the most urgent first; of several accounts those of each one's.",
    ),
  callsPerPass: countJson.describe("How many those are."),
  passMs: z.number().describe("Time they take at the pace of the limit, in ms."),
  fullPassMs: z
    .number()
    .nullable()
    .describe(
      "When everything has been asked once, in ms after the first slot; null when something never is.",
    ),
  fits: z.boolean().describe("Whether the calls are within the limit; the exit code is 0 then, else 1."),
  missedAtReach: countJson.describe(
    "Instruments over the day that would be missed although the calls fit, because no pace reaches the last percent of the limit.",
  ),
  starving: z.array(z.string()).describe("The jobs that do not fit."),
  fitsEveryMs: z
    .number()
    .nullable()
    .describe("The shortest interval that fits, in ms; null when an hour is too short."),
  priceless: z
    .array(z.string())
    .describe("Underlyings whose chains were not counted: the archive has no price of theirs yet."),
  accounts: z
    .array(
      z.strictObject({
        name: z.string().describe("Its name."),
        limit: countJson.describe("Calls that it may make in a window."),
        windowMs: countJson.describe("Length of the window in ms."),
        ...together,
        callsADay: countJson.describe("Calls over the day."),
      }),
    )
    .describe("Each account's share."),
  withOneMore: z
    .strictObject(together)
    .nullable()
    .describe("All of it with one more account of 60 calls a minute; null where there is but one account."),
  unasked: z
    .array(z.string())
    .describe("Watchlists that are pinned to an account that is not configured: nobody asks for them."),
});

type Plan = Omit<DayPlan, "hungriest">;

/** One exchange date. */
export const addPlan: AddCommand = (command, { run, edges }) => {
  command
    .addOption(
      new Option(
        "--date <date>",
        "exchange date, YYYY-MM-DD; default: the session under way, or the next",
      ).argParser(parseDate),
    )
    .option("--json", "print JSON", false)
    .action(({ date = null, json }: { date?: string | null; json: boolean }) =>
      run((config) => plan(config, edges, { date, json }), { readsOnly: true }),
    );
};

/** @returns 0 when everything fits in the budget, 1 when something would starve */
async function plan(
  config: Config,
  edges: Edges,
  { json, date }: { json: boolean; date: string | null },
): Promise<number> {
  const { day, calendar, budget, priceless, problem, simulated } = await planJobs(config, edges, date);
  if (json) printJson(edges.stdout, planJson, { date: day, ...budget, priceless });
  else if (budget.slots.length === 0) {
    const reason = calendar.closedReason(day);
    say(edges.stdout, `No job is due on ${day}${reason === null ? "" : ` (closed: ${reason})`}.`);
  } else say(edges.stdout, ...describe(budget, day, edges).replace(/\n$/, "").split("\n"));
  if (!json && simulated)
    say(edges.stdout, "The simulated market never closes; the plan is that of the exchange's hours.");
  if (priceless.length > 0) {
    const why = problem === null ? "that is not stored yet" : `that could not be read (${problem})`;
    say(
      edges.stderr,
      `Not counted: the chains of ${priceless.join(", ")}, whose strikes depend on a last price ${why}. Poll them once: quotekeeper poll --symbols ${priceless.join(",")}`,
    );
  }
  return budget.fits ? 0 : 1;
}

/**
 * What the job files cost on an exchange date.
 *
 * @param date null: of the session under way, or the next
 * @returns `simulated`: whether the market that is polled is; `priceless`: underlyings whose chains were not counted, since no price of theirs is stored; `problem` says why
 *   the prices could not be read, where they could not
 * @throws QuotekeeperError JOBS_INVALID, JOBS_UNREADABLE; Interrupted
 */
export async function planJobs(config: Config, edges: Edges, date: string | null) {
  const {
    jobs,
    neverDue,
    calendar: overrides,
    accounts,
  } = await requireJobs(resolve(config.jobsDir), config);
  if (neverDue.length > 0) throw jobsInvalid(neverDue);
  const calendar = createCalendar(overrides);
  const day = date ?? nextSession(calendar, edges.clock.now());
  const chains = new ChainBook(calendar, (broken) => say(edges.stderr, broken.message));
  const { prices, problem } = await lastPrices(config, edges, jobs);
  chains.price(prices);
  const due = jobs.flatMap((job) => dueOn(job, day, { calendar, chains }));
  const priceless = [...new Set(jobs.flatMap((job) => chains.expand(job, day).priceless))];
  const { hungriest: _hungriest, ...budget } = planDay(
    due,
    accounts.map(({ name, limit, limitWindowMs }) => ({ name, limit, windowMs: limitWindowMs })),
  );
  return { day, calendar, budget, priceless, problem, simulated: marketOf(accounts).simulated };
}

/** The most calls of one minute of a day. */
export function mostCalls(budget: Plan): number {
  return Math.max(0, ...hoursOf(budget).map(({ most }) => most));
}

async function lastPrices(
  config: Config,
  edges: Edges,
  jobs: readonly Job[],
): Promise<{ prices: Map<string, string>; problem: string | null }> {
  const underlyings = underlyingsOf(jobs.flatMap(({ chains }) => chains));
  if (underlyings.length === 0 || !(await archiveExists(config))) return { prices: new Map(), problem: null };
  try {
    const prices = await withArchive(config, edges, async ({ pool, address }) => {
      await requireSchema(pool, address);
      return readLastPrices(pool, underlyings);
    });
    return { prices: new Map(prices), problem: null };
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    return { prices: new Map(), problem: (error as Error).message };
  }
}

function describe(budget: Plan, date: string, { stdout, env }: Edges): string {
  const { accounts, limit, windowMs, callsPerPass, passMs, fullPassMs } = budget;
  const several = accounts.length > 1;
  // Each account has a fullest slot of its own.
  const batches = several ? [] : budget.batches;
  const fullPass =
    fullPassMs === null
      ? "never completes: some instruments are never asked"
      : `takes ${duration(fullPassMs)}`;
  const hours = table(
    [
      { heading: "Hour" },
      ...["Slots", "Calls", "Most a minute"].map((heading) => ({ heading, right: true })),
    ],
    hoursOf(budget).map(({ hour, slots, calls, most }) => [hour, ...[slots, calls, most].map(thousands)]),
    { stdout, env },
  );
  const jobs = table(
    ["Job", "Slots", "Instruments", "Due", "Starved", "Share"].map((heading, index) => ({
      heading,
      right: index > 0,
    })),
    budget.jobs.map(({ job, slots, instruments, due, starved }) => [
      job,
      ...[slots, instruments, due, starved].map(thousands),
      percent((100 * starved) / Math.max(1, due), 1),
    ]),
    { stdout, env },
  );
  return [
    `${date}, hours of New York. ${several ? `The limits of ${accounts.length} accounts are` : "The limit is"} ${counted(limit, "call")} in ${windowMs / 1000} s.\n`,
    hours,
    `The fullest slot makes ${counted(callsPerPass, "call")}, a pass of ${duration(passMs)}${several ? "." : ":"}`,
    ...batches.slice(0, MOST_BATCHES).map((text) => oneLine(`  ${text}`)),
    ...(batches.length > MOST_BATCHES ? [`  and ${thousands(batches.length - MOST_BATCHES)} more`] : []),
    `To ask everything once ${fullPass}.\n`,
    jobs,
    ...(several ? [accountsTable(accounts, { stdout, env })] : []),
    ...(budget.unasked.length > 0
      ? [
          `NOBODY ASKS for ${budget.unasked.map(oneLine).join(", ")}: pinned to an account that is not configured.`,
        ]
      : []),
    `${verdict(budget)}\n`,
    ...(budget.withOneMore ? [`${oneMore(budget, budget.withOneMore)}\n`] : []),
  ].join("\n");
}

function accountsTable(accounts: Plan["accounts"], edges: Pick<Edges, "stdout" | "env">): string {
  const columns = ["Account", "Limit", "Fullest slot", "Pass", "Calls a day", "Starving"].map(
    (heading, index) => ({
      heading,
      right: index > 0 && index < 5,
    }),
  );
  const cells = accounts.map(({ name, limit, windowMs, callsPerPass, passMs, callsADay, starving }) => [
    ...[name, `${thousands(limit)} in ${windowMs / 1000} s`, thousands(callsPerPass), duration(passMs)],
    thousands(callsADay),
    starving.map(oneLine).join(", "),
  ]);
  return table(columns, cells, edges);
}

/** What one more account would change. */
function oneMore({ fits, passMs }: Plan, more: NonNullable<Plan["withOneMore"]>): string {
  const account = "With one more account of 60 calls a minute";
  if (!fits) return more.fits ? `${account} it would fit.` : `${account} it would not fit either.`;
  return `${account} a pass takes ${duration(more.passMs)}, not ${duration(passMs)}.`;
}

function verdict({ fits, fitsEveryMs, starving, missedAtReach, jobs }: Plan): string {
  if (fits && missedAtReach > 0) {
    const due = jobs.reduce((sum, job) => sum + job.due, 0);
    return [
      "It fits on paper alone, with no call to spare. Of the calls that a limit allows",
      `${100 * GOVERNOR_REACH} % are reached: about ${thousands(missedAtReach)} of ${counted(due, "quote")} would be missed over the day.`,
      "Leave a call or two of each window free: poll fewer instruments, or less often.",
    ].join("\n");
  }
  if (fits) return `It fits. The shortest interval at which it would: ${duration(fitsEveryMs ?? 0)}.`;
  const names = starving.join(", ");
  return fitsEveryMs === null
    ? `OVER BUDGET: ${names} would starve, and would even with a slot an hour. Poll fewer instruments.`
    : `OVER BUDGET: ${names} would starve. The shortest interval that fits: a slot every ${duration(fitsEveryMs)}.`;
}

/** Batches that are listed. */
const MOST_BATCHES = 12;

/** Slots and calls of each hour of New York, and the most calls of one of its minutes. */
function hoursOf({ slots }: Plan): { hour: string; slots: number; calls: number; most: number }[] {
  const minutes = grouped(slots, ({ at }) => newYorkTime(at));
  const hours = grouped([...minutes], ([time]) => `${time.slice(0, 2)}:00`);
  return [...hours].map(([hour, ofHour]) => {
    const calls = ofHour.map(([, all]) => all.reduce((sum, slot) => sum + slot.calls, 0));
    return {
      hour,
      slots: ofHour.reduce((sum, [, all]) => sum + all.length, 0),
      calls: calls.reduce((sum, each) => sum + each, 0),
      most: Math.max(...calls),
    };
  });
}

function newYorkTime(at: Date): string {
  return exchangeTime(at).slice(11, 16);
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return seconds < 120
    ? `${seconds} s`
    : `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? "" : ` ${seconds % 60} s`}`;
}
