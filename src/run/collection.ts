/** The collecting half of `start` and `collect`: opens the stations in order, begins to poll, and ends it all again. */
import { resolve } from "node:path";
import type { Logger } from "pino";
import type { Account } from "../accounts/account.ts";
import { addCounts } from "../archive/load/letterCounts.ts";
import { databaseError, isRetryable } from "../archive/connect/databaseError.ts";
import { type LoadReport, NOTHING_LOADED } from "../archive/load/batch.ts";
import { readStoredWithin } from "../archive/ledger/ledgerRows.ts";
import { type Loader, startLoader } from "../archive/load/loader.ts";
import { migrate } from "../archive/schema/migrations.ts";
import { damageSaid } from "../archive/load/readBatches.ts";
import { atMost, type Clock, instantFromDate } from "../clock.ts";
import type { Collector, StoredIn } from "../collect/collector.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { needsPerson } from "../errors.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { JournalFs } from "../journal/fs.ts";
import type { JournalHealth } from "../journal/writer.ts";
import type { LiveFleet } from "../web/api/types.ts";
import type { Meter } from "../web/monitoring/meter.ts";
import type { Archive } from "./archive.ts";
import { readEarlierRuns } from "./callHistory.ts";
import type { CalmLog } from "./calmLog.ts";
import { type ClockFile, KEEP_CLOCK_EVERY_MS, openClockFile, beginRun } from "./lastRun.ts";
import { accountSharer, AccountsCalled } from "./accountsCalled.ts";
import { followJobs, type JobSet } from "./followJobs.ts";
import { filesSaid } from "./filesDigest.ts";
import type { Fleet, Holder, Taken } from "./fleet.ts";
import { followOperator } from "./operatorsWord.ts";
import { keepLake, type LakeState } from "./lakeJob.ts";
import { createNoteWriter, type NoteWriter } from "./ledgerNotes.ts";
import { keepLoaderState, type LoaderStateFile } from "./loaderState.ts";
import { type CallCounts, countedSend, meteredSend, meterNote } from "./metered.ts";
import { calledAccount, openCollector } from "./pipeline.ts";
import { openSettler, type Settler } from "./settleDowntime.ts";
import { openStations, type Stations } from "./stations.ts";

/** A collection under way. */
export type Collection = {
  accounts: Pick<AccountsCalled, "all" | "sharing">;
  collector: Collector;
  loader: Loader;
  /** What has been loaded since the start. */
  loaded: () => LoadReport;
  /** What came of the calls since the start. */
  calls: Readonly<CallCounts>;
  journalHealth: () => JournalHealth;
  /** What came of the lake last; null: there is none, or no run has ended yet. */
  lake: () => LakeState | null;
  /** This collector among others; null where it was started without. */
  fleet: () => LiveFleet | null;
  /** Sends nothing more, finishes what is under way, loads it. */
  close: () => Promise<void>;
};

/** What a collection is made of. */
type CollectionOptions = {
  config: Config;
  archive: Archive;
  clock: Clock;
  /** What tells this boot of the machine from all others; null where the system does not say. */
  bootId: string | null;
  /** For what is said each time. */
  log: Logger;
  /** For what may last. */
  calm: CalmLog;
  /** Called when something changed that a status line shows. */
  onChange: () => void;
  /** Told of calls and misses. */
  meter?: Meter;
  /** This collector among others, and the accounts that it begins with. Default: there are no others. */
  fleet?: { fleet: Fleet; taken: ReadonlyMap<string, Taken> } | undefined;
  /** Jobs, their calendar and the accounts. Default: what the files say. */
  jobs?: JobSet;
  /** Whether the database has its schema, once that is known; if not, the loader sees to it as soon as it can. Default: not. */
  schemaReady?: Promise<boolean>;
  /** The file system that the journal is written to. Default: the machine's own. */
  journalFs?: JournalFs;
};

/** Longest waits at the end: for answers under way, and for the last rows. Ctrl-C ends `start` in under 5 s, whatever is slow. */
const CALLS_GRACE_MS = 1_500;
const LOAD_GRACE_MS = 1_200;

/** How often is looked how much is not loaded, in ms: a journal of years has thousands of files to look at. */
const LOOK_AT_LAG_EVERY_MS = 30_000;

/** Longest wait at the end for how much is not loaded, in ms. */
const LAG_MS = 300;

/**
 * How long a take-over waits for what is stored of the slots that last, in ms, which is several questions: without it all is asked
 * for again.
 */
const STORED_MS = 3_000;

/** Told how to close what was opened, as soon as it is. */
type OnOpened = (close: () => Promise<unknown>) => void;

/**
 * Opens everything and begins to poll. A database that cannot be reached holds nothing up: answers go to the
 * journal, and the loader keeps trying.
 */
export async function startCollection(options: CollectionOptions): Promise<Collection> {
  const opened: (() => Promise<unknown>)[] = [];
  try {
    const parts = await openParts(options, (close) => void opened.unshift(close));
    const { stations, accounts, collector, loading, calls } = parts;
    return {
      ...{ collector, accounts, calls, loader: loading.loader, loaded: loading.loaded },
      journalHealth: () => stations.journal.health(),
      fleet: () => options.fleet?.fleet.state ?? null,
      ...(await begin(options, parts)),
    };
  } catch (error) {
    // What was opened before the station that failed has its files, sockets and connections.
    for (const close of opened) await close().catch(() => undefined);
    throw error;
  }
}

/** What a collection holds open. */
type Parts = {
  stations: Stations;
  accounts: AccountsCalled;
  loading: Loading;
  notes: NoteWriter;
  clocks: ClockFile;
  collector: Collector;
  calls: CallCounts;
  /** What the files said at the start. */
  first: JobSet;
  /** The name of this run in the ledger's notes. */
  run: string;
};

async function openParts(options: CollectionOptions, onOpened: OnOpened): Promise<Parts> {
  const { config, clock, bootId, log, calm, onChange, meter, fleet } = options;
  const first = options.jobs ?? (await requireJobs(resolve(config.jobsDir), config));
  const stations = await openStations(config, {
    ...{ clock, bootId, journalFs: options.journalFs },
    tell: (level, message) => log[level](message),
  });
  onOpened(stations.close);
  const { dir, journal } = stations;
  const calls: CallCounts = { answered: 0, kept: 0 };
  const loading = openLoading(options, dir);
  onOpened(() => loading.loader.close(0));
  const accounts = new AccountsCalled({
    ...{ stations, accounts: first.accounts },
    called: (open) =>
      calledAccount(open, {
        ...{ stations, loader: loading.loader, lease: fleet?.fleet ?? ALONE },
        metered: (send, { name }) => {
          const counted = countedSend(send, calls);
          return meter ? meteredSend(counted, { meter, account: name, clock }) : counted;
        },
      }),
  });
  onOpened(() => accounts.close());
  const called = await accounts.open(fleet?.taken ?? all(first.accounts));
  const notes = createNoteWriter(journal, {
    ...{ clock, source: (account) => accounts.sourceOf(account), onKept: loading.loader.notify },
    onLost: (count) => log.error({ count }, "entries of the ledger were lost: the journal cannot be written"),
  });
  onOpened(async () => calm.flush());
  const run = stations.requestId();
  const calendar = accounts.calendar(first.calendar);
  const earlier = await readEarlierRuns(dir, {
    jobs: first.jobs.map((job) => scheduleJob(job, calendar)),
    ...{ sources: accounts.sources, now: clock.now() },
  });
  const clocks = await openClockFile(resolve(config.dataDir), clock, bootId);
  const collector = openCollector({
    ...{ accounts: called, run, earlier, jobs: first.jobs },
    ...(fleet && { sharing: first.accounts.map(accountSharer), isCalled: (name) => accounts.isCalled(name) }),
    ...(fleet && { agreedAt: (at) => fleet.fleet.agreedAt(at) }),
    ...{ calendar, exchange: createCalendar(first.calendar) },
    ...{ clock, log: calm, onChange },
    onNote: (note) => {
      if (meter) meterNote(note, meter);
      notes.write(note);
      if (note.type === "clock") void clocks.keep();
    },
  });
  onOpened(() => collector.close(0));
  return { stations, accounts, loading, notes, clocks, collector, calls, first, run };
}

/** Begins to poll, to settle what no run before this one did, and to write the lake. */
async function begin(options: CollectionOptions, parts: Parts): Promise<Pick<Collection, "lake" | "close">> {
  const { config, archive, clock, log, calm } = options;
  const { stations, accounts, loading, notes, clocks, collector, first, run } = parts;
  const { loader, state, lag } = loading;
  let { calendar } = first;
  const stopFollowingOperator = await followOperator({
    ...{ pool: archive.pool, dataDir: resolve(config.dataDir), accounts, collector, clock, log },
    calendar: () => calendar,
  });
  const unsettled = await beginRun(resolve(config.dataDir), clock.now());
  const startedAt = collector.start(clocks.away);
  void clocks.keep();
  const keepingClocks = setInterval(() => void clocks.keep(), KEEP_CLOCK_EVERY_MS);
  const mine = (): string[] => accounts.all.map(({ account }) => account.name);
  const settler = openSettler(archive.pool, {
    ...{ mine, sources: () => accounts.sources, loader, collector, notes, unsettled, run, clock, log: calm },
  });
  settler.taken(mine(), unsettled.since, startedAt);
  const stopFollowing = followJobs(resolve(config.jobsDir), {
    ...{ first, settings: config, log },
    onJobs: async (now) => {
      const use = async (): Promise<void> => {
        await accounts.replace(now.accounts, collector);
        collector.replaceJobs(now.jobs, accounts.calendar(now.calendar), createCalendar(now.calendar));
        calendar = now.calendar;
      };
      await (options.fleet ? options.fleet.fleet.useFiles(filesSaid(now), use) : use());
    },
  });
  options.fleet?.fleet.begin(holderOf(options, { ...parts, settler }));
  const lake = config.lakeDir === undefined ? null : keepLake(lakeOf(options));
  const close = async (): Promise<void> => {
    stopFollowing();
    stopFollowingOperator();
    const written = lake?.close();
    const settled = settler.close();
    clearInterval(keepingClocks);
    const lastSettled = atMost(CALLS_GRACE_MS, settled, clock);
    await collector.close(CALLS_GRACE_MS);
    await lastSettled;
    await notes.flush();
    await clocks.keep();
    await stations.journal.close();
    await loader.close(LOAD_GRACE_MS);
    calm.flush();
    // A look that began before says less; the last round of the fleet says what this one finds.
    if (options.fleet) await atMost(LAG_MS, lag.look().then(lag.look), clock);
    if (loader.failure() === null) state.works();
    await state.settled();
    await accounts.close();
    await written;
  };
  return { lake: () => lake?.state() ?? null, close };
}

function lakeOf({ config, clock, log }: CollectionOptions): Parameters<typeof keepLake>[0] {
  return { dataDir: resolve(config.dataDir), dropsHot: config.lakeHotDays !== undefined, clock, log };
}

/** Calls the accounts that the fleet gives this collector. */
function holderOf(
  { archive, clock }: CollectionOptions,
  { stations, accounts, loading, collector, settler }: Parts & { settler: Pick<Settler, "taken"> },
): Holder {
  const storedIn: StoredIn = async ({ window, ...share }) => {
    const source = accounts.sourceOf(share.account);
    let stored: ReadonlySet<string> = new Set();
    const looked = readStoredWithin(archive.pool, [window], { source, ...share }).then(
      (found) => (stored = found.get(0) ?? stored),
      () => undefined,
    );
    await atMost(STORED_MS, looked, clock);
    return stored;
  };
  return {
    take: async (account, taken) => {
      await accounts.take(account, taken, { collector, storedIn });
      settler.taken([account], null);
    },
    leave: (account) => accounts.leave(account, { collector }),
    handOver: (account) => collector.handOver(account),
    beUnsure: (unsure) => collector.beUnsure(unsure),
    listen: () => collector.listen(),
    knows: () => collector.knows(),
    journalLag: loading.lag.bytes,
    beNumber: stations.beNumber,
  };
}

const ALONE: Pick<Fleet, "sure"> = { sure: () => Promise.resolve(() => true) };

function all(accounts: readonly Account[]): Map<string, Taken> {
  return new Map(accounts.map(({ name }) => [name, { granted: null, listens: false }]));
}

/** The loader, what it has loaded and has not, and the file that tells other processes when it is stuck. */
type Loading = {
  loader: Loader;
  loaded: () => LoadReport;
  state: LoaderStateFile;
  lag: ReturnType<typeof lagOf>;
};

/** How many bytes of the journal the database has not taken, as it was at the last look; who asks has it looked again later. */
function lagOf(loader: Pick<Loader, "behind">, { monotonicMs }: Pick<Clock, "monotonicMs">) {
  let bytes: number | null = null;
  let looking: Promise<void> | null = null;
  let lookedAtMs = -Infinity;
  const look = (): Promise<void> => {
    lookedAtMs = monotonicMs();
    return (looking ??= loader.behind().then((found) => {
      bytes = found;
      looking = null;
    }));
  };
  return {
    bytes: () => {
      if (monotonicMs() - lookedAtMs >= LOOK_AT_LAG_EVERY_MS) void look();
      return bytes;
    },
    look,
  };
}

function openLoading(
  { config, archive, clock, log, calm, onChange, schemaReady }: CollectionOptions,
  journalDir: string,
): Loading {
  const state = keepLoaderState(resolve(config.dataDir), clock);
  let loaded = NOTHING_LOADED;
  const loader = startLoader({
    ...{ pool: archive.pool, journalDir, clock, revive: archive.revive },
    onLoaded: (report) => {
      loaded = addCounts(loaded, report);
      onChange();
    },
    prepare: async () => {
      if (await schemaReady) return;
      const { applied, warnings } = await migrate(archive.pool, instantFromDate(clock.now()));
      if (applied.length > 0) log.info({ applied }, "the database's schema is up to date");
      for (const warning of warnings) log.warn(warning);
    },
    onDamage: (damage) => log.error(...damageSaid(damage)),
    onFailure: (error, waitMs) => {
      const problem = databaseError(error, archive.address);
      state.failed(problem);
      const level = isRetryable(error) && !needsPerson(problem.code) ? "warn" : "error";
      calm[level]({ waitMs }, problem.message);
    },
    onRecovered: () => {
      calm.flush();
      state.works();
      log.info("the database is back, and has all of the journal");
    },
  });
  // What a run that was killed has left behind holds no longer once everything is loaded.
  void loader.drain().then(state.works, () => undefined);
  return { loader, state, lag: lagOf(loader, clock), loaded: () => loaded };
}
