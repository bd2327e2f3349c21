/** The sentences of `status`: what was read, as lines with a verdict. Pure. */
import { isPolled } from "./collectorStatus.ts";
import { isAmongNewest, unmended } from "./goesOn.ts";
import { MOST_NAMES, when } from "./ledgerStatus.ts";
import type { marketOf } from "../accounts/account.ts";
import type { AccountAnswers, Health } from "../archive/ask/queries.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import type { Job } from "../schedule/readJobs.ts";
import type { ClockStep, LedgerSource } from "../journal/ledger.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { inNewYork, roughly } from "../market/durations.ts";
import type { AccountStatus, Line, StatusReport } from "./statusJson.ts";
import { counted, thousands, someNames } from "../ground/figures.ts";

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
  { simulated, words, note }: Pick<ReturnType<typeof marketOf>, "simulated" | "words" | "note">,
  market: LedgerSource | null,
): Line {
  const itself =
    market === "simulated" ? "; the newest answers call themselves those of a SIMULATED market" : "";
  return {
    subject: "market",
    state: "ok",
    text: simulated
      ? "SIMULATED market"
      : `${words ?? "not known, because the accounts cannot be read"}${note === null ? "" : `; ${note}`}${itself}`,
  };
}

/** @param state of the collector: a slot that none polls is no poll */
export function nextLine(
  next: NextPoll | null,
  collector: Pick<StatusReport["collector"], "state">,
  now: Date,
): Line {
  const line = (its: Line["state"], text: string): Line => ({ subject: "next poll", state: its, text });
  if (next === null) return line("idle", "none within a year");
  const wait = roughly(next.at.getTime() - now.getTime());
  const due = `${next.job} in ${wait}, at ${inNewYork(next.at)}`;
  if (isPolled(collector)) return line("ok", due);
  return line(
    "idle",
    `${collector.state === "unknown" ? "not known" : "none, for no collector runs"}; due: ${due}`,
  );
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
    calls: sum("calls"),
    limit: sum("limit"),
    otherCalls: sum("otherCalls"),
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
function budgetLine(budget: NonNullable<StatusReport["budget"]>): Line {
  const { calls, limit, windowMs, serviceUsed, serviceLimit, otherCalls } = budget;
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
export const NEEDS_A_PERSON: readonly string[] = ["unauthorized", "refused", "malformed"];

/**
 * The newest answers, and what of them could not be stored.
 *
 * @param words what the service said last, by outcome
 * @param ofAccounts those of the last hour: with several accounts, those that somebody has to see to are said to be whose
 */
export function answerLines(
  health: Health,
  now: Date,
  { answers: ofAccounts, words = {} }: { answers: readonly AccountAnswers[]; words?: Record<string, string> },
): Line[] {
  const { lastAnswerAt, lastHour, lastOfOutcome } = health;
  if (lastAnswerAt === null) {
    const none: Line = { subject: "answers", state: "idle", text: "none yet" };
    return health.deadLettersToday > 0 ? [none, rowsLine(health)] : [none];
  }
  const minutes = Math.round((now.getTime() - Date.parse(lastAnswerAt)) / 60_000);
  const ago = minutes < 1 ? "under a minute" : minutes < 120 ? `${minutes} min` : roughly(minutes * 60_000);
  const isSeveral = new Set(ofAccounts.map(({ account }) => account)).size > 1;
  const wrong = unmended(ofAccounts, NEEDS_A_PERSON)
    .filter(({ lastAt }) => isAmongNewest(lastAt, lastAnswerAt))
    .map(({ outcome }) => outcome);
  const counts = Object.entries(lastHour).map(([outcome, count]) => {
    if (outcome === "quotes") return `${counted(count, "answer")} with quotes`;
    const last = NEEDS_A_PERSON.includes(outcome) ? lastOfOutcome[outcome] : undefined;
    const whose = ofAccounts.filter((one) => one.outcome === outcome).map(({ account }) => account);
    const of =
      last === undefined || !isSeveral || whose.length === 0
        ? ""
        : ` of ${someNames([...new Set(whose)].sort(), MOST_NAMES)}`;
    const isWrong = wrong.includes(outcome);
    const said = isWrong && words[outcome] !== undefined ? `, "${words[outcome]}"` : "";
    return `${thousands(count)} ${outcome}${of}${last === undefined ? "" : when(new Date(last), isWrong)}${said}`;
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
  const going = isAmongNewest(lastDeadLetterAt, lastAnswerAt ?? lastDeadLetterAt);
  const letters = counted(deadLettersToday, "dead letter");
  return {
    subject: "rows",
    state: going ? "attention" : "ok",
    text: `${letters} in the last day${when(new Date(lastDeadLetterAt), going)}: see the table dead_letters`,
  };
}
