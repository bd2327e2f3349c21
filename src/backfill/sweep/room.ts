/** The room that a sweep has beside the running schedule: what the job files need is not its own. Pure. */
import { ChainBook } from "../../collect/chainBook.ts";
import type { GovernorConfig } from "../../collect/governor/governor.ts";
import { LOOK_AHEAD_WINDOWS, reservedCalls, shareOf, slotCosts, timeFor } from "../../collect/reserve.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import type { KnownOfChains } from "../../market/optionChain.ts";
import { scheduleJob } from "../../schedule/jobSchedule.ts";
import type { JobsReport } from "../../schedule/readJobs.ts";

export type Room = {
  /** Calls that a window allows, and its length. */
  limit: number;
  windowMs: number;
  collecting: boolean;
  /** Calls a window that its job files need at the moment, and those kept free, a few to spare included; 0: it has none. */
  reserved: number;
  kept: number;
  /** How long so many calls take from `at` on, in ms; null when they do not leave within days. */
  timeFor: (calls: number, at: Date) => number | null;
};

/** How far the schedule is looked ahead, in ms: over a long weekend. */
const HORIZON_MS = 5 * 86_400_000;

/** All of the limit: nobody is known beside. */
export function allRoom({ limit, windowMs }: GovernorConfig): Room {
  const timeFor = (calls: number): number => (calls * windowMs) / limit;
  return { limit, windowMs, collecting: false, reserved: 0, kept: 0, timeFor };
}

/** What the schedule of a collector that runs beside leaves. @param known what its chains are counted by. @param batchSize symbols in one call */
export function roomBeside(
  { limit, windowMs }: GovernorConfig,
  { jobs, calendar: overrides }: Pick<JobsReport, "jobs" | "calendar">,
  { known, batchSize, now }: { known: KnownOfChains; batchSize: number; now: Date },
): Room {
  const calendar = createCalendar(overrides);
  const chains = new ChainBook(calendar, () => undefined);
  chains.know(known);
  const untilMs = now.getTime() + HORIZON_MS;
  const costs = slotCosts(
    jobs.map((job) => scheduleJob(job, calendar)),
    chains,
    {
      after: new Date(now.getTime() - windowMs),
      until: new Date(untilMs + LOOK_AHEAD_WINDOWS * windowMs),
      batchSize,
    },
  );
  const reserved = reservedCalls(costs, now.getTime(), windowMs);
  return {
    limit,
    windowMs,
    collecting: true,
    reserved,
    kept: limit - shareOf({ limit }, reserved),
    timeFor: (calls, at) => timeFor(calls, costs, { limit, windowMs, atMs: at.getTime(), untilMs }),
  };
}
