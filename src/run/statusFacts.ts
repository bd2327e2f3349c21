/** The sentences of `status`: what was read, as lines with a verdict. Pure. */
import type { marketOf } from "../accounts/account.ts";
import type { AccountAnswers, Health } from "../archive/ask/queries.ts";
import { createSchedule } from "../schedule/slots.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { ClockStep, LedgerSource } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { readGuesses } from "./didYouMean.ts";
import { inNewYork, roughly } from "./durations.ts";
import type { AccountStatus, Line, StatusReport } from "./statusTypes.ts";
import type pg from "pg";
import { type JobMisses, readSlotsSince, readUnknownInstruments } from "../archive/ledger/coverageRows.ts";
import { counted, thousands } from "../figures.ts";

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
 * @param market what the newest answers call themselves
 */
export function marketLine(
  { simulated, address }: ReturnType<typeof marketOf>,
  market: LedgerSource | null,
): Line {
  const itself =
    market === "simulated" ? "; the newest answers call themselves those of a SIMULATED market" : "";
  return {
    subject: "market",
    state: "ok",
    text: simulated
      ? "SIMULATED market"
      : `${address ?? "not known, because the accounts cannot be read"}${itself}`,
  };
}

/** When the next poll is due. */
export function nextLine(next: NextPoll | null, now: Date): Line {
  if (next === null) return { subject: "next poll", state: "idle", text: "none within a year" };
  const wait = roughly(next.at.getTime() - now.getTime());
  return { subject: "next poll", state: "ok", text: `${next.job} in ${wait}, at ${inNewYork(next.at)}` };
}

/** What all accounts have used, and may. Of the service's counts that not all have there is no sum. */
export function budgetOf(accounts: readonly AccountStatus[]): StatusReport["budget"] {
  if (accounts.length === 0) return null;
  const sum = (key: "calls" | "limit" | "otherCalls"): number =>
    accounts.reduce((total, account) => total + account[key], 0);
  const sumOfAll = (key: "serviceUsed" | "serviceLimit" | "serviceRemaining"): number | null =>
    accounts.reduce<number | null>(
      (total, { [key]: one }) => (total === null || one === null ? null : total + one),
      0,
    );
  return {
    ...{ calls: sum("calls"), limit: sum("limit"), otherCalls: sum("otherCalls") },
    windowMs: Math.max(...accounts.map(({ windowMs }) => windowMs)),
    serviceUsed: sumOfAll("serviceUsed"),
    serviceLimit: sumOfAll("serviceLimit"),
    serviceRemaining: sumOfAll("serviceRemaining"),
  };
}

/**
 * How much of the budget is used. Our count is of the last window; the service's may be of a window that began later, and
 * is of what all programs of the account sent.
 */
export function budgetLine({
  calls,
  limit,
  windowMs,
  serviceUsed,
  serviceLimit,
  otherCalls,
}: NonNullable<StatusReport["budget"]>): Line {
  const window = windowMs === 60_000 ? "the last minute" : `the last ${roughly(windowMs)}`;
  const theirs = [
    ...(serviceLimit !== null && serviceLimit !== limit ? [`allows ${serviceLimit}`] : []),
    ...(serviceUsed === null ? [] : [`counts ${serviceUsed}`]),
  ].join(" and ");
  const later = (serviceUsed ?? calls) < calls ? " in a window of its own, which may have begun later" : "";
  const every = windowMs === 60_000 ? "a minute" : `in ${roughly(windowMs)}`;
  const others =
    otherCalls === 0
      ? ""
      : `; another program uses about ${counted(otherCalls, "call")} ${every} on this account`;
  return {
    subject: "budget",
    state: calls === 0 ? "idle" : "ok",
    text: `${thousands(calls)} of ${counted(limit, "call")} in ${window}${theirs && `; the service ${theirs}`}${later}${others}`,
  };
}

/** The budget, and what several accounts do with it: each says itself what others do on it. */
export function budgetLines(accounts: readonly AccountStatus[]): Line[] {
  const budget = budgetOf(accounts);
  if (budget === null) return [];
  if (accounts.length === 1) return [budgetLine(budget)];
  return [budgetLine({ ...budget, otherCalls: 0 }), accountsLine(accounts)];
}

/** A limit that is used up is what it is for; misses for it need a person. */
function accountsLine(accounts: readonly AccountStatus[]): Line {
  const markets = new Set(accounts.flatMap(({ market }) => market ?? []));
  const told = accounts.map((account) => {
    const { name, state, calls, limit, windowMs, otherCalls } = account;
    const every = windowMs === 60_000 ? "a minute" : `in ${roughly(windowMs)}`;
    const troubles = [
      ...(state === "refused" ? ["REFUSED by the service: check its credentials"] : []),
      ...(account.outOfBudget ? ["out of budget"] : []),
      ...(markets.size > 1 && account.market === "simulated"
        ? ["answers for a SIMULATED market, unlike others"]
        : []),
      ...(otherCalls > 0 ? [`another program uses about ${counted(otherCalls, "call")} ${every} on it`] : []),
    ];
    const notes = [...(state === "drained" ? ["drained"] : []), ...troubles];
    const text = `${name} ${calls} of ${limit}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`;
    return { text, troubled: troubles.length > 0 };
  });
  const attention = told.some(({ troubled }) => troubled);
  const text = `${told.map((one) => one.text).join(", ")} calls`;
  return { subject: "accounts", state: attention ? "attention" : "ok", text };
}

/** Misses that somebody can do something about; the others heal by themselves, or are somebody's decision. */
const MENDABLE = ["budget", "refused", "malformed", "unauthorized"];

/** The slots of the last day, and what the service does not know. */
export function ledgerLines({ due, missed, late, unknown, guesses }: LedgerStatus): Line[] {
  if (due === 0 && late.length === 0)
    return [{ subject: "slots", state: "idle", text: "none in the last day" }];
  const mendable = missed.filter(({ reason }) => MENDABLE.includes(reason));
  const reasons = missed.map((miss) => {
    const { reason, count, lastAt, goesOn } = miss;
    return `${thousands(count)} ${reason}${mendable.includes(miss) ? when(lastAt, goesOn) : ""}`;
  });
  const counts = `${thousands(due)} due in the last day, ${reasons.length > 0 ? `missed: ${reasons.join(", ")}` : "none missed"}`;
  const lateText = late.map(({ job, since }) => `${job} is late since ${inNewYork(since)}`).join(", ");
  const needsPerson = late.length > 0 || mendable.some(({ goesOn }) => goesOn);
  const text = late.length > 0 ? `${lateText}: is \`quotekeeper start\` running? ${counts}` : counts;
  const lines: Line[] = [{ subject: "slots", state: needsPerson ? "attention" : "ok", text }];
  if (unknown.length > 0) {
    const names = someOf(unknown.map((name) => `${name}${guesses?.get(name) ?? ""}`));
    const says = `the service does not know ${names}: correct the job files`;
    lines.push({ subject: "unknown", state: "attention", text: says });
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

/**
 * The newest answers, and what of them could not be stored.
 *
 * @param ofAccounts with several accounts: those that somebody has to see to are said to be whose
 */
export function answerLines(health: Health, now: Date, ofAccounts: readonly AccountAnswers[] = []): Line[] {
  const { lastAnswerAt, lastHour, lastOfOutcome } = health;
  if (lastAnswerAt === null) {
    const none: Line = { subject: "answers", state: "idle", text: "none yet" };
    return health.deadLettersToday > 0 ? [none, rowsLine(health)] : [none];
  }
  const minutes = Math.round((now.getTime() - Date.parse(lastAnswerAt)) / 60_000);
  const ago = minutes < 1 ? "under a minute" : minutes < 120 ? `${minutes} min` : roughly(minutes * 60_000);
  const wrong = NEEDS_A_PERSON.filter((outcome) => goesOn(lastOfOutcome[outcome], lastAnswerAt));
  const counts = Object.entries(lastHour).map(([outcome, count]) => {
    if (outcome === "quotes") return `${counted(count, "answer")} with quotes`;
    const last = NEEDS_A_PERSON.includes(outcome) ? lastOfOutcome[outcome] : undefined;
    const whose = ofAccounts.filter((one) => one.outcome === outcome).map(({ account }) => account);
    const of = last === undefined || whose.length === 0 ? "" : ` of ${someOf([...new Set(whose)].sort())}`;
    return `${thousands(count)} ${outcome}${of}${last === undefined ? "" : when(new Date(last), wrong.includes(outcome))}`;
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
  const letters = counted(deadLettersToday, "dead letter");
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

// What `status` says of the ledger: slots of the last day, jobs that are late, instruments nobody knows.

/** How often something was missed for one reason, the newest slot at which it was, and whether that goes on. */
type Missed = { reason: string; count: number; lastAt: Date; goesOn: boolean };

/** The ledger in a few words. */
export type LedgerStatus = {
  /** Instruments due in the last day, and those of them that were missed, the most frequent reason first. */
  due: number;
  missed: Missed[];
  /** Jobs whose slots have passed without an entry, and since when. */
  late: { job: string; since: Date }[];
  /** Instruments that the service did not know when it was last asked. */
  unknown: string[];
  /** What stands behind their names, as `readGuesses` has it. */
  guesses?: ReadonlyMap<string, string>;
};

/**
 * What went wrong this long before the newest slot of its job, or before the newest answer, still goes on, in ms. Less
 * would let a job that is in trouble every ten minutes look well in between.
 */
const GOES_ON_MS = 15 * 60_000;

/** A slot has this long to be settled and loaded before its job counts as late, in ms. */
const SETTLING_MS = 3 * 60_000;

/** Names of instruments that are listed; more are counted. */
const MOST_NAMES = 8;

/**
 * @param source the market that is polled
 * @param calendar null when lateness means nothing: the program's own simulated market runs only while `start` does
 */
export async function readLedgerStatus(
  pool: pg.Pool,
  jobs: readonly Job[],
  { source, calendar, now }: { source: LedgerSource; calendar: Calendar | null; now: Date },
): Promise<LedgerStatus & { missedOf: (account: string) => Missed[] }> {
  const names = jobs.map(({ name }) => name);
  const since = new Date(now.getTime() - 86_400_000);
  const { due, misses, newest } = await readSlotsSince(pool, { jobs: names, source, since });
  const late =
    calendar === null ? [] : jobs.flatMap((job) => lateJob(job, newest.get(job.name), { calendar, now }));
  const unknown = await readUnknownInstruments(pool, names, source);
  const missedOf = (account: string): Missed[] =>
    missedBy(
      misses.filter((miss) => miss.account === account),
      newest,
    );
  const guesses = await readGuesses(pool, unknown);
  return { due, missed: missedBy(misses, newest), missedOf, late, unknown, guesses };
}

/**
 * Misses by reason. They go on while the newest slots of a job have them; those of a job that is no longer there do not.
 *
 * @param newest the newest slot of each job
 */
export function missedBy(
  misses: readonly Omit<JobMisses, "account">[],
  newest: ReadonlyMap<string, Date>,
): Missed[] {
  const byReason = new Map<string, Missed>();
  for (const { job, reason, count, lastAt } of misses) {
    const goesOn = lastAt.getTime() > (newest.get(job)?.getTime() ?? Infinity) - GOES_ON_MS;
    const before = byReason.get(reason) ?? { reason, count: 0, lastAt, goesOn: false };
    byReason.set(reason, {
      reason,
      count: before.count + count,
      lastAt: lastAt > before.lastAt ? lastAt : before.lastAt,
      goesOn: before.goesOn || goesOn,
    });
  }
  return [...byReason.values()].sort((a, b) => b.count - a.count);
}

/** A job that was never in the ledger is new, not late. */
function lateJob(
  job: Job,
  newest: Date | undefined,
  { calendar, now }: { calendar: Calendar; now: Date },
): LedgerStatus["late"] {
  if (!newest) return [];
  const { schedule: cron, timezone, session } = job;
  const schedule = createSchedule({ cron, timezone, session, calendar });
  const since = schedule.next(newest);
  const settledBy = since && (schedule.next(since)?.getTime() ?? since.getTime()) + SETTLING_MS;
  return since && settledBy !== null && settledBy < now.getTime() ? [{ job: job.name, since }] : [];
}

/** `AAPL, MSFT and 3 more`. */
function someOf(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
