/** What the jobs cost over one exchange date, for all accounts: for `quotekeeper plan` and for the dashboard. Pure. */
import type { Sharer } from "../accounts/partition.ts";
import { instantFromDate } from "../ground/clock.ts";
import { addDays, exchangeDate, exchangeInstant } from "../market/calendar/dates.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import type { Chain } from "../market/optionChain.ts";
import type { Job } from "../schedule/readJobs.ts";
import { remembered } from "../ground/remembered.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import type { DueJob } from "./asks.ts";
import {
  type BudgetPlan,
  callsByMinute,
  planAccounts,
  planBudget,
  type PlannedService,
} from "./budgetPlan.ts";
import type { ChainBook } from "./chainBook.ts";

const LOOK_AHEAD_DAYS = 14;

const DAY_MS = 86_400_000;

type PlanPart = Pick<BudgetPlan, "callsPerPass" | "passMs" | "fits" | "missedAtReach" | "starving">;

const partOf = ({ callsPerPass, passMs, fits, missedAtReach, starving }: BudgetPlan): PlanPart => ({
  callsPerPass,
  passMs,
  fits,
  missedAtReach,
  starving,
});

/** The plan of a day. Of several accounts the limit is the sum, and the window the longest. */
export type DayPlan = BudgetPlan & {
  limit: number;
  windowMs: number;
  accounts: (Sharer & PlanPart & { callsADay: number })[];
  /** All of it with one more account of the service's limit; null where there is but one account. */
  withOneMore: PlanPart | null;
  unasked: string[];
};

/** The plan of all accounts. One that asks for everything needs no shares, and no second reckoning. */
export function planDay(
  due: readonly DueJob[],
  accounts: readonly Sharer[],
  service: PlannedService,
): DayPlan {
  const [only, ...others] = accounts;
  const isAlone =
    others.length === 0 && due.every(({ job: { account = only?.name } }) => account === only?.name);
  const plan = only && isAlone ? planAlone(due, only, service) : planAccounts(due, accounts, service);
  return {
    ...plan.total,
    limit: accounts.reduce((sum, { limit }) => sum + limit, 0),
    windowMs: Math.max(...accounts.map(({ windowMs }) => windowMs)),
    accounts: accounts.map(({ name, limit, windowMs }, place) => {
      const own = plan.accounts[place]?.plan ?? plan.total;
      const callsADay = own.slots.reduce((sum, { calls }) => sum + calls, 0);
      return { name, limit, windowMs, ...partOf(own), callsADay };
    }),
    withOneMore: plan.withOneMore && partOf(plan.withOneMore),
    unasked: plan.unasked,
  };
}

function planAlone(due: readonly DueJob[], { name, ...limit }: Sharer, { batchSize }: PlannedService) {
  const plan = planBudget(due, limit, batchSize);
  return { total: plan, accounts: [{ account: name, plan }], withOneMore: null, unasked: [] };
}

export function nextSession(calendar: Calendar, now: Date): string {
  const today = exchangeDate(now);
  const last = new Date(now.getTime() + LOOK_AHEAD_DAYS * DAY_MS);
  const sessions = calendar.sessions(today, exchangeDate(last));
  return sessions.find(({ post }) => post > now)?.date ?? today;
}

export function dueOn(
  job: Job,
  date: string,
  { calendar, chains }: { calendar: Calendar; chains: ChainBook },
): DueJob[] {
  const { schedule } = scheduleJob(job, calendar);
  // Until the session closes and after it: the slots of each share their lists.
  const polledOn = remembered(2, (today: string) => chains.asked(job, today));
  const [begins, ends] = [exchangeInstant(date, "00:00"), exchangeInstant(addDays(date, 1), "00:00")];
  return schedule.slotsBetween(new Date(begins.getTime() - 1), new Date(ends.getTime() - 1)).map((slot) => ({
    job,
    slotAt: instantFromDate(slot),
    ...schedule.endOf(slot),
    ...polledOn(chains.contractDate(slot)),
  }));
}

/** Underlyings whose chains cannot be counted on a day, for want of a price or of a list of expirations. */
export function lacksOf(
  jobs: readonly Job[],
  chains: ChainBook,
  day: string,
): { priceless: string[]; unlisted: string[] } {
  // Those that are listed for their open interest alone stand for no contract: nothing of them is left to count.
  const counted = (job: Job): Chain[] => job.chains.filter(({ types }) => types.length > 0);
  const found = jobs.map((job) => chains.expand({ ...job, chains: counted(job) }, day));
  return {
    priceless: [...new Set(found.flatMap(({ priceless }) => priceless))],
    unlisted: [...new Set(found.flatMap(({ unlisted }) => unlisted.map(({ underlying }) => underlying)))],
  };
}

export const mostAMinute = (
  due: readonly DueJob[],
  accounts: readonly Sharer[],
  { batchSize }: Pick<PlannedService, "batchSize">,
): number => Math.max(0, ...callsByMinute(due, accounts, batchSize).values());
