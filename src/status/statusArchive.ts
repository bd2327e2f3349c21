/** What `status` asks the database. What is answered in time is told, also where the rest is not. */
import { resolve } from "node:path";
import { type Account, marketOf } from "../accounts/account.ts";
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
import { describeDatabase } from "../config/databaseUrl.ts";
import { atMost, type Clock, systemClock } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { counted } from "../ground/figures.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { type LakeSight, lookAtLake } from "../files/lake/whichLake.ts";
import type { CalendarOverride } from "../market/calendar/overrides.ts";
import { type Calendar, createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { Job } from "../schedule/readJobs.ts";
import { readAccountsStatus } from "./accountsStatus.ts";
import { type Archive, archiveExists } from "../archive/openArchive.ts";
import { inSeconds } from "../market/durations.ts";
import { readLedgerStatus } from "./ledgerStatus.ts";
import { readServiceWords } from "./serviceWords.ts";
import { journalDir } from "../journal/dataDir.ts";
import { CLOCK_SAID_MS, NEEDS_A_PERSON } from "./statusFacts.ts";
import { readQuotesStatus } from "./quotesStatus.ts";
import type { AccountStatus, Line, LineState, StatusReport } from "./statusJson.ts";

/** Gives the archive to look into, and is told when that was not possible, so that the next look opens it anew. */
export type ArchiveDoor = {
  /** Null: the embedded server does not run, and is not started for a look. */
  open: () => Promise<Archive | null>;
  close: (failed: boolean) => Promise<void>;
  /** Whether its sessions can only read, as the dashboard's: whether the database could be written shows elsewhere. */
  readOnly: boolean;
};

export type Looked = {
  config: Config;
  clock: Clock;
  door: ArchiveDoor;
  /** How long all questions to the database may take, in ms. Default: 3 s. */
  answersMs?: number;
  /** True for who only looks at an archive: that there are no job files here is no fault then. Default false. */
  viewer?: boolean;
  bootId?: string | null;
  /** Whether this very process collects, and its collector has yet to begin. Default false. */
  isStarting?: boolean;
};

/** No accounts where something is wrong with their file. */
export type Jobs = { jobs: Job[]; calendar: CalendarOverride[]; accounts: readonly Account[]; line: Line };

/** How long all questions together may take, in ms: `status` answers within 5 s. */
const ANSWERS_MS = 3_000;

const NOT_RUNNING = "embedded, not running; `quotekeeper start` starts it";

export type Ledger = Awaited<ReturnType<typeof readLedgerStatus>>;

/** Null, or none: not known, because the database has not answered or has no archive of this version. */
export type DatabaseFacts = {
  /** The one that the newest answers are of. */
  market: LedgerSource | null;
  health: Health | null;
  ledger: Ledger | null;
  accounts: AccountStatus[];
  /** Whose answers the last hour's are. */
  answers: AccountAnswers[];
  /** What the service said last, by outcome. */
  words: Record<string, string>;
  quotes: StatusReport["quotes"];
  clockSteps: Awaited<ReturnType<typeof readClockSteps>>;
  fleet: FleetRows | null;
  /** Null also: no lake is named. */
  lake: LakeSight | null;
  version: number | null;
  tier: Tier | null;
  database: Line;
};

const NO_FLEET: FleetRows = { collectors: [], accounts: [] };

function nothing(state: LineState, text: string, fleet: FleetRows | null = null): DatabaseFacts {
  return {
    ...{
      market: null,
      health: null,
      ledger: null,
      accounts: [],
      answers: [],
      words: {},
      quotes: [],
      clockSteps: [],
    },
    fleet,
    lake: null,
    version: null,
    tier: null,
    database: { subject: "database", state, text },
  };
}

/** Whether quotes are stuck is a matter of twenty minutes, and asks for many rows: it is asked once a minute, however often one looks. */
const QUOTES_EVERY_MS = 60_000;

const quotesSaid = new WeakMap<ArchiveDoor, { atMs: number; quotes: StatusReport["quotes"] }>();

/** Looks that a database has not answered yet: until it has, no other one waits behind them. */
const unanswered = new WeakSet<ArchiveDoor>();

export async function lookIntoDatabase(looked: Looked, scheduled: ScheduledJobs): Promise<DatabaseFacts> {
  const { config, door, answersMs = ANSWERS_MS } = looked;
  if (!(await archiveExists(config)))
    return nothing("idle", "none yet: `quotekeeper start` makes it at its first run", NO_FLEET);
  const found = nothing("attention", "");
  if (!unanswered.has(door)) {
    unanswered.add(door);
    const looking = look(looked, scheduled, found).finally(() => unanswered.delete(door));
    let isAnswered = false;
    await atMost(
      answersMs,
      looking.then(() => (isAnswered = true)),
      systemClock,
    );
    if (isAnswered) return looking;
    void door.close(true);
  }
  return { ...found, database: { ...found.database, text: silent(config, found, answersMs).message } };
}

function silent({ databaseUrl }: Config, { version }: DatabaseFacts, ms: number): QuotekeeperError {
  const address = databaseUrl === null ? "the embedded server" : describeDatabase(databaseUrl);
  const what = version === null ? "it does not answer" : "it does not answer all questions of `status`";
  return new QuotekeeperError("DATABASE_UNREACHABLE", `${address}: ${what} within ${inSeconds(ms)}`);
}

type ScheduledJobs = Omit<Jobs, "line">;

/** @param found gets what is found out as soon as it is */
async function look(looked: Looked, scheduled: ScheduledJobs, found: DatabaseFacts): Promise<DatabaseFacts> {
  const { door } = looked;
  try {
    const archive = await door.open();
    // Collectors on other machines cannot reach it.
    if (archive === null) return nothing("idle", NOT_RUNNING, NO_FLEET);
    let failed = true;
    try {
      found.database = await readArchive(archive, looked, { scheduled, found });
      const unwritable = door.readOnly ? null : await findReadOnly(archive.pool);
      failed = false;
      if (unwritable === null) return found;
      const text = databaseError(unwritable, archive.address).message;
      return { ...found, database: { subject: "database", state: "attention", text } };
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      const problem = databaseError(await explain(archive.pool, error), archive.address);
      if (problem === error) throw error;
      return nothing("attention", problem.message);
    } finally {
      await door.close(failed);
    }
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return nothing(error.code === "EMBEDDED_ENDED" ? "idle" : "attention", error.message);
  }
}

async function quotesOf(
  door: ArchiveDoor,
  { monotonicMs }: Clock,
  read: () => Promise<StatusReport["quotes"]>,
): Promise<StatusReport["quotes"]> {
  const said = quotesSaid.get(door);
  const atMs = monotonicMs();
  if (said && atMs - said.atMs < QUOTES_EVERY_MS) return said.quotes;
  const quotes = await read();
  quotesSaid.set(door, { atMs, quotes });
  return quotes;
}

/** @returns the line of the database */
async function readArchive(
  { pool, address }: Archive,
  { config, clock, door }: Looked,
  { scheduled, found }: { scheduled: ScheduledJobs; found: DatabaseFacts },
): Promise<Line> {
  const line = (state: LineState, text: string): Line => ({ subject: "database", state, text });
  const { jobs, calendar: overrides, accounts } = scheduled;
  const version = await currentVersion(pool);
  found.version = version;
  const newest = await newestVersion();
  if (version === 0) found.fleet = NO_FLEET;
  if (version === 0) return line("idle", `${address} is empty: run \`quotekeeper migrate\``);
  if (version !== newest) {
    const remedy = version < newest ? "run `quotekeeper migrate`" : "use a newer quotekeeper";
    const text = `${address} has schema version ${version}, this program knows ${newest}: ${remedy}`;
    return line("attention", text);
  }
  const now = clock.now();
  const { simulated } = marketOf(accounts);
  const configured = simulated ? "simulated" : "account";
  const polled = readPolledMarket(pool, configured);
  // The program's own simulated market runs only while `start` does, and is never late.
  const calendar: Calendar | null = simulated ? null : createCalendar(overrides);
  // A database far away takes long for each question: they go at once, over all connections of the pool.
  const [health, tier, withoutReader, shared] = await Promise.all([
    polled.then(async ({ answers }) => {
      const of = await readHealth(pool, (found.market = answers), now);
      const wrong = NEEDS_A_PERSON.filter((outcome) => outcome in of.lastHour);
      found.words = await readServiceWords(pool, journalDir(config), wrong);
      return of;
    }),
    readTier(pool),
    config.databaseReaderUrl ? null : readWithoutReader(pool),
    readSharedSchema(pool),
    readFleet(pool).then((fleet) => (found.fleet = fleet)),
    quotesOf(door, clock, () =>
      readQuotesStatus(pool, { calendar: createCalendar(overrides), accounts, now }),
    ).then((quotes) => (found.quotes = quotes)),
    readClockSteps(pool, new Date(now.getTime() - CLOCK_SAID_MS), now).then(
      (steps) => (found.clockSteps = steps),
    ),
    Promise.all([polled, readAccountAnswers(pool, configured, now)]).then(async ([{ slots }, answers]) => {
      const ledger = await readLedgerStatus(pool, jobs, { source: slots, calendar, now, answers });
      Object.assign(found, { ledger, answers });
      found.accounts = await readAccountsStatus(pool, accounts, { ...ledger, answers, now });
    }),
    config.lakeDir === undefined
      ? null
      : lookAtLake(resolve(config.lakeDir), pool).then((lake) => (found.lake = lake)),
  ]);
  Object.assign(found, { health, tier });
  const sources = health.sources.length > 0 ? `, ${health.sources.join(" and ")}` : "";
  const about = `schema version ${version}, ${counted(health.instruments, "instrument")}${sources}`;
  const parts = [address, describeTier(tier), about, withoutReader, shared];
  return line("ok", parts.filter((part) => part !== null).join(", "));
}
