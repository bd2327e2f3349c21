/** The plan of a day: read job files, the prices that chains need, and what all of it costs. */
import { resolve } from "node:path";
import { marketOf } from "../accounts/account.ts";
import { readKnownOfChains } from "../archive/ask/quotes.ts";
import { grouped } from "../collect/asks.ts";
import { ChainBook, underlyingsOf } from "../collect/chainBook.ts";
import { type DayPlan, dueOn, lacksOf, nextSession, planDay } from "../collect/dayPlan.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { jobsInvalid } from "../config/yamlFile.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { type KnownOfChains, NOTHING_KNOWN } from "../market/optionChain.ts";
import { accountSharer, plannedService } from "../collector/accountsCalled.ts";
import { archiveExists, withSchema } from "../archive/openArchive.ts";
import { type Edges, Interrupted } from "../ground/edges.ts";
import { type Job, requireJobs } from "../schedule/readJobs.ts";
import { say } from "./terminal/harmless.ts";

export type Plan = DayPlan;

/**
 * What the job files cost on an exchange date.
 *
 * @param date null: the session under way, or the next
 * @returns `another`: the limit of one more account; `simulated`: whether the jobs poll the simulated market; `priceless` and
 *   `unlisted`: underlyings without a stored price or contract, whose chains were not counted; `problem`: why these could not be
 *   read, or null
 * @throws QuotekeeperError JOBS_INVALID, JOBS_UNREADABLE; Interrupted
 */
export async function planJobs(config: Config, edges: Edges, date: string | null) {
  const {
    jobs,
    neverDue,
    calendar: overrides,
    accounts,
  } = await requireJobs(resolve(config.jobsDir), config);
  if (neverDue.length > 0) throw jobsInvalid(neverDue);
  const calendar = createCalendar(overrides);
  const day = date ?? nextSession(calendar, edges.clock.now());
  const chains = new ChainBook(calendar, (broken) => say(edges.stderr, broken.message));
  const { known, problem } = await knownOfChains(config, edges, { jobs, day });
  chains.know(known);
  const due = jobs.flatMap((job) => dueOn(job, day, { calendar, chains }));
  const lacks = lacksOf(jobs, chains, day);
  const service = plannedService(accounts);
  const budget = planDay(due, accounts.map(accountSharer), service);
  return {
    day,
    calendar,
    budget,
    another: service.another,
    ...lacks,
    problem,
    simulated: marketOf(accounts).simulated,
  };
}

async function knownOfChains(
  config: Config,
  edges: Edges,
  { jobs, day }: { jobs: readonly Job[]; day: string },
): Promise<{ known: KnownOfChains; problem: string | null }> {
  const underlyings = underlyingsOf(jobs.flatMap(({ chains }) => chains));
  if (underlyings.length === 0 || !(await archiveExists(config)))
    return { known: NOTHING_KNOWN, problem: null };
  try {
    const known = await withSchema(config, edges, ({ pool }) => readKnownOfChains(pool, underlyings, day));
    return { known, problem: null };
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    return { known: NOTHING_KNOWN, problem: (error as Error).message };
  }
}

export function mostCalls(budget: Plan): number {
  return Math.max(0, ...hoursOf(budget).map(({ most }) => most));
}

/** Slots and calls of each hour of New York, and the calls of the hour's fullest minute. */
export function hoursOf({ slots }: Plan): { hour: string; slots: number; calls: number; most: number }[] {
  const minutes = grouped(slots, ({ at }) => exchangeTime(at).slice(11, 16));
  const hours = grouped([...minutes], ([time]) => `${time.slice(0, 2)}:00`);
  return [...hours].map(([hour, ofHour]) => {
    const calls = ofHour.map(([, all]) => all.reduce((sum, slot) => sum + slot.calls, 0));
    return {
      hour,
      slots: ofHour.reduce((sum, [, all]) => sum + all.length, 0),
      calls: calls.reduce((sum, each) => sum + each, 0),
      most: Math.max(...calls),
    };
  });
}
