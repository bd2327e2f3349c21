/** The plan that the dashboard shows. Pure: it is made in a thread of its own (planThread.ts). */
import type { Sharer } from "../../accounts/partition.ts";
import type { PlannedService } from "../../collect/budgetPlan.ts";
import { dueNames } from "../../collect/asks.ts";
import { ChainBook } from "../../collect/chainBook.ts";
import { dueOn, lacksOf, mostAMinute, planDay } from "../../collect/dayPlan.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import type { KnownOfChains } from "../../market/optionChain.ts";
import type { Job } from "../../schedule/readJobs.ts";
import type { PlanView } from "../../web/api/types.ts";

/** What is planned: plain data, which may go from one thread to another. */
export type PlanRequest = {
  jobs: readonly Job[];
  calendar: readonly CalendarOverride[];
  accounts: readonly Sharer[];
  service: PlannedService;
  known: KnownOfChains;
  date: string;
};

/** Most instruments of all slots of a day that are planned for a page: 5,000 each minute of a session are two million. */
const MOST_DUE = 2_500_000;

/** @returns null: the day is too large for a page */
export function planView({
  jobs,
  calendar: overrides,
  accounts,
  service,
  known,
  date,
}: PlanRequest): PlanView | null {
  const calendar = createCalendar(overrides);
  // A chain that is broken is told of by the collector.
  const chains = new ChainBook(calendar, () => undefined);
  chains.know(known);
  const due = jobs.flatMap((job) => dueOn(job, date, { calendar, chains }));
  if (due.reduce((sum, slot) => sum + dueNames(slot).length, 0) > MOST_DUE) return null;
  const {
    limit,
    windowMs,
    fits,
    missedAtReach,
    starving,
    fitsEveryMs,
    jobs: planned,
  } = planDay(due, accounts, service);
  // A slot of a job alone: what it costs, whatever else is due then.
  const callsOf = (name: string): number =>
    planDay(
      due.filter(({ job }) => job.name === name),
      accounts,
      service,
    ).callsPerPass;
  return {
    date,
    limit,
    windowMs,
    fits,
    missedAtReach,
    starving,
    fitsEveryMs,
    jobs: planned.map((job) => ({ ...job, calls: callsOf(job.job) })),
    ...lacksOf(jobs, chains, date),
    mostAMinute: mostAMinute(due, accounts, service),
  };
}
