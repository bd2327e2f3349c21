/** The sentences of `status`: what was read, as lines with a verdict. Pure. */
import type { BudgetUse } from "../archive/budgetUse.ts";
import type { Health } from "../archive/queries.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { ClockStep, LedgerSource } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { GOES_ON_MS, type LedgerStatus, someOf } from "./ledgerStatus.ts";
import { inNewYork, roughly } from "./durations.ts";
import type { Line } from "./statusTypes.ts";

/** The job that is due next, and when. */
type NextPoll = { job: string; at: Date };

/** @param calendar the exchange's, or that of a market which is always open; null: no slot within a year */
export function nextPollOf(jobs: readonly Job[], calendar: Calendar, now: Date): NextPoll | null {
  return jobs.reduce<NextPoll | null>((soonest, job) => {
    const at = scheduleJob(job, calendar).schedule.next(now);
    return at && (!soonest || at < soonest.at) ? { job: job.name, at } : soonest;
  }, null);
}

/**
 * What is polled.
 *
 * @param address null: the program's own simulated market
 * @param market what the newest answers call themselves
 */
export function marketLine(address: string | null, market: LedgerSource | null): Line {
  const itself =
    market === "simulated" ? "; the newest answers call themselves those of a SIMULATED market" : "";
  return {
    subject: "market",
    state: "ok",
    text: address === null ? "SIMULATED market" : `${address}${itself}`,
  };
}

/** When the next poll is due. */
export function nextLine(next: NextPoll | null, now: Date): Line {
  if (next === null) return { subject: "next poll", state: "idle", text: "none within a year" };
  const wait = roughly(next.at.getTime() - now.getTime());
  return { subject: "next poll", state: "ok", text: `${next.job} in ${wait}, at ${inNewYork(next.at)}` };
}

/**
 * How much of the budget is used. Our count is of the last window; the service's may be of a window that began later, and
 * is of what all programs of the account sent.
 */
export function budgetLine(
  { calls, serviceUsed, serviceLimit, otherCalls }: BudgetUse & { otherCalls: number },
  { limit, limitWindowMs }: { limit: number; limitWindowMs: number },
): Line {
  const window = limitWindowMs === 60_000 ? "the last minute" : `the last ${roughly(limitWindowMs)}`;
  const theirs = [
    ...(serviceLimit !== null && serviceLimit !== limit ? [`allows ${serviceLimit}`] : []),
    ...(serviceUsed === null ? [] : [`counts ${serviceUsed}`]),
  ].join(" and ");
  const later = (serviceUsed ?? calls) < calls ? " in a window of its own, which may have begun later" : "";
  const every = limitWindowMs === 60_000 ? "a minute" : `in ${roughly(limitWindowMs)}`;
  const others =
    otherCalls === 0 ? "" : `; another program uses about ${otherCalls} calls ${every} on this account`;
  return {
    subject: "budget",
    state: calls === 0 ? "idle" : "ok",
    text: `${calls} of ${limit} calls in ${window}${theirs && `; the service ${theirs}`}${later}${others}`,
  };
}

/** Misses that somebody can do something about; the others heal by themselves, or are somebody's decision. */
const MENDABLE = ["budget", "refused", "malformed", "unauthorized"];

/** The slots of the last day, and what the service does not know. */
export function ledgerLines({ due, missed, late, unknown }: LedgerStatus): Line[] {
  if (due === 0 && late.length === 0)
    return [{ subject: "slots", state: "idle", text: "none in the last day" }];
  const mendable = missed.filter(({ reason }) => MENDABLE.includes(reason));
  const reasons = missed.map((miss) => {
    const { reason, count, lastAt, goesOn } = miss;
    return `${count} ${reason}${mendable.includes(miss) ? when(lastAt, goesOn) : ""}`;
  });
  const counts = `${due} due in the last day, ${reasons.length > 0 ? `missed: ${reasons.join(", ")}` : "none missed"}`;
  const lateText = late.map(({ job, since }) => `${job} is late since ${inNewYork(since)}`).join(", ");
  const needsPerson = late.length > 0 || mendable.some(({ goesOn }) => goesOn);
  const text = late.length > 0 ? `${lateText}: is \`quotekeeper start\` running? ${counts}` : counts;
  const lines: Line[] = [{ subject: "slots", state: needsPerson ? "attention" : "ok", text }];
  if (unknown.length > 0) {
    lines.push({ subject: "unknown", state: "attention", text: `${someOf(unknown)}: mend the job files` });
  }
  return lines;
}

/** ` (last at 2026-11-20 10:12:00 New York)`, or ` (going on, last at ...)`. */
function when(lastAt: Date, goesOn: boolean): string {
  return ` (${goesOn ? "going on, " : ""}last at ${inNewYork(lastAt)})`;
}

/** How long `status` tells of a clock that was moved, and how long that needs a person, in ms. */
export const CLOCK_SAID_MS = 86_400_000;
const CLOCK_ALARM_MS = 3_600_000;

/** A clock that was set by less than this, in ms, needs no person: it was put right as clocks are. */
const CLOCK_ALARM_STEP_MS = 5_000;

const STEP_WORDS: Readonly<Record<ClockStep["kind"], string>> = {
  set_back: "set back by",
  set_forward: "set forward by",
  slept: "the machine slept for",
  stopped: "the program could not run (the machine was busy, or the program was stopped) for",
};

/** Steps that are told one by one; of more, the newest. */
const MOST_STEPS = 3;

/** What was amiss with the machine's clock in the last day, the newest first; no line when nothing was. */
export function clockLines(steps: readonly (ClockStep & { movedAt: Date })[], now: Date): Line[] {
  if (steps.length === 0) return [];
  const set = (kind: ClockStep["kind"]): boolean => kind === "set_back" || kind === "set_forward";
  const alarming = steps.some(
    ({ kind, stepMs, movedAt }) =>
      set(kind) &&
      Math.abs(stepMs) > CLOCK_ALARM_STEP_MS &&
      now.getTime() - movedAt.getTime() < CLOCK_ALARM_MS,
  );
  const said = steps
    .slice(0, MOST_STEPS)
    .map(
      ({ kind, stepMs, movedAt }) =>
        `${STEP_WORDS[kind]} ${roughly(Math.abs(stepMs))}${set(kind) ? " at" : ", until"} ${inNewYork(movedAt)}`,
    );
  const rest = steps.length - MOST_STEPS;
  const more = rest > 0 ? [`${rest} more in the table clock_steps`] : [];
  const remedy = alarming ? ": see to the machine's time service" : "";
  const text = `${[...said, ...more].join("; ")}${remedy}`;
  return [{ subject: "clock", state: alarming ? "attention" : "ok", text }];
}

/** Outcomes that somebody has to see to; a fault or a server's error now and then heals by itself. */
const NEEDS_A_PERSON = ["unauthorized", "refused", "malformed"];

/** The newest answers, and what of them could not be stored. */
export function answerLines(health: Health, now: Date): Line[] {
  const { lastAnswerAt, lastHour, lastOfOutcome } = health;
  if (lastAnswerAt === null) {
    const none: Line = { subject: "answers", state: "idle", text: "none yet" };
    return health.deadLettersToday > 0 ? [none, rowsLine(health)] : [none];
  }
  const minutes = Math.round((now.getTime() - Date.parse(lastAnswerAt)) / 60_000);
  const ago = minutes < 1 ? "under a minute" : minutes < 120 ? `${minutes} min` : roughly(minutes * 60_000);
  const wrong = NEEDS_A_PERSON.filter((outcome) => goesOn(lastOfOutcome[outcome], lastAnswerAt));
  const counts = Object.entries(lastHour).map(([outcome, count]) => {
    if (outcome === "quotes") return `${count} ${count === 1 ? "answer" : "answers"} with quotes`;
    const last = NEEDS_A_PERSON.includes(outcome) ? lastOfOutcome[outcome] : undefined;
    return `${count} ${outcome}${last === undefined ? "" : when(new Date(last), wrong.includes(outcome))}`;
  });
  return [
    {
      subject: "answers",
      state: wrong.length > 0 ? "attention" : "ok",
      text: `last ${ago} ago; in the last hour ${counts.join(", ") || "none"}`,
    },
    rowsLine(health),
  ];
}

function rowsLine({ deadLettersToday, lastDeadLetterAt, lastAnswerAt }: Health): Line {
  if (lastDeadLetterAt === null)
    return { subject: "rows", state: "ok", text: "no dead letters in the last day" };
  const going = goesOn(lastDeadLetterAt, lastAnswerAt ?? lastDeadLetterAt);
  const letters = deadLettersToday === 1 ? "1 dead letter" : `${deadLettersToday} dead letters`;
  return {
    subject: "rows",
    state: going ? "attention" : "ok",
    text: `${letters} in the last day${when(new Date(lastDeadLetterAt), going)}: see the table dead_letters`,
  };
}

/** Whether what was seen last at `at` was seen among the newest answers. */
function goesOn(at: string | undefined, newest: string): boolean {
  return at !== undefined && Date.parse(at) > Date.parse(newest) - GOES_ON_MS;
}
