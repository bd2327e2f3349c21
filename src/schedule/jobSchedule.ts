/** The slots of a job, each with its end (slotEnd.ts). Pure. */
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "./jobSchema.ts";
import { LONGEST_SLOT_MS, type SlotEnd, slotEnds } from "./slotEnd.ts";
import { createSchedule, type Schedule } from "./slots.ts";

export type JobSchedule = Schedule & {
  /** When a slot is over. @param next the slot after it, where the caller knows it */
  endOf: (slot: Date, next?: Date) => SlotEnd;
  /** The slot that lasts at an instant; null when there is none. */
  current: (at: Date) => Date | null;
};

export type ScheduledJob = { job: Job; schedule: JobSchedule };

/** How far back a slot that still lasts is looked for, in ms: most slots are young. */
const LOOK_BACK_MS = [3_600_000, LONGEST_SLOT_MS];

/** @throws SCHEDULE_INVALID for a schedule or a zone that is none */
export function scheduleJob(job: Job, calendar: Calendar): ScheduledJob {
  const { schedule: cron, timezone, session } = job;
  const schedule = createSchedule({ cron, timezone, session, calendar });
  const end = slotEnds(calendar, session);
  const endOf = (slot: Date, next?: Date): SlotEnd =>
    end(slot.getTime(), (next ?? schedule.next(slot))?.getTime() ?? Infinity);
  const current = (at: Date): Date | null => {
    for (const backMs of LOOK_BACK_MS) {
      const slot = schedule.slotsBetween(new Date(at.getTime() - backMs), at).at(-1);
      if (slot) return endOf(slot).deadlineMs > at.getTime() ? slot : null;
    }
    return null;
  };
  return { job, schedule: { ...schedule, endOf, current } };
}
