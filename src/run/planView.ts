/** The plan that the dashboard shows. Pure: it is made in a thread of its own (planThread.ts). */
import type { Sharer } from "../accounts/partition.ts";
import { ChainBook } from "../collect/chainBook.ts";
import { dueOn, mostAMinute, planDay, withOneMoreSymbol } from "../collect/dayPlan.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { PlanView } from "../web/api/types.ts";

/** What is planned: plain data, which may go from one thread to another. */
export type PlanRequest = {
  jobs: readonly Job[];
  calendar: readonly CalendarOverride[];
  accounts: readonly Sharer[];
  /** Last prices of the underlyings that chains hang on, decimal text by symbol. */
  prices: readonly (readonly [symbol: string, last: string])[];
  date: string;
};

/** Batches that are shown. */
const MOST_BATCHES = 150;

const MINUTE_MS = 60_000;

export function planView({ jobs, calendar: overrides, accounts, prices, date }: PlanRequest): PlanView {
  const calendar = createCalendar(overrides);
  // A chain that is broken is told of by the collector.
  const chains = new ChainBook(calendar, () => undefined);
  chains.price(prices);
  const due = jobs.flatMap((job) => dueOn(job, date, { calendar, chains }));
  const {
    slots,
    batches,
    fullPassMs: _pass,
    withOneMore: _more,
    unasked: _unasked,
    ...plan
  } = planDay(due, accounts);
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
    priceless: [...new Set(jobs.flatMap((job) => chains.expand(job, date).priceless))],
    mostAMinute: mostAMinute(due, accounts),
    oneMore: jobs.map(({ name }) => ({
      job: name,
      mostAMinute: mostAMinute(withOneMoreSymbol(due, name), accounts),
    })),
  };
}
