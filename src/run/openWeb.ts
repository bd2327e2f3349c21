/** Starts the dashboard over an open archive. */
import { resolve } from "node:path";
import { readWithoutReader } from "../archive/readerRole.ts";
import type { Log } from "../log.ts";
import { readJobs } from "../schedule/readJobs.ts";
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { startWeb, type Web } from "../web/server.ts";
import { VERSION } from "./version.ts";
import { openMonitoring } from "./monitoring.ts";
import { type Watched, webSources } from "./webSources.ts";

/** @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID */
export async function openWeb(watched: Watched, log: Log): Promise<Web> {
  const { config, archive, reader, clock } = watched;
  // Job files that cannot be read are `status`'s to tell; the exchange's own hours hold without them.
  const jobs = await readJobs(resolve(config.jobsDir)).catch(() => null);
  // Nothing waits for it: a database that is away says so elsewhere, and the Now view says this when it is back.
  void readWithoutReader(reader).then(
    (withoutReader) => withoutReader !== null && log.warn({}, withoutReader),
    () => undefined,
  );
  const sources = webSources(watched);
  const calendar = createCalendar(jobs?.calendar ?? []);
  return startWeb({
    ...{ pool: reader, clock, log, host: config.httpHost, port: config.httpPort },
    token: config.webToken ?? null,
    names: config.webHosts,
    proxies: config.webProxies,
    attribution: config.attribution ?? null,
    version: VERSION,
    address: archive.address,
    calendar,
    sources,
    machines: await openMonitoring(watched, { now: sources, calendar }),
  });
}
