/** The collecting half of `start` and `collect`: feed, journal, loader and collector, opened in order. */
import { addCounts } from "../archive/letterCounts.ts";
import { join, resolve } from "node:path";
import type { Logger } from "pino";
import { databaseError, isRetryable } from "../archive/databaseError.ts";
import { type LoadReport, NOTHING_LOADED } from "../archive/batch.ts";
import { type Loader, startLoader } from "../archive/loader.ts";
import { migrate } from "../archive/migrate.ts";
import { atMost, type Clock, instantFromDate } from "../clock.ts";
import { Collector } from "../collect/collector.ts";
import { scheduleJob } from "../schedule/jobSchedule.ts";
import type { CallLog } from "../collect/callLog.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import type { JournalFs } from "../journal/fs.ts";
import { uuidv7 } from "../journal/uuid.ts";
import { type Journal, type JournalHealth, openJournal } from "../journal/writer.ts";
import { collectCall } from "./pipeline.ts";
import type { Meter } from "../web/monitoring/meter.ts";
import type { Archive } from "./archive.ts";
import { governorOf, openCalls } from "./callHistory.ts";
import { calmLog } from "./calmLog.ts";
import { KEEP_CLOCK_EVERY_MS, openClockFile } from "./clockFile.ts";
import { accountForDowntime, accountForLeftOpen } from "./settleDowntime.ts";
import { readEarlierRuns } from "./readEarlierRuns.ts";
import { openFeed, type OpenFeed } from "./feed.ts";
import { followJobs } from "./followJobs.ts";
import { createNoteWriter, type NoteWriter } from "./ledgerNotes.ts";
import { keepLoaderState, type LoaderStateFile } from "./loaderState.ts";
import { meteredSend, meterNote } from "./metered.ts";
import { beginRun, type RunMarker } from "./runMarker.ts";

/** A collection under way. */
export type Collection = {
  feed: OpenFeed;
  collector: Collector;
  loader: Loader;
  /** What has been loaded since the start. */
  loaded: () => LoadReport;
  journalHealth: () => JournalHealth;
  /** Sends nothing more, finishes what is under way, loads it. */
  close: () => Promise<void>;
};

/** What a collection is made of. */
export type CollectionOptions = {
  config: Config;
  archive: Archive;
  clock: Clock;
  /** What tells this boot of the machine from all others; null where the system does not say. */
  bootId: string | null;
  log: Logger;
  /** Called when something changed that a status line shows. */
  onChange: () => void;
  /** Told of calls and misses. */
  meter?: Meter;
  /** Awaited before each call: rejects when no more calls may leave. */
  mayCall?: () => Promise<void>;
  /** The file system that the journal is written to. Default: the machine's own. */
  journalFs?: JournalFs;
};

/** Longest waits at the end: for answers under way, and for the last rows. Ctrl-C ends `start` in under 5 s. */
const CALLS_GRACE_MS = 1_500;
const LOAD_GRACE_MS = 1_500;

/** The journal's directory below the data directory. */
export function journalDir(config: Config): string {
  return join(resolve(config.dataDir), "journal");
}

/**
 * Opens everything and begins to poll. A database that cannot be reached holds nothing up: answers go to the
 * journal, and the loader keeps trying.
 */
export async function startCollection(options: CollectionOptions): Promise<Collection> {
  const opened: (() => Promise<unknown>)[] = [];
  try {
    return await openStations(options, (close) => void opened.unshift(close));
  } catch (error) {
    // What was opened before the station that failed has its files, sockets and connections.
    for (const close of opened) await close().catch(() => undefined);
    throw error;
  }
}

/** @param onOpened told how to close each station as soon as it is open */
async function openStations(
  options: CollectionOptions,
  onOpened: (close: () => Promise<unknown>) => void,
): Promise<Collection> {
  const { config, clock, bootId, log, onChange, meter } = options;
  const jobsDir = resolve(config.jobsDir);
  const { jobs, calendar } = await requireJobs(jobsDir);
  const dir = journalDir(config);
  const journal = await openJournal({
    ...{ dir, clock, onProblem: (problem) => log.error(problem.message) },
    ...{ readers: config.journalReaders, maxTotalBytes: config.journalMaxBytes },
    ...(options.journalFs && { fs: options.journalFs }),
  });
  onOpened(() => journal.close());
  const feed = await openFeed(config, clock);
  onOpened(() => feed.close());
  let loaded = NOTHING_LOADED;
  const loaderState = keepLoaderState(resolve(config.dataDir), clock);
  const loader = openLoader(options, dir, loaderState, (report) => {
    loaded = addCounts(loaded, report);
    onChange();
  });
  onOpened(() => loader.close(0));
  const notes = createNoteWriter(journal, clock, feed.ledgerSource, loader.notify, (count) =>
    log.error({ count }, "entries of the ledger were lost: the journal cannot be written"),
  );
  const calls = await openCalls(config, {
    ...{ journalDir: dir, clock, bootId },
    onProblem: (message) => log.warn(message),
  });
  const send = sender(options, feed, { journal, loader, calls: calls.log });
  const calm = calmLog(log, clock);
  onOpened(async () => calm.flush());
  const run = uuidv7(clock.now().getTime(), clock.random(16));
  const trading = feed.calendar(calendar);
  const earlier = await readEarlierRuns(dir, {
    jobs: jobs.map((job) => scheduleJob(job, trading)),
    ...{ source: feed.ledgerSource(), now: clock.now() },
  });
  const clocks = await openClockFile(resolve(config.dataDir), clock, bootId);
  const collector = new Collector({
    ...{ jobs, run, earlier },
    calendar: trading,
    exchange: createCalendar(calendar),
    clock,
    log: calm.log,
    onChange,
    onNote: (note) => {
      if (meter) meterNote(note, meter);
      notes.write(note);
      if (note.type === "clock") void clocks.keep();
    },
    send: meter ? meteredSend(send, meter, clock) : send,
    governor: governorOf(config),
    history: calls.history,
    onClosed: calls.log.closed,
  });
  const unaccounted = await beginRun(resolve(config.dataDir), clock.now());
  onOpened(() => collector.close(0));
  const startedAt = collector.start(clocks.away);
  void clocks.keep();
  const keepingClocks = setInterval(() => void clocks.keep(), KEEP_CLOCK_EVERY_MS);
  const closing = new AbortController();
  const accounting = account(options, {
    ...{ feed, loader, collector, notes, startedAt, unaccounted, run, signal: closing.signal },
  });
  const stopFollowing = followJobs(jobsDir, {
    first: { jobs, calendar },
    onJobs: ({ jobs: newJobs, calendar: overrides }) =>
      collector.replaceJobs(newJobs, feed.calendar(overrides), createCalendar(overrides)),
    log,
  });

  return {
    feed,
    collector,
    loader,
    loaded: () => loaded,
    journalHealth: () => journal.health(),
    close: async () => {
      stopFollowing();
      closing.abort();
      clearInterval(keepingClocks);
      await collector.close(CALLS_GRACE_MS);
      calm.flush();
      await atMost(LOAD_GRACE_MS, accounting, clock);
      await notes.flush();
      await clocks.keep();
      await journal.close();
      await loader.close(LOAD_GRACE_MS);
      if (loader.failure() === null) loaderState.works();
      await loaderState.settled();
      await feed.close();
    },
  };
}

/** The stations behind the governor, as the collector's way to send a call. */
function sender(
  { clock, mayCall }: CollectionOptions,
  feed: OpenFeed,
  kept: { journal: Journal; loader: Loader; calls: CallLog },
): ConstructorParameters<typeof Collector>[0]["send"] {
  const stations = {
    ...kept,
    fetchQuotes: feed.fetchQuotes,
    requestId: () => uuidv7(clock.now().getTime(), clock.random(16)),
    sourceOf: feed.sourceOf,
  };
  return async (planned, signal, onArrived) => {
    await mayCall?.();
    return collectCall(planned, stations, { signal, onArrived });
  };
}

function openLoader(
  { archive, clock, log }: CollectionOptions,
  dir: string,
  state: LoaderStateFile,
  onLoaded: (report: LoadReport) => void,
): Loader {
  const calm = calmLog(log, clock);
  const loader = startLoader({
    pool: archive.pool,
    journalDir: dir,
    clock,
    onLoaded,
    prepare: async () => {
      const { applied, withoutReader } = await migrate(archive.pool, instantFromDate(clock.now()));
      if (applied.length > 0) log.info({ applied }, "the database's schema is up to date");
      if (withoutReader !== null) log.warn(withoutReader);
    },
    revive: archive.revive,
    onDamage: (segment, offset, length, reason) =>
      log.error({ segment, offset, length, reason }, "damaged bytes in the journal were passed over"),
    onFailure: (error, waitMs) => {
      const problem = databaseError(error, archive.address);
      state.failed(problem);
      // A disk that is full is waited for as well, but a person has to see to it.
      const level = isRetryable(error) && problem.code !== "DISK_FULL" ? "warn" : "error";
      calm.log[level]({ waitMs }, problem.message);
    },
    onRecovered: () => {
      calm.flush();
      state.works();
      log.info("the database is back, and has all of the journal");
    },
  });
  // What a run that was killed has left behind holds no longer once everything is loaded.
  void loader.drain().then(state.works, () => undefined);
  return loader;
}

/** The wait before the slots of a downtime are looked up again, when the database did not let us, in ms. */
const ACCOUNT_AGAIN_MS = 30_000;

/** Waits until the database has all of the last run, then notes the slots that passed in between. */
async function account(
  { archive, clock, log }: CollectionOptions,
  {
    feed,
    loader,
    collector,
    notes,
    startedAt,
    unaccounted,
    run,
    signal,
  }: {
    feed: OpenFeed;
    loader: Loader;
    collector: Collector;
    notes: NoteWriter;
    startedAt: Date;
    unaccounted: RunMarker;
    run: string;
    signal: AbortSignal;
  },
): Promise<void> {
  while (!signal.aborted) {
    try {
      // The slots that this run has opened are its own, also where an earlier one had opened them.
      await notes.flush();
      await loader.drain();
      const { since } = unaccounted;
      const source = feed.ledgerSource();
      const { jobs } = collector;
      const leftOpen = await accountForLeftOpen(archive.pool, source, jobs, { run, startedAt });
      leftOpen.forEach(notes.write);
      await notes.flush();
      await loader.drain();
      const past = await accountForDowntime(archive.pool, source, jobs, startedAt, since);
      past.forEach(notes.write);
      await notes.flush();
      if (notes.waiting() === 0) await unaccounted.settle();
      return;
    } catch (error) {
      log.warn(
        { reason: (error as Error).message },
        "the slots missed while nothing ran are not in the ledger yet; it is tried again",
      );
      await clock.sleep(ACCOUNT_AGAIN_MS, signal).catch(() => undefined);
    }
  }
}
