/** The slots of a job, with an end: a slot lasts until the next one comes, or its session closes. Pure. */
import type { Job } from "./readJobs.ts";
import type { Calendar, WantedSession } from "../market/calendar/tradingCalendar.ts";
import { exchangeDate } from "../market/calendar/dates.ts";
import { createSchedule, NEXT_HORIZON_DAYS, type Schedule } from "./slots.ts";

/** When a slot is over, epoch ms, and whether because its session closes. */
type SlotEnd = { deadlineMs: number; closes: boolean };

/** When a job is due, and for how long. */
export type JobSchedule = Schedule & {
  /** When a slot is over; Infinity when no other one comes. */
  endOf: (slot: Date) => SlotEnd;
  /** The slot that lasts at an instant; null when there is none. */
  current: (at: Date) => Date | null;
};

/** A job and when it is due. */
export type ScheduledJob = { job: Job; schedule: JobSchedule };

const DAY_MS = 86_400_000;

/** How far back a slot that still lasts is looked for, in steps: most slots are young. */
const LOOK_BACK_DAYS = [1 / 24, 1, 8, NEXT_HORIZON_DAYS];

/** @throws SCHEDULE_INVALID for a schedule or a zone that is none */
export function scheduleJob(job: Job, calendar: Calendar): ScheduledJob {
  const { schedule: cron, timezone, session } = job;
  const schedule = createSchedule({ cron, timezone, session, calendar });
  const endOf = (slot: Date): SlotEnd => {
    const nextMs = schedule.next(slot)?.getTime() ?? Infinity;
    const closesMs = sessionEndMs(calendar, session, slot);
    return closesMs <= nextMs
      ? { deadlineMs: closesMs, closes: closesMs < Infinity }
      : { deadlineMs: nextMs, closes: false };
  };
  const current = (at: Date): Date | null => {
    for (const days of LOOK_BACK_DAYS) {
      const slot = schedule.slotsBetween(new Date(at.getTime() - days * DAY_MS), at).at(-1);
      if (slot) return endOf(slot).deadlineMs > at.getTime() ? slot : null;
    }
    return null;
  };
  return { job, schedule: { ...schedule, endOf, current } };
}

/** When the session that a job wants ends after one of its slots, epoch ms; Infinity when it goes on. */
function sessionEndMs(calendar: Calendar, wanted: WantedSession, slot: Date): number {
  if (wanted === "always") return Infinity;
  const session = calendar.session(exchangeDate(slot));
  if (!session) return Infinity;
  const { open, close, post } = session;
  const end = { pre: open, regular: close, post, any: post }[wanted];
  return end <= slot || calendar.isOpenFor(wanted, end) ? Infinity : end.getTime();
}
