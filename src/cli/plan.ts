/** `quotekeeper plan`: what the jobs cost over a trading day, before a single call is made. */
import { z } from "zod";
import { count as countJson, date as instantDate, exchangeDay } from "../ground/jsonWords.ts";
import { parseDate } from "./arguments.ts";
import { command, option } from "./command.ts";
import { GOVERNOR_REACH } from "../collect/budgetPlan.ts";
import { inMinutes, inSeconds } from "../market/durations.ts";
import type { Edges } from "../ground/edges.ts";
import { requireRightClock } from "../status/rightClock.ts";
import { hoursOf, type Plan, planJobs } from "./planJobs.ts";
import { right, table } from "./terminal/table.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { chainsNotKnown, counted, thousands, percent } from "../ground/figures.ts";

const together = {
  callsPerPass: countJson,
  passMs: z.number(),
  fits: z.boolean(),
  missedAtReach: countJson,
  starving: z.array(z.string()),
};

/** Exit code 0 when everything is known to fit in the budget, else 1. */
export const plan = command({
  options: {
    date: option(
      "<date>",
      "exchange date, YYYY-MM-DD; default: the session under way, or the next",
      parseDate,
    ),
  },
  json: z.strictObject({
    date: exchangeDay,
    limit: countJson,
    windowMs: countJson,
    slots: z.array(
      z.strictObject({
        at: instantDate,
        calls: countJson,
        doneMs: z.number().nullable(),
      }),
    ),
    jobs: z.array(
      z.strictObject({
        job: z.string(),
        slots: countJson,
        instruments: countJson,
        due: countJson,
        starved: countJson,
      }),
    ),
    batches: z.array(z.string()),
    callsPerPass: countJson,
    passMs: z.number(),
    fullPassMs: z.number().nullable(),
    fits: z.boolean().nullable(),
    missedAtReach: countJson,
    starving: z.array(z.string()),
    fitsEveryMs: z.number().nullable(),
    priceless: z.array(z.string()),
    unlisted: z.array(z.string()),
    accounts: z.array(
      z.strictObject({
        name: z.string(),
        limit: countJson,
        windowMs: countJson,
        ...together,
        callsADay: countJson,
      }),
    ),
    withOneMore: z.strictObject(together).nullable(),
    unasked: z.array(z.string()),
  }),
  readsOnly: true,
  run: async (config, edges, { date, printJson }) => {
    requireRightClock(edges.clock.now());
    const { day, calendar, budget, another, priceless, unlisted, problem, simulated } = await planJobs(
      config,
      edges,
      date,
    );
    const unknown = budget.slots.length === 0 ? null : chainsNotKnown({ priceless, unlisted });
    const fits = budget.fits && unknown !== null ? null : budget.fits;
    if (printJson) printJson({ date: day, ...budget, fits, priceless, unlisted });
    else if (budget.slots.length === 0) {
      const reason = calendar.closedReason(day);
      say(edges.stdout, `No job is due on ${day}${reason === null ? "" : ` (closed: ${reason})`}.`);
    } else
      say(
        edges.stdout,
        ...describe(budget, { date: day, another, unknown }, edges).replace(/\n$/, "").split("\n"),
      );
    if (!printJson && simulated)
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
  },
});

type Another = Awaited<ReturnType<typeof planJobs>>["another"];

function describe(
  budget: Plan,
  { date, another, unknown }: { date: string; another: Another; unknown: string | null },
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
    `${verdict(budget, unknown)}\n`,
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

function verdict({ fits, fitsEveryMs, starving, missedAtReach, jobs }: Plan, unknown: string | null): string {
  if (fits && unknown !== null) return `NOT KNOWN: ${unknown}.`;
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
