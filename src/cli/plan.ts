/** `quotekeeper plan`: what the jobs cost over a trading day, before a single call is made. */
import { z } from "zod";
import { count as countJson, date as instantDate, exchangeDay } from "../run/jsonWords.ts";
import { parseDate } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { GOVERNOR_REACH } from "../collect/budgetPlan.ts";
import { isKnownToFit } from "../collect/dayPlan.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { inMinutes, inSeconds } from "../run/durations.ts";
import type { Edges } from "../run/edges.ts";
import { requireRightClock } from "../run/rightClock.ts";
import { hoursOf, type Plan, planJobs } from "./planJobs.ts";
import { right, table } from "./terminal/table.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { counted, thousands, percent } from "../figures.ts";

const together = {
  callsPerPass: countJson.describe("Calls of the fullest slot."),
  passMs: z.number().describe("Time they take at the pace of the limits, in ms."),
  fits: z.boolean().describe("Whether the calls are within the limits."),
  missedAtReach: countJson.describe("As `missedAtReach` of the whole plan."),
  starving: z.array(z.string()).describe("The jobs that do not fit."),
};

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
  fits: z
    .boolean()
    .nullable()
    .describe(
      "Whether the calls are within the limit; null: not known, because chains were not counted. The exit code is 0 when it is true, else 1.",
    ),
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
  unlisted: z
    .array(z.string())
    .describe("Underlyings whose chains were not counted: the archive knows no contract of theirs yet."),
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
    .describe("All of it with one more account of the service's limit; null where there is but one account."),
  unasked: z
    .array(z.string())
    .describe("Watchlists that are pinned to an account that is not configured: nobody asks for them."),
});

export const addPlan: AddCommand = (command, { run, edges }) => {
  command
    .option(
      "--date <date>",
      "exchange date, YYYY-MM-DD; default: the session under way, or the next",
      parseDate,
    )
    .option("--json", "print JSON", false)
    .action((options: PlanOptions) => run((config) => plan(config, edges, options), { readsOnly: true }));
};

type PlanOptions = { date?: string; json: boolean };

/** @returns 0 when everything is known to fit in the budget, else 1 */
async function plan(config: Config, edges: Edges, { json, date }: PlanOptions): Promise<number> {
  requireRightClock(edges.clock.now());
  const { day, calendar, budget, another, priceless, unlisted, problem, simulated } = await planJobs(
    config,
    edges,
    date ?? null,
  );
  const uncounted = budget.slots.length === 0 ? 0 : new Set([...priceless, ...unlisted]).size;
  const fits = isKnownToFit(budget.fits, uncounted);
  if (json) printJson(edges.stdout, planJson, { date: day, ...budget, fits, priceless, unlisted });
  else if (budget.slots.length === 0) {
    const reason = calendar.closedReason(day);
    say(edges.stdout, `No job is due on ${day}${reason === null ? "" : ` (closed: ${reason})`}.`);
  } else
    say(
      edges.stdout,
      ...describe(budget, { date: day, another, uncounted }, edges).replace(/\n$/, "").split("\n"),
    );
  if (!json && simulated)
    say(edges.stdout, "The simulated market never closes; the plan is that of the exchange's hours.");
  if (priceless.length > 0) {
    const why = problem === null ? "that is not stored yet" : `that could not be read (${problem})`;
    say(
      edges.stderr,
      `Not counted: the chains of ${priceless.join(", ")}, whose strikes depend on a last price ${why}. Poll them once: quotekeeper poll --symbols ${priceless.join(",")}`,
    );
  }
  if (unlisted.length > 0) {
    const why =
      problem === null ? "nothing of them is stored yet" : `the archive could not be read (${problem})`;
    say(
      edges.stderr,
      `Not counted: the chains of ${unlisted.join(", ")}, whose expirations the service lists, because ${why}. The collector asks for the list once a day.`,
    );
  }
  return fits === true ? 0 : 1;
}

type Another = Awaited<ReturnType<typeof planJobs>>["another"];

function describe(
  budget: Plan,
  { date, another, uncounted }: { date: string; another: Another; uncounted: number },
  { stdout, env }: Edges,
): string {
  const { accounts, limit, windowMs, callsPerPass, passMs, fullPassMs } = budget;
  const several = accounts.length > 1;
  // Each account has a fullest slot of its own.
  const batches = several ? [] : budget.batches;
  const fullPass =
    fullPassMs === null
      ? "never completes: some instruments are never asked"
      : `takes ${inMinutes(fullPassMs)}`;
  const hours = table(
    ["Hour", ...right("Slots", "Calls", "Most a minute")],
    hoursOf(budget).map(({ hour, slots, calls, most }) => [
      hour,
      thousands(slots),
      thousands(calls),
      thousands(most),
    ]),
    { stdout, env },
  );
  const jobs = table(
    ["Job", ...right("Slots", "Instruments", "Due", "Starved", "Share")],
    budget.jobs.map(({ job, slots, instruments, due, starved }) => [
      job,
      thousands(slots),
      thousands(instruments),
      thousands(due),
      thousands(starved),
      percent((100 * starved) / Math.max(1, due), 1),
    ]),
    { stdout, env },
  );
  return [
    `${date}, hours of New York. ${several ? `The limits of ${accounts.length} accounts are` : "The limit is"} ${counted(limit, "call")} in ${inSeconds(windowMs)}.\n`,
    hours,
    `The fullest slot makes ${counted(callsPerPass, "call")}, a pass of ${inMinutes(passMs)}${several ? "." : ":"}`,
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
    `${verdict(budget, uncounted)}\n`,
    ...(budget.withOneMore ? [`${oneMore(budget, budget.withOneMore, another)}\n`] : []),
  ].join("\n");
}

function accountsTable(accounts: Plan["accounts"], edges: Pick<Edges, "stdout" | "env">): string {
  const columns = ["Account", ...right("Limit", "Fullest slot", "Pass", "Calls a day"), "Starving"];
  const cells = accounts.map(({ name, limit, windowMs, callsPerPass, passMs, callsADay, starving }) => [
    name,
    `${thousands(limit)} in ${inSeconds(windowMs)}`,
    thousands(callsPerPass),
    inMinutes(passMs),
    thousands(callsADay),
    starving.map(oneLine).join(", "),
  ]);
  return table(columns, cells, edges);
}

function oneMore(
  { fits, passMs }: Plan,
  more: NonNullable<Plan["withOneMore"]>,
  { limit, windowMs }: Another,
): string {
  const account = `With one more account of ${counted(limit, "call")} ${windowMs === 60_000 ? "a minute" : `in ${inSeconds(windowMs)}`}`;
  if (!fits) return more.fits ? `${account} it would fit.` : `${account} it would not fit either.`;
  return `${account} a pass takes ${inMinutes(more.passMs)}, not ${inMinutes(passMs)}.`;
}

function verdict({ fits, fitsEveryMs, starving, missedAtReach, jobs }: Plan, uncounted: number): string {
  if (isKnownToFit(fits, uncounted) === null)
    return `NOT KNOWN whether it fits: ${counted(uncounted, "chain has", "chains have")} no price or no list of expirations yet.`;
  if (fits && missedAtReach > 0) {
    const due = jobs.reduce((sum, job) => sum + job.due, 0);
    return [
      "It fits on paper alone, with no call to spare. Of the calls that a limit allows",
      `${100 * GOVERNOR_REACH} % are reached: about ${thousands(missedAtReach)} of ${counted(due, "quote")} would be missed over the day.`,
      "Leave a call or two of each window free: poll fewer instruments, or less often.",
    ].join("\n");
  }
  if (fits) return `It fits. The shortest interval at which it would: ${inMinutes(fitsEveryMs ?? 0)}.`;
  const names = starving.join(", ");
  return fitsEveryMs === null
    ? `OVER BUDGET: ${names} would starve, and would even with a slot an hour. Poll fewer instruments.`
    : `OVER BUDGET: ${names} would starve. The shortest interval that fits: a slot every ${inMinutes(fitsEveryMs)}.`;
}

const MOST_BATCHES = 12;
