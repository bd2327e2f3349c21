/** What `status` finds out: a line for each subject, a dozen at most while nothing needs a person, and the same as data. It reads, and makes nothing. */
import { resolve } from "node:path";
import { type Account, marketOf, settingsAccounts } from "../accounts/account.ts";
import { databaseError, isDatabaseError } from "../archive/connect/databaseError.ts";
import { explain, findReadOnly } from "../archive/connect/explain.ts";
import { readFleet } from "../archive/ledger/fleetRows.ts";
import type { FleetRows } from "../archive/ledger/fleetTypes.ts";
import { newestVersion } from "../archive/schema/history.ts";
import { currentVersion } from "../archive/schema/migrations.ts";
import {
  type AccountAnswers,
  type Health,
  readAccountAnswers,
  readClockSteps,
  readHealth,
  readPolledMarket,
} from "../archive/ask/queries.ts";
import { readWithoutReader } from "../archive/schema/readerRole.ts";
import { readSharedSchema } from "../archive/connect/searchPath.ts";
import { describeTier, readTier, type Tier } from "../archive/tiers/tier.ts";
import type { Clock } from "../clock.ts";
import { type Job, noJobs, readJobs } from "../schedule/readJobs.ts";
import { describeProblem } from "../config/yamlFile.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { alwaysOpen, type Calendar, createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { type Archive, archiveExists } from "./archive.ts";
import { wrongClockLines } from "./rightClock.ts";
import { journalDir } from "./stations.ts";
import type { Lag } from "../journal/lag.ts";
import { fleetLines } from "./fleetStatus.ts";
import { heartbeatLines } from "./heartbeatState.ts";
import { type JournalHealth, journalHealth } from "./journalHealth.ts";
import { readLeaseFile } from "../accounts/lease/leaseFile.ts";
import {
  answerLines,
  budgetLines,
  budgetOf,
  CLOCK_SAID_MS,
  clockLines,
  marketLine,
  nextLine,
  nextPollOf,
} from "./statusFacts.ts";
import { readLedgerStatus, ledgerLines } from "./ledgerStatus.ts";
import { quotesLines, readQuotesStatus } from "./quotesStatus.ts";
import { calledElsewhere, loginLines, readLogins } from "./loginStatus.ts";
import { lakeLine, readLakeState } from "./lakeJob.ts";
import { type LakeSight, lookAtLake } from "../lake/whichLake.ts";
import { readLoaderState } from "./loaderState.ts";
import { inNewYork } from "./durations.ts";
import type { AccountStatus, Line, LineState, StatusReport } from "./statusJson.ts";
import { counted } from "../figures.ts";
import { readAccountsStatus } from "./accountsStatus.ts";

/** Gives the archive to look into, and is told when that was not possible, so that the next look opens it anew. */
export type ArchiveDoor = {
  open: () => Promise<Archive>;
  close: (failed: boolean) => Promise<void>;
  /** Whether its sessions can only read, as the dashboard's: whether the database could be written shows elsewhere. */
  readOnly: boolean;
};

type Looked = {
  config: Config;
  clock: Clock;
  door: ArchiveDoor;
  /** True for who only looks at an archive: that there are no job files here is no fault then. Default false. */
  viewer?: boolean;
};

export async function readStatus(looked: Looked): Promise<StatusReport> {
  const { config, clock, viewer = false } = looked;
  const now = clock.now();
  const lines: Line[] = [];
  const { line, ...scheduled } = await jobsLine(config, viewer);
  const { jobs, calendar } = scheduled;
  const feed = marketOf(scheduled.accounts);
  lines.push(line);
  const next = nextPollOf(jobs, feed.simulated ? alwaysOpen : createCalendar(calendar), now);
  if (jobs.length > 0) lines.push(nextLine(next, now));
  const found = await lookIntoDatabase(looked, scheduled);
  const { market, health, ledger, accounts } = found;
  lines.unshift(marketLine(feed, market));
  const dir = journalDir(config);
  const journal = await journalHealth(dir, health?.loaded ?? null, {
    clock,
    maxBytes: config.journalMaxBytes,
  }).catch((error: unknown): JournalHealth => {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { state: "attention", text: error.message, lag: null };
  });
  lines.push(await databaseLine(found.database, config, { now, lag: journal.lag }));
  lines.push(...budgetLines(accounts));
  const lease = await readLeaseFile(resolve(config.dataDir));
  const { unsureSince = null, uncalled = {} } = lease ?? {};
  const seen = { dataDir: resolve(config.dataDir), now, next: next?.at ?? null };
  const logins = readLogins(scheduled.accounts, {
    ...seen,
    isElsewhere: calledElsewhere(found.fleet, lease),
  });
  lines.push(...loginLines(logins, next?.at ?? null, now));
  lines.push(...fleetLines(found.fleet, { unsureSince, uncalled }));
  if (health) lines.push(...answerLines(health, now, accounts.length > 1 ? found.answers : []));
  lines.push(...quotesLines(found.quotes), ...(ledger ? ledgerLines(ledger) : []));
  lines.push(
    ...wrongClockLines(now),
    ...clockLines(found.clockSteps, now),
    ...(await lakeLines(config, found.lake)),
  );
  const { state, text } = journal;
  lines.push({ subject: "journal", state, text }, ...(await heartbeatLines(config, now)));
  return {
    at: now.toISOString(),
    market,
    healthy: lines.every(({ state }) => state !== "attention"),
    lines,
    nextPoll: next && { job: next.job, at: next.at.toISOString() },
    budget: budgetOf(accounts),
    accounts: accounts.map(({ market: _market, outOfBudget: _out, ...account }) => account),
    logins,
    unsureSince,
    uncalled,
    fleet: found.fleet,
    lastAnswerAt: health?.lastAnswerAt ?? null,
    lastHour: health?.lastHour ?? null,
    lastDay: ledger && lastDayOf(ledger, health),
    quotes: found.quotes,
    late: ledger?.late.map(({ job, since }) => ({ job, since: since.toISOString() })) ?? [],
    unknown: ledger?.unknown ?? [],
    lag: journal.lag,
    schemaVersion: found.version,
    tier: found.tier,
  };
}

function lastDayOf(ledger: Ledger, health: Health | null): StatusReport["lastDay"] {
  return {
    due: ledger.due,
    missed: Object.fromEntries(ledger.missed.map(({ reason, count }) => [reason, count])),
    lastMissedAt: Object.fromEntries(
      ledger.missed.map(({ reason, lastAt }) => [reason, lastAt.toISOString()]),
    ),
    goesOn: ledger.missed.filter(({ goesOn }) => goesOn).map(({ reason }) => reason),
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

/** No accounts where something is wrong with their file. */
type Jobs = { jobs: Job[]; calendar: CalendarOverride[]; accounts: Account[]; line: Line };

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

type Ledger = Awaited<ReturnType<typeof readLedgerStatus>>;

type Found = {
  /** The one that the newest answers are of; null where that is not known. */
  market: LedgerSource | null;
  health: Health | null;
  ledger: Ledger | null;
  accounts: AccountStatus[];
  /** Whose answers the last hour's are. */
  answers: AccountAnswers[];
  quotes: StatusReport["quotes"];
  clockSteps: Awaited<ReturnType<typeof readClockSteps>>;
  /** Null: there is one collector, or none. */
  fleet: FleetRows | null;
  /** Null: none is named, or the database does not know. */
  lake: LakeSight | null;
  version: number | null;
  tier: Tier | null;
  database: Line;
};

function nothing(state: LineState, text: string, version: number | null = null): Found {
  const database: Line = { subject: "database", state, text };
  return {
    market: null,
    health: null,
    ledger: null,
    accounts: [],
    answers: [],
    quotes: [],
    clockSteps: [],
    fleet: null,
    lake: null,
    version,
    tier: null,
    database,
  };
}

type Scheduled = Omit<Jobs, "line">;

async function lookIntoDatabase(looked: Looked, scheduled: Scheduled): Promise<Found> {
  const { config, door } = looked;
  if (!(await archiveExists(config)))
    return nothing("idle", "none yet: `quotekeeper start` makes it at its first run");
  try {
    const archive = await door.open();
    let failed = true;
    try {
      const found = await readArchive(archive, looked, scheduled);
      const unwritable = door.readOnly ? null : await findReadOnly(archive.pool);
      failed = false;
      if (unwritable === null) return found;
      const text = databaseError(unwritable, archive.address).message;
      return { ...found, database: { subject: "database", state: "attention", text } };
    } catch (error) {
      if (error instanceof QuotekeeperError || !isDatabaseError(error)) throw error;
      return nothing("attention", databaseError(await explain(archive.pool, error), archive.address).message);
    } finally {
      await door.close(failed);
    }
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return nothing(error.code === "EMBEDDED_ENDED" ? "idle" : "attention", error.message);
  }
}

async function readArchive(
  { pool, address }: Archive,
  { config, clock }: Looked,
  { jobs, calendar: overrides, accounts }: Scheduled,
): Promise<Found> {
  const version = await currentVersion(pool);
  const newest = await newestVersion();
  if (version === 0) return nothing("idle", `${address} is empty: run \`quotekeeper migrate\``, version);
  if (version !== newest) {
    const remedy = version < newest ? "run `quotekeeper migrate`" : "use a newer quotekeeper";
    const text = `${address} has schema version ${version}, this program knows ${newest}: ${remedy}`;
    return nothing("attention", text, version);
  }
  const now = clock.now();
  const { simulated } = marketOf(accounts);
  const configured = simulated ? "simulated" : "account";
  const market = await readPolledMarket(pool, configured);
  const health = await readHealth(pool, market.answers, now);
  const tier = await readTier(pool);
  const sources = health.sources.length > 0 ? `, ${health.sources.join(" and ")}` : "";
  const about = `schema version ${version}, ${counted(health.instruments, "instrument")}${sources}`;
  const withoutReader = config.databaseReaderUrl ? null : await readWithoutReader(pool);
  const shared = await readSharedSchema(pool);
  const text = [address, describeTier(tier), about, withoutReader, shared]
    .filter((part) => part !== null)
    .join(", ");
  // The program's own simulated market runs only while `start` does, and is never late.
  const calendar: Calendar | null = simulated ? null : createCalendar(overrides);
  const ledger = await readLedgerStatus(pool, jobs, { source: market.slots, calendar, now });
  const answers = await readAccountAnswers(pool, configured, now);
  const clockSteps = await readClockSteps(pool, new Date(now.getTime() - CLOCK_SAID_MS), now);
  const fleet = await readFleet(pool);
  return {
    market: market.answers,
    health,
    ledger,
    accounts: await readAccountsStatus(pool, accounts, { ...ledger, answers, now }),
    answers,
    quotes: await readQuotesStatus(pool, { calendar: createCalendar(overrides), accounts, now }),
    clockSteps,
    fleet: fleet.collectors.length > 1 ? fleet : null,
    lake: config.lakeDir === undefined ? null : await lookAtLake(resolve(config.lakeDir), pool),
    version,
    tier,
    database: { subject: "database", state: "ok", text },
  };
}
