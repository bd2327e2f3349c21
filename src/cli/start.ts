/** `quotekeeper start` and `quotekeeper collect`: collection until Ctrl-C or SIGTERM. */
import type { AddCommand } from "./command.ts";
import { resolve } from "node:path";
import { prepareCluster } from "../archive/embedded/prepareCluster.ts";
import { requireJobs } from "../schedule/readJobs.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { QuotekeeperError } from "../errors.ts";
import { requireAddress } from "../web/address.ts";
import { requireToken } from "../web/guard/hosts.ts";
import type { Fleet } from "../accounts/lease/fleet.ts";
import { lockDataDir, thisProcess } from "../run/beside/lock.ts";
import { type Edges, untilInterrupted } from "../run/edges.ts";
import type { Opened } from "./collecting.ts";
import { calmLog } from "../run/calmLog.ts";
import { clockIsRight, wrongClock } from "../run/rightClock.ts";
import { offerExampleJobs } from "../run/exampleJobs.ts";
import { createLogger } from "./terminal/logger.ts";
import { StatusLine } from "./terminal/statusLine.ts";

/** How long a start asks a database that answers for leases before it collects without them, in ms. */
const JOIN_PATIENCE_MS = 15_000;

export const addStart: AddCommand = (command, { run, edges }) => {
  command.action(() => run((config) => start(config, edges, { web: true }), { waitsForClock: true }));
};

export const addCollect: AddCommand = (command, { run, edges }) => {
  command.action(() => run((config) => start(config, edges, { web: false }), { waitsForClock: true }));
};

/**
 * Runs until a signal. Opens in order, closes in reverse.
 *
 * @returns 0; 1 when the database lacks answers that the journal has
 * @throws QuotekeeperError COLLECTOR_RUNNING when another collector has the data directory; COLLECTOR_DIFFERS when the
 *   archive's other collectors use other files; COLLECTOR_REPLACED when another process runs as this collector
 */
async function start(config: Config, edges: Edges, { web: withWeb }: { web: boolean }): Promise<number> {
  const { clock, bootId, stdout } = edges;
  const line = new StatusLine(stdout, clock);
  const log = await createLogger(config.logLevel, line.above(edges.stderr), edges.env);
  const calm = calmLog(log, clock);
  const ignored = proxyIgnored(edges.env);
  if (ignored) log.warn(ignored);
  const interrupted = untilInterrupted(edges, (message) => log.warn(message));
  await offerExampleJobs(config, stdout);
  const jobs = await requireJobs(resolve(config.jobsDir), config);
  if (withWeb) requireToken(config.httpHost, config.webToken ?? null);

  const warn = (message: string): void => log.warn(message);
  const self = await thisProcess();
  const lock = await lockDataDir(resolve(config.dataDir), { clock, self, warn });
  const releasing = async (error: unknown): Promise<never> => {
    await lock.release();
    throw error;
  };
  if (withWeb) await requireAddress({ host: config.httpHost, port: config.httpPort }).catch(releasing);
  // The code loads while PostgreSQL makes its files, which takes longer.
  const preparing = config.databaseUrl === null ? prepareCluster(config.dataDir, clock) : undefined;
  preparing?.catch(() => undefined);
  const { openArchive, endPool } = await import("../run/archive.ts");
  const opening = openArchive(config, clock, preparing);
  const loading = loadWork(withWeb);
  const archive = await opening.catch(releasing);
  const { collect, createMeter, farewell, openFleet, prepareSchema, openWeb } = await loading;
  const opened: Opened = { archive, reader: archive.openReader(), web: null, collection: null };
  let fleet: Fleet | null = null;
  let lost: QuotekeeperError | null = null;
  try {
    let onLate: (error: QuotekeeperError) => void = () => undefined;
    const refused = new Promise<QuotekeeperError>((resolveError) => (onLate = resolveError));
    const meter = createMeter();
    const openDashboard = async (): Promise<void> => {
      const { reader } = opened;
      const collection = () => opened.collection;
      if (openWeb)
        opened.web ??= await openWeb({ config, archive, reader, clock, bootId, collection, meter }, calm);
    };
    if (wrongClock(clock.now())) {
      await openDashboard();
      await clockIsRight(clock, aborted(interrupted), ({ code, message }) => {
        calm.error({}, message);
        line.show(`${code}: waiting until the machine's clock is right`);
      });
      if (wrongClock(clock.now()) === null)
        log.info("the machine's clock may be right now: collecting begins");
      else return 0;
    }
    const schema = await prepareSchema(archive, edges, { log: calm, ending: interrupted, onLate });
    const joining = (fleet = await openFleet(config, archive, { lock, clock, self, log, jobs }));
    void interrupted.then(() => joining.stopAcquiring());
    const acquired = await joining.join(schema.isReady === false ? 0 : JOIN_PATIENCE_MS);
    const ended = Promise.race([joining.lost, refused]).then((error) => (lost = error).code);
    const ending = Promise.race([interrupted, ended]);
    const fleetWith = { fleet: joining, acquired };
    const beside = {
      opened,
      lock,
      fleet: fleetWith,
      jobs,
      schemaReady: schema.settled,
      openDashboard,
      meter,
    };
    await collect(config, edges, { ...beside, line, log, calm, ending });
  } finally {
    fleet?.stopAcquiring();
    await opened.web?.close();
    await opened.collection?.close();
    await endPool(opened.reader, clock);
    const released = (await fleet?.release()) ?? true;
    await endPool(archive.pool, clock, () =>
      archive
        .close()
        .catch((error: unknown) => log.warn({ err: error }, "the database did not close cleanly")),
    );
    await lock.release({ asDead: !released });
  }
  const exitCode = farewell(opened.collection, edges);
  if (lost !== null) throw lost as QuotekeeperError;
  return exitCode;
}

async function loadWork(withWeb: boolean) {
  const collecting = await import("./collecting.ts");
  const { openFleet } = await import("../run/openFleet.ts");
  const openWeb = withWeb ? (await import("../run/openWeb.ts")).openWeb : null;
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
