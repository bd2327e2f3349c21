/** The sentences of `status`: what was read, as lines with a verdict. Pure. */
import type { BudgetUse } from "../../archive/budgetUse.ts";
import type { Health } from "../../archive/queries.ts";
import { scheduleJob } from "../../collect/jobSchedule.ts";
import type { Job } from "../../config/jobs/readJobs.ts";
import type { Calendar } from "../../market/calendar/calendar.ts";
import { type LedgerStatus, someOf } from "./ledgerStatus.ts";
import { roughly, shortUtc } from "./spans.ts";
import type { Line } from "./statusTypes.ts";

/** The job that is due next, and when. */
export type NextPoll = { job: string; at: Date };

/** @param calendar the exchange's, or that of a market which is always open; null: no slot within a year */
export function nextPollOf(jobs: readonly Job[], calendar: Calendar, now: Date): NextPoll | null {
  return jobs.reduce<NextPoll | null>((soonest, job) => {
    const at = scheduleJob(job, calendar).schedule.next(now);
    return at && (!soonest || at < soonest.at) ? { job: job.name, at } : soonest;
  }, null);
}

/** When the next poll is due. */
export function nextLine(next: NextPoll | null, now: Date): Line {
  if (next === null) return { subject: "next poll", state: "idle", text: "none within a year" };
  const wait = roughly(next.at.getTime() - now.getTime());
  return { subject: "next poll", state: "ok", text: `${next.job} in ${wait}, at ${shortUtc(next.at)} UTC` };
}

/** How much of the budget is used. */
export function budgetLine(
  { calls, serviceUsed, serviceLimit }: BudgetUse,
  { limit, limitWindowMs }: { limit: number; limitWindowMs: number },
): Line {
  const window = limitWindowMs === 60_000 ? "the last minute" : `the last ${roughly(limitWindowMs)}`;
  const theirs =
    serviceUsed === null
      ? ""
      : `; the service counts ${serviceUsed}${serviceLimit && serviceLimit !== limit ? ` of ${serviceLimit}` : ""}`;
  return {
    subject: "budget",
    state: calls === 0 ? "idle" : "ok",
    text: `${calls} of ${limit} calls in ${window}${theirs}`,
  };
}

/** Misses that somebody can do something about; the others heal by themselves, or are somebody's decision. */
const MENDABLE = ["budget", "refused", "malformed", "unauthorized"];

/** The slots of the last day, and what the service does not know. */
export function ledgerLines({ due, missed, late, unknown }: LedgerStatus): Line[] {
  if (due === 0 && late.length === 0)
    return [{ subject: "slots", state: "idle", text: "none in the last day" }];
  const reasons = Object.entries(missed).map(([reason, count]) => `${count} ${reason}`);
  const counts = `${due} due in the last day, ${reasons.length > 0 ? `missed: ${reasons.join(", ")}` : "none missed"}`;
  const lateText = late
    .map(({ job, since }) => `${job} is late since ${since.toISOString().slice(0, 16)}Z`)
    .join(", ");
  const needsPerson = late.length > 0 || MENDABLE.some((reason) => (missed[reason] ?? 0) > 0);
  const text = late.length > 0 ? `${lateText}: is \`quotekeeper start\` running? ${counts}` : counts;
  const lines: Line[] = [{ subject: "slots", state: needsPerson ? "attention" : "ok", text }];
  if (unknown.length > 0) {
    lines.push({ subject: "unknown", state: "attention", text: `${someOf(unknown)}: mend the job files` });
  }
  return lines;
}

/** Outcomes that somebody has to see to; a fault or a server's error now and then heals by itself. */
const NEEDS_A_PERSON = ["unauthorized", "refused", "malformed"];

/** The newest answers, and what of them could not be stored. */
export function answerLines({ lastAnswerAt, lastHour, deadLettersToday }: Health, now: Date): Line[] {
  if (lastAnswerAt === null) return [{ subject: "answers", state: "idle", text: "none yet" }];
  const minutes = Math.round((now.getTime() - Date.parse(lastAnswerAt)) / 60_000);
  const ago = minutes < 1 ? "under a minute" : minutes < 120 ? `${minutes} min` : roughly(minutes * 60_000);
  const counts = Object.entries(lastHour).map(([outcome, count]) => `${count} ${outcome}`);
  const wrong = NEEDS_A_PERSON.filter((outcome) => (lastHour[outcome] ?? 0) > 0);
  return [
    {
      subject: "answers",
      state: wrong.length > 0 ? "attention" : "ok",
      text: `last ${ago} ago; in the last hour ${counts.join(", ") || "none"}`,
    },
    {
      subject: "rows",
      state: deadLettersToday > 0 ? "attention" : "ok",
      text:
        deadLettersToday > 0
          ? `${deadLettersToday} dead letters in the last day: see the table dead_letters`
          : "no dead letters in the last day",
    },
  ];
}
