/** `quotekeeper start` and `quotekeeper collect`: collection until somebody ends it. */
import type { AddCommand } from "./command.ts";
import { resolve } from "node:path";
import { type CollectorLease, type CollectorProcess, takeLease } from "../archive/collectorLease.ts";
import { currentVersion, migrate } from "../archive/migrations.ts";
import { collectingGoesOn, databaseError, isDatabaseError } from "../archive/databaseError.ts";
import { explain } from "../archive/explain.ts";
import { type Clock, instantFromDate } from "../clock.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import { requireToken } from "../web/guard/hosts.ts";
import { type DataDirLock, lockDataDir, type Self, thisProcess } from "../run/beside/lock.ts";
import { type Edges, Interrupted } from "../run/edges.ts";
import { type Archive, openArchive } from "../run/archive.ts";
import type { Opened } from "./collecting.ts";
import { offerExampleJobs } from "../run/exampleJobs.ts";
import { createLogger } from "./terminal/logger.ts";
import { accountOf } from "../run/feed.ts";
import { StatusLine } from "./terminal/statusLine.ts";

/** Collector and dashboard. */
export const addStart: AddCommand = (command, { run, edges }) => {
  command.action(() => run((config) => start(config, edges, { web: true })));
};

/** The collector alone. */
export const addCollect: AddCommand = (command, { run, edges }) => {
  command.action(() => run((config) => start(config, edges, { web: false })));
};

/**
 * Runs until Ctrl-C or SIGTERM. Opens in order, closes in reverse.
 *
 * @returns 0 when it ended as asked, 1 when answers are left that the database has not taken
 * @throws QuotekeeperError COLLECTOR_RUNNING when another collector has the data directory, or the account in the database;
 *   COLLECTOR_REPLACED when one has taken the account over
 */
async function start(config: Config, edges: Edges, { web: withWeb }: { web: boolean }): Promise<number> {
  const { clock, stdout } = edges;
  const line = new StatusLine(stdout, clock);
  const log = createLogger(config.logLevel, line.above(edges.stderr), edges.env);
  const interrupted = new Promise<string>((resolveSignal) => void edges.onInterrupt(resolveSignal));
  await offerExampleJobs(config, stdout);
  await requireJobs(resolve(config.jobsDir));
  if (withWeb) requireToken(config.httpHost, config.webToken ?? null);

  const warn = (message: string): void => log.warn(message);
  const self = await thisProcess();
  const lock = await lockDataDir(resolve(config.dataDir), { clock, self, warn });
  const opening = openArchive(config, clock);
  // Loaded while PostgreSQL makes its files or starts, which takes longer.
  const loading = loadWork(withWeb);
  const archive = await opening.catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  const { collect, farewell, openWeb } = await loading;
  const opened: Opened = { archive, reader: archive.openReader(), web: null, collection: null };
  let lease: CollectorLease | null = null;
  let lost: QuotekeeperError | null = null;
  try {
    const schemaIsReady = await prepareSchema(archive, edges, warn);
    lease = await leaseOf(config, archive, { lock, clock, self, interrupted, warn });
    const ended = lease.lost.then((error) => (lost = error).code);
    const ending = Promise.race([interrupted, ended]);
    const beside = { opened, lock, mayCall: lease.sure, schemaIsReady, openWeb };
    await collect(config, edges, { ...beside, line, log, ending });
  } finally {
    await opened.web?.close();
    await opened.collection?.close();
    await opened.reader.end().catch(() => undefined);
    const released = (await lease?.release()) ?? true;
    await archive
      .close()
      .catch((error: unknown) => log.warn({ err: error }, "the database did not close cleanly"));
    await lock.release({ asDead: !released });
  }
  const exitCode = farewell(opened.collection, edges);
  if (lost !== null) throw lost as QuotekeeperError;
  return exitCode;
}

/** What comes behind the archive. */
async function loadWork(withWeb: boolean) {
  const { collect, farewell } = await import("./collecting.ts");
  const openWeb = withWeb ? (await import("../run/openWeb.ts")).openWeb : null;
  // Opened by the collection, which finds it loaded.
  await import("../collect/fetchQuotes.ts");
  return { collect, farewell, openWeb };
}

/** Takes the account in the database. @throws QuotekeeperError COLLECTOR_RUNNING; Interrupted */
async function leaseOf(
  config: Config,
  archive: Archive,
  { lock: { id, dead }, clock, self, interrupted, warn }: Beside,
): Promise<CollectorLease> {
  const { feed } = config;
  const market = feed.kind === "simulated" ? "the simulated market" : `this account at ${feed.baseUrl}`;
  const ending = new AbortController();
  void interrupted.then((signal) => ending.abort(new Interrupted(signal)));
  const what = { account: accountOf(config), thing: `${market} in ${archive.address}` };
  const onWatch = ({ pid, host }: CollectorProcess): void =>
    warn(
      `Process ${pid} on ${host} was the last to collect ${what.thing}: looking for some seconds whether it still does.`,
    );
  return takeLease(archive.pool, { ...what, id, dead, self, clock, onWatch, signal: ending.signal });
}

type Beside = {
  lock: DataDirLock;
  clock: Clock;
  self: Self;
  interrupted: Promise<string>;
  warn: (message: string) => void;
};

/** The schema now, if the database takes it; if it can later, the loader sees to it. @returns whether it is there */
async function prepareSchema(
  archive: Archive,
  { clock }: Edges,
  warn: (message: string) => void,
): Promise<boolean> {
  try {
    const { withoutReader } = await migrate(archive.pool, instantFromDate(clock.now()));
    if (withoutReader !== null) warn(withoutReader);
    await currentVersion(archive.pool);
    return true;
  } catch (error) {
    if (error instanceof QuotekeeperError || !isDatabaseError(error)) throw error;
    const problem = databaseError(await explain(archive.pool, error), archive.address);
    if (!collectingGoesOn(problem)) throw problem;
    warn(`${problem.message} Collection goes on meanwhile.`);
    return false;
  }
}
