/** The dashboard over an open archive: starts it, and gives it its facts. */
import { join, resolve } from "node:path";
import type pg from "pg";
import { type Account, marketOf, settingsAccounts } from "../../accounts/account.ts";
import { databaseError } from "../../archive/connect/databaseError.ts";
import { readLag } from "../../archive/load/loadPosition.ts";
import { newestVersion } from "../../archive/schema/history.ts";
import { readWithoutReader } from "../../archive/schema/readerRole.ts";
import { describeTier } from "../../archive/tiers/tier.ts";
import type { Clock } from "../../ground/clock.ts";
import type { CalledStatus } from "../../collect/accountDispatchers.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { listSegments } from "../../journal/segments.ts";
import type { Log } from "../../ground/log.ts";
import { addDays, exchangeInstant } from "../../market/calendar/dates.ts";
import { type Calendar, createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { readJobs } from "../../schedule/readJobs.ts";
import type { BeginLogin } from "../../web/api/loginRoutes.ts";
import type { Live, LiveAccount, LiveProblem, StatusView } from "../../web/api/types.ts";
import { type NowSources, problemOf } from "../../web/live.ts";
import { createReadiness, type Machines } from "../../web/monitoring/machineRoutes.ts";
import type { Meter } from "../../web/monitoring/meter.ts";
import { createMetrics, type MetricSources } from "../../web/monitoring/metrics.ts";
import { startWeb, type Web } from "../../web/server.ts";
import type { Archive } from "../../archive/openArchive.ts";
import type { Collection } from "../collection.ts";
import { createJobsReader } from "./jobsView.ts";
import { beginLogin, finishLogin } from "../../collect/login/personLogin.ts";
import { accountsToCall } from "../operatorsWord.ts";
import { loginOf } from "../../collect/login/keptSession.ts";
import { journalDir } from "../../journal/dataDir.ts";
import type { StatusReport } from "../../status/statusJson.ts";
import { readStatus } from "../../status/statusReport.ts";
import { VERSION } from "../../ground/version.ts";

type WatchedArchive = {
  config: Config;
  archive: Archive;
  reader: pg.Pool;
  clock: Clock;
  bootId?: string | null;
  collection: () => Collection | null;
  /** What counts for the metrics; null where this process collects nothing. */
  meter?: Meter | null;
};

/** @throws QuotekeeperError WEB_TOKEN_MISSING, PORT_IN_USE, HTTP_ADDRESS_INVALID */
export async function openWeb(watched: WatchedArchive, log: Log): Promise<Web> {
  const { config, archive, reader, clock } = watched;
  // Job files that cannot be read are `status`'s to tell; the exchange's own hours hold without them.
  const jobs = await readJobs(resolve(config.jobsDir), config).catch(() => null);
  // Nothing waits for it: a database that is away says so elsewhere, and the Now view says this when it is back.
  void readWithoutReader(reader).then(
    (withoutReader) => withoutReader !== null && log.warn({}, withoutReader),
    () => undefined,
  );
  const { simulated, words } = marketOf(jobs?.accounts ?? settingsAccounts(config));
  const sources = webSources(watched, { simulated, address: words });
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
    loginsDir: join(resolve(config.dataDir), "dashboard"),
    attribution: config.attribution ?? null,
    version: VERSION,
    address: archive.address,
    calendar,
    sources,
    jobs: createJobsReader({ config, reader, clock }),
    // A login belongs into the collector's data directory; a dashboard alone may be on another machine.
    beginLogin: watched.meter ? loginsOf(watched) : undefined,
    machines: await openMonitoring(watched, { now: sources, calendar }),
  });
}

function loginsOf({ config, clock }: WatchedArchive): BeginLogin {
  const dataDir = resolve(config.dataDir);
  return async (name, signal) => {
    const [account] = await accountsToCall(config, name);
    const of = loginOf(account);
    if (!of) throw new QuotekeeperError("ACCOUNT_UNKNOWN", `the service of ${name} wants no login`);
    const { url, begun } = await beginLogin(of, clock, signal);
    return {
      url,
      finish: (code, ending) => finishLogin(of, { begun, code }, { dataDir, clock, signal: ending }),
    };
  };
}

/**
 * What machines ask of a running dashboard: metrics and readiness, from the same places as the Now view.
 *
 * @param watched with a `meter` where this process collects
 */
async function openMonitoring(
  { config, reader, clock, collection, meter = null }: WatchedArchive,
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

/** Facts for the Now view, from the collection under way, from what `status` finds, and from the journal's directory; nothing here writes to the archive. */
function webSources(
  { config, archive, reader, clock, bootId = null, collection, meter = null }: WatchedArchive,
  feed: NowSources["feed"],
): NowSources {
  // The same questions as `status` asks, through the connections that can only read.
  const watched: Archive = { ...archive, pool: reader };
  const door = { open: async () => watched, close: async () => undefined, readOnly: true };
  return {
    feed,
    collects: meter !== null,
    live: () => {
      const running = collection();
      return running && liveOf(running, { archive, clock });
    },
    status: async () => {
      const isStarting = meter !== null && collection() === null;
      return statusView(
        await readStatus({ config, clock, door, bootId, viewer: meter === null, isStarting }),
      );
    },
    journal: async () => {
      const segments = await listSegments(journalDir(config));
      if (segments.length === 0) return null;
      return {
        bytes: segments.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
        segments: segments.length,
      };
    },
  };
}

function statusView(report: StatusReport): StatusView {
  const { healthy, lines, budget, lastDay, lag, tier, fleet, logins, quotes, unsureSince, uncalled } = report;
  const { collector, nextPoll, lastQuotesAt } = report;
  const missed = Object.entries(lastDay?.missed ?? {}).map(([reason, count]) => ({
    reason,
    count,
    lastAt: lastDay?.lastMissedAt[reason] ?? report.at,
    goesOn: lastDay?.goesOn.includes(reason) ?? false,
  }));
  return {
    healthy,
    lines,
    collector,
    nextPollAt: nextPoll?.at ?? null,
    lastQuotesAt,
    budget,
    lag,
    tier: tier && describeTier(tier),
    lastDay: lastDay && { due: lastDay.due, missed },
    fleet: fleet && {
      owners: fleet.accounts.map(({ account, owner }) => ({ account, owner })),
      gone: fleet.collectors.flatMap(({ name, state, seenAgoMs }) =>
        state === "gone" ? [{ name, seenAgoMs }] : [],
      ),
    },
    logins,
    quotes,
    unsureSince,
    uncalled,
  };
}

function liveOf(
  { accounts, collector, loader, loaded }: Collection,
  { archive, clock }: Pick<WatchedArchive, "archive" | "clock">,
): Live {
  const { callsUsed, limit, queued, missed, unknown, ...status } = collector.status();
  const called = accounts.all.flatMap(({ account }) => {
    const state = status.accounts.find(({ name }) => name === account.name);
    return state ? [liveAccount(account, state)] : [];
  });
  const failure = loader.failure();
  const problems = [
    ...(failure === null ? [] : [{ ...problemOf(databaseError(failure, archive.address)), accounts: [] }]),
    ...problemsOf(called),
  ];
  const now = clock.now();
  return {
    callsUsed,
    limit,
    queued,
    missed,
    unknown,
    problems,
    accounts: called,
    ...inSum(called),
    jobs: collector.jobs.map(({ job, schedule }) => ({
      name: job.name,
      schedule: job.schedule,
      session: job.session,
      priority: job.priority,
      nextAt: schedule.next(now)?.toISOString() ?? null,
    })),
    quotesStored: loaded().quotes,
  };
}

function liveAccount(
  { name, limit: limitSet, limitWindowMs: windowMs }: Account,
  { state, callsUsed, queued, budget, lastError }: CalledStatus,
): LiveAccount {
  const { limit, phase, secondClientCount, closedForMs } = budget;
  return {
    name,
    state,
    callsUsed,
    limit,
    limitSet,
    windowMs,
    queued,
    phase,
    secondClient: secondClientCount,
    closedForMs: Math.ceil(closedForMs),
    problem: lastError && problemOf(lastError),
  };
}

/** What is wrong with the accounts: what several of them have in the same words is told once. */
function problemsOf(accounts: readonly LiveAccount[]): LiveProblem[] {
  const found = new Map<string, LiveProblem>();
  for (const { name, problem } of accounts) {
    if (problem === null) continue;
    const known = found.get(JSON.stringify(problem)) ?? { ...problem, accounts: [] };
    if (accounts.length > 1) known.accounts.push(name);
    found.set(JSON.stringify(problem), known);
  }
  return [...found.values()];
}

/** All accounts as one: it is closed when each of them is, until the first is not. */
function inSum(
  accounts: readonly LiveAccount[],
): Pick<Live, "limitSet" | "windowMs" | "secondClient" | "phase" | "closedForMs"> {
  const open = accounts.find(({ phase }) => phase !== "closed");
  return {
    limitSet: accounts.reduce((sum, { limitSet }) => sum + limitSet, 0),
    windowMs: accounts[0]?.windowMs ?? 0,
    secondClient: accounts.reduce((sum, { secondClient }) => sum + secondClient, 0),
    // One that calls none, because others do, is not kept from anything.
    phase: open?.phase ?? (accounts.length === 0 ? "open" : "closed"),
    closedForMs:
      open || accounts.length === 0 ? 0 : Math.min(...accounts.map(({ closedForMs }) => closedForMs)),
  };
}
