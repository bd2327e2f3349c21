/** What `status` finds out: a line for each subject, a dozen at most while nothing needs a person, and the same as data. It reads, and makes nothing. */
import { resolve } from "node:path";
import { marketOf, settingsAccounts } from "../accounts/account.ts";
import { readLeaseFile } from "../accounts/lease/leaseFile.ts";
import type { AccountAnswers, Health } from "../archive/ask/queries.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { describeProblem } from "../config/yamlFile.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Lag } from "../journal/lag.ts";
import { type LakeSight, lookAtLake } from "../files/lake/whichLake.ts";
import { alwaysOpen, createCalendar } from "../market/calendar/tradingCalendar.ts";
import { noJobs, readJobs } from "../schedule/readJobs.ts";
import { readSeenHere } from "../schedule/clockFile.ts";
import { collectorLine, collectorOf, isPolled } from "./collectorStatus.ts";
import { inNewYork } from "../market/durations.ts";
import { fleetLines } from "./fleetStatus.ts";
import { heartbeatLines } from "./heartbeatState.ts";
import { type JournalHealth, journalHealth } from "./journalHealth.ts";
import { lakeLine, readLakeState } from "./lakeJob.ts";
import { ledgerLines } from "./ledgerStatus.ts";
import { readLoaderState } from "./loaderState.ts";
import { calledElsewhere, loginLines, readLogins } from "./loginStatus.ts";
import { quotesLines } from "./quotesStatus.ts";
import { wrongClockLines } from "./rightClock.ts";
import { journalDir } from "../journal/dataDir.ts";
import {
  type DatabaseFacts,
  type Jobs,
  type Ledger,
  type Looked,
  lookIntoDatabase,
} from "./statusArchive.ts";
import {
  answerLines,
  budgetLines,
  budgetOf,
  clockLines,
  marketLine,
  nextLine,
  nextPollOf,
} from "./statusFacts.ts";
import { withWaiting } from "./waitingAnswers.ts";
import type { Line, LineState, StatusReport } from "./statusJson.ts";

export async function readStatus(looked: Looked): Promise<StatusReport> {
  const { config, clock, viewer = false, bootId = null, isStarting = false } = looked;
  const now = clock.now();
  const dataDir = resolve(config.dataDir);
  const { line, ...scheduled } = await jobsLine(config, viewer);
  const { jobs } = scheduled;
  const feed = marketOf(scheduled.accounts);
  const calendar = feed.simulated ? alwaysOpen : createCalendar(scheduled.calendar);
  const next = nextPollOf(jobs, calendar, now);
  const said = await lookIntoDatabase(looked, scheduled);
  const lease = await readLeaseFile(dataDir);
  const here = await readSeenHere(dataDir, clock, bootId);
  const slotAfter = (at: Date) => nextPollOf(jobs, calendar, at);
  const collector = collectorOf({ fleet: said.fleet, here, lease, isStarting, slotAfter, now });
  const journal = await journalOf(looked, said.health, collector.state === "none");
  const { lag } = journal;
  const looking = { dir: journalDir(config), lag, accounts: scheduled.accounts, now };
  const found = await withWaiting(said, looking);
  const { health, accounts } = found;
  const fleet = found.fleet && found.fleet.collectors.length > 1 ? found.fleet : null;
  const logins = readLogins(scheduled.accounts, {
    ...{ dataDir, now, next: next?.at ?? null },
    isElsewhere: calledElsewhere(fleet, lease),
  });
  const { unsureSince = null, uncalled = {} } = lease ?? {};
  // Whether there are dead letters the database alone knows.
  const isKnown = ({ subject }: Line): boolean => said.health !== null || subject !== "rows";
  const lines = [
    marketLine(feed, found.market),
    line,
    collectorLine(collector, jobs.length > 0, now),
    ...(jobs.length > 0 ? [ofRightFiles(nextLine(next, collector, now), line)] : []),
    await databaseLine(found.database, config, { now, lag }),
    ...budgetLines(accounts),
    ...loginLines(logins, next?.at ?? null, now),
    ...fleetLines(fleet, { unsureSince, uncalled }),
    ...(health ? answerLines(health, now, found) : []).filter(isKnown),
    ...quotesLines(found.quotes),
    ...(found.ledger ? ledgerLines(found.ledger) : []),
    ...wrongClockLines(now),
    ...clockLines(found.clockSteps, now),
    ...(await lakeLines(config, found.lake)),
    { subject: "journal" as const, state: journal.state, text: journal.text },
    ...(await heartbeatLines(config, now)),
  ];
  return {
    at: now.toISOString(),
    healthy: lines.every(({ state }) => state !== "attention"),
    lines,
    collector,
    nextPoll: next && isPolled(collector) ? { job: next.job, at: next.at.toISOString() } : null,
    logins,
    unsureSince,
    uncalled,
    fleet,
    lag,
    ...factsOf(found, collector),
  };
}

/** Beside a broken file a collector goes on with the files before, which may be due sooner. */
function ofRightFiles(next: Line, { state }: Line): Line {
  return state === "attention" ? { ...next, text: `${next.text}, by the job files that are right` } : next;
}

function journalOf(
  { config, clock }: Looked,
  health: Health | null,
  neverRan: boolean,
): Promise<JournalHealth> {
  const { journalMaxBytes: maxBytes } = config;
  return journalHealth(journalDir(config), health?.loaded ?? null, { clock, maxBytes, neverRan }).catch(
    (error: unknown): JournalHealth => {
      if (!(error instanceof QuotekeeperError)) throw error;
      return { state: "attention", text: error.message, lag: null };
    },
  );
}

function factsOf(
  { market, health, ledger, accounts, answers, quotes, version, tier }: DatabaseFacts,
  collector: StatusReport["collector"],
) {
  return {
    market,
    budget: budgetOf(accounts),
    accounts: accounts.map(({ market: _market, outOfBudget: _out, ...account }) => account),
    lastAnswerAt: health?.lastAnswerAt ?? null,
    lastQuotesAt: lastQuotesOf(health, answers),
    lastHour: health?.lastHour ?? null,
    lastDay: ledger && lastDayOf(ledger, health, isPolled(collector)),
    quotes,
    late: ledger?.late.map(({ job, since }) => ({ job, since: since.toISOString() })) ?? [],
    unknown: ledger?.unknown ?? [],
    schemaVersion: version,
    tier,
  };
}

function lastQuotesOf(health: Health | null, answers: readonly AccountAnswers[]): Record<string, string> {
  const { lastQuotes = null } = health ?? {};
  const ofHour = answers
    .filter(({ outcome }) => outcome === "quotes")
    .map((one) => [one.account, one.lastAt]);
  return { ...(lastQuotes && { [lastQuotes.account]: lastQuotes.at }), ...Object.fromEntries(ofHour) };
}

/** @param runs whether a collector does: then what was missed because none did is over */
function lastDayOf(ledger: Ledger, health: Health | null, runs: boolean): StatusReport["lastDay"] {
  return {
    due: ledger.due,
    missed: Object.fromEntries(ledger.missed.map(({ reason, count }) => [reason, count])),
    lastMissedAt: Object.fromEntries(
      ledger.missed.map(({ reason, lastAt }) => [reason, lastAt.toISOString()]),
    ),
    goesOn: ledger.missed
      .filter(({ reason, goesOn }) => goesOn && !(runs && reason === "down"))
      .map(({ reason }) => reason),
    deadLetters: health?.deadLettersToday ?? 0,
    lastDeadLetterAt: health?.lastDeadLetterAt ?? null,
  };
}

async function lakeLines({ lakeDir, dataDir }: Config, seen: LakeSight | null): Promise<Line[]> {
  if (lakeDir === undefined) return [];
  const sight = seen ?? (await lookAtLake(resolve(lakeDir), null));
  return [lakeLine(await readLakeState(resolve(dataDir)), sight)];
}

/** What the database says of itself, unless the loader of another process has met something worse. */
async function databaseLine(
  line: Line,
  config: Config,
  { now, lag }: { now: Date; lag: Lag | null },
): Promise<Line> {
  if (line.state === "attention") return line;
  const stuck = await readLoaderState(resolve(config.dataDir), now, lag);
  if (stuck === null) return line;
  const text = `${stuck.message} Loading has failed since ${inNewYork(stuck.since)}.`;
  return { subject: "database", state: "attention", text };
}

/** A bad job file is reported, and stops nothing else. */
async function jobsLine(config: Config, viewer: boolean): Promise<Jobs> {
  const line = (state: LineState, text: string): Line => ({ subject: "jobs", state, text });
  try {
    const { jobs, calendar, accounts, problems } = await readJobs(resolve(config.jobsDir), config);
    const read = { jobs, calendar, accounts };
    if (problems.length > 0)
      return { ...read, line: line("attention", problems.map(describeProblem).join("; ")) };
    if (jobs.length === 0) return { ...read, line: line("attention", noJobs(config.jobsDir).message) };
    const names = jobs.map(({ name }) => name).join(", ");
    return { ...read, line: line("ok", `${jobs.length} in ${config.jobsDir}: ${names}`) };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    const absent = (error.cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
    // A directory that cannot be read may hold accounts.
    const none = { jobs: [], calendar: [], accounts: absent ? settingsAccounts(config) : [] };
    if (viewer && absent)
      return { ...none, line: line("idle", `none in ${config.jobsDir}, and none needed to look`) };
    return { ...none, line: line("attention", error.message) };
  }
}
