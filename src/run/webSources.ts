/** The Now view's facts, from the collection under way, from what `status` finds, and from the journal's directory. */
import type pg from "pg";
import type { Account } from "../accounts/account.ts";
import { databaseError } from "../archive/connect/databaseError.ts";
import { describeTier } from "../archive/tiers/tier.ts";
import type { Clock } from "../clock.ts";
import type { CalledStatus } from "../collect/accountDispatchers.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { listSegments } from "../journal/segments.ts";
import type { Meter } from "../web/monitoring/meter.ts";
import type { Live, LiveAccount, LiveProblem, StatusView } from "../web/api/types.ts";
import { type NowSources, problemOf } from "../web/live.ts";
import type { Archive } from "./archive.ts";
import type { Collection } from "./collection.ts";
import { journalDir } from "./stations.ts";
import { readStatus } from "./statusReport.ts";
import type { StatusReport } from "./statusTypes.ts";

export type Watched = {
  config: Config;
  archive: Archive;
  /** The dashboard's own pool, which can only read. */
  reader: pg.Pool;
  clock: Clock;
  /** Null where no collector runs in this process, or not yet. */
  collection: () => Collection | null;
  /** What counts for the metrics; null where this process collects nothing. */
  meter?: Meter | null;
};

/** Facts for the dashboard; nothing here writes to the archive. */
export function webSources(
  { config, archive, reader, clock, collection, meter = null }: Watched,
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
    status: async () => statusView(await readStatus({ config, clock, door, viewer: meter === null })),
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
  const { healthy, lines, budget, lastDay, lag, tier, fleet, unsureSince, uncalled } = report;
  const missed = Object.entries(lastDay?.missed ?? {}).map(([reason, count]) => ({
    reason,
    count,
    lastAt: lastDay?.lastMissedAt[reason] ?? report.at,
    goesOn: lastDay?.goesOn.includes(reason) ?? false,
  }));
  return {
    healthy,
    lines,
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
    unsureSince,
    uncalled,
  };
}

function liveOf(
  { accounts, collector, loader, loaded }: Collection,
  { archive, clock }: Pick<Watched, "archive" | "clock">,
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
