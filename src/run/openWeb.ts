/** Starts the dashboard over an open archive. */
import { join, resolve } from "node:path";
import { marketOf, settingsAccounts } from "../accounts/account.ts";
import { readWithoutReader } from "../archive/schema/readerRole.ts";
import type { Log } from "../log.ts";
import { readJobs } from "../schedule/readJobs.ts";
import { addDays, exchangeInstant } from "../market/calendar/dates.ts";
import { createCalendar, type Calendar } from "../market/calendar/tradingCalendar.ts";
import { startWeb, type Web } from "../web/server.ts";
import { createJobsReader } from "./jobsView.ts";
import { VERSION } from "./version.ts";
import { type Watched, webSources } from "./webSources.ts";
import { readLag } from "../archive/load/loadPosition.ts";
import { newestVersion } from "../archive/schema/history.ts";
import type { NowSources } from "../web/live.ts";
import { createMetrics, type MetricSources } from "../web/monitoring/metrics.ts";
import { createReadiness, type Machines } from "../web/monitoring/machineRoutes.ts";
import { journalDir } from "./stations.ts";

/** @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID */
export async function openWeb(watched: Watched, log: Log): Promise<Web> {
  const { config, archive, reader, clock } = watched;
  // Job files that cannot be read are `status`'s to tell; the exchange's own hours hold without them.
  const jobs = await readJobs(resolve(config.jobsDir), config).catch(() => null);
  // Nothing waits for it: a database that is away says so elsewhere, and the Now view says this when it is back.
  void readWithoutReader(reader).then(
    (withoutReader) => withoutReader !== null && log.warn({}, withoutReader),
    () => undefined,
  );
  const sources = webSources(watched, marketOf(jobs?.accounts ?? settingsAccounts(config)));
  const calendar = createCalendar(jobs?.calendar ?? []);
  return startWeb({
    pool: reader,
    clock,
    log,
    host: config.httpHost,
    port: config.httpPort,
    token: config.webToken ?? null,
    names: config.webHosts,
    proxies: config.webProxies,
    sessionsDir: join(resolve(config.dataDir), "dashboard"),
    attribution: config.attribution ?? null,
    version: VERSION,
    address: archive.address,
    calendar,
    sources,
    jobs: createJobsReader({ config, reader, clock }),
    machines: await openMonitoring(watched, { now: sources, calendar }),
  });
}

/**
 * What machines ask of a running dashboard: metrics and readiness, from the same places as the Now view.
 *
 * @param watched with a `meter` where this process collects
 */
async function openMonitoring(
  { config, reader, clock, collection, meter = null }: Watched,
  { now, calendar }: { now: NowSources; calendar: Calendar },
): Promise<Machines> {
  const schemaVersion = await newestVersion();
  const failing = (): boolean => (collection()?.journalHealth().failure ?? null) !== null;
  const ready = createReadiness({
    pool: reader,
    clock,
    schemaVersion,
    collector: meter && {
      running: () => collection() !== null,
      journalFailing: failing,
      loaderFailing: () => (collection()?.loader.failure() ?? null) !== null,
    },
  });
  const collecting: MetricSources["collecting"] = () => {
    const running = collection();
    const live = now.live();
    if (!meter || !running || !live) return null;
    const { nextPollAt } = running.collector.status();
    const [loaded, fleet, through] = [running.loaded(), running.fleet(), running.lake()?.through ?? null];
    const lakeThrough = through === null ? null : exchangeInstant(addDays(through, 1), "00:00");
    return { live, meter, nextPollAt, loaded, fleet, lakeThrough, journalFailing: failing() };
  };
  const metrics = createMetrics({
    version: VERSION,
    simulated: now.feed.simulated,
    clock,
    ready,
    collecting,
    marketOpen: (at) => calendar.phaseAt(at) === "regular",
    journal: now.journal,
    lag: () => readLag(reader, journalDir(config)),
    status: now.status,
  });
  return { metrics, ready };
}
