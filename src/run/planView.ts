/** The plan that the dashboard shows. Pure: it is made in a thread of its own (planThread.ts). */
import type { Sharer } from "../accounts/partition.ts";
import type { PlannedService } from "../collect/budgetPlan.ts";
import { dueNames } from "../collect/asks.ts";
import { ChainBook } from "../collect/chainBook.ts";
import { dueOn, lacksOf, mostAMinute, planDay, withOneMoreSymbol } from "../collect/dayPlan.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { KnownOfChains } from "../market/optionChain.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { PlanView } from "../web/api/types.ts";

/** What is planned: plain data, which may go from one thread to another. */
export type PlanRequest = {
  jobs: readonly Job[];
  calendar: readonly CalendarOverride[];
  accounts: readonly Sharer[];
  service: PlannedService;
  known: KnownOfChains;
  date: string;
};

/** Batches that are shown. */
const MOST_BATCHES = 150;

const MINUTE_MS = 60_000;

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
    slots,
    batches,
    fullPassMs: _pass,
    withOneMore: _more,
    unasked: _unasked,
    ...plan
  } = planDay(due, accounts, service);
  const minutes = new Map<number, number>();
  for (const { at, calls } of slots) {
    const minute = Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS;
    minutes.set(minute, (minutes.get(minute) ?? 0) + calls);
  }
  return {
    ...plan,
    date,
    minutes: [...minutes].map(([ms, calls]) => ({ at: new Date(ms).toISOString(), calls })),
    batches: batches.slice(0, MOST_BATCHES),
    accounts: plan.accounts.map(({ name, limit, windowMs, callsPerPass, fits }) => {
      return { name, limit, windowMs, callsPerPass, fits };
    }),
    ...lacksOf(jobs, chains, date),
    mostAMinute: mostAMinute(due, accounts, service),
    oneMore: jobs.map(({ name }) => ({
      job: name,
      mostAMinute: mostAMinute(withOneMoreSymbol(due, name), accounts, service),
    })),
  };
}
