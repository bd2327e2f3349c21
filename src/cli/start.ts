/** `quotekeeper start` and `quotekeeper collect`: collection until Ctrl-C or SIGTERM. */
import { command } from "./command.ts";
import { resolve } from "node:path";
import { prepareCluster } from "../archive/embedded/prepareCluster.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { QuotekeeperError } from "../ground/errors.ts";
import { requireAddress } from "../web/address.ts";
import { requireToken } from "../web/guard/hosts.ts";
import type { Fleet } from "../accounts/lease/fleet.ts";
import { lockDataDir, thisProcess } from "../collector/beside/lock.ts";
import { type Edges, untilInterrupted } from "../ground/edges.ts";
import type { OpenedArchive } from "./collecting.ts";
import { calmLog } from "../ground/calmLog.ts";
import { clockIsRight, wrongClock } from "../status/rightClock.ts";
import { offerExampleJobs } from "../schedule/exampleJobs.ts";
import { createLogger } from "./terminal/logger.ts";
import { StatusLine } from "./terminal/statusLine.ts";

/** How long a start waits for the embedded server before it collects without it, in ms. */
const EMBEDDED_PATIENCE_MS = 10_000;

/** How long a start asks a database that answers for leases before it collects without them, in ms. */
const JOIN_PATIENCE_MS = 15_000;

export const start = command({
  waitsForClock: true,
  run: (config, edges) => runUntilSignal(config, edges, { web: true }),
});

export const collect = command({
  waitsForClock: true,
  run: (config, edges) => runUntilSignal(config, edges, { web: false }),
});

/**
 * Runs until a signal. Opens in order, closes in reverse.
 *
 * @returns 0; 1 when the database lacks answers that the journal has
 * @throws QuotekeeperError COLLECTOR_RUNNING when another collector has the data directory; COLLECTOR_DIFFERS when the
 *   archive's other collectors use other files; COLLECTOR_REPLACED when another process runs as this collector
 */
async function runUntilSignal(
  config: Config,
  edges: Edges,
  { web: withWeb }: { web: boolean },
): Promise<number> {
  const { clock } = edges;
  const begun = await begin(config, edges, withWeb);
  const { lock, log } = begun;
  // The code loads while PostgreSQL makes its files, which takes longer.
  const preparing = config.databaseUrl === null ? prepareCluster(config.dataDir, clock) : undefined;
  preparing?.catch(() => undefined);
  const { openArchive, endPool } = await import("../archive/openArchive.ts");
  const opening = openArchive(config, clock, { preparing, patienceMs: EMBEDDED_PATIENCE_MS });
  const loading = loadWork(withWeb);
  const archive = await opening.catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  const work = await loading;
  const opened: OpenedArchive = { archive, reader: archive.openReader(), web: null, collection: null };
  const course: Course = { fleet: null, lost: null };
  try {
    await runCourse(config, edges, { begun, opened, work, course });
  } finally {
    course.fleet?.stopAcquiring();
    await opened.web?.close();
    await opened.collection?.close();
    await endPool(opened.reader, clock);
    const released = (await course.fleet?.release()) ?? true;
    await endPool(archive.pool, clock, () =>
      archive
        .close()
        .catch((error: unknown) => log.warn({ err: error }, "the database did not close cleanly")),
    );
    await lock.release({ asDead: !released });
  }
  const exitCode = work.farewell(opened.collection, edges);
  if (course.lost !== null) throw course.lost;
  return exitCode;
}

type Preparation = Awaited<ReturnType<typeof begin>>;

/** What needs no database: the log, the jobs, the lock on the data directory, and a free port. */
async function begin(config: Config, edges: Edges, withWeb: boolean) {
  const { clock, stdout } = edges;
  const line = new StatusLine(stdout, clock);
  const log = await createLogger(config.logLevel, line.above(edges.stderr), edges.env);
  const ignored = proxyIgnored(edges.env);
  if (ignored) log.warn(ignored);
  const warn = (message: string): void => log.warn(message);
  const interrupted = untilInterrupted(edges, warn);
  await offerExampleJobs(config, stdout);
  const jobs = await requireJobs(resolve(config.jobsDir), config);
  if (withWeb) requireToken(config.httpHost, config.webToken ?? null);
  const self = await thisProcess();
  const lock = await lockDataDir(resolve(config.dataDir), { clock, self, warn });
  if (withWeb)
    await requireAddress({ host: config.httpHost, port: config.httpPort }).catch(async (error: unknown) => {
      await lock.release();
      throw error;
    });
  return { line, log, calm: calmLog(log, clock), interrupted, jobs, self, lock };
}

/** `lost`: why the collection ended without a signal. */
type Course = { fleet: Fleet | null; lost: QuotekeeperError | null };

type StartRun = {
  begun: Preparation;
  opened: OpenedArchive;
  work: Awaited<ReturnType<typeof loadWork>>;
  course: Course;
};

/** Waits for a right clock, prepares the schema, joins the other collectors, and collects until a signal. */
async function runCourse(
  config: Config,
  edges: Edges,
  { begun, opened, work, course }: StartRun,
): Promise<void> {
  const { clock, bootId } = edges;
  const { line, log, calm, interrupted, jobs, self, lock } = begun;
  const { archive, reader } = opened;
  const meter = work.createMeter();
  const openDashboard = async (): Promise<void> => {
    const collection = () => opened.collection;
    if (work.openWeb)
      opened.web ??= await work.openWeb({ config, archive, reader, clock, bootId, collection, meter }, calm);
  };
  if (wrongClock(clock.now())) {
    await openDashboard();
    await clockIsRight(clock, aborted(interrupted), ({ code, message }) => {
      calm.error({}, message);
      line.show(`${code}: waiting until the machine's clock is right`);
    });
    if (wrongClock(clock.now())) return;
    log.info("the machine's clock may be right now: collecting begins");
  }
  let onLate: (error: QuotekeeperError) => void = () => undefined;
  const refused = new Promise<QuotekeeperError>((resolveError) => (onLate = resolveError));
  const schema = await work.prepareSchema(archive, edges, { log: calm, ending: interrupted, onLate });
  const fleet = await work.openFleet(config, archive, { lock, clock, self, log, jobs });
  course.fleet = fleet;
  void interrupted.then(() => fleet.stopAcquiring());
  const acquired = await fleet.join(schema.isReady === false ? 0 : JOIN_PATIENCE_MS);
  const ended = Promise.race([fleet.lost, refused]).then((error) => (course.lost = error).code);
  await work.collect(config, edges, {
    opened,
    fleet: { fleet, acquired },
    jobs,
    schemaReady: schema.settled,
    openDashboard,
    meter,
    line,
    log,
    calm,
    ending: Promise.race([interrupted, ended]),
  });
}

async function loadWork(withWeb: boolean) {
  const collecting = await import("./collecting.ts");
  const { openFleet } = await import("../collector/openFleet.ts");
  const openWeb = withWeb ? (await import("../collector/page/openWeb.ts")).openWeb : null;
  // The collection imports this file too.
  await import("../collect/fetchQuotes.ts");
  const { createMeter } = await import("../web/monitoring/meter.ts");
  return { ...collecting, createMeter, openFleet, openWeb };
}

function aborted(by: Promise<unknown>): AbortSignal {
  const abort = new AbortController();
  void by.then(() => abort.abort());
  return abort.signal;
}

/** Variables that other programs take a proxy from; services are called directly. */
const PROXIES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

function proxyIgnored(env: Edges["env"]): string | null {
  const named = PROXIES.filter((name) => env[name]);
  return named.length === 0 ? null : `${named.join(", ")} is ignored: services are called directly`;
}
