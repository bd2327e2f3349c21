/** The collecting half of `start` and `collect`: opens the stations in order, begins to poll, and ends it all again. */
import { resolve } from "node:path";
import type { Account } from "../accounts/account.ts";
import { Shares } from "../accounts/shares.ts";
import type { LoadReport } from "../archive/load/batch.ts";
import type { Loader } from "../archive/load/loader.ts";
import { atMost } from "../ground/clock.ts";
import type { LedgerNote } from "../journal/ledger.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { JournalFs } from "../journal/fs.ts";
import type { JournalHealth } from "../journal/writer.ts";
import type { LiveFleet } from "../web/monitoring/metrics.ts";
import type { Meter } from "../web/monitoring/meter.ts";
import { readEarlierRuns } from "../collect/callHistory.ts";
import { forgetGone } from "../status/goneJournal.ts";
import { beginRun } from "../ledger/runMarker.ts";
import { type ClockFile, KEEP_CLOCK_EVERY_MS, openClockFile } from "../schedule/clockFile.ts";
import { accountSharer, AccountsCalled, calledAccount } from "./accountsCalled.ts";
import { Collector } from "./collector.ts";
import { followJobs, type JobSet } from "../schedule/followJobs.ts";
import { filesSaid } from "../accounts/lease/filesDigest.ts";
import type { Fleet } from "../accounts/lease/fleet.ts";
import type { Acquisition } from "../accounts/lease/caller.ts";
import { followOperator } from "./operatorsWord.ts";
import { keepKeys } from "./keepKeys.ts";
import { keepLake, type LakeJobOptions, type LakeState } from "../status/lakeJob.ts";
import { createNoteWriter, type NoteWriter } from "../ledger/ledgerNotes.ts";
import { type JournalLoading, type LoadingOptions, openLoading } from "./journalLoading.ts";
import { type CallCounts, countedSend, meteredSend, meterNote } from "./metered.ts";
import { TakenOnce } from "./once/takeOnce.ts";
import { Settler } from "../ledger/settler.ts";
import { callerOf } from "./openFleet.ts";
import { openStations, type Stations } from "./stations.ts";

export type Collection = {
  accounts: Pick<AccountsCalled, "all" | "sharing">;
  collector: Collector;
  loader: Loader;
  loaded: () => LoadReport;
  calls: Readonly<CallCounts>;
  journalHealth: () => JournalHealth;
  /** What came of the lake last; null: there is none, or no run has ended yet. */
  lake: () => LakeState | null;
  fleet: () => LiveFleet | null;
  close: () => Promise<void>;
};

type CollectionOptions = LoadingOptions & {
  config: Config;
  bootId: string | null;
  meter?: Meter;
  /** This collector among others, and the accounts that it begins with. Default: there are no others. */
  fleet?: { fleet: Fleet; acquired: ReadonlyMap<string, Acquisition> } | undefined;
  jobs?: JobSet;
  /** The file system that the journal is written to. Default: the machine's own. */
  journalFs?: JournalFs;
};

/** Longest waits at the end: for answers under way, and for the last rows. Ctrl-C ends `start` in under 5 s, whatever is slow. */
const CALLS_GRACE_MS = 1_500;
const LOAD_GRACE_MS = 1_200;

/** Longest wait at the end for how much is not loaded, in ms. */
const LAG_MS = 300;

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
    const { lake, close } = await begin(options, parts);
    const heartbeat = await beatOf(options);
    return {
      collector,
      accounts,
      calls,
      loader: loading.loader,
      loaded: loading.loaded,
      journalHealth: () => stations.journal.health(),
      fleet: () => options.fleet?.fleet.state ?? null,
      lake,
      close: async () => {
        await Promise.all([heartbeat?.close(), close()]);
      },
    };
  } catch (error) {
    // What was opened before the station that failed has its files, sockets and connections.
    for (const close of opened) await close().catch(() => undefined);
    throw error;
  }
}

type Parts = {
  stations: Stations;
  accounts: AccountsCalled;
  loading: JournalLoading;
  notes: NoteWriter;
  clocks: ClockFile;
  collector: Collector;
  noted: { of: (note: LedgerNote) => void };
  calls: CallCounts;
  first: JobSet;
  run: string;
};

async function openParts(options: CollectionOptions, onOpened: OnOpened): Promise<Parts> {
  const { config, clock, bootId, log, calm, onChange, meter, fleet } = options;
  const first = options.jobs ?? (await requireJobs(resolve(config.jobsDir), config));
  const tell = (level: "error" | "warn", message: string): void => log[level](message);
  const stations = await openStations(config, { clock, bootId, journalFs: options.journalFs, tell });
  onOpened(stations.close);
  const { dir, journal } = stations;
  const calls: CallCounts = { answered: 0, kept: 0 };
  const loading = openLoading(options, stations);
  onOpened(() => loading.loader.close(0));
  const metered: Parameters<typeof calledAccount>[1]["metered"] = (send, { name }) => {
    const counted = countedSend(send, calls);
    return meter ? meteredSend(counted, { meter, account: name, clock }) : counted;
  };
  const through = { clock, stations, loader: loading.loader, lease: fleet?.fleet ?? ALONE, metered };
  const accounts = new AccountsCalled({
    stations,
    accounts: first.accounts,
    called: (open) => calledAccount(open, through),
  });
  onOpened(() => accounts.close());
  const called = await accounts.open(fleet?.acquired ?? all(first.accounts));
  const notes = createNoteWriter(journal, {
    clock,
    source: (account) => accounts.sourceOf(account),
    onKept: loading.loader.notify,
    onLost: (count) => log.error({ count }, "entries of the ledger were lost: the journal cannot be written"),
  });
  onOpened(async () => calm.flush());
  const calendar = accounts.calendar(first.calendar);
  const exchange = createCalendar(first.calendar);
  const asked = { jobs: first.jobs.map((job) => scheduleJob(job, calendar)), sources: accounts.sources };
  const earlier = await readEarlierRuns(dir, { ...asked, exchange, now: clock.now() });
  const [run, noted]: [string, Parts["noted"]] = [stations.requestId(), { of: () => undefined }];
  const clocks = await openClockFile(resolve(config.dataDir), clock, bootId);
  const { batch } = accounts.service;
  const sharers = (fleet ? accounts.sharing : accounts.all.map(({ account }) => account)).map(accountSharer);
  const collector = new Collector({
    accounts: called,
    batch,
    run,
    earlier,
    jobs: first.jobs,
    calendar,
    exchange,
    clock,
    log: calm,
    onChange,
    shares: new Shares(sharers, fleet && ((name) => accounts.isCalled(name)), batch.first),
    ...(fleet && { agreedAt: (at) => fleet.fleet.agreedAt(at) }),
    onNote: (note) => {
      if (meter) meterNote(note, meter);
      notes.write(note);
      noted.of(note);
      if (note.type === "clock") void clocks.keep();
    },
  });
  onOpened(() => collector.close(0));
  return { stations, accounts, loading, notes, clocks, collector, noted, calls, first, run };
}

/** Begins to poll, to settle what no run before this one did, and to write the lake. */
async function begin(options: CollectionOptions, parts: Parts): Promise<Pick<Collection, "lake" | "close">> {
  const { config, archive, clock, log, calm } = options;
  const { stations, accounts, loading, notes, clocks, collector, first, run } = parts;
  const { loader, state, lag } = loading;
  let { calendar } = first;
  const stopFollowingOperator = await followOperator({
    pool: archive.pool,
    dataDir: resolve(config.dataDir),
    accounts,
    collector,
    clock,
    log,
    calendar: () => calendar,
  });
  await forgetGone(resolve(config.dataDir));
  const unsettled = await beginRun(resolve(config.dataDir), clock.now());
  const startedAt = collector.start(clocks.away);
  void clocks.keep();
  const keepingClocks = setInterval(() => void clocks.keep(), KEEP_CLOCK_EVERY_MS).unref();
  const mine = (): string[] => accounts.all.map(({ account }) => account.name);
  const settling = { loader, collector, notes, unsettled, run, clock, log: calm };
  const settler = new Settler(archive.pool, { ...settling, mine, sources: () => accounts.sources });
  settler.began(mine(), unsettled.since, startedAt);
  const use = async (now: JobSet): Promise<void> => {
    await accounts.replace(now.accounts, collector);
    collector.replaceJobs(now.jobs, accounts.calendar(now.calendar), createCalendar(now.calendar));
    calendar = now.calendar;
  };
  const fleet = options.fleet?.fleet;
  const onJobs = (now: JobSet): Promise<void> =>
    fleet ? fleet.useFiles(filesSaid(now), () => use(now)) : use(now);
  const stopFollowing = followJobs(resolve(config.jobsDir), { first, settings: config, log, onJobs });
  fleet?.begin(callerOf({ ...options, ...parts, settler }));
  const once = takeOnce(options, parts);
  const lake = config.lakeDir === undefined ? null : keepLake(lakeOf(options));
  const keys = keepKeys({ archive, clock, log });
  const close = async (): Promise<void> => {
    stopFollowing();
    stopFollowingOperator();
    const written = lake?.close();
    await atMost(CALLS_GRACE_MS, once.close(), clock);
    const kept = keys.close();
    const lastSettled = atMost(CALLS_GRACE_MS, settler.close(), clock);
    await collector.close(CALLS_GRACE_MS);
    await lastSettled;
    await notes.flush();
    await stations.journal.close();
    await loader.close(LOAD_GRACE_MS);
    calm.flush();
    // A look that began before says less; the last round of the fleet says what this one finds.
    if (fleet) await atMost(LAG_MS, lag.look().then(lag.look), clock);
    if (loader.failure() === null) state.works();
    await state.settled();
    await accounts.close();
    await written;
    await atMost(CALLS_GRACE_MS, kept, clock);
    await clocks.end().finally(() => clearInterval(keepingClocks));
  };
  return { lake: () => lake?.state() ?? null, close };
}

function takeOnce({ config, clock, log }: CollectionOptions, parts: Parts): TakenOnce {
  const { stations, accounts, collector, notes, noted } = parts;
  const { dir: journalDir, journal } = stations;
  const once = new TakenOnce({
    dataDir: resolve(config.dataDir),
    journalDir,
    journal,
    calls: collector.once,
    notes,
    clock,
    log,
    accounts: () => accounts.all,
    batchSize: accounts.service.batch.first,
  });
  noted.of = (note) => once.noted(note);
  return once;
}

/** Loaded only where it is wanted: with it comes all that `status` asks. */
async function beatOf(options: CollectionOptions): Promise<{ close: () => Promise<void> } | null> {
  const { heartbeatUrl, heartbeatFailUrl } = options.config;
  if (heartbeatUrl === undefined && heartbeatFailUrl === undefined) return null;
  return (await import("../status/heartbeat.ts")).collectorsHeartbeat(options);
}

function lakeOf({ config, clock, log }: CollectionOptions): LakeJobOptions {
  return { dataDir: resolve(config.dataDir), dropsHot: config.lakeHotDays !== undefined, clock, log };
}

const ALONE: Pick<Fleet, "confirm"> = { confirm: () => Promise.resolve(() => true) };

function all(accounts: readonly Account[]): Map<string, Acquisition> {
  return new Map(accounts.map(({ name }) => [name, { granted: null, listens: false }]));
}
