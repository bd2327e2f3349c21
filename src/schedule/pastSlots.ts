/** When the slots of the ledger were over: by `slotEnd.ts`, as far as the job files and the ledger still tell. Pure. */
import { alwaysOpen, type Calendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "./jobSchema.ts";
import { slotEnds } from "./slotEnd.ts";
import { scheduleJob } from "./jobSchedule.ts";

/** A slot of the ledger, and its neighbours of the same job there; epoch ms UTC, null: there is none. */
type PastSlot = {
  job: string;
  /** Whether its market never closes. */
  simulated: boolean;
  slotMs: number;
  previousMs: number | null;
  nextMs: number | null;
};

/** Assumed: a slot that nothing tells the length of, as its job is gone and has no other slot, lasts a minute, in ms. */
const LONE_SLOT_MS = 60_000;

/**
 * The ends of slots of the ledger, epoch ms UTC. A slot that is not in its job's schedule, because the file is gone or
 * was changed, lasts until the next one in the ledger (the last one as long as the one before it), in the part of the
 * trading day in which it lies.
 *
 * @param jobs what the job files say now
 */
export function pastSlotEnds(jobs: readonly Job[], exchange: Calendar): (slot: PastSlot) => number {
  const marketOf = (calendar: Calendar) => ({
    calendar,
    jobs: new Map(jobs.map((job) => [job.name, scheduleJob(job, calendar).schedule])),
    ends: {
      pre: slotEnds(calendar, "pre"),
      regular: slotEnds(calendar, "regular"),
      post: slotEnds(calendar, "post"),
      closed: slotEnds(calendar, "always"),
    },
  });
  const markets = { simulated: marketOf(alwaysOpen), exchange: marketOf(exchange) };
  return ({ job, simulated, slotMs, previousMs, nextMs }) => {
    const market = simulated ? markets.simulated : markets.exchange;
    const slot = new Date(slotMs);
    const schedule = market.jobs.get(job);
    if (schedule?.slotsBetween(new Date(slotMs - 1), slot).length === 1)
      return Math.min(schedule.endOf(slot).deadlineMs, nextMs ?? Infinity);
    const asBefore = previousMs === null ? LONE_SLOT_MS : slotMs - previousMs;
    return market.ends[market.calendar.phaseAt(slot)](slotMs, nextMs ?? slotMs + asBefore).deadlineMs;
  };
}
